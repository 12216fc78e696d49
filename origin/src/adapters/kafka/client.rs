//! The driver's settings, the names of topics and groups, and the driver's messages in our log.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rdkafka::admin::AdminClient;
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, Consumer as _, ConsumerContext};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::producer::FutureProducer;

use crate::adapters::kafka::unavailable;
use crate::config::{KafkaSecurity, KafkaServers};
use crate::ports::broker::{BrokerError, Topic};

/// How long a record may take to reach every in-sync replica. The driver looks for records that are
/// over their time once a second, so an append returns after 2.5 s at most.
const MESSAGE_TIMEOUT: Duration = Duration::from_millis(1_500);
/// Records that wait to be sent or acknowledged: half a second of 40,000 a second. One more is refused.
const MAX_QUEUED_RECORDS: usize = 20_000;
/// How long a record waits for others, to be sent with them.
const PRODUCER_LINGER: Duration = Duration::from_millis(2);
/// How long a member of a group may be silent before its partitions are assigned to others.
const SESSION_TIMEOUT: Duration = Duration::from_secs(6);
/// Records and kilobytes that a consumer fetches ahead.
const MIN_PREFETCHED_RECORDS: usize = 10_000;
const MAX_PREFETCHED_KB: usize = 16 * 1_024;
/// Kilobytes of records in the producer's queue.
const MAX_QUEUED_KB: usize = 64 * 1_024;

/// How long is looked for the reason why brokers refuse connections.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);

/// The addresses of the brokers, and the prefix of this cluster's topics and groups.
#[derive(Clone)]
pub(super) struct KafkaClient {
    servers: KafkaServers,
    name: String,
    /// Created with the first use. To drop it blocks.
    admin: Arc<Mutex<Option<KafkaAdmin>>>,
}

pub(super) type KafkaAdmin = Arc<AdminClient<DriverLog>>;

