//! A broker in memory. Its one consumer has all partitions.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::domain::broker_state::BrokerState;
use crate::ports::broker::{
    Broker, BrokerError, Consumer, DeadLetter, DeadLetters, PartitionOffsets, Producer, Record, Topic,
};
use crate::testing::faults::{FaultPoint, lock};

/// How long [`Consumer::poll_batch`] waits for a first record.
const FIRST_RECORD_TIMEOUT: Duration = Duration::from_secs(1);

type DecideAppend = Box<dyn FnMut(Topic) -> Option<(FaultPoint, BrokerError)> + Send>;

#[derive(Default)]
struct PartitionLogs {
    payloads: HashMap<(Topic, u32), Vec<Vec<u8>>>,
    disconnects: u64,
    /// The first offsets that were not deleted.
    first: HashMap<(Topic, u32), u64>,
    committed: HashMap<(Topic, u32), u64>,
    bases: HashMap<(Topic, u32), u64>,
    accepts: u64,
    cluster_id: Option<String>,
    dead_letters: Vec<DeadLetter>,
    fault: Option<DecideAppend>,
    on_end_offset: Option<Box<dyn Fn() + Send>>,
}

/// The broker; clones share it.
#[derive(Clone)]
pub(crate) struct MemoryBroker(Arc<BrokerInner>);

struct BrokerInner {
    partitions: u32,
    state: Mutex<PartitionLogs>,
    appended: Notify,
}

impl fmt::Debug for MemoryBroker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryBroker")
    }
}

