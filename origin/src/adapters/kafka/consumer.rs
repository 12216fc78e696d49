//! Reading: one member of a topic's group.
//!
//! Offsets are committed when they are told, never by themselves; the tables are the fence against
//! what is read twice, so a commit is not waited for. While the group changes the broker refuses
//! commits, and others wait for them, also when no message comes any more: each is sent again for a
//! while.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _, ConsumerContext, Rebalance, StreamConsumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::Message as _;
use rdkafka::{Offset, TopicPartitionList};
use tokio::time::{Instant, timeout, timeout_at};

use crate::adapters::kafka::client::Client;
use crate::adapters::kafka::{client, partition_of, unavailable};
use crate::ports::broker::{BrokerError, Consumer, Record, Topic};

/// How long a reader waits for a first message.
const WAIT: Duration = Duration::from_secs(1);
/// How often what was told last is committed again, and for how long: longer than a group changes.
const AGAIN: Duration = Duration::from_secs(1);
const AGAIN_FOR: Duration = Duration::from_secs(60);
/// How long leaving the group may take; after it the broker finds out by itself.
const LEAVE: Duration = Duration::from_secs(3);

type Member = StreamConsumer<Watch>;

pub(super) struct KafkaConsumer {
    topic: Topic,
    name: String,
    /// There until it is closed.
    consumer: Option<Arc<Member>>,
    /// Taken and not handed out yet, since when.
    taken: VecDeque<Record>,
    since: Instant,
    paused: BTreeSet<u32>,
    /// The offsets told, of each partition the last one.
    told: BTreeMap<u32, u64>,
    /// When they were told, and sent.
    last: Instant,
    sent: Instant,
}

impl KafkaConsumer {
    pub(super) fn join(client: &Client, topic: Topic) -> Result<Self, BrokerError> {
        let name = client.topic(topic);
        let config = client.reading(&client.group(topic));
        let consumer: Member = config.create_with_context(Watch::default()).map_err(unavailable)?;
        consumer.subscribe(&[&name]).map_err(unavailable)?;
        Ok(Self {
            topic,
            name,
            consumer: Some(Arc::new(consumer)),
            taken: VecDeque::new(),
            since: Instant::now(),
            paused: BTreeSet::new(),
            told: BTreeMap::new(),
            last: Instant::now(),
            sent: Instant::now(),
        })
    }

    /// Takes one message more; `false` when none came until then.
    async fn take(&mut self, until: Instant) -> Result<bool, BrokerError> {
        let Some(consumer) = self.consumer.clone() else { return Ok(false) };
        loop {
            match timeout_at(until, consumer.recv()).await {
                Err(_) => return Ok(false),
                Ok(Ok(message)) => {
                    self.drop_gone();
                    let partition = u32::try_from(message.partition()).unwrap_or_default();
                    // The driver may still hand out what it had fetched of a partition that is gone.
                    // Behind what was dropped it would be a gap, and what is in the gap a replay.
                    if !self.held(|held| held.partitions.contains(&partition)) {
                        continue;
                    }
                    if self.taken.is_empty() {
                        self.since = Instant::now();
                    }
                    self.taken.push_back(Record {
                        topic: self.topic,
                        partition,
                        offset: u64::try_from(message.offset()).unwrap_or_default(),
                        payload: message.payload().unwrap_or_default().to_vec(),
                    });
                    return Ok(true);
                }
                Ok(Err(error)) if is_fatal(&error) => return Err(BrokerError::Damaged(error.to_string())),
                // The driver has said it in the log, and tries again by itself.
                Ok(Err(_)) => {}
            }
        }
    }

    /// Of a partition that went away nothing is handed out: when it is back, it comes again from
    /// what was committed.
    fn drop_gone(&mut self) {
        let gone = self.held(|held| std::mem::take(&mut held.gone));
        if !gone.is_empty() {
            self.taken.retain(|message| !gone.contains(&message.partition));
        }
    }

    /// What was told of the partitions held.
    fn offsets(&self) -> Result<TopicPartitionList, BrokerError> {
        let held = self.held(|held| held.partitions.clone());
        let mut list = TopicPartitionList::with_capacity(self.told.len());
        for (partition, offset) in self.told.iter().filter(|(partition, _)| held.contains(partition)) {
            let offset = Offset::Offset(i64::try_from(*offset).unwrap_or(i64::MAX));
            list.add_partition_offset(&self.name, partition_of(*partition), offset).map_err(unavailable)?;
        }
        Ok(list)
    }

    /// Sends what was told; whether it arrived is heard later.
    fn send(&mut self) -> Result<(), BrokerError> {
        self.sent = Instant::now();
        let list = self.offsets()?;
        let Some(consumer) = self.consumer.as_ref().filter(|_| list.count() > 0) else { return Ok(()) };
        consumer.commit(&list, CommitMode::Async).map_err(unavailable)
    }

    fn list(&self, partitions: &BTreeSet<u32>) -> TopicPartitionList {
        let mut list = TopicPartitionList::with_capacity(partitions.len());
        for partition in partitions {
            list.add_partition(&self.name, partition_of(*partition));
        }
        list
    }

    /// What is held now, seen or changed by `look`.
    fn held<T: Default>(&self, look: impl FnOnce(&mut Held) -> T) -> T {
        self.consumer.as_ref().map(|consumer| look(&mut consumer.context().held())).unwrap_or_default()
    }
}

