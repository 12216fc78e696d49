//! The connections to one database: a fixed number of them, every wait bounded, none while the database
//! does not answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlSslMode};
use sqlx::{ConnectOptions, Connection, Executor};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::adapters::mysql::session::{IdleConnections, MysqlSession, SESSION_SETTINGS};
use crate::circuit_breaker::CircuitBreaker;
use crate::config::{Transport, mysql_transport};
use crate::ports::failure::Failure;
use crate::ports::store::{Result, StoreError};
use crate::telemetry::measure_pool_wait;

/// Connections of a process to one database. More concurrency gains nothing on a database with two to
/// eight cores.
pub(super) const MAX_CONNECTIONS: usize = 24;
/// How long a caller waits until a connection is free.
const POOL_WAIT_TIMEOUT: Duration = Duration::from_millis(500);
/// How long a caller waits for a new connection, or for the answer to a ping.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// A connection that was idle for longer is pinged before it is used.
const MAX_IDLE_WITHOUT_PING: Duration = Duration::from_secs(1);
/// A connection that was idle for longer is closed, a second before the server closes it
/// ([`SESSION_SETTINGS`]).
const MAX_IDLE: Duration = Duration::from_secs(4);

/// The connections to one database.
#[derive(Clone)]
pub(super) struct MysqlPool {
    options: Arc<MySqlConnectOptions>,
    /// Host, port and database, without the password.
    address: Arc<str>,
    idle: Arc<IdleConnections>,
    permits: Arc<Semaphore>,
    breaker: Arc<CircuitBreaker>,
    /// Whether it is known to be the right database, of this version.
    is_checked: Arc<AtomicBool>,
}

impl std::fmt::Debug for MysqlPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.address())
    }
}

impl MysqlPool {
    /// A pool without any connection yet.
    pub(super) fn new(options: MySqlConnectOptions) -> Self {
        let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let address: Arc<str> = address_of(&options).into();
        let breaker = Arc::new(CircuitBreaker::new("mysql", &*address));
        let is_checked = Arc::new(AtomicBool::new(true));
        Self { options: Arc::new(options), address, idle: Arc::default(), permits, breaker, is_checked }
    }

    /// Refuses sessions until [`MysqlPool::open`].
    pub(super) fn close(&self) {
        self.is_checked.store(false, Ordering::Relaxed);
    }

    /// Gives sessions: the database was checked.
    pub(super) fn open(&self) {
        self.is_checked.store(true, Ordering::Relaxed);
    }

    /// Whether it gives sessions.
    pub(super) fn is_open(&self) -> bool {
        self.is_checked.load(Ordering::Relaxed)
    }

    /// Host and port: databases of one server share its connections.
    pub(super) fn server(&self) -> (&str, u16) {
        (self.options.get_host(), self.options.get_port())
    }

    /// Host, port and database, without the password.
    pub(super) fn address(&self) -> String {
        self.address.to_string()
    }

    /// A connection for one call or one transaction, which is measured as `operation`.
    pub(super) async fn session(&self, operation: &'static str) -> Result<MysqlSession> {
        if !self.is_open() {
            return Err(StoreError::Unavailable(Failure::from("it was not checked yet").at(&self.address())));
        }
        self.unchecked_session(operation).await
    }

    /// A connection to a database that may be another one.
    pub(super) async fn unchecked_session(&self, operation: &'static str) -> Result<MysqlSession> {
        measure_pool_wait("mysql", self.acquire(operation)).await.map_err(|error| match error {
            StoreError::Unavailable(failure) => StoreError::Unavailable(failure.at(&self.address())),
            StoreError::Busy(failure) => StoreError::Busy(failure.at(&self.address())),
            other => other,
        })
    }

