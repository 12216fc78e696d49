//! The log in Kafka: topics `{name}.comments`, `.reactions` and `.rebuild`, each with a `.dead` one
//! for what could not be stored.
//!
//! Settings of the driver are in `client`, appending in `producer`, reading in `reader`, dead
//! letters in `letters`, making and checking topics in `topics`. Promise: what an append
//! answered with its offset is on every in-sync replica, what it answered `Full` is nowhere, and
//! nothing is sent any more once an append has answered.

mod client;
mod consumer;
mod dead_letters;
mod producer;
#[cfg(test)]
mod tests;
mod topics;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::{Offset, TopicPartitionList};

use crate::adapters::kafka::client::{Client, Quiet};
use crate::adapters::kafka::producer::Sender;
use crate::ports::broker::{Broker, BrokerError, Consumer, DeadLetter, Record, Topic};

/// How long a question to the broker may take.
const ASK: Duration = Duration::from_millis(500);

/// Producer and questions share one connection each; every reader has its own.
pub struct KafkaBroker {
    client: Client,
    sender: Arc<Sender>,
    partitions: u32,
    asking: Mutex<HashMap<String, Asking>>,
}

/// A consumer that belongs to a group only to ask what it has committed.
type Asking = Arc<BaseConsumer<Quiet>>;

impl fmt::Debug for KafkaBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kafka")
            .field("client", &self.client)
            .field("partitions", &self.partitions)
            .finish_non_exhaustive()
    }
}

impl KafkaBroker {
    /// Connects to the brokers (`host:port`, comma-separated) and reads how many partitions the
    /// topics have.
    ///
    /// # Errors
    /// [`LogError::Unavailable`] when no broker answers, [`LogError::Damaged`] when a topic is
    /// missing or the topics are not alike.
    pub async fn open(brokers: &str, name: &str) -> Result<Self, BrokerError> {
        let client = Client::new(brokers, name);
        let partitions = topics::partitions(&client).await?;
        let sender = Arc::new(Sender::new(client.clone())?);
        Ok(Self { client, sender, partitions, asking: Mutex::default() })
    }

    /// Makes the topics that are missing.
    ///
    /// The number of partitions is fixed once the topics are there: an event's offset is its
    /// version, and a slot that changed its partition would begin to count again.
    ///
    /// # Errors
    /// [`LogError::Unavailable`] when no broker answers, [`LogError::Damaged`] when topics are there
    /// with another number of partitions, or cannot be made.
    pub async fn migrate(brokers: &str, name: &str, partitions: u32, replication: u16) -> Result<(), BrokerError> {
        let client = Client::new(brokers, name);
        let made = topics::migrate(&client, partitions, replication).await;
        blocking(move || {
            client.close();
            Ok(made)
        })
        .await?
    }

    /// The consumer that asks for a group.
    fn asking(&self, group: &str) -> Result<Asking, BrokerError> {
        // A std mutex: no consumer does more than start its threads while it is made.
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(consumer) = asking.get(group) {
            return Ok(consumer.clone());
        }
        let consumer: Asking = Arc::new(self.client.asking(group)?);
        asking.insert(group.to_owned(), consumer.clone());
        Ok(consumer)
    }

    /// Puts a question that blocks.
    async fn ask<T: Send + 'static>(
        &self,
        group: String,
        question: impl FnOnce(&BaseConsumer<Quiet>) -> Result<T, KafkaError> + Send + 'static,
    ) -> Result<T, BrokerError> {
        let consumer = self.asking(&group)?;
        blocking(move || question(&consumer)).await
    }
}

/// Runs what blocks on a thread where it may.
async fn blocking<T: Send + 'static>(
    question: impl FnOnce() -> Result<T, KafkaError> + Send + 'static,
) -> Result<T, BrokerError> {
    let answer = tokio::task::spawn_blocking(question).await;
    answer.map_err(|error| BrokerError::Unavailable(error.to_string()))?.map_err(unavailable)
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn unavailable(error: KafkaError) -> BrokerError {
    BrokerError::Unavailable(error.to_string())
}

fn partition_of(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[async_trait]
impl Broker for KafkaBroker {
    fn partitions(&self) -> u32 {
        self.partitions
    }

    async fn append(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError> {
        self.sender.send(&self.client.topic(topic), partition_of(self.partition(slot)), &payload, None).await
    }

    async fn end(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        let name = self.client.topic(topic);
        let question = move |consumer: &BaseConsumer<_>| {
            consumer.fetch_watermarks(&name, partition_of(partition), ASK).map(|(_, high)| high)
        };
        let high = self.ask(self.client.group(topic), question).await?;
        u64::try_from(high).map_err(|_| BrokerError::Damaged(format!("{} ends at {high}", topic.name())))
    }

    async fn committed(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        let name = self.client.topic(topic);
        let question = move |consumer: &BaseConsumer<_>| {
            let mut asked = TopicPartitionList::new();
            asked.add_partition(&name, partition_of(partition));
            let answer = consumer.committed_offsets(asked, ASK)?;
            match answer.elements().first() {
                Some(element) => element.error().map(|()| element.offset()),
                None => Ok(Offset::Invalid),
            }
        };
        match self.ask(self.client.group(topic), question).await? {
            Offset::Offset(offset) => Ok(u64::try_from(offset).unwrap_or(0)),
            _ => Ok(0),
        }
    }

    fn consumer(&self, topic: Topic) -> Result<Box<dyn Consumer>, BrokerError> {
        Ok(Box::new(consumer::KafkaConsumer::join(&self.client, topic)?))
    }

    async fn dead_letter(&self, message: &Record, error: &str, at: u64) -> Result<(), BrokerError> {
        dead_letters::bury(&self.client, &self.sender, message, error, at).await
    }

    async fn dead_letters(&self, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
        dead_letters::unsent(&self.client, topic).await
    }

    async fn mark_retried(&self, topic: Topic, offset: u64) -> Result<(), BrokerError> {
        dead_letters::retried(&self.client, topic, offset).await
    }

    async fn check(&self) -> Result<Vec<String>, BrokerError> {
        topics::check(&self.client).await
    }

    async fn close(&self) {
        self.sender.close().await;
        let asking = std::mem::take(&mut *self.asking.lock().unwrap_or_else(PoisonError::into_inner));
        let client = self.client.clone();
        // Letting go of a client waits for its threads.
        let closed = tokio::task::spawn_blocking(move || {
            drop(asking);
            client.close();
        });
        if let Err(error) = closed.await {
            tracing::warn!(%error, "closing");
        }
    }
}
