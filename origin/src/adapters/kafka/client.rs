//! The driver's settings and its words in our log.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::admin::AdminClient;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, ConsumerContext};
use rdkafka::error::KafkaError;
use rdkafka::producer::FutureProducer;

use crate::adapters::kafka::unavailable;
use crate::ports::broker::{BrokerError, Topic};

/// How long a message may take to every in-sync replica. The driver looks for messages that are
/// over their time once a second, so that an append answers after 2.5 s at most.
const MESSAGE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Messages that wait to be sent or acknowledged: half a second of 40,000 a second. One more is refused.
const WAITING: usize = 20_000;
/// How long a message waits for others to be sent with.
const LINGER_MS: u32 = 2;
/// How long a member of a group may be silent before its partitions are given to others.
const SESSION_MS: u32 = 6_000;

/// Where the brokers are, and what everything of this cluster begins with.
#[derive(Clone)]
pub(super) struct Client {
    brokers: String,
    name: String,
    /// Made when it is needed first; letting go of one blocks.
    admin: Arc<Mutex<Option<Admin>>>,
}

pub(super) type Admin = Arc<AdminClient<Quiet>>;

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("brokers", &self.brokers).field("name", &self.name).finish_non_exhaustive()
    }
}

impl Client {
    pub(super) fn new(brokers: &str, name: &str) -> Self {
        Self { brokers: brokers.to_owned(), name: name.to_owned(), admin: Arc::default() }
    }

    pub(super) fn topic(&self, topic: Topic) -> String {
        format!("{}.{}", self.name, topic.name())
    }

    /// Where a topic's dead letters are.
    pub(super) fn dead(&self, topic: Topic) -> String {
        format!("{}.{}.dead", self.name, topic.name())
    }

    /// The group that reads a topic.
    pub(super) fn group(&self, topic: Topic) -> String {
        self.topic(topic)
    }

    /// The group whose commits say which dead letters were sent again.
    pub(super) fn dead_group(&self) -> String {
        format!("{}.dead", self.name)
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.brokers)
            .set("client.id", &self.name)
            .set("socket.keepalive.enable", "true")
            .set("allow.auto.create.topics", "false")
            // A broker that comes back is found within half a second, not ten.
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "500")
            .set("retry.backoff.ms", "50")
            .set_log_level(RDKafkaLogLevel::Warning);
        config
    }

    pub(super) fn producer(&self) -> Result<FutureProducer<Quiet>, KafkaError> {
        self.config()
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("message.timeout.ms", MESSAGE_TIMEOUT.as_millis().to_string())
            .set("linger.ms", LINGER_MS.to_string())
            .set("queue.buffering.max.messages", WAITING.to_string())
            .set("queue.buffering.max.kbytes", "65536")
            // A topic that was deleted fails its messages now, not in half a minute.
            .set("topic.metadata.propagation.max.ms", "1000")
            .create_with_context(Quiet)
    }

    /// A consumer that asks and never joins its group.
    pub(super) fn asking(&self, group: &str) -> Result<BaseConsumer<Quiet>, BrokerError> {
        let mut config = self.config();
        config.set("group.id", group).set("enable.auto.commit", "false").set("enable.auto.offset.store", "false");
        config.create_with_context(Quiet).map_err(unavailable)
    }

    /// What a member of a group reads by.
    pub(super) fn reading(&self, group: &str) -> ClientConfig {
        let mut config = self.config();
        config
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "earliest")
            .set("session.timeout.ms", SESSION_MS.to_string())
            .set("heartbeat.interval.ms", (SESSION_MS / 4).to_string())
            // A partition that stays where it is goes on being read while others move, and is not
            // read a second time.
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("check.crcs", "true")
            .set("fetch.error.backoff.ms", "100")
            // At most 16 MiB are fetched ahead; once they are taken the next ones come at once.
            .set("queued.min.messages", "10000")
            .set("queued.max.messages.kbytes", "16384")
            .set("fetch.queue.backoff.ms", "20");
        config
    }

    pub(super) fn admin(&self) -> Result<Admin, BrokerError> {
        // A std mutex: a client does no more than start its threads while it is made.
        let mut kept = self.admin.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(admin) = &*kept {
            return Ok(admin.clone());
        }
        let admin: Admin = Arc::new(self.config().create_with_context(Quiet).map_err(unavailable)?);
        *kept = Some(admin.clone());
        Ok(admin)
    }

    /// Lets go of what [`Client::admin`] has made. Blocks.
    pub(super) fn close(&self) {
        self.admin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

/// A client whose driver speaks through our log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Quiet;

impl ClientContext for Quiet {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        said(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        failed(&error, reason);
    }
}

impl ConsumerContext for Quiet {}

/// What the driver logs.
pub(super) fn said(level: RDKafkaLogLevel, facility: &str, message: &str) {
    match level {
        RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
            tracing::error!(facility, message, "kafka");
        }
        // A broker that is away is said once a try.
        RDKafkaLogLevel::Error | RDKafkaLogLevel::Warning => tracing::warn!(facility, message, "kafka"),
        _ => tracing::debug!(facility, message, "kafka"),
    }
}

/// An error that belongs to no call.
pub(super) fn failed(error: &KafkaError, reason: &str) {
    tracing::warn!(%error, reason, "kafka");
}
