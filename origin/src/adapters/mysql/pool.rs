//! Connections to one database: a fixed number of them, every wait bounded.
//!
//! A connection goes back to its pool only when everything that ran on it came to an end. What was
//! given up on (a server that stands still, a request that went away) closes its socket, and the
//! server rolls back: nothing is ever waited for on the way back.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Executor};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use crate::ports::store::{Result, StoreError, StoreFailure};

/// Connections a process has to one database. A database with two to eight cores gains nothing
/// from more at the same time.
const CONNECTIONS: usize = 24;
/// How long a caller waits for a connection, a new one included.
const ACQUIRE: Duration = Duration::from_secs(1);
/// How long a statement may take, as seen from here. The server gives up a little earlier
/// ([`SETTINGS`]), so that the connection can be kept.
const STATEMENT: Duration = Duration::from_millis(2_500);
/// A connection that was idle for longer is tried before it is used.
const TRUSTED: Duration = Duration::from_secs(1);
/// A connection that was idle for longer is closed, before the server does it ([`SETTINGS`]).
const FORGOTTEN: Duration = Duration::from_secs(4);

/// What every connection is set to. The comments are code: each server reads its own.
///
/// The server closes a connection that says nothing for five seconds: a process that was frozen in
/// the middle of a transaction would else keep its slots locked for as long as it sleeps.
const SETTINGS: &str = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; \
     SET NAMES utf8mb4, SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', \
     SESSION innodb_lock_wait_timeout = 2, SESSION wait_timeout = 5 /*M! , SESSION max_statement_time = 2 */ \
     /*!80000 , SESSION max_execution_time = 2000 */";

/// The same for work that may take long.
const PATIENT: &str = "SET SESSION innodb_lock_wait_timeout = 50, SESSION wait_timeout = 3600 \
     /*M! , SESSION max_statement_time = 0 */ /*!80000 , SESSION max_execution_time = 0 */";
/// How long a statement of such work may take.
const LONG: Duration = Duration::from_secs(3_600);

/// A statement whose values are written into its text: numbers by their digits, everything else so that
/// it cannot be anything but a value.
///
/// Nothing is prepared on the server. Prepared, the statements of all numbered tables would be more
/// than a server keeps for its connections; and to let go of one costs a delayed acknowledgement of
/// 40 ms, since the driver leaves Nagle's algorithm on.
#[derive(Debug, Clone)]
pub(super) struct Statement {
    text: String,
    values: Vec<String>,
}

/// A statement; every `?` is a value that is bound to it.
pub(super) fn sql(text: impl Into<String>) -> Statement {
    Statement { text: text.into(), values: Vec::new() }
}

impl Statement {
    pub(super) fn bind(mut self, value: impl Into<Value>) -> Self {
        self.values.push(value.into().0);
        self
    }

    fn finish(self) -> Result<String> {
        let mut parts = self.text.split('?');
        let mut text = parts.next().unwrap_or_default().to_owned();
        let mut values = self.values.iter();
        for part in parts {
            match values.next() {
                Some(value) => text.extend([value, part]),
                None => return Err(StoreError::Database(format!("a value is missing: {}", self.text).into())),
            }
        }
        match values.next() {
            None => Ok(text),
            Some(_) => Err(StoreError::Database(format!("a value is left: {}", self.text).into())),
        }
    }
}

/// A value as it stands in a statement.
#[derive(Debug)]
pub(super) struct Value(String);

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl From<$number> for Value {
            fn from(number: $number) -> Self {
                Self(number.to_string())
            }
        })*
    };
}

numbers!(i16 i64 u16 u64);

impl From<&[u8]> for Value {
    fn from(bytes: &[u8]) -> Self {
        let mut text = String::with_capacity(bytes.len() * 2 + 3);
        text.push_str("X'");
        hex(&mut text, bytes);
        text.push('\'');
        Self(text)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"_-,.:[] ".contains(&b);
        if value.bytes().all(plain) {
            Self(format!("'{value}'"))
        } else {
            Self(format!("_utf8mb4 {}", Self::from(value.as_bytes()).0))
        }
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Self {
        bytes.as_slice().into()
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        value.as_str().into()
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or_else(|| Self("NULL".into()), Into::into)
    }
}

/// Appends bytes as hexadecimal digits.
pub(super) fn hex(text: &mut String, bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    text.reserve(bytes.len() * 2);
    for byte in bytes {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
}

/// The connections to one database.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    options: MySqlConnectOptions,
    idle: Mutex<Vec<(MySqlConnection, Instant)>>,
    permits: Arc<Semaphore>,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.place())
    }
}

impl Pool {
    /// A pool without any connection yet.
    pub(super) fn new(options: MySqlConnectOptions) -> Self {
        let permits = Arc::new(Semaphore::new(CONNECTIONS));
        Self(Arc::new(Inner { options, idle: Mutex::default(), permits }))
    }

