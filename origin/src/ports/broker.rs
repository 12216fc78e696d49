//! The port to the broker: a record that was appended survives this process and the broker's leader.
//!
//! One partition holds many slots (`slot mod partitions`). The records of one slot are in one
//! partition and in order, and a record's offset is the version of its operation. Consumers read in
//! batches and commit their offsets after the tables have committed.
//!
//! The port has one trait for each role. A part takes the trait that it needs; [`Broker`] unites
//! them for [`crate::bootstrap`].

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use strum::{IntoStaticStr, VariantArray};

use crate::domain::broker_state::BrokerState;
use crate::domain::damaged_data::DamagedData;
use crate::domain::positions::OperationStream;
use crate::ports::failure::Failure;

/// How long records are kept at least: for so long the tables may be unavailable before anything that was acknowledged is
/// lost.
pub const RECORD_RETENTION: Duration = Duration::from_secs(6 * 86_400);

/// Which kind of record a partition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Topic {
    Comments,
    Reactions,
    /// Requests to load a list into the cache.
    Rebuild,
}

impl Topic {
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The topic of a stream.
    pub const fn of(stream: OperationStream) -> Self {
        match stream {
            OperationStream::Comments => Self::Comments,
            OperationStream::Reactions => Self::Reactions,
        }
    }

    /// Its name without the cluster's prefix: `comments`.
    pub const fn name(self) -> &'static str {
        self.into_str()
    }
}

/// Why the broker did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BrokerError {
    /// The producer's queue is full. This record was not accepted and will never appear.
    #[error("too many records are waiting to be sent")]
    Full,
    /// The broker did not answer a moment ago. This record was not sent and will never appear.
    #[error("the broker did not answer a moment ago")]
    NotSent,
    /// The installation has stopped the broker. This record was not sent and will never appear.
    #[error("the broker is stopped: {0}")]
    Stopped(Failure),
    /// The broker could not be reached or did not answer in time. Whether the record was written is
    /// not known; it is not sent again after this answer.
    #[error("the broker cannot be reached: {0}")]
    Unavailable(Failure),
    /// What was read or asked for is invalid. A retry would not help.
    #[error("the data of the broker is damaged: {0}")]
    Damaged(Failure),
    /// The topics are those of another installation.
    #[error("{0}")]
    NotOwned(Failure),
}

impl From<DamagedData> for BrokerError {
    fn from(error: DamagedData) -> Self {
        Self::Damaged(Failure::of_driver(error))
    }
}

/// A record as it was read.
#[derive(Debug, Clone)]
pub struct Record {
    pub topic: Topic,
    pub partition: u32,
    pub offset: u64,
    pub payload: Vec<u8>,
    /// The trace that it belongs to, where it is traced.
    pub trace_parent: Option<String>,
}

/// A record that could not be stored, as the dead-letter topic keeps it.
#[derive(Debug, Clone)]
pub struct DeadLetter {
    pub record: Record,
    /// Its offset among the dead letters of its topic.
    pub offset: u64,
    pub error: String,
    /// When it was given up, in Unix milliseconds.
    pub failed_at_ms: u64,
}

/// Appends records.
#[async_trait]
pub trait Producer: Send + Sync + std::fmt::Debug {
    /// Appends a record to the slot's partition and waits until every in-sync replica has it.
    /// Returns its offset. The longest wait is shorter than the deadline of any request.
    async fn append_record(&self, topic: Topic, slot: Slot, payload: Vec<u8>) -> Result<u64, BrokerError>;
    /// Waits until every accepted record is sent, then closes the connections.
    async fn close(&self);
}