fn is_fatal(error: &KafkaError) -> bool {
    matches!(error, KafkaError::MessageConsumptionFatal(_))
        || error.rdkafka_error_code() == Some(RDKafkaErrorCode::Fatal)
}

#[async_trait]
impl Consumer for KafkaConsumer {
    async fn next(&mut self, most: usize, patience: Duration) -> Result<Vec<Record>, BrokerError> {
        if self.sent.elapsed() > AGAIN
            && self.last.elapsed() < AGAIN_FOR
            && let Err(error) = self.send()
        {
            tracing::debug!(%error, "a commit is not sent");
        }
        if self.taken.is_empty() && !self.take(Instant::now() + WAIT).await? {
            return Ok(Vec::new());
        }
        let until = self.since + patience;
        while self.taken.len() < most && self.take(until).await? {}
        self.drop_gone();
        let most = most.min(self.taken.len());
        let batch = self.taken.drain(..most).collect();
        self.since = Instant::now();
        Ok(batch)
    }

    async fn commit(&mut self, offsets: &[(u32, u64)]) -> Result<(), BrokerError> {
        self.told.extend(offsets.iter().copied());
        self.last = Instant::now();
        self.send()
    }

    fn assigned(&mut self) -> Vec<u32> {
        let assigned = self.held(|held| std::mem::take(&mut held.assigned));
        // The driver may remember that one was paused when it was held before.
        if let Some(consumer) = self.consumer.as_ref().filter(|_| !assigned.is_empty())
            && let Err(error) = consumer.resume(&self.list(&assigned.iter().copied().collect()))
        {
            tracing::warn!(topic = self.name, %error, "reading what was assigned");
        }
        assigned
    }

    fn revoked(&mut self) -> Vec<u32> {
        let revoked = self.held(|held| std::mem::take(&mut held.revoked));
        self.paused.retain(|partition| !revoked.contains(partition));
        self.told.retain(|partition, _| !revoked.contains(partition));
        revoked
    }

    fn pause(&mut self, partitions: &BTreeSet<u32>) {
        let (less, more) = (&self.paused - partitions, partitions - &self.paused);
        let Some(consumer) = &self.consumer else { return };
        // A partition that went away meanwhile is no member's to pause; it comes back unpaused.
        let failed =
            [(more, true), (less, false)].into_iter().filter(|(set, _)| !set.is_empty()).find_map(|(set, on)| {
                let list = self.list(&set);
                if on { consumer.pause(&list) } else { consumer.resume(&list) }.err()
            });
        if let Some(error) = failed {
            tracing::warn!(topic = self.name, %error, "pausing");
        }
        self.paused.clone_from(partitions);
    }

    async fn close(mut self: Box<Self>) {
        let committed = self.offsets().unwrap_or_default();
        let Some(consumer) = self.consumer.take() else { return };
        let left = tokio::task::spawn_blocking(move || {
            let answer = if committed.count() > 0 { consumer.commit(&committed, CommitMode::Sync) } else { Ok(()) };
            drop(consumer);
            answer
        });
        match timeout(LEAVE, left).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::info!(topic = self.name, %error, "the last commit"),
            Ok(Err(error)) => tracing::warn!(topic = self.name, %error, "leaving the group"),
            Err(_) => tracing::warn!(topic = self.name, "the broker does not answer: leaving the group without a word"),
        }
    }
}

impl Drop for KafkaConsumer {
    fn drop(&mut self) {
        // Leaving a group blocks.
        if let Some(consumer) = self.consumer.take() {
            std::thread::spawn(move || drop(consumer));
        }
    }
}

/// What a member holds, as the broker gives and takes.
#[derive(Debug, Default)]
struct Held {
    partitions: BTreeSet<u32>,
    assigned: Vec<u32>,
    revoked: Vec<u32>,
    /// Revoked since a message was taken last.
    gone: Vec<u32>,
}

#[derive(Debug, Default)]
pub(super) struct Watch {
    held: Mutex<Held>,
}

impl Watch {
    /// A std mutex: held for a few pushes, never across an await.
    fn held(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientContext for Watch {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, message: &str) {
        client::said(level, facility, message);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        client::failed(&error, reason);
    }
}

impl ConsumerContext for Watch {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let numbers = |list: &TopicPartitionList| -> Vec<u32> {
            list.elements().iter().filter_map(|element| u32::try_from(element.partition()).ok()).collect()
        };
        let mut held = self.held();
        match rebalance {
            Rebalance::Assign(list) => {
                let numbers = numbers(list);
                tracing::info!(partitions = ?numbers, "partitions assigned");
                held.partitions.extend(&numbers);
                held.assigned.extend(numbers);
            }
            Rebalance::Revoke(list) => {
                let numbers = numbers(list);
                tracing::info!(partitions = ?numbers, "partitions revoked");
                held.partitions.retain(|partition| !numbers.contains(partition));
                held.assigned.retain(|partition| !numbers.contains(partition));
                held.revoked.extend(&numbers);
                held.gone.extend(numbers);
            }
            Rebalance::Error(error) => tracing::warn!(%error, "rebalance"),
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, _: &TopicPartitionList) {
        if let Err(error) = result {
            tracing::debug!(%error, "a commit failed");
        }
    }
}
