//! The port to the broker's log: what is appended survives this process and the broker's leader.
//!
//! One partition holds many slots (`slot mod partitions`), a slot's events stand in order in one
//! partition, and an event's offset is its version. Consumers read in batches and commit after the
//! tables have.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;

use crate::domain::damaged_data::DamagedData;

/// What is appended where.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Topic {
    Comments,
    Reactions,
    /// Lists that want to be put into the cache again.
    Rebuild,
}

impl Topic {
    pub const ALL: [Self; 3] = [Self::Comments, Self::Reactions, Self::Rebuild];

    /// Its name after the cluster's: `comments`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Comments => "comments",
            Self::Reactions => "reactions",
            Self::Rebuild => "rebuild",
        }
    }
}

/// Why the log did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BrokerError {
    /// Too many messages wait to be sent. This one was not taken and will never appear.
    #[error("too many messages wait to be sent")]
    Full,
    /// The broker could not be reached or did not answer in time. Whether the message was written
    /// is not known; after this answer it is not sent again.
    #[error("the broker cannot be reached: {0}")]
    Unavailable(String),
    /// What was read or asked for cannot be right, and asking again would not help.
    #[error("the log is damaged: {0}")]
    Damaged(String),
}

/// A message as it was read.
#[derive(Debug, Clone)]
pub struct Record {
    pub topic: Topic,
    pub partition: u32,
    pub offset: u64,
    pub payload: Vec<u8>,
}

/// A message that could not be stored, as the dead letters keep it.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    pub message: Record,
    /// Where it stands among the dead letters of its topic.
    pub offset: u64,
    pub error: String,
    /// When it was given up, in Unix milliseconds.
    pub at: u64,
}

impl From<DamagedData> for BrokerError {
    fn from(error: DamagedData) -> Self {
        Self::Damaged(error.to_string())
    }
}

#[async_trait]
pub trait Broker: Send + Sync + std::fmt::Debug {
    /// How many partitions a topic has; the same for all.
    fn partitions(&self) -> u32;
    /// The partition of a slot.
    fn partition(&self, slot: Slot) -> u32 {
        u32::from(slot.get()) % self.partitions()
    }
    /// Appends and waits until every in-sync replica has it; its offset. The time it may take is
    /// shorter than any request's.
    async fn append(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError>;
    /// The offset after the last message of a partition.
    async fn end(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError>;
    /// The offset up to which the consumers of a topic have stored everything.
    async fn committed(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError>;
    /// A member of the group that reads the topic.
    fn consumer(&self, topic: Topic) -> Result<Box<dyn Consumer>, BrokerError>;
    /// Puts a message that cannot be stored among the dead letters.
    async fn dead_letter(&self, message: &Record, error: &str, at: u64) -> Result<(), BrokerError>;
    /// The dead letters of a topic that were not sent again yet, oldest first.
    async fn dead_letters(&self, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError>;
    /// Marks the dead letters of a topic up to `offset` (inclusive) as sent again.
    async fn mark_retried(&self, topic: Topic, offset: u64) -> Result<(), BrokerError>;
    /// What is wrong with the topics: missing ones, too few replicas, short retention. Empty when
    /// all is well.
    async fn check(&self) -> Result<Vec<String>, BrokerError>;
    /// Waits until what was taken is sent.
    async fn close(&self);
}

/// One consumer in a group: the broker gives it partitions and takes them away.
#[async_trait]
pub trait Consumer: Send {
    /// Waits for a first message, then takes what comes until `most` are there or `patience` is
    /// over since the first. Empty when nothing came for a second. Dropping the future loses
    /// nothing: the next call goes on with what was taken. Of a partition come, while it is this
    /// reader's, all messages from what was committed, without a gap: who stores one behind a gap
    /// makes those in it replays. An error means that the reader is of no use any more.
    async fn next(&mut self, most: usize, patience: Duration) -> Result<Vec<Record>, BrokerError>;
    /// Says that everything before `offset` is stored. Partitions that were taken away are left out.
    async fn commit(&mut self, offsets: &[(u32, u64)]) -> Result<(), BrokerError>;
    /// Partitions that this reader was given since the last call, for the first time or again. They
    /// are read from what was committed last, so messages may come a second time.
    fn assigned(&mut self) -> Vec<u32>;
    /// Partitions that were taken from this reader since the last call. Asked before
    /// [`Reader::assigned`]: a partition that went and came back is in both.
    fn revoked(&mut self) -> Vec<u32>;
    /// From now on reads nothing from these partitions, and from all others.
    fn pause(&mut self, partitions: &BTreeSet<u32>);
    /// Sends what was committed and leaves the group.
    async fn close(self: Box<Self>);
}
