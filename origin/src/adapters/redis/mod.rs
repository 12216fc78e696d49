//! The connection to Redis that its adapters share: one server, or the nodes of a Redis Cluster.
//!
//! It connects when it is first asked and again by itself, answers within [`PATIENCE`] or fails, and
//! fails at once while the server is known not to answer. Nothing is sent twice: after an error it is
//! not known whether a command was carried out. Keys are the adapters' own; in a cluster all keys of
//! one call must carry the same hash tag.

mod breaker;
#[cfg(feature = "cluster")]
pub mod cache;
#[cfg(feature = "cluster")]
pub mod counters;
#[cfg(feature = "cluster")]
pub mod pending;
#[cfg(feature = "cluster")]
pub mod popularity;
#[cfg(feature = "cluster")]
pub mod revisions;

use std::time::{Duration, Instant};

use ::redis::aio::{ConnectionManager, ConnectionManagerConfig};
use ::redis::cluster::ClusterClient;
use ::redis::cluster_async::ClusterConnection;
use ::redis::io::tcp::TcpSettings;
use ::redis::{
    Client, Cmd, ErrorKind, FromRedisValue, IntoConnectionInfo, Pipeline, RedisError, ServerErrorKind, ToRedisArgs,
};
use breaker::Breakers;

/// How long a connection or an answer is waited for.
pub const PATIENCE: Duration = Duration::from_secs(1);
/// A connection whose bytes nobody has acknowledged for so long is given up: its peer is gone.
const UNACKNOWLEDGED: Duration = Duration::from_secs(5);
/// Commands that may wait for a place on the wire before their callers wait with them.
const WAITING: usize = 1_024;

/// Why there is no answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The server did not answer lately, and this was not sent.
    #[error("it did not answer lately")]
    Resting,
    #[error("no answer in {} ms", PATIENCE.as_millis())]
    Late,
    #[error(transparent)]
    Redis(#[from] RedisError),
}

pub type Result<T> = std::result::Result<T, Error>;

/// One server or one cluster; clones share it.
#[derive(Clone)]
pub struct Connection {
    link: Link,
    breakers: std::sync::Arc<Breakers>,
}

#[derive(Clone)]
enum Link {
    One(ConnectionManager),
    Cluster(ClusterConnection),
}

impl Connection {
    /// The server at this URL (`redis://host:port/0`), or the cluster whose nodes these are. One that
    /// does not answer now is only warned of: everything goes on without it, and it may come later.
    ///
    /// # Errors
    /// For no URL, and for what is none.
    pub async fn open(urls: &[String]) -> Result<Self> {
        let tcp = || TcpSettings::default().set_nodelay(true).set_user_timeout(UNACKNOWLEDGED);
        let (link, breakers) = match urls {
            [] => Err(RedisError::from((ErrorKind::InvalidClientConfig, "no URL of a Redis server")))?,
            [url] => {
                let client = Client::open(url.as_str().into_connection_info()?.set_tcp_settings(tcp()))?;
                // One attempt to connect: who waits for it is to hear of its failure.
                let config = ConnectionManagerConfig::new()
                    .set_number_of_retries(0)
                    .set_connection_timeout(Some(PATIENCE))
                    .set_response_timeout(Some(PATIENCE))
                    .set_pipeline_buffer_size(WAITING);
                (Link::One(ConnectionManager::new_lazy_with_config(client, config)?), Breakers::one())
            }
            urls => {
                let client = ClusterClient::builder(urls.iter().map(String::as_str))
                    .connection_timeout(PATIENCE)
                    .response_timeout(PATIENCE)
                    .retries(3)
                    .min_retry_wait(10)
                    .max_retry_wait(100)
                    .tcp_settings(tcp())
                    .build()?;
                let connection =
                    client.get_pending_async_connection_with_config(::redis::cluster::ClusterConfig::new());
                (Link::Cluster(connection), Breakers::by_slot())
            }
        };
        let connection = Self { link, breakers: std::sync::Arc::new(breakers) };
        if let Err(error) = connection.query::<()>("", &::redis::cmd("PING")).await {
            tracing::warn!(%error, "Redis does not answer");
        }
        Ok(connection)
    }