impl fmt::Debug for KafkaClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaClient")
            .field("brokers", &self.servers.brokers)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl KafkaClient {
    pub(super) fn new(servers: &KafkaServers, name: &str) -> Self {
        Self { servers: servers.clone(), name: name.to_owned(), admin: Arc::default() }
    }

    pub(super) fn brokers(&self) -> &str {
        &self.servers.brokers
    }

    /// Replaces the error of brokers that do not answer by why they refuse the connection, where they do: a wrong
    /// password, or a certificate. Only the operator who starts the program waits for it.
    pub(super) async fn explain(&self, error: BrokerError) -> BrokerError {
        if self.servers.security == KafkaSecurity::Plaintext || !matches!(error, BrokerError::Unavailable(_)) {
            return error;
        }
        let client = self.clone();
        let refusal = tokio::task::spawn_blocking(move || client.find_refusal()).await;
        refusal.ok().flatten().map_or(error, |reason| BrokerError::Unavailable(reason.into()))
    }

    /// Connects once more, by a consumer without a group: the other clients do not report what is about no call.
    fn find_refusal(&self) -> Option<String> {
        let refusal: Arc<Mutex<Option<String>>> = Arc::default();
        let log = DriverLog { refusal: Some(refusal.clone()) };
        let consumer: BaseConsumer<DriverLog> = self.config().create_with_context(log).ok()?;
        // It fails; its errors wait for the polls.
        let _ = consumer.fetch_metadata(None, REFUSAL_TIMEOUT);
        let until = Instant::now() + REFUSAL_TIMEOUT;
        while refusal.lock().is_none() && Instant::now() < until {
            let _ = consumer.poll(REFUSAL_TIMEOUT / 20);
        }
        refusal.lock().take()
    }

    pub(super) fn topic_name(&self, topic: Topic) -> String {
        format!("{}.{}", self.name, topic.name())
    }

    /// The topic of a topic's dead letters.
    pub(super) fn dead_topic_name(&self, topic: Topic) -> String {
        format!("{}.{}.dead", self.name, topic.name())
    }

    /// The topic whose first record names the installation that has the topics.
    pub(super) fn owner_topic_name(&self) -> String {
        format!("{}.owner", self.name)
    }

    /// The consumer group of a topic.
    pub(super) fn group_name(&self, topic: Topic) -> String {
        self.topic_name(topic)
    }

    /// The group whose commits say which dead letters were retried.
    pub(super) fn dead_group_name(&self) -> String {
        format!("{}.dead", self.name)
    }

    fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.servers.brokers)
            .set("client.id", &self.name)
            .set("socket.keepalive.enable", "true")
            .set("allow.auto.create.topics", "false")
            // A broker that comes back is found within half a second instead of ten seconds.
            .set("reconnect.backoff.ms", "50")
            .set("reconnect.backoff.max.ms", "500")
            .set("retry.backoff.ms", "50")
            .set_log_level(RDKafkaLogLevel::Warning);
        self.protect(&mut config);
        config
    }

    fn protect(&self, config: &mut ClientConfig) {
        let KafkaServers { security, ca, login, .. } = &self.servers;
        config.set("security.protocol", security.name());
        if security.is_encrypted() {
            config
                .set("enable.ssl.certificate.verification", "true")
                .set("ssl.endpoint.identification.algorithm", "https")
                // Without a file, the driver looks where the system has its certificates.
                .set("ssl.ca.location", ca.as_ref().map_or("probe".into(), |ca| ca.to_string_lossy()));
        }
        if let Some(login) = login {
            config
                .set("sasl.mechanism", login.mechanism.name())
                .set("sasl.username", &login.username)
                .set("sasl.password", login.password.expose());
        }
    }

    pub(super) fn producer(&self) -> Result<FutureProducer<DriverLog>, KafkaError> {
        self.config()
            .set("acks", "all")
            .set("enable.idempotence", "true")
            .set("message.timeout.ms", MESSAGE_TIMEOUT.as_millis().to_string())
            .set("linger.ms", PRODUCER_LINGER.as_millis().to_string())
            .set("queue.buffering.max.messages", MAX_QUEUED_RECORDS.to_string())
            .set("queue.buffering.max.kbytes", MAX_QUEUED_KB.to_string())
            // The records of a deleted topic fail at once instead of after half a minute.
            .set("topic.metadata.propagation.max.ms", "1000")
            .create_with_context(DriverLog::default())
    }

    /// A consumer that only runs queries and never joins its group.
    pub(super) fn query_consumer(&self, group: &str) -> Result<BaseConsumer<DriverLog>, BrokerError> {
        let mut config = self.config();
        config.set("group.id", group).set("enable.auto.commit", "false").set("enable.auto.offset.store", "false");
        config.create_with_context(DriverLog::default()).map_err(unavailable)
    }

    /// A consumer that reads what it is assigned and is in no group.
    pub(super) fn reader(&self) -> Result<BaseConsumer<DriverLog>, KafkaError> {
        let mut config = self.config();
        config
            .set("group.id", format!("{}.reader", self.name))
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "earliest")
            .set("check.crcs", "true");
        config.create_with_context(DriverLog::default())
    }

    /// The settings of a member of a group.
    pub(super) fn consumer_config(&self, group: &str) -> ClientConfig {
        let mut config = self.config();
        config
            .set("group.id", group)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("auto.offset.reset", "earliest")
            .set("session.timeout.ms", SESSION_TIMEOUT.as_millis().to_string())
            .set("heartbeat.interval.ms", (SESSION_TIMEOUT / 4).as_millis().to_string())
            // A partition that keeps its member is read on while others move, and is not read twice.
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("check.crcs", "true")
            .set("fetch.error.backoff.ms", "100")
            .set("queued.min.messages", MIN_PREFETCHED_RECORDS.to_string())
            .set("queued.max.messages.kbytes", MAX_PREFETCHED_KB.to_string())
            // When the prefetched records are taken, the next fetch starts after this time.
            .set("fetch.queue.backoff.ms", "20");
        config
    }

    pub(super) fn admin(&self) -> Result<KafkaAdmin, BrokerError> {
        // A mutex across no await: to create a client only starts its threads.
        let mut kept = self.admin.lock();
        if let Some(admin) = &*kept {
            return Ok(admin.clone());
        }
        let admin: KafkaAdmin = Arc::new(self.config().create_with_context(DriverLog::default()).map_err(unavailable)?);
        *kept = Some(admin.clone());
        Ok(admin)
    }

    /// Drops the client that [`KafkaClient::admin`] created. Blocks.
    pub(super) fn close(&self) {
        self.admin.lock().take();
    }
}

/// Writes the driver's messages into our log.
#[derive(Debug, Clone, Default)]
pub(super) struct DriverLog {
    /// Where the reason is kept why a broker refused a connection.
    refusal: Option<Arc<Mutex<Option<String>>>>,
}

impl ClientContext for DriverLog {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        log_driver_message(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code();
        if let (Some(refusal), Some(RDKafkaErrorCode::Authentication | RDKafkaErrorCode::SSL)) = (&self.refusal, code) {
            *refusal.lock() = Some(reason.to_owned());
        }
        log_driver_error(&error, reason);
    }
}

impl ConsumerContext for DriverLog {}

pub(super) fn log_driver_message(level: RDKafkaLogLevel, facility: &str, message: &str) {
    match level {
        RDKafkaLogLevel::Emerg | RDKafkaLogLevel::Alert | RDKafkaLogLevel::Critical => {
            tracing::error!(facility, "Kafka driver, {facility}: {message}");
        }
        // A broker that is away is reported once for each attempt to connect.
        RDKafkaLogLevel::Error | RDKafkaLogLevel::Warning => {
            tracing::warn!(facility, "Kafka driver, {facility}: {message}");
        }
        _ => tracing::debug!(facility, "Kafka driver, {facility}: {message}"),
    }
}

/// Logs an error that belongs to no call.
pub(super) fn log_driver_error(error: &KafkaError, reason: &str) {
    tracing::warn!(%error, reason, "Kafka driver: {reason}");
}