    /// Where it leads to, without the password.
    pub(super) fn place(&self) -> String {
        let options = &self.0.options;
        format!("{}:{}/{}", options.get_host(), options.get_port(), options.get_database().unwrap_or_default())
    }

    /// A connection for one call or one transaction.
    pub(super) async fn session(&self) -> Result<Session> {
        timeout(ACQUIRE, self.acquire())
            .await
            .unwrap_or_else(|_| Err(StoreError::Unavailable("no connection in time".into())))
            .map_err(|error| match error {
                StoreError::Unavailable(failure) => StoreError::Unavailable(failure.at(&self.place())),
                other => other,
            })
    }

    async fn acquire(&self) -> Result<Session> {
        let closed = |_| StoreError::Unavailable("the store is closed".into());
        let permit = self.0.permits.clone().acquire_owned().await.map_err(closed)?;
        let connection = loop {
            let idle = self.0.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                None => break self.connect().await?,
                Some((connection, since)) if since.elapsed() < TRUSTED => break connection,
                Some((_, since)) if since.elapsed() > FORGOTTEN => {}
                Some((mut connection, _)) => {
                    if connection.ping().await.is_ok() {
                        break connection;
                    }
                }
            }
        };
        Ok(Session {
            pool: self.0.clone(),
            connection: Some(connection),
            limit: STATEMENT,
            busy: false,
            open: false,
            _permit: permit,
        })
    }

    async fn connect(&self) -> Result<MySqlConnection> {
        let mut connection = self.0.options.connect().await?;
        connection.execute(sqlx::raw_sql(SETTINGS)).await?;
        Ok(connection)
    }
}

/// How to reach the database of an address like `mysql://user:password@host:3306/gailou`.
///
/// # Errors
/// When it is no such address; the message does not repeat it.
pub(super) fn options(url: &str) -> Result<MySqlConnectOptions> {
    let wrong = |why: &str| StoreError::Database(format!("not a database's address: {why}").into());
    if !url.starts_with("mysql://") && !url.starts_with("mariadb://") {
        return Err(wrong("it must begin with mysql://"));
    }
    let options: MySqlConnectOptions = url.parse().map_err(|e: sqlx::Error| wrong(&e.to_string()))?;
    if options.get_database().is_none_or(|name| name.is_empty() || name.contains('`')) {
        return Err(wrong("it must end with the database's name"));
    }
    // Built without TLS: what asks for it must fail, what prefers it must not try.
    let options = match options.get_ssl_mode() {
        MySqlSslMode::Preferred => options.ssl_mode(MySqlSslMode::Disabled),
        _ => options,
    };
    Ok(options
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .set_names(false)
        .timezone(None)
        .disable_statement_logging())
}

/// A connection in use. Dropped with a transaction open, it rolls back.
pub(super) struct Session {
    pool: Arc<Inner>,
    connection: Option<MySqlConnection>,
    /// How long a statement may take.
    limit: Duration,
    /// A statement was begun and did not end.
    busy: bool,
    /// A transaction is open.
    open: bool,
    _permit: OwnedSemaphorePermit,
}

impl Session {
    /// The rows of a statement.
    pub(super) async fn all(&mut self, statement: Statement) -> Result<Vec<MySqlRow>> {
        let text = AssertSqlSafe(statement.finish()?);
        self.bounded(async |c| c.fetch_all(sqlx::raw_sql(text)).await).await
    }

    /// The first row of a statement.
    pub(super) async fn first(&mut self, statement: Statement) -> Result<Option<MySqlRow>> {
        Ok(self.all(statement).await?.into_iter().next())
    }

    /// Runs a statement; how many rows it says it has changed (of an upsert, that is no count).
    pub(super) async fn run(&mut self, statement: Statement) -> Result<u64> {
        let text = AssertSqlSafe(statement.finish()?);
        Ok(self.bounded(async |c| c.execute(sqlx::raw_sql(text)).await).await?.rows_affected())
    }

    /// Runs a text as it is, which may be several statements.
    pub(super) async fn raw(&mut self, text: &str) -> Result<()> {
        let text = AssertSqlSafe(text.to_owned());
        self.bounded(async |c| c.execute(sqlx::raw_sql(text)).await).await?;
        Ok(())
    }

    /// The rows of a text as it is.
    pub(super) async fn raw_all(&mut self, text: &str) -> Result<Vec<MySqlRow>> {
        let text = AssertSqlSafe(text.to_owned());
        self.bounded(async |c| c.fetch_all(sqlx::raw_sql(text)).await).await
    }

    /// Lets statements take long, from now on and on this connection, which is not used again.
    pub(super) async fn patient(&mut self) -> Result<()> {
        self.raw(PATIENT).await?;
        self.limit = LONG;
        Ok(())
    }

    /// Begins a transaction.
    pub(super) async fn begin(&mut self) -> Result<()> {
        self.open = true;
        self.raw("START TRANSACTION").await
    }

