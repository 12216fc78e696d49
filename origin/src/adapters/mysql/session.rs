//! One connection in use: its statements are bounded in time, and it returns to its pool only when
//! everything that ran on it has ended.
//!
//! A connection on which a statement was given up on closes its socket, and the server rolls back:
//! nothing waits for such a statement to end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::mysql::{MySqlConnection, MySqlRow};
use sqlx::{AssertSqlSafe, Executor};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout};

use crate::adapters::mysql::statement::SqlStatement;
use crate::circuit_breaker::CircuitBreaker;
use crate::ports::store::{Result, StoreError};
use crate::telemetry::{CallTimer, note_statement};

/// How long a statement may take, as measured here. The server's own limit is a little shorter
/// ([`SESSION_SETTINGS`]), so that the connection survives.
const STATEMENT_TIMEOUT: Duration = Duration::from_millis(2_500);
/// The same for long work.
const LONG_STATEMENT_TIMEOUT: Duration = Duration::from_secs(3_600);

/// The settings of every connection. The comments are code: each server reads its own.
///
/// The server closes a connection that is silent for five seconds. Otherwise a process that freezes in
/// the middle of a transaction would keep its slots locked for as long as it is frozen.
pub(super) const SESSION_SETTINGS: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
     SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
     SESSION innodb_lock_wait_timeout = 2, SESSION wait_timeout = 5 /*M! , SESSION max_statement_time = 2 */ \
     /*!80000 , SESSION max_execution_time = 2000 */";

/// The changed settings for long work.
const LONG_WORK_SETTINGS: &str = "SET SESSION innodb_lock_wait_timeout = 50, SESSION wait_timeout = 3600 \
     /*M! , SESSION max_statement_time = 0 */ /*!80000 , SESSION max_execution_time = 0 */";

/// Connections that wait for their next use, with the moments of their return.
#[derive(Default)]
pub(super) struct IdleConnections(Mutex<Vec<(MySqlConnection, Instant)>>);

impl IdleConnections {
    pub(super) fn put(&self, connection: MySqlConnection) {
        self.0.lock().push((connection, Instant::now()));
    }

    pub(super) fn take(&self) -> Option<(MySqlConnection, Instant)> {
        self.0.lock().pop()
    }
}

/// A connection in use. Dropped with an open transaction, it rolls back.
pub struct MysqlSession {
    idle: Arc<IdleConnections>,
    /// Its address, without the password.
    database: Arc<str>,
    connection: Option<MySqlConnection>,
    timeout: Duration,
    /// A statement has begun and has not ended.
    busy: bool,
    in_transaction: bool,
    /// Whether the database answers.
    breaker: Arc<CircuitBreaker>,
    _permit: OwnedSemaphorePermit,
    /// Measures the use of the connection, from here until the session is dropped.
    timer: CallTimer,
}

impl fmt::Debug for MysqlSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MysqlSession").field("in_transaction", &self.in_transaction).finish_non_exhaustive()
    }
}

impl MysqlSession {
    pub(super) fn new(
        operation: &'static str,
        database: Arc<str>,
        idle: Arc<IdleConnections>,
        connection: MySqlConnection,
        permit: OwnedSemaphorePermit,
        breaker: Arc<CircuitBreaker>,
    ) -> Self {
        Self {
            idle,
            database,
            connection: Some(connection),
            timeout: STATEMENT_TIMEOUT,
            busy: false,
            in_transaction: false,
            breaker,
            _permit: permit,
            timer: CallTimer::start("mysql", operation),
        }
    }

    /// The rows of a statement.
    pub(super) async fn fetch_all(&mut self, statement: SqlStatement) -> Result<Vec<MySqlRow>> {
        self.fetch_text(statement.finish()?).await
    }

    /// The first row of a statement.
    pub(super) async fn fetch_first(&mut self, statement: SqlStatement) -> Result<Option<MySqlRow>> {
        Ok(self.fetch_all(statement).await?.into_iter().next())
    }

    /// Executes a statement; the number of rows that it changed (for an upsert this is not a count).
    pub(super) async fn execute(&mut self, statement: SqlStatement) -> Result<u64> {
        let text = statement.finish()?;
        Ok(self.bounded(text, async |c, text| c.execute(sqlx::raw_sql(text)).await).await?.rows_affected())
    }

