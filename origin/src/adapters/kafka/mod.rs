//! The broker as Kafka: topics `{name}.comments`, `{name}.reactions` and `{name}.rebuild`, each with a
//! dead-letter topic `.dead` beside it, and `{name}.owner`.
//!
//! The driver's settings are in `client`; `producer` appends, `consumer` reads, `dead_letters` keeps
//! failed records, `topics` creates and checks topics, `owner` knows whose they are. Promise: a record
//! whose append returned an offset is on every in-sync replica, one that was refused as `Full` is nowhere,
//! and nothing is sent after its append has returned. While a partition does not answer, nothing is sent to it.

mod client;
mod consumer;
mod dead_letters;
pub(crate) mod log_offsets;
mod owner;
mod producer;
mod record_reader;
#[cfg(test)]
mod tests;
mod topics;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use gailou_shared::id::Slot;
use parking_lot::Mutex;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::{Offset, TopicPartitionList};
use tokio::time::sleep;

use crate::adapters::kafka::client::{DriverLog, KafkaClient};
use crate::adapters::kafka::consumer::KafkaConsumer;
use crate::adapters::kafka::log_offsets::LogOffsets;
use crate::adapters::kafka::producer::KafkaProducer;
use crate::circuit_breaker::CircuitBreaker;
use crate::config::KafkaServers;
use crate::domain::broker_state::BrokerState;
use crate::ports::broker::{
    Broker, BrokerError, Consumer, DeadLetter, DeadLetters, PartitionOffsets, Producer, Record, Topic,
};
use crate::ports::failure::Failure;
use crate::telemetry::measure_call;
use crate::telemetry::trace::{TRACE_PARENT, current_parent};

/// How long a query to the broker may take.
const QUERY_TIMEOUT: Duration = Duration::from_millis(500);
/// The pause between two attempts to check the topics.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The topics of one cluster. The producer and the queries have one connection each; every consumer
/// has its own.
pub struct KafkaBroker {
    client: KafkaClient,
    producer: Arc<KafkaProducer>,
    partitions: u32,
    installation: Option<String>,
    offsets: Arc<LogOffsets>,
    /// Whether the topics are known to have so many partitions, and to be the installation's. Nothing is appended or
    /// consumed before that.
    is_checked: AtomicBool,
    /// Of each topic's partitions, whose leaders fail by themselves: see [`KafkaBroker::breaker_of`].
    breakers: Vec<CircuitBreaker>,
    /// By consumer group.
    query_consumers: Mutex<HashMap<String, QueryConsumer>>,
}

/// A consumer that is in a group only to read the group's committed offsets.
type QueryConsumer = Arc<BaseConsumer<DriverLog>>;

impl fmt::Debug for KafkaBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KafkaBroker")
            .field("client", &self.client)
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}

/// What the topics must be. Nothing is expected of what is `None`.
#[derive(Debug, Clone, Default)]
pub struct ExpectedTopics {
    /// The number of partitions of each.
    pub partitions: Option<u32>,
    /// The id of the installation that has them.
    pub installation: Option<String>,
}

/// What the topics are.
struct FoundTopics {
    partitions: u32,
    cluster_id: Option<String>,
}

impl KafkaBroker {
    /// Connects to the brokers and compares the topics with what they must be. While no broker answers, there are as
    /// many partitions as there must be, and [`KafkaBroker::check_until_known`] compares later.
    ///
    /// # Errors
    /// [`BrokerError::Unavailable`] when no broker answers and no number of partitions is expected;
    /// [`BrokerError::Damaged`] when a topic is missing, or the topics have different numbers of partitions, or not as
    /// many as expected; [`BrokerError::NotOwned`] when another installation has them.
    pub async fn open(servers: &KafkaServers, name: &str, expected: ExpectedTopics) -> Result<Self, BrokerError> {
        let client = KafkaClient::new(servers, name);
        let ExpectedTopics { partitions, installation } = expected;
        let found = match compare_topics(&client, partitions, installation.as_deref()).await {
            Ok(found) => Ok(found),
            Err(error) => Err(client.explain(error).await),
        };
        let (found, is_checked) = match (found, partitions) {
            (Ok(found), _) => (found, true),
            (Err(BrokerError::Unavailable(problem)), Some(partitions)) => {
                let (brokers, problem) = (client.brokers(), problem.to_string());
                tracing::warn!(
                    brokers,
                    problem,
                    "The brokers {brokers} do not answer yet; nothing is appended until they do"
                );
                (FoundTopics { partitions, cluster_id: None }, false)
            }
            (Err(error), _) => return Err(error),
        };
        let partitions = found.partitions;
        let offsets = LogOffsets::default();
        offsets.see_cluster(found.cluster_id.as_deref());
        let producer = Arc::new(KafkaProducer::new(client.clone())?);
        let breakers = Topic::ALL.iter().flat_map(|topic| {
            (0..partitions).map(|partition| CircuitBreaker::new("kafka", format!("{}[{partition}]", topic.name())))
        });
        Ok(Self {
            client,
            producer,
            partitions,
            installation,
            offsets: Arc::new(offsets),
            is_checked: AtomicBool::new(is_checked),
            breakers: breakers.collect(),
            query_consumers: Mutex::default(),
        })
    }