impl MemoryBroker {
    pub(crate) fn new(partitions: u32) -> Self {
        Self(Arc::new(BrokerInner { partitions, state: Mutex::default(), appended: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, PartitionLogs> {
        lock(&self.0.state)
    }

    /// Decides before each append and dead letter whether and when it fails.
    pub(crate) fn fail_appends(&self, decide: impl FnMut(Topic) -> Option<(FaultPoint, BrokerError)> + Send + 'static) {
        self.state().fault = Some(Box::new(decide));
    }

    /// Ends the fault.
    pub(crate) fn heal(&self) {
        self.state().fault = None;
    }

    /// Calls this whenever an end offset is read.
    pub(crate) fn on_end_offset(&self, call: impl Fn() + Send + 'static) {
        self.state().on_end_offset = Some(Box::new(call));
    }

    /// Appends to a partition. Returns the offset.
    pub(crate) fn put(&self, topic: Topic, partition: u32, payload: Vec<u8>) -> u64 {
        let mut state = self.state();
        let payloads = state.payloads.entry((topic, partition)).or_default();
        payloads.push(payload);
        self.0.appended.notify_waiters();
        payloads.len() as u64 - 1
    }

    /// Every payload of a topic, partition by partition.
    pub(crate) fn payloads(&self, topic: Topic) -> Vec<Vec<u8>> {
        let state = self.state();
        let partitions = 0..self.0.partitions;
        partitions.flat_map(|p| state.payloads.get(&(topic, p)).cloned().unwrap_or_default()).collect()
    }

    pub(crate) fn dead_letters(&self) -> Vec<DeadLetter> {
        self.state().dead_letters.clone()
    }

    /// The committed offsets of a topic, by partition.
    pub(crate) fn commits(&self, topic: Topic) -> HashMap<u32, u64> {
        let state = self.state();
        state.committed.iter().filter(|((of, _), _)| *of == topic).map(|((_, p), o)| (*p, *o)).collect()
    }

    /// Commits this offset of a partition.
    pub(crate) fn commit(&self, topic: Topic, partition: u32, offset: u64) {
        self.state().committed.insert((topic, partition), offset);
    }

    /// Forgets every commit.
    pub(crate) fn forget_commits(&self) {
        self.state().committed.clear();
    }

    /// Deletes a topic and creates it again.
    pub(crate) fn recreate(&self, topic: Topic) {
        let mut state = self.state();
        state.payloads.retain(|(of, _), _| *of != topic);
        state.committed.retain(|(of, _), _| *of != topic);
    }

    /// Deletes the records of a partition before an offset, as their age does.
    pub(crate) fn delete_before(&self, topic: Topic, partition: u32, offset: u64) {
        self.state().first.insert((topic, partition), offset);
    }

    /// Deletes the records of a partition from an offset on, as a power cut does.
    pub(crate) fn truncate(&self, topic: Topic, partition: u32, offset: u64) {
        let mut state = self.state();
        state.payloads.entry((topic, partition)).or_default().truncate(offset as usize);
    }

    /// Another cluster answers from now on. It has the same records.
    pub(crate) fn set_cluster_id(&self, cluster_id: &str) {
        self.state().cluster_id = Some(cluster_id.to_owned());
    }

    /// The log is accepted, and the offsets of one partition begin here. Its records keep theirs.
    pub(crate) fn accept(&self, topic: Topic, partition: u32, base: u64) {
        let mut state = self.state();
        state.accepts += 1;
        state.bases.insert((topic, partition), base);
    }

    fn fault(&self, topic: Topic) -> Option<(FaultPoint, BrokerError)> {
        self.state().fault.as_mut().and_then(|decide| decide(topic))
    }

    /// Lets consumers find all partitions assigned to them again.
    pub(crate) fn lose_connections(&self) {
        self.state().disconnects += 1;
    }

    /// A consumer from the committed offsets on.
    pub(crate) fn consumer_of(&self, topic: Topic) -> MemoryConsumer {
        let committed = self.commits(topic);
        let next = (0..self.0.partitions).map(|p| (p, committed.get(&p).copied().unwrap_or(0))).collect();
        MemoryConsumer {
            broker: self.clone(),
            topic,
            next,
            assigned: (0..self.0.partitions).collect(),
            disconnects: self.state().disconnects,
            revoked: vec![],
            buffered: vec![],
            buffering_since: Instant::now(),
            paused: BTreeSet::new(),
        }
    }
}

#[async_trait]
impl Producer for MemoryBroker {
    async fn append_record(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError> {
        let partition = self.partition_of(slot);
        match self.fault(topic) {
            Some((FaultPoint::Before, error)) => Err(error),
            Some((FaultPoint::After, error)) => {
                self.put(topic, partition, payload);
                Err(error)
            }
            None => Ok(self.put(topic, partition, payload)),
        }
    }

    async fn close(&self) {}
}

#[async_trait]
impl PartitionOffsets for MemoryBroker {
    fn partition_count(&self) -> u32 {
        self.0.partitions
    }

    fn accept_count(&self) -> u64 {
        self.state().accepts
    }

    fn base(&self, topic: Topic, partition: u32) -> u64 {
        self.state().bases.get(&(topic, partition)).copied().unwrap_or(0)
    }

    async fn first_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        Ok(self.state().first.get(&(topic, partition)).copied().unwrap_or(0))
    }

    async fn read_record(&self, topic: Topic, partition: u32, offset: u64) -> Result<Option<Record>, BrokerError> {
        let state = self.state();
        let payload = state.payloads.get(&(topic, partition)).and_then(|payloads| payloads.get(offset as usize));
        Ok(payload.map(|payload| Record { topic, partition, offset, payload: payload.clone(), trace_parent: None }))
    }

    async fn end_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        let state = self.state();
        state.on_end_offset.iter().for_each(|call| call());
        Ok(state.payloads.get(&(topic, partition)).map_or(0, |payloads| payloads.len() as u64))
    }

    async fn committed_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        Ok(self.state().committed.get(&(topic, partition)).copied().unwrap_or(0))
    }
}

#[async_trait]
impl DeadLetters for MemoryBroker {
    async fn put_dead_letter(&self, record: &Record, error: &str, failed_at_ms: u64) -> Result<(), BrokerError> {
        if let Some((_, error)) = self.fault(record.topic) {
            return Err(error);
        }
        let mut state = self.state();
        let offset = state.dead_letters.len() as u64;
        state.dead_letters.push(DeadLetter { record: record.clone(), offset, error: error.into(), failed_at_ms });
        Ok(())
    }

    async fn list_dead_letters(&self, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
        Ok(self.dead_letters().into_iter().filter(|letter| letter.record.topic == topic).collect())
    }

    async fn mark_retried(&self, _: Topic, _: u64) -> Result<(), BrokerError> {
        Ok(())
    }
}

#[async_trait]
impl Broker for MemoryBroker {
    fn subscribe(&self, topic: Topic) -> Result<Box<dyn Consumer>, BrokerError> {
        Ok(Box::new(self.consumer_of(topic)))
    }

    fn follow(&self, _: &BrokerState) {}

    async fn read_cluster_id(&self) -> Result<Option<String>, BrokerError> {
        Ok(self.state().cluster_id.clone())
    }

    async fn reset_committed(&self, topic: Topic, partition: u32, offset: u64) -> Result<(), BrokerError> {
        self.commit(topic, partition, offset);
        Ok(())
    }

    async fn check_topics(&self) -> Result<Vec<String>, BrokerError> {
        Ok(vec![])
    }
}

pub(crate) struct MemoryConsumer {
    broker: MemoryBroker,
    topic: Topic,
    /// The next offset of each partition.
    next: HashMap<u32, u64>,
    assigned: Vec<u32>,
    /// Those of the broker that it knows of.
    disconnects: u64,
    revoked: Vec<u32>,
    buffered: Vec<Record>,
    buffering_since: Instant,
    paused: BTreeSet<u32>,
}

impl MemoryConsumer {
    fn buffer_records(&mut self, max: usize) {
        let state = self.broker.state();
        for partition in (0..self.broker.0.partitions).filter(|p| !self.paused.contains(p)) {
            let Some(next) = self.next.get_mut(&partition) else { continue };
            let payloads = state.payloads.get(&(self.topic, partition)).map_or(&[][..], Vec::as_slice);
            if *next > payloads.len() as u64 {
                *next = 0;
            }
            while self.buffered.len() < max
                && let Some(payload) = payloads.get(*next as usize)
            {
                let (topic, offset, payload) = (self.topic, *next, payload.clone());
                self.buffered.push(Record { topic, partition, offset, payload, trace_parent: None });
                *next += 1;
            }
        }
    }
}

#[async_trait]
impl Consumer for MemoryConsumer {
    async fn poll_batch(&mut self, max: usize, linger: Duration) -> Result<Vec<Record>, BrokerError> {
        let first_until = Instant::now() + FIRST_RECORD_TIMEOUT;
        loop {
            let was_empty = self.buffered.is_empty();
            self.buffer_records(max);
            if was_empty && !self.buffered.is_empty() {
                self.buffering_since = Instant::now();
            }
            let until = if self.buffered.is_empty() { first_until } else { self.buffering_since + linger };
            if self.buffered.len() >= max {
                break;
            }
            let broker = self.broker.clone();
            if timeout_at(until, broker.0.appended.notified()).await.is_err() {
                self.buffer_records(max);
                break;
            }
        }
        Ok(std::mem::take(&mut self.buffered))
    }

    async fn start_at(&mut self, partition: u32, offset: u64) -> Result<(), BrokerError> {
        self.buffered.retain(|record| record.partition != partition);
        self.next.insert(partition, offset);
        Ok(())
    }

    async fn commit_offsets(&mut self, offsets: &[(u32, u64)]) -> Result<(), BrokerError> {
        for (partition, offset) in offsets {
            self.broker.commit(self.topic, *partition, *offset);
        }
        Ok(())
    }

    fn take_assigned(&mut self) -> Vec<u32> {
        let disconnects = self.broker.state().disconnects;
        if std::mem::replace(&mut self.disconnects, disconnects) < disconnects {
            self.assigned = (0..self.broker.0.partitions).collect();
        }
        std::mem::take(&mut self.assigned)
    }

    fn take_revoked(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.revoked)
    }

    fn set_paused(&mut self, partitions: &BTreeSet<u32>) {
        self.paused.clone_from(partitions);
    }

    async fn close(self: Box<Self>) {}
}