    /// Executes a text, which may be several statements.
    pub(super) async fn execute_text(&mut self, text: impl Into<String>) -> Result<()> {
        self.bounded(text.into(), async |c, text| c.execute(sqlx::raw_sql(text)).await).await?;
        Ok(())
    }

    /// The rows of a text.
    pub(super) async fn fetch_text(&mut self, text: impl Into<String>) -> Result<Vec<MySqlRow>> {
        self.bounded(text.into(), async |c, text| c.fetch_all(sqlx::raw_sql(text)).await).await
    }

    /// Lets statements on this connection take long. It does not return to its pool.
    pub(super) async fn allow_long_work(&mut self) -> Result<()> {
        self.execute_text(LONG_WORK_SETTINGS).await?;
        self.timeout = LONG_STATEMENT_TIMEOUT;
        Ok(())
    }

    pub(super) async fn begin(&mut self) -> Result<()> {
        self.in_transaction = true;
        self.execute_text("START TRANSACTION").await
    }

    /// Begins a transaction whose reads all see the moment of the first one.
    pub(super) async fn begin_snapshot(&mut self) -> Result<()> {
        self.execute_text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await?;
        self.begin().await
    }

    /// Begins, after [`MysqlSession::prepare_copy`], a transaction whose reads all see this moment.
    pub(super) async fn begin_copy(&mut self) -> Result<()> {
        self.in_transaction = true;
        self.execute_text("START TRANSACTION WITH CONSISTENT SNAPSHOT").await
    }

    /// Everything that comes before [`MysqlSession::begin_copy`], so that it takes one statement.
    pub(super) async fn prepare_copy(&mut self) -> Result<()> {
        self.allow_long_work().await?;
        self.execute_text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ").await
    }

    /// Commits. After an error it is unknown whether the transaction was committed.
    pub(super) async fn commit(&mut self) -> Result<()> {
        self.execute_text("COMMIT").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Rolls back, and keeps the connection.
    pub(super) async fn rollback(&mut self) -> Result<()> {
        self.execute_text("ROLLBACK").await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Commits the work of a transaction, or rolls it back after an error.
    pub(super) async fn finish<T>(mut self, done: Result<T>) -> Result<T> {
        match done {
            Ok(done) => self.commit().await.map(|()| done),
            Err(error) => {
                // If this fails too, the connection closes and the server rolls back.
                let _ = self.rollback().await;
                Err(error)
            }
        }
    }

    async fn bounded<T>(
        &mut self,
        text: String,
        work: impl AsyncFnOnce(&mut MySqlConnection, AssertSqlSafe<Arc<String>>) -> std::result::Result<T, sqlx::Error>,
    ) -> Result<T> {
        let gone = || StoreError::Unavailable("an earlier statement on this connection did not end".into());
        let connection = self.connection.as_mut().filter(|_| !self.busy).ok_or_else(gone)?;
        self.busy = true;
        self.timer.note_begin();
        let (text, began) = (Arc::new(text), Instant::now());
        let answer = timeout(self.timeout, work(connection, AssertSqlSafe(text.clone()))).await;
        if self.timeout == STATEMENT_TIMEOUT {
            note_statement("mysql", &self.database, began.elapsed(), || text.to_string());
        }
        let Ok(answer) = answer else {
            self.timer.note_timeout();
            self.breaker.record_failure(std::time::Instant::now());
            return Err(StoreError::Unavailable("no answer in time".into()));
        };
        self.timer.note(&answer);
        // An error of the server leaves the connection usable; any other may leave half an answer on it. A
        // connection that was only dropped does not say that the database is away: the next one will.
        self.busy = matches!(&answer, Err(error) if error.as_database_error().is_none());
        if !self.busy {
            self.breaker.record_success();
        }
        Ok(answer?)
    }
}

impl Drop for MysqlSession {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.busy
            && !self.in_transaction
            && self.timeout == STATEMENT_TIMEOUT
        {
            self.idle.put(connection);
        }
    }
}