/// Says how far partitions reach, and how far they are stored.
#[async_trait]
pub trait PartitionOffsets: Send + Sync + std::fmt::Debug {
    /// The number of partitions of a topic; the same for all topics.
    fn partition_count(&self) -> u32;
    /// The partition of a slot.
    fn partition_of(&self, slot: Slot) -> u32 {
        u32::from(slot.get()) % self.partition_count()
    }
    /// How often an operator has accepted the log as it is. What was counted before may count records that it has
    /// lost.
    fn accept_count(&self) -> u64;
    /// Where the offsets of a partition begin since an operator accepted it; 0 before that. A smaller offset is of a
    /// record that the log may have lost.
    fn base(&self, topic: Topic, partition: u32) -> u64;
    /// The offset of the first record that a partition still has; its end when it has none.
    async fn first_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError>;
    /// The offset after the last record of a partition.
    async fn end_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError>;
    /// The offset before which the consumers of a topic have stored every record.
    async fn committed_offset(&self, topic: Topic, partition: u32) -> Result<u64, BrokerError>;
    /// The record at an offset; `None` when the partition has none there.
    async fn read_record(&self, topic: Topic, partition: u32, offset: u64) -> Result<Option<Record>, BrokerError>;
}

/// Keeps records that could not be stored until an operator retries them.
#[async_trait]
pub trait DeadLetters: Send + Sync + std::fmt::Debug {
    /// Adds a record that failed at `failed_at_ms` (Unix milliseconds) with this error.
    async fn put_dead_letter(&self, record: &Record, error: &str, failed_at_ms: u64) -> Result<(), BrokerError>;
    /// The dead letters of a topic that were not retried yet, oldest first.
    async fn list_dead_letters(&self, topic: Topic) -> Result<Vec<DeadLetter>, BrokerError>;
    /// Marks the dead letters of a topic up to `offset` (inclusive) as retried.
    async fn mark_retried(&self, topic: Topic, offset: u64) -> Result<(), BrokerError>;
}

/// All roles of the broker.
#[async_trait]
pub trait Broker: Producer + PartitionOffsets + DeadLetters {
    /// Joins the consumer group of a topic.
    fn subscribe(&self, topic: Topic) -> Result<Box<dyn Consumer>, BrokerError>;
    /// Follows what the installation has decided, unless a later decision is known.
    fn follow(&self, state: &BrokerState);
    /// The id of the cluster that answers; `None` when it has none. From then on nothing is appended or consumed while
    /// the installation remembers another one.
    async fn read_cluster_id(&self) -> Result<Option<String>, BrokerError>;
    /// Commits an offset for the consumers of a topic while none of them runs.
    async fn reset_committed(&self, topic: Topic, partition: u32, offset: u64) -> Result<(), BrokerError>;
    /// The problems of the topics: a missing one, too few replicas, short retention. Empty when
    /// there are none.
    async fn check_topics(&self) -> Result<Vec<String>, BrokerError>;
}

/// One member of a consumer group. The broker assigns partitions to it and revokes them.
#[async_trait]
pub trait Consumer: Send {
    /// Waits for a first record, then collects records until there are `max` of them, or until
    /// `linger` has passed since the first. Empty when no record arrives within a second.
    ///
    /// Dropping the future loses nothing: the next call continues with what was collected. After an error the
    /// consumer cannot be used any more.
    async fn poll_batch(&mut self, max: usize, linger: Duration) -> Result<Vec<Record>, BrokerError>;
    /// Reads an assigned partition from this offset on, instead of from the committed offset or from where it
    /// was read last.
    async fn start_at(&mut self, partition: u32, offset: u64) -> Result<(), BrokerError>;
    /// Commits for each partition the offset before which every record is stored. Revoked
    /// partitions are left out.
    async fn commit_offsets(&mut self, offsets: &[(u32, u64)]) -> Result<(), BrokerError>;
    /// The partitions that were assigned since the last call, for the first time or again. After no broker could be
    /// reached, a partition counts as assigned again before its next record is returned: the log may be another one.
    fn take_assigned(&mut self) -> Vec<u32>;
    /// The partitions that were revoked since the last call. Call it before
    /// [`Consumer::take_assigned`]: a partition that was revoked and assigned again is in both.
    fn take_revoked(&mut self) -> Vec<u32>;
    /// Pauses these partitions and resumes all others.
    fn set_paused(&mut self, partitions: &BTreeSet<u32>);
    /// Sends the last commit and leaves the group.
    async fn close(self: Box<Self>);
}