    /// Compares the topics as soon as a broker answers, if that has not been done.
    ///
    /// # Errors
    /// [`BrokerError::Damaged`] and [`BrokerError::NotOwned`]: see [`KafkaBroker::open`].
    pub async fn check_until_known(&self) -> Result<(), BrokerError> {
        while !self.is_checked.load(Ordering::Relaxed) {
            match compare_topics(&self.client, Some(self.partitions), self.installation.as_deref()).await {
                Ok(found) => {
                    self.offsets.see_cluster(found.cluster_id.as_deref());
                    self.is_checked.store(true, Ordering::Relaxed);
                    let brokers = self.client.brokers();
                    tracing::info!(brokers, "The brokers {brokers} answer");
                }
                Err(BrokerError::Unavailable(_)) => sleep(CHECK_INTERVAL).await,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Why the installation has stopped the broker.
    pub fn stopped(&self) -> Option<String> {
        self.offsets.stopped()
    }

    /// Creates the topics that are missing, with so many partitions as there must be; without a number as many as the
    /// others have, or 16. Claims them for the installation, unless they have an owner.
    ///
    /// The number of partitions is fixed by the first call: a record's offset is the version of its
    /// operation, and in another partition a slot would begin at offset 0 again.
    ///
    /// # Errors
    /// [`BrokerError::Unavailable`] when no broker answers; [`BrokerError::Damaged`] when the topics
    /// exist with another number of partitions, or cannot be created; [`BrokerError::NotOwned`] when another
    /// installation has them, and then nothing was created.
    pub async fn migrate(
        servers: &KafkaServers,
        name: &str,
        expected: ExpectedTopics,
        replication: u16,
    ) -> Result<(), BrokerError> {
        let client = KafkaClient::new(servers, name);
        let migrated = match migrate_topics(&client, &expected, replication).await {
            Ok(()) => Ok(()),
            Err(error) => Err(client.explain(error).await),
        };
        run_blocking("close", move || {
            client.close();
            Ok(migrated)
        })
        .await?
    }

    /// The breaker of a partition.
    fn breaker_of(&self, topic: Topic, partition: u32) -> &CircuitBreaker {
        &self.breakers[topic as usize * self.partitions as usize + partition as usize]
    }

    /// The consumer for queries about a group.
    fn query_consumer(&self, group: &str) -> Result<QueryConsumer, BrokerError> {
        // A mutex across no await: to create a consumer only starts its threads.
        let mut consumers = self.query_consumers.lock();
        if let Some(consumer) = consumers.get(group) {
            return Ok(consumer.clone());
        }
        let consumer: QueryConsumer = Arc::new(self.client.query_consumer(group)?);
        consumers.insert(group.to_owned(), consumer.clone());
        Ok(consumer)
    }

    /// The offsets of the first record of a partition, and after its last.
    async fn watermarks(
        &self,
        operation: &'static str,
        topic: Topic,
        partition: u32,
    ) -> Result<Range<u64>, BrokerError> {
        let name = self.client.topic_name(topic);
        let query = move |consumer: &BaseConsumer<_>| {
            consumer.fetch_watermarks(&name, driver_partition(partition), QUERY_TIMEOUT)
        };
        let (low, high) = self.run_query(operation, self.client.group_name(topic), query).await?;
        match (u64::try_from(low), u64::try_from(high)) {
            (Ok(low), Ok(high)) => {
                let position = |offset| self.offsets.position(topic, partition, offset);
                Ok(position(low)..position(high))
            }
            _ => {
                let text = format!("partition {partition} of {} is from {low} to {high}", topic.name());
                Err(BrokerError::Damaged(text.into()))
            }
        }
    }

    /// Runs a blocking query about a group, measured as `operation`.
    async fn run_query<T: Send + 'static>(
        &self,
        operation: &'static str,
        group: String,
        query: impl FnOnce(&BaseConsumer<DriverLog>) -> Result<T, KafkaError> + Send + 'static,
    ) -> Result<T, BrokerError> {
        let consumer = self.query_consumer(&group)?;
        run_blocking(operation, move || query(&consumer)).await
    }
}

/// Compares the topics with what they must be.
async fn compare_topics(
    client: &KafkaClient,
    expected: Option<u32>,
    installation: Option<&str>,
) -> Result<FoundTopics, BrokerError> {
    let check_owner = async {
        match installation {
            Some(installation) => owner::check(client, installation).await,
            None => Ok(()),
        }
    };
    let (partitions, cluster_id, ()) =
        tokio::try_join!(topics::read_partition_count(client), topics::read_cluster_id(client), check_owner)?;
    match expected {
        Some(expected) if partitions != expected => {
            let text =
                format!("the topics have {partitions} partitions, and had {expected}: the number can never change");
            Err(BrokerError::Damaged(text.into()))
        }
        _ => Ok(FoundTopics { partitions, cluster_id }),
    }
}

async fn migrate_topics(client: &KafkaClient, expected: &ExpectedTopics, replication: u16) -> Result<(), BrokerError> {
    if let Some(installation) = &expected.installation {
        owner::check(client, installation).await?;
    }
    topics::create_missing(client, expected.partitions, replication).await?;
    match &expected.installation {
        Some(installation) => owner::claim(client, installation, replication).await,
        None => Ok(()),
    }
}

/// Runs a blocking call on a thread for it, measured as `operation`.
async fn run_blocking<T: Send + 'static>(
    operation: &'static str,
    call: impl FnOnce() -> Result<T, KafkaError> + Send + 'static,
) -> Result<T, BrokerError> {
    let answer = async {
        let answer = tokio::task::spawn_blocking(call).await;
        answer.map_err(|error| BrokerError::Unavailable(Failure::of_driver(error)))?.map_err(unavailable)
    };
    measure_call("kafka", operation, answer).await
}

fn unavailable(error: KafkaError) -> BrokerError {
    BrokerError::Unavailable(Failure::of_driver(error))
}

/// The headers that hand the current trace on.
fn trace_headers() -> Option<OwnedHeaders> {
    let parent = current_parent()?;
    Some(OwnedHeaders::new().insert(Header { key: TRACE_PARENT, value: Some(&parent) }))
}

/// A partition's number as the driver has it.
fn driver_partition(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[async_trait]
impl Producer for KafkaBroker {
    async fn append_record(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError> {
        if let Some(reason) = self.offsets.stopped() {
            return Err(BrokerError::Stopped(reason.into()));
        }
        let partition = self.partition_of(slot);
        let breaker = self.breaker_of(topic, partition);
        if !self.is_checked.load(Ordering::Relaxed) || !breaker.try_call(Instant::now()) {
            return Err(BrokerError::NotSent);
        }
        let name = self.client.topic_name(topic);
        let sent =
            self.producer.send("append_record", &name, driver_partition(partition), &payload, trace_headers()).await;
        match &sent {
            Ok(_) => breaker.record_success(),
            Err(BrokerError::Unavailable(_)) => breaker.record_failure(Instant::now()),
            Err(_) => {}
        }
        sent.map(|offset| self.offsets.position(topic, partition, offset))
    }

    async fn close(&self) {
        self.producer.close().await;
        let consumers = std::mem::take(&mut *self.query_consumers.lock());
        let client = self.client.clone();
        // To drop a client waits for its threads.
        let closed = tokio::task::spawn_blocking(move || {
            drop(consumers);
            client.close();
        });
        if let Err(error) = closed.await {
            tracing::warn!(brokers = self.client.brokers(), %error, "Could not close the connections to {}", self.client.brokers());
        }
    }
}

#[async_trait]
impl PartitionOffsets for KafkaBroker {
    fn partition_count(&self) -> u32 {
        self.partitions
    }

    fn accept_count(&self) -> u64 {
        self.offsets.accept_count()
    }

    fn base(&self, topic: Topic, partition: u32) -> u64 {
        self.offsets.base(topic, partition)
    }

    async fn first_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        Ok(self.watermarks("first_offset", topic, partition).await?.start)
    }

    async fn end_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        Ok(self.watermarks("end_offset", topic, partition).await?.end)
    }

    async fn read_record(&self, topic: Topic, partition: u32, offset: u64) -> Result<Option<Record>, BrokerError> {
        let Some(raw) = self.offsets.offset(topic, partition, offset) else { return Ok(None) };
        let (client, name) = (self.client.clone(), self.client.topic_name(topic));
        let read = move || record_reader::read(&client, &name, partition, raw);
        let payload = run_blocking("read_record", read).await?;
        Ok(payload.map(|payload| Record { topic, partition, offset, payload, trace_parent: None }))
    }

    async fn committed_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        let name = self.client.topic_name(topic);
        let query = move |consumer: &BaseConsumer<_>| {
            let mut list = TopicPartitionList::new();
            list.add_partition(&name, driver_partition(partition));
            let answer = consumer.committed_offsets(list, QUERY_TIMEOUT)?;
            match answer.elements().first() {
                Some(element) => element.error().map(|()| element.offset()),
                None => Ok(Offset::Invalid),
            }
        };
        match self.run_query("committed_offset", self.client.group_name(topic), query).await? {
            Offset::Offset(offset) => Ok(self.offsets.position(topic, partition, u64::try_from(offset).unwrap_or(0))),
            _ => Ok(0),
        }
    }
}