    /// Whether this is one server, where keys of one call may carry different hash tags.
    pub fn is_one(&self) -> bool {
        matches!(self.link, Link::One(_))
    }

    /// Sends a command; `key` is one of its keys.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn query<T: FromRedisValue>(&self, key: &str, command: &Cmd) -> Result<T> {
        let answer = self.guarded(key, async {
            match self.link.clone() {
                Link::One(mut link) => command.query_async(&mut link).await,
                Link::Cluster(mut link) => command.query_async(&mut link).await,
            }
        });
        answer.await
    }

    /// Sends commands together; `key` is one of their keys, which all carry the same hash tag.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn pipe<T: FromRedisValue>(&self, key: &str, commands: &Pipeline) -> Result<T> {
        let answer = self.guarded(key, async {
            match self.link.clone() {
                Link::One(mut link) => commands.query_async(&mut link).await,
                Link::Cluster(mut link) => commands.query_async(&mut link).await,
            }
        });
        answer.await
    }

    /// Runs a script; a server that does not know it is told it.
    ///
    /// # Errors
    /// See [`Error`].
    pub async fn run<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T> {
        match self.query(&call.key, &call.command).await {
            Err(Error::Redis(error)) if error.kind() == ErrorKind::Server(ServerErrorKind::NoScript) => {
                self.query(&call.key, &call.told()).await
            }
            answer => answer,
        }
    }

    async fn guarded<T>(&self, key: &str, answer: impl Future<Output = ::redis::RedisResult<T>>) -> Result<T> {
        let breaker = self.breakers.of(key);
        if !breaker.admits(Instant::now()) {
            return Err(Error::Resting);
        }
        // The driver's own limits are per attempt; this is for the whole.
        let answer = match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer.map_err(Error::Redis),
            Err(_) => Err(Error::Late),
        };
        match &answer {
            Err(Error::Late) => breaker.fails(Instant::now()),
            Err(Error::Redis(error)) if unreachable(error) => breaker.fails(Instant::now()),
            _ => breaker.works(),
        }
        answer
    }
}

/// Whether nothing answered. A connection that was only dropped is no sign of it: the next command
/// connects again.
fn unreachable(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::Io => error.is_connection_refusal() || !error.is_connection_dropped(),
        ErrorKind::ClusterConnectionNotFound => true,
        _ => false,
    }
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.link {
            Link::One(_) => "Connection(one server)",
            Link::Cluster(_) => "Connection(cluster)",
        })
    }
}

/// A Lua script, known to servers by its hash.
#[derive(Debug)]
pub struct Script {
    code: &'static str,
    hash: String,
}

impl Script {
    pub fn new(code: &'static str) -> Self {
        Self { code, hash: ::redis::Script::new(code).get_hash().to_owned() }
    }

    /// A call of it with these keys, which in a cluster all carry the same hash tag.
    pub fn call(&self, keys: &[String]) -> Call<'_> {
        let mut command = ::redis::cmd("EVALSHA");
        command.arg(&self.hash).arg(keys.len()).arg(keys);
        Call { script: self, key: keys.first().cloned().unwrap_or_default(), command }
    }
}

/// A call of a script.
pub struct Call<'a> {
    script: &'a Script,
    key: String,
    command: Cmd,
}

impl std::fmt::Debug for Call<'_> {
    /// Arguments are left out: they hold what members wrote.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Call({})", self.key)
    }
}

impl Call<'_> {
    /// Adds an argument.
    pub fn arg(&mut self, argument: impl ToRedisArgs) -> &mut Self {
        self.command.arg(argument);
        self
    }

    /// The same call with the script's text, which the server keeps.
    fn told(&self) -> Cmd {
        let mut command = ::redis::cmd("EVAL");
        command.arg(self.script.code);
        for argument in self.command.args_iter().skip(2) {
            if let ::redis::Arg::Simple(bytes) = argument {
                command.arg(bytes);
            }
        }
        command
    }
}