    async fn acquire(&self, operation: &'static str) -> Result<MysqlSession> {
        let closed = |_| StoreError::Unavailable("the store is closed".into());
        let permit = timeout(POOL_WAIT_TIMEOUT, self.permits.clone().acquire_owned()).await;
        let permit = permit.map_err(|_| StoreError::Busy("no connection was free in time".into()))?.map_err(closed)?;
        let late = |_| StoreError::Unavailable("no connection in time".into());
        // A caller that waited for a connection finds out what those before it did.
        if !self.breaker.try_call(std::time::Instant::now()) {
            return Err(StoreError::Unavailable("it did not answer a moment ago".into()));
        }
        // In a box: the types of its futures are deep, and every call contains them.
        let connection = timeout(CONNECT_TIMEOUT, Box::pin(self.take_or_connect())).await.map_err(late);
        let connection = connection.flatten().inspect_err(|error| match error {
            StoreError::Unavailable(failure) if failure.code().is_none() => {
                self.breaker.record_failure(std::time::Instant::now());
            }
            _ => self.breaker.record_success(),
        })?;
        Ok(MysqlSession::new(
            operation,
            self.address.clone(),
            self.idle.clone(),
            connection,
            permit,
            self.breaker.clone(),
        ))
    }

    /// An idle connection that works, or a new one.
    async fn take_or_connect(&self) -> Result<MySqlConnection> {
        loop {
            match self.idle.take() {
                None => return self.connect().await,
                Some((connection, since)) if since.elapsed() < MAX_IDLE_WITHOUT_PING => return Ok(connection),
                Some((_, since)) if since.elapsed() > MAX_IDLE => {}
                Some((mut connection, _)) => {
                    if connection.ping().await.is_ok() {
                        return Ok(connection);
                    }
                }
            }
        }
    }

    async fn connect(&self) -> Result<MySqlConnection> {
        let connected = self.options.connect().await;
        let mut connection = connected.map_err(|error| match error {
            // The driver could send it encrypted by a key that is not verified.
            sqlx::Error::Configuration(error) if error.to_string().contains("RSA") => StoreError::Database(
                "the server wants the password itself, and gets it by TLS only: add ssl-mode=verify_identity to its \
                 address"
                    .into(),
            ),
            error => error.into(),
        })?;
        connection.execute(sqlx::raw_sql(SESSION_SETTINGS)).await?;
        Ok(connection)
    }
}

fn address_of(options: &MySqlConnectOptions) -> String {
    format!("{}:{}/{}", options.get_host(), options.get_port(), options.get_database().unwrap_or_default())
}

/// The options of an address like `mysql://user:password@host:3306/gailou`.
///
/// # Errors
/// When it is not such an address; the message does not repeat it.
pub(super) fn parse_address(url: &str) -> Result<MySqlConnectOptions> {
    let wrong = |why: &str| StoreError::Database(format!("not the address of a database: {why}").into());
    if !url.starts_with("mysql://") && !url.starts_with("mariadb://") {
        return Err(wrong("it must begin with mysql://"));
    }
    let options: MySqlConnectOptions = url.parse().map_err(|e: sqlx::Error| wrong(&e.to_string()))?;
    if options.get_database().is_none_or(|name| name.is_empty() || name.contains('`')) {
        return Err(wrong("it must end with the name of the database"));
    }
    Ok(options
        .ssl_mode(ssl_mode(mysql_transport(url).map_err(wrong)?))
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .set_names(false)
        .timezone(None)
        .disable_statement_logging())
}

fn ssl_mode(transport: Transport) -> MySqlSslMode {
    match transport {
        Transport::Plain | Transport::Loopback => MySqlSslMode::Disabled,
        Transport::Unverified => MySqlSslMode::Required,
        Transport::Signed => MySqlSslMode::VerifyCa,
        Transport::Verified => MySqlSslMode::VerifyIdentity,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_must_name_a_database() {
        let check = |url: &str, expected: Option<&str>| {
            let got = parse_address(url).map(|options| MysqlPool::new(options).address());
            assert_eq!(got.as_deref().ok(), expected, "{url}");
            if let Err(error) = got {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
        };
        check("mysql://gailou:secret@db-1:3307/gailou?ssl-mode=required", Some("db-1:3307/gailou"));
        check("mysql://gailou@localhost/g%2Fx", Some("localhost:3306/g/x"));
        check("mysql://gailou:secret@db-1:3307?ssl-mode=required", None);
        check("mysql://gailou:secret@db-1:port/x?ssl-mode=required", None);
        check("mysql://gailou:secret@db-1/a%60b?ssl-mode=required", None);
        check("mysql://gailou:secret@db-1/gailou", None);
        check("mysql://gailou:secret@db-1/gailou?ssl-mode=preferred", None);
        check("postgres://gailou:secret@db-1/x", None);
    }
}