#[async_trait]
impl DeadLetters for KafkaBroker {
    async fn put_dead_letter(&self, record: &Record, error: &str, failed_at_ms: u64) -> Result<(), BrokerError> {
        dead_letters::put(&self.client, &self.producer, record, error, failed_at_ms).await
    }

    async fn list_dead_letters(&self, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
        dead_letters::list(&self.client, topic).await
    }

    async fn mark_retried(&self, topic: Topic, offset: u64) -> Result<(), BrokerError> {
        dead_letters::mark_retried(&self.client, topic, offset).await
    }
}

#[async_trait]
impl Broker for KafkaBroker {
    fn subscribe(&self, topic: Topic) -> Result<Box<dyn Consumer>, BrokerError> {
        if !self.is_checked.load(Ordering::Relaxed) {
            return Err(BrokerError::Unavailable("the topics were not checked yet".into()));
        }
        if let Some(reason) = self.offsets.other_cluster() {
            return Err(BrokerError::Stopped(reason.into()));
        }
        Ok(Box::new(KafkaConsumer::join(&self.client, topic, self.offsets.clone())?))
    }

    fn follow(&self, state: &BrokerState) {
        self.offsets.follow(state);
    }

    async fn read_cluster_id(&self) -> Result<Option<String>, BrokerError> {
        if !self.is_checked.load(Ordering::Relaxed) {
            return Err(BrokerError::Unavailable("the topics were not checked yet".into()));
        }
        let cluster_id = topics::read_cluster_id(&self.client).await?;
        self.offsets.see_cluster(cluster_id.as_deref());
        Ok(cluster_id)
    }

    async fn reset_committed(&self, topic: Topic, partition: u32, offset: u64) -> Result<(), BrokerError> {
        let (name, group) = (self.client.topic_name(topic), self.client.group_name(topic));
        let raw = self.offsets.offset(topic, partition, offset).unwrap_or(0);
        let commit = move |consumer: &BaseConsumer<_>| {
            let mut list = TopicPartitionList::new();
            let to = Offset::Offset(i64::try_from(raw).unwrap_or(i64::MAX));
            list.add_partition_offset(&name, driver_partition(partition), to)?;
            consumer.commit(&list, CommitMode::Sync)
        };
        self.run_query("reset_committed", group, commit).await
    }

    async fn check_topics(&self) -> Result<Vec<String>, BrokerError> {
        topics::check(&self.client).await
    }
}
