//! The broker as Kafka: topics `{name}.comments`, `{name}.reactions` and `{name}.rebuild`, each with a
//! dead-letter topic `.dead` beside it.
//!
//! The driver's settings are in `client`; `producer` appends, `consumer` reads, `dead_letters` keeps
//! failed records, `topics` creates and checks topics. Promise: a record whose append returned an
//! offset is on every in-sync replica, one that was refused as `Full` is nowhere, and nothing is sent
//! after its append has returned. While a partition does not answer, nothing is sent to it.

mod client;
mod consumer;
mod dead_letters;
mod producer;
#[cfg(test)]
mod tests;
mod topics;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use gailou_shared::id::Slot;
use parking_lot::Mutex;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use crate::adapters::kafka::client::{DriverLog, KafkaClient};
use crate::adapters::kafka::consumer::KafkaConsumer;
use crate::adapters::kafka::producer::KafkaProducer;
use crate::circuit_breaker::CircuitBreaker;
use crate::config::KafkaServers;
use crate::ports::broker::{
    Broker, BrokerError, Consumer, DeadLetter, DeadLetters, PartitionOffsets, Producer, Record, Topic,
};
use crate::ports::failure::Failure;
use crate::telemetry::measure_call;

/// How long a query to the broker may take.
const QUERY_TIMEOUT: Duration = Duration::from_millis(500);

/// The topics of one cluster. The producer and the queries have one connection each; every consumer
/// has its own.
pub struct KafkaBroker {
    client: KafkaClient,
    producer: Arc<KafkaProducer>,
    partitions: u32,
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

impl KafkaBroker {
    /// Connects to the brokers and reads the number of partitions.
    ///
    /// # Errors
    /// [`BrokerError::Unavailable`] when no broker answers; [`BrokerError::Damaged`] when a topic is
    /// missing, or the topics have different numbers of partitions.
    pub async fn open(servers: &KafkaServers, name: &str) -> Result<Self, BrokerError> {
        let client = KafkaClient::new(servers, name);
        let partitions = match topics::read_partition_count(&client).await {
            Ok(partitions) => partitions,
            Err(error) => return Err(client.explain(error).await),
        };
        let producer = Arc::new(KafkaProducer::new(client.clone())?);
        let breakers = Topic::ALL.iter().flat_map(|topic| {
            (0..partitions).map(|partition| CircuitBreaker::new("kafka", format!("{}[{partition}]", topic.name())))
        });
        Ok(Self { client, producer, partitions, breakers: breakers.collect(), query_consumers: Mutex::default() })
    }

    /// Creates the topics that are missing.
    ///
    /// The number of partitions is fixed by the first call: a record's offset is the version of its
    /// operation, and in another partition a slot would begin at offset 0 again.
    ///
    /// # Errors
    /// [`BrokerError::Unavailable`] when no broker answers; [`BrokerError::Damaged`] when the topics
    /// exist with another number of partitions, or cannot be created.
    pub async fn migrate(
        servers: &KafkaServers,
        name: &str,
        partitions: u32,
        replication: u16,
    ) -> Result<(), BrokerError> {
        let client = KafkaClient::new(servers, name);
        let migrated = topics::create_missing(&client, partitions, replication).await;
        let migrated = match migrated {
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

/// Runs a blocking call on a thread for it, measured as `operation`.
async fn run_blocking<T: Send + 'static>(
    operation: &'static str,
    call: impl FnOnce() -> Result<T, KafkaError> + Send + 'static,
) -> Result<T, BrokerError> {
    let answer = measure_call("kafka", operation, tokio::task::spawn_blocking(call)).await;
    answer.map_err(|error| BrokerError::Unavailable(Failure::of_driver(error)))?.map_err(unavailable)
}

fn unavailable(error: KafkaError) -> BrokerError {
    BrokerError::Unavailable(Failure::of_driver(error))
}

/// A partition's number as the driver has it.
fn driver_partition(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[async_trait]
impl Producer for KafkaBroker {
    async fn append_record(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError> {
        let partition = self.partition_of(slot);
        let breaker = self.breaker_of(topic, partition);
        if !breaker.try_call(Instant::now()) {
            return Err(BrokerError::NotSent);
        }
        let (name, partition) = (self.client.topic_name(topic), driver_partition(partition));
        let sent = self.producer.send("append_record", &name, partition, &payload, None).await;
        match &sent {
            Ok(_) => breaker.record_success(),
            Err(BrokerError::Unavailable(_)) => breaker.record_failure(Instant::now()),
            Err(_) => {}
        }
        sent
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

    async fn end_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        let name = self.client.topic_name(topic);
        let query = move |consumer: &BaseConsumer<_>| {
            consumer.fetch_watermarks(&name, driver_partition(partition), QUERY_TIMEOUT).map(|(_, high)| high)
        };
        let high = self.run_query("end_offset", self.client.group_name(topic), query).await?;
        u64::try_from(high).map_err(|_| {
            BrokerError::Damaged(format!("partition {partition} of {} ends at {high}", topic.name()).into())
        })
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
            Offset::Offset(offset) => Ok(u64::try_from(offset).unwrap_or(0)),
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
        Ok(Box::new(KafkaConsumer::join(&self.client, topic)?))
    }

    async fn check_topics(&self) -> Result<Vec<String>, BrokerError> {
        topics::check(&self.client).await
    }
}