    /// Ends it. After an error it is not known whether it was committed.
    pub(super) async fn commit(&mut self) -> Result<()> {
        self.raw("COMMIT").await?;
        self.open = false;
        Ok(())
    }

    /// Gives it up and keeps the connection.
    pub(super) async fn rollback(&mut self) -> Result<()> {
        self.raw("ROLLBACK").await?;
        self.open = false;
        Ok(())
    }

    async fn bounded<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut MySqlConnection) -> std::result::Result<T, sqlx::Error>,
    ) -> Result<T> {
        let gone = || StoreError::Unavailable("the connection was given up".into());
        let connection = self.connection.as_mut().filter(|_| !self.busy).ok_or_else(gone)?;
        self.busy = true;
        let late = |_| StoreError::Unavailable("no answer in time".into());
        let answer = timeout(self.limit, work(connection)).await.map_err(late)?;
        // An error of the server's leaves the connection as it was; any other may have left half an
        // answer on it.
        self.busy = matches!(&answer, Err(error) if error.as_database_error().is_none());
        Ok(answer?)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take()
            && !self.busy
            && !self.open
            && self.limit == STATEMENT
        {
            let mut idle = self.pool.idle.lock().unwrap_or_else(PoisonError::into_inner);
            idle.push((connection, Instant::now()));
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error;
        match &error {
            Error::Database(database) => {
                let number = database.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>().map_or(0, |e| e.number());
                let class = database.code().map(|code| code.chars().take(2).collect::<String>());
                let passes = passes(number, class.as_deref().unwrap_or_default());
                let failure = StoreFailure::of_driver(error, Some(number));
                if passes { Self::Unavailable(failure) } else { Self::Database(failure) }
            }
            Error::ColumnNotFound(_) | Error::ColumnIndexOutOfBounds { .. } => Self::damaged(error),
            Error::RowNotFound | Error::ColumnDecode { .. } | Error::Decode(_) => Self::damaged(error),
            Error::Encode(_) | Error::InvalidArgument(_) | Error::Configuration(_) => {
                Self::Database(StoreFailure::of_driver(error, None))
            }
            _ => Self::Unavailable(StoreFailure::of_driver(error, None)),
        }
    }
}

/// Whether an error of the server's lies in its state and not in what it was given.
fn passes(number: u16, class: &str) -> bool {
    // Connections, transactions rolled back, accounts refused.
    matches!(class, "08" | "28" | "40")
        || matches!(
            number,
            // No memory, disk, threads or connections; a table or database that is not there yet.
            1005 | 1015 | 1021 | 1026 | 1030 | 1034 | 1037..=1041 | 1044 | 1049 | 1053 | 1114 | 1129 | 1135 | 1142 | 1143 | 1146
            // Locks not had in time, deadlocks, limits of the account, statements and time.
            | 1158..=1161 | 1180 | 1192 | 1203 | 1205 | 1206 | 1213 | 1226 | 1461 | 1614
            // Read-only, shutting down, killed, too long, silent for too long.
            | 1290 | 1317 | 1637 | 1792 | 1836 | 1927 | 1969 | 2006 | 2013 | 3024 | 3058 | 3100 | 3101 | 3168 | 3572 | 4031
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_a_database() {
        let check = |url: &str, expected: Option<&str>| {
            let got = options(url).map(|options| Pool::new(options).place());
            assert_eq!(got.as_deref().ok(), expected, "{url}");
            if let Err(error) = got {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
        };
        check("mysql://gailou:secret@db-1:3307/gailou", Some("db-1:3307/gailou"));
        check("mysql://gailou@localhost/g%2Fx", Some("localhost:3306/g/x"));
        check("mysql://gailou:secret@db-1:3307", None);
        check("mysql://gailou:secret@db-1:port/x", None);
        check("mysql://gailou:secret@db-1/a%60b", None);
        check("postgres://gailou:secret@db-1/x", None);
    }

    #[test]
    fn values_are_nothing_but_values() {
        let text = sql("a = ? AND b = ? AND c IN (?, ?) AND d = ?").bind(-7i64).bind("x' OR 'é?").bind(&b"'\\"[..]);
        let text = text.bind("video-1").bind(None::<u64>).finish().unwrap();
        assert_eq!(text, "a = -7 AND b = _utf8mb4 X'7827204F522027C3A93F' AND c IN (X'275C', 'video-1') AND d = NULL");
        assert!(sql("a = ?").finish().is_err());
        assert!(sql("a").bind(1i64).finish().is_err());
    }

    #[test]
    fn what_passes_is_asked_again() {
        for (number, class, expected) in
            [(1205, "HY", true), (1213, "40", true), (1146, "42", true), (1062, "23", false), (1406, "22", false)]
        {
            assert_eq!(passes(number, class), expected, "{number}");
        }
    }
}
