//! The connection that the adapters share: to one server, or to the nodes of a Redis Cluster.
//!
//! It connects with the first command and reconnects by itself. A command is answered within
//! [`REDIS_TIMEOUT`] or fails, and fails at once while the server is known not to answer. No command
//! is sent twice: after an error it is not known whether it was executed.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::aio::{ConnectionManager, ConnectionManagerConfig};
use ::redis::cluster::ClusterClient;
use ::redis::cluster_async::ClusterConnection;
use ::redis::io::tcp::TcpSettings;
use ::redis::{
    Client, Cmd, ErrorKind, FromRedisValue, IntoConnectionInfo, Pipeline, RedisError, ServerErrorKind, TlsCertificates,
};

use crate::adapters::redis::hash_slot_breakers::RedisBreakers;
use crate::adapters::redis::script::ScriptCall;
use crate::telemetry::measure_bounded;

/// How long a connection attempt or a command may take.
pub const REDIS_TIMEOUT: Duration = Duration::from_millis(500);
/// A connection with bytes that were not acknowledged for this long is closed: its peer is gone.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(5);
/// Commands that may wait to be written to the connection. Beyond them, callers wait.
const MAX_QUEUED_COMMANDS: usize = 1_024;
/// How often and how long after each other the driver retries a redirected command in a cluster.
const CLUSTER_RETRIES: u32 = 3;
const CLUSTER_RETRY_WAIT_MS: (u64, u64) = (10, 100);

/// Why a command has no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RedisCallError {
    /// The server did not answer a moment ago, and this command was not sent.
    #[error("the server did not answer a moment ago")]
    BreakerOpen,
    #[error("no answer in {} ms", REDIS_TIMEOUT.as_millis())]
    Timeout,
    #[error(transparent)]
    Redis(#[from] RedisError),
}

pub type Result<T> = std::result::Result<T, RedisCallError>;

/// One server or one cluster. Clones share the connection.
#[derive(Clone)]
pub struct RedisConnection {
    link: RedisLink,
    breakers: Arc<RedisBreakers>,
}

#[derive(Clone)]
enum RedisLink {
    SingleServer(ConnectionManager),
    Cluster(ClusterConnection),
}

impl RedisConnection {
    /// The server at this URL (`redis://host:port/0`, or `rediss://` with TLS), or the cluster of these nodes. A server
    /// that does not answer is only logged: everything works without it, and it may come back. The certificate of a
    /// server with TLS must be valid for its host name, and be signed by a public authority or by one of the file `ca`.
    ///
    /// # Errors
    /// Without a URL, for an invalid one, and when the file has no certificates.
    pub async fn open(urls: &[String], ca: Option<&Path>) -> Result<Self> {
        let root_cert = ca.map(|file| std::fs::read(file).map_err(|error| unreadable(file, &error))).transpose()?;
        let certificates = || TlsCertificates { client_tls: None, root_cert: root_cert.clone() };
        let tcp = || TcpSettings::default().set_nodelay(true).set_user_timeout(TCP_USER_TIMEOUT);
        let (link, breakers) = match urls {
            [] => Err(RedisError::from((ErrorKind::InvalidClientConfig, "no URL of a Redis server")))?,
            [url] => {
                let info = url.as_str().into_connection_info()?.set_tcp_settings(tcp());
                let client = match root_cert {
                    Some(_) => Client::build_with_tls(info, certificates())?,
                    None => Client::open(info)?,
                };
                // One attempt to connect, so that the caller that waits for it gets its error.
                let config = ConnectionManagerConfig::new()
                    .set_number_of_retries(0)
                    .set_connection_timeout(Some(REDIS_TIMEOUT))
                    .set_response_timeout(Some(REDIS_TIMEOUT))
                    .set_pipeline_buffer_size(MAX_QUEUED_COMMANDS);
                let manager = ConnectionManager::new_lazy_with_config(client, config)?;
                (RedisLink::SingleServer(manager), RedisBreakers::single())
            }
            urls => {
                let mut client = ClusterClient::builder(urls.iter().map(String::as_str))
                    .connection_timeout(REDIS_TIMEOUT)
                    .response_timeout(REDIS_TIMEOUT)
                    .retries(CLUSTER_RETRIES)
                    .min_retry_wait(CLUSTER_RETRY_WAIT_MS.0)
                    .max_retry_wait(CLUSTER_RETRY_WAIT_MS.1)
                    .tcp_settings(tcp());
                if root_cert.is_some() {
                    client = client.certs(certificates());
                }
                let connection =
                    client.build()?.get_pending_async_connection_with_config(::redis::cluster::ClusterConfig::new());
                (RedisLink::Cluster(connection), RedisBreakers::by_hash_slot())
            }
        };
        let connection = Self { link, breakers: Arc::new(breakers) };
        if let Err(error) = connection.query::<()>("ping", "", &::redis::cmd("PING")).await {
            tracing::warn!(nodes = urls.len(), %error, "Redis ({} nodes) does not answer yet", urls.len());
        }
        Ok(connection)
    }

