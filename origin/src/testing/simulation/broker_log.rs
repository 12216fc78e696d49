//! The broker: partitions of records, what the groups have committed, and the port as one process reaches it.
//!
//! Promises what Kafka promises with one replica: a record whose append was answered is in its partition at that
//! offset until the log is damaged; an append without an answer is there or not; offsets of a partition grow by one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use async_trait::async_trait;
use gailou_shared::id::Slot;
use tokio::sync::Notify;

use crate::adapters::kafka::log_offsets::LogOffsets;
use crate::domain::broker_state::BrokerState;
use crate::ports::broker::{
    Broker, BrokerError, Consumer, DeadLetter, DeadLetters, PartitionOffsets, Producer, Record, Topic,
};
use crate::testing::faults::lock;
use crate::testing::simulation::consumer_group::{ConsumerGroup, SimulatedConsumer};
use crate::testing::simulation::world::{Node, Server, Unanswered};

/// One partition of a topic.
#[derive(Debug, Default)]
pub(super) struct PartitionLog {
    pub(super) records: Vec<Vec<u8>>,
    /// Where it was cut, each time it was damaged. Consumers that have read beyond notice, as they do by the epoch
    /// of a leader.
    pub(super) cuts: Vec<u64>,
    pub(super) committed: u64,
}

#[derive(Debug, Default)]
pub(super) struct Logs {
    pub(super) partitions: BTreeMap<(Topic, u32), PartitionLog>,
    pub(super) groups: BTreeMap<Topic, ConsumerGroup>,
    pub(super) dead_letters: Vec<DeadLetter>,
    /// How often another cluster has taken its place.
    replaced: u64,
}

/// The broker itself.
#[derive(Debug)]
pub(super) struct BrokerServer {
    pub(super) partitions: u32,
    logs: Mutex<Logs>,
    pub(super) appended: Notify,
}

impl BrokerServer {
    pub(super) fn new(partitions: u32) -> Arc<Self> {
        let logs = Logs {
            partitions: Topic::ALL
                .iter()
                .flat_map(|topic| (0..partitions).map(|part| ((*topic, part), PartitionLog::default())))
                .collect(),
            groups: Topic::ALL.iter().map(|topic| (*topic, ConsumerGroup::new(partitions))).collect(),
            dead_letters: vec![],
            replaced: 0,
        };
        Arc::new(Self { partitions, logs: Mutex::new(logs), appended: Notify::new() })
    }

    pub(super) fn logs(&self) -> MutexGuard<'_, Logs> {
        lock(&self.logs)
    }

    /// Loses the records of a partition from an offset on.
    pub(super) fn truncate(&self, topic: Topic, partition: u32, offset: u64) {
        let mut logs = self.logs();
        let Some(log) = logs.partitions.get_mut(&(topic, partition)) else { return };
        if (offset as usize) < log.records.len() {
            log.records.truncate(offset as usize);
            log.cuts.push(offset);
        }
    }

    /// Deletes a topic and makes it again.
    pub(super) fn recreate(&self, topic: Topic) {
        let mut logs = self.logs();
        for (_, log) in logs.partitions.iter_mut().filter(|((of, _), _)| *of == topic) {
            let mut cuts = std::mem::take(&mut log.cuts);
            cuts.push(0);
            *log = PartitionLog { cuts, ..PartitionLog::default() };
        }
    }

    /// Another cluster takes its place, with empty topics.
    pub(super) fn replace(&self) {
        Topic::ALL.iter().for_each(|topic| self.recreate(*topic));
        self.logs().replaced += 1;
    }

    fn append(&self, topic: Topic, partition: u32, payload: Vec<u8>) -> u64 {
        let mut logs = self.logs();
        let log = logs.partitions.entry((topic, partition)).or_default();
        log.records.push(payload);
        self.appended.notify_waiters();
        log.records.len() as u64 - 1
    }
}

/// The broker as one process reaches it.
#[derive(Clone)]
pub(super) struct SimulatedBroker {
    pub(super) node: Arc<Node>,
    pub(super) server: Arc<BrokerServer>,
    pub(super) offsets: Arc<LogOffsets>,
}

impl fmt::Debug for SimulatedBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedBroker")
    }
}

impl From<Unanswered> for BrokerError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Refused => Self::Unavailable("refused".into()),
            Unanswered::TimedOut => Self::Unavailable("no answer in time".into()),
        }
    }
}

impl SimulatedBroker {
    pub(super) fn new(node: Arc<Node>, server: Arc<BrokerServer>) -> Self {
        Self { node, server, offsets: Arc::default() }
    }

    async fn query<T>(&self, what: &'static str, read: impl FnOnce(&mut Logs) -> T) -> Result<T, BrokerError> {
        Ok(self.node.call(Server::Broker, what, || read(&mut self.server.logs())).await?)
    }

