//! A log in memory.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::ports::broker::{Broker, BrokerError, Consumer, DeadLetter, Record, Topic};
use crate::testing::doubles::{When, lock};

type Decide = Box<dyn FnMut(Topic) -> Option<(When, BrokerError)> + Send>;

#[derive(Default)]
struct LogState {
    messages: HashMap<(Topic, u32), Vec<Vec<u8>>>,
    committed: HashMap<(Topic, u32), u64>,
    letters: Vec<DeadLetter>,
    fault: Option<Decide>,
}

/// A log of one process; all partitions belong to whoever reads.
#[derive(Clone)]
pub(crate) struct MemoryLog(Arc<Inner>);

struct Inner {
    partitions: u32,
    state: Mutex<LogState>,
    more: Notify,
}

impl std::fmt::Debug for MemoryLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("MemoryLog")
    }
}

impl MemoryLog {
    pub(crate) fn new(partitions: u32) -> Self {
        Self(Arc::new(Inner { partitions, state: Mutex::default(), more: Notify::new() }))
    }

    fn state(&self) -> MutexGuard<'_, LogState> {
        lock(&self.0.state)
    }

    /// Asked before each append and burial; an error says whether it was written all the same.
    pub(crate) fn fail(&self, decide: impl FnMut(Topic) -> Option<(When, BrokerError)> + Send + 'static) {
        self.state().fault = Some(Box::new(decide));
    }

    pub(crate) fn heal(&self) {
        self.state().fault = None;
    }

    pub(crate) fn put(&self, topic: Topic, partition: u32, payload: Vec<u8>) -> u64 {
        let mut state = self.state();
        let messages = state.messages.entry((topic, partition)).or_default();
        messages.push(payload);
        self.0.more.notify_waiters();
        messages.len() as u64 - 1
    }

    pub(crate) fn messages(&self, topic: Topic) -> Vec<Vec<u8>> {
        let state = self.state();
        (0..self.0.partitions).flat_map(|p| state.messages.get(&(topic, p)).cloned().unwrap_or_default()).collect()
    }

    pub(crate) fn buried(&self) -> Vec<DeadLetter> {
        self.state().letters.clone()
    }

    pub(crate) fn commits(&self, topic: Topic) -> HashMap<u32, u64> {
        let state = self.state();
        state.committed.iter().filter(|((of, _), _)| *of == topic).map(|((_, p), o)| (*p, *o)).collect()
    }

    /// As if everything were stored.
    pub(crate) fn commit_all(&self, topic: Topic) {
        let mut state = self.state();
        let ends: Vec<_> = state.messages.iter().map(|(of, messages)| (*of, messages.len() as u64)).collect();
        state.committed.extend(ends.into_iter().filter(|((of, _), _)| *of == topic));
    }

    /// As if nobody had ever committed.
    pub(crate) fn forget_commits(&self) {
        self.state().committed.clear();
    }

    /// As if somebody had deleted the topic and made it again.
    pub(crate) fn recreate(&self, topic: Topic) {
        let mut state = self.state();
        state.messages.retain(|(of, _), _| *of != topic);
        state.committed.retain(|(of, _), _| *of != topic);
    }

    fn fault(&self, topic: Topic) -> Option<(When, BrokerError)> {
        self.state().fault.as_mut().and_then(|decide| decide(topic))
    }

    /// A reader that keeps what it is told in this log.
    pub(crate) fn read(&self, topic: Topic) -> MemoryReader {
        let committed = self.commits(topic);
        let at = (0..self.0.partitions).map(|p| (p, committed.get(&p).copied().unwrap_or(0))).collect();
        let assigned = (0..self.0.partitions).collect();
        MemoryReader { log: self.clone(), topic, at, assigned, revoked: vec![], taken: vec![], paused: BTreeSet::new() }
    }
}

#[async_trait]
impl Broker for MemoryLog {
    fn partitions(&self) -> u32 {
        self.0.partitions
    }

    async fn append(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError> {
        let partition = self.partition(slot);
        match self.fault(topic) {
            Some((When::Before, error)) => Err(error),
            Some((When::After, error)) => {
                self.put(topic, partition, payload);
                Err(error)
            }
            None => Ok(self.put(topic, partition, payload)),
        }
    }

    async fn end(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        Ok(self.state().messages.get(&(topic, partition)).map_or(0, |messages| messages.len() as u64))
    }

    async fn committed(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError> {
        Ok(self.state().committed.get(&(topic, partition)).copied().unwrap_or(0))
    }

    fn consumer(&self, topic: Topic) -> Result<Box<dyn Consumer>, BrokerError> {
        Ok(Box::new(self.read(topic)))
    }

    async fn dead_letter(&self, message: &Record, error: &str, at: u64) -> Result<(), BrokerError> {
        if let Some((_, error)) = self.fault(message.topic) {
            return Err(error);
        }
        let mut state = self.state();
        let offset = state.letters.len() as u64;
        state.letters.push(DeadLetter { message: message.clone(), offset, error: error.into(), at });
        Ok(())
    }

    async fn dead_letters(&self, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
        Ok(self.buried().into_iter().filter(|letter| letter.message.topic == topic).collect())
    }

    async fn mark_retried(&self, _: Topic, _: u64) -> Result<(), BrokerError> {
        Ok(())
    }

    async fn check(&self) -> Result<Vec<String>, BrokerError> {
        Ok(vec![])
    }

    async fn close(&self) {}
}

pub(crate) struct MemoryReader {
    log: MemoryLog,
    topic: Topic,
    at: HashMap<u32, u64>,
    assigned: Vec<u32>,
    revoked: Vec<u32>,
    taken: Vec<Record>,
    paused: BTreeSet<u32>,
}

impl MemoryReader {
    fn take(&mut self, most: usize) {
        let state = self.log.state();
        for partition in (0..self.log.0.partitions).filter(|p| !self.paused.contains(p)) {
            let at = self.at.entry(partition).or_default();
            let messages = state.messages.get(&(self.topic, partition)).map_or(&[][..], Vec::as_slice);
            if *at > messages.len() as u64 {
                *at = 0;
            }
            while self.taken.len() < most
                && let Some(payload) = messages.get(*at as usize)
            {
                let (topic, offset, payload) = (self.topic, *at, payload.clone());
                self.taken.push(Record { topic, partition, offset, payload });
                *at += 1;
            }
        }
    }
}

#[async_trait]
impl Consumer for MemoryReader {
    async fn next(&mut self, most: usize, patience: Duration) -> Result<Vec<Record>, BrokerError> {
        let mut until = Instant::now() + Duration::from_secs(1);
        loop {
            let empty = self.taken.is_empty();
            self.take(most);
            if empty && !self.taken.is_empty() {
                until = Instant::now() + patience;
            }
            if self.taken.len() >= most {
                break;
            }
            let log = self.log.clone();
            if timeout_at(until, log.0.more.notified()).await.is_err() {
                self.take(most);
                break;
            }
        }
        Ok(std::mem::take(&mut self.taken))
    }

    async fn commit(&mut self, offsets: &[(u32, u64)]) -> Result<(), BrokerError> {
        let mut state = self.log.state();
        state.committed.extend(offsets.iter().map(|(partition, offset)| ((self.topic, *partition), *offset)));
        Ok(())
    }

    fn assigned(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.assigned)
    }

    fn revoked(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.revoked)
    }

    fn pause(&mut self, partitions: &BTreeSet<u32>) {
        self.paused.clone_from(partitions);
    }

    async fn close(self: Box<Self>) {}
}