    /// Whether this is one server, where the keys of one call may have different hash tags.
    pub fn is_single_server(&self) -> bool {
        matches!(self.link, RedisLink::SingleServer(_))
    }

    /// Sends a command, which is measured as `operation`; `key` is one of its keys.
    ///
    /// # Errors
    /// See [`RedisCallError`].
    pub async fn query<T: FromRedisValue>(&self, operation: &'static str, key: &str, command: &Cmd) -> Result<T> {
        let answer = self.call_guarded(operation, key, async {
            match self.link.clone() {
                RedisLink::SingleServer(mut link) => command.query_async(&mut link).await,
                RedisLink::Cluster(mut link) => command.query_async(&mut link).await,
            }
        });
        answer.await
    }

    /// Sends several commands together, measured as `operation`; `key` is one of their keys, which all have the same hash tag.
    ///
    /// # Errors
    /// See [`RedisCallError`].
    pub async fn query_pipeline<T: FromRedisValue>(
        &self,
        operation: &'static str,
        key: &str,
        commands: &Pipeline,
    ) -> Result<T> {
        let answer = self.call_guarded(operation, key, async {
            match self.link.clone() {
                RedisLink::SingleServer(mut link) => commands.query_async(&mut link).await,
                RedisLink::Cluster(mut link) => commands.query_async(&mut link).await,
            }
        });
        answer.await
    }

    /// Runs a script. If the server does not have it, it is sent with its code.
    ///
    /// # Errors
    /// See [`RedisCallError`].
    pub async fn run_script<T: FromRedisValue>(&self, call: &ScriptCall<'_>) -> Result<T> {
        match self.query(call.operation(), call.key(), call.by_hash()).await {
            Err(RedisCallError::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.query(call.operation(), call.key(), &call.with_code()).await
            }
            answer => answer,
        }
    }

    async fn call_guarded<T>(
        &self,
        operation: &'static str,
        key: &str,
        answer: impl Future<Output = ::redis::RedisResult<T>>,
    ) -> Result<T> {
        let breaker = self.breakers.breaker_of(key);
        if !breaker.try_call(Instant::now()) {
            return Err(RedisCallError::BreakerOpen);
        }
        // The driver's timeouts are for one attempt; this one is for all of them.
        let answer = match measure_bounded("redis", operation, REDIS_TIMEOUT, answer).await {
            Ok(answer) => answer.map_err(RedisCallError::Redis),
            Err(_) => Err(RedisCallError::Timeout),
        };
        match &answer {
            Err(RedisCallError::Timeout) => breaker.record_failure(Instant::now()),
            Err(RedisCallError::Redis(error)) if is_unreachable(error) => breaker.record_failure(Instant::now()),
            _ => breaker.record_success(),
        }
        answer
    }
}

fn unreadable(file: &Path, error: &std::io::Error) -> RedisError {
    let detail = format!("{}: {error}", file.display());
    (ErrorKind::InvalidClientConfig, "the certificates cannot be read", detail).into()
}

/// Whether no server answered. A connection that was only dropped does not say so: the next command
/// reconnects.
fn is_unreachable(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Io => error.is_connection_refusal() || !error.is_connection_dropped(),
        ErrorKind::ClusterConnectionNotFound => true,
        _ => false,
    }
}

impl fmt::Debug for RedisConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.link {
            RedisLink::SingleServer(_) => "RedisConnection(single server)",
            RedisLink::Cluster(_) => "RedisConnection(cluster)",
        })
    }
}