    fn position(&self, topic: Topic, partition: u32, offset: u64) -> u64 {
        self.offsets.position(topic, partition, offset)
    }
}

#[async_trait]
impl Producer for SimulatedBroker {
    async fn append_record(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError> {
        if let Some(reason) = self.offsets.stopped() {
            return Err(BrokerError::Stopped(reason.into()));
        }
        let partition = self.partition_of(slot);
        let append = || self.server.append(topic, partition, payload);
        match self.node.call(Server::Broker, "append", append).await {
            Ok(offset) => Ok(self.position(topic, partition, offset)),
            Err(Unanswered::Refused) => Err(BrokerError::NotSent),
            Err(unanswered) => Err(unanswered.into()),
        }
    }

    async fn close(&self) {}
}

#[async_trait]
impl PartitionOffsets for SimulatedBroker {
    fn partition_count(&self) -> u32 {
        self.server.partitions
    }

    fn accept_count(&self) -> u64 {
        self.offsets.accept_count()
    }

    fn base(&self, topic: Topic, partition: u32) -> u64 {
        self.offsets.base(topic, partition)
    }

    async fn first_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        self.query("first_offset", |_| ()).await?;
        Ok(self.position(topic, partition, 0))
    }

    async fn end_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        let end = |logs: &mut Logs| logs.partitions[&(topic, partition)].records.len() as u64;
        let end = self.query("end_offset", end).await?;
        Ok(self.position(topic, partition, end))
    }

    async fn committed_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        let committed = |logs: &mut Logs| logs.partitions[&(topic, partition)].committed;
        let committed = self.query("committed_offset", committed).await?;
        Ok(self.position(topic, partition, committed))
    }

    async fn read_record(&self, topic: Topic, partition: u32, offset: u64) -> Result<Option<Record>, BrokerError> {
        let Some(raw) = self.offsets.offset(topic, partition, offset) else { return Ok(None) };
        let read = |logs: &mut Logs| logs.partitions[&(topic, partition)].records.get(raw as usize).cloned();
        let payload = self.query("read_record", read).await?;
        Ok(payload.map(|payload| Record { topic, partition, offset, payload, trace_parent: None }))
    }
}

#[async_trait]
impl DeadLetters for SimulatedBroker {
    async fn put_dead_letter(&self, record: &Record, error: &str, failed_at_ms: u64) -> Result<(), BrokerError> {
        let put = |logs: &mut Logs| {
            let offset = logs.dead_letters.len() as u64;
            logs.dead_letters.push(DeadLetter { record: record.clone(), offset, error: error.into(), failed_at_ms });
        };
        self.query("put_dead_letter", put).await
    }

    async fn list_dead_letters(&self, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
        let list = |logs: &mut Logs| logs.dead_letters.iter().filter(|of| of.record.topic == topic).cloned().collect();
        self.query("list_dead_letters", list).await
    }

    async fn mark_retried(&self, _: Topic, _: u64) -> Result<(), BrokerError> {
        Ok(())
    }
}

#[async_trait]
impl Broker for SimulatedBroker {
    fn subscribe(&self, topic: Topic) -> Result<Box<dyn Consumer>, BrokerError> {
        if let Some(reason) = self.offsets.other_cluster() {
            return Err(BrokerError::Stopped(reason.into()));
        }
        Ok(Box::new(SimulatedConsumer::new(self.clone(), topic)))
    }

    fn follow(&self, state: &BrokerState) {
        self.offsets.follow(state);
    }

    async fn read_cluster_id(&self) -> Result<Option<String>, BrokerError> {
        let read = |logs: &mut Logs| format!("cluster-{}", logs.replaced);
        let cluster_id = self.query("read_cluster_id", read).await?;
        self.offsets.see_cluster(Some(&cluster_id));
        Ok(Some(cluster_id))
    }

    /// Kafka refuses it while the group has members.
    async fn reset_committed(&self, topic: Topic, partition: u32, offset: u64) -> Result<(), BrokerError> {
        let raw = self.offsets.offset(topic, partition, offset).unwrap_or(0);
        let reset = |logs: &mut Logs| {
            let is_empty = logs.groups.get(&topic).is_none_or(ConsumerGroup::is_empty);
            if is_empty && let Some(log) = logs.partitions.get_mut(&(topic, partition)) {
                log.committed = raw;
            }
            is_empty
        };
        match self.query("reset_committed", reset).await? {
            true => Ok(()),
            false => Err(BrokerError::Unavailable("the group has members".into())),
        }
    }

    async fn check_topics(&self) -> Result<Vec<String>, BrokerError> {
        Ok(vec![])
    }
}
