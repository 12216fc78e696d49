//! The port to what a search index has to learn of the tables: queues of comments, a walk through all of them, and how
//! far an index is built.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::CommentId;

use crate::domain::row::ExportCursor;
use crate::ports::store::Result;

/// An entry of a queue: a comment whose text or state has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedComment {
    /// The number of the entry in its database.
    pub seq: u64,
    pub id: CommentId,
}

/// What waits in a queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IndexBacklog {
    /// The largest number of an entry; 0 for an empty queue.
    pub last: u64,
    /// Entries; numbers that were never used may be counted.
    pub entries: u64,
    /// How long the oldest has waited, in milliseconds by the clock of its database; 0 for an empty queue.
    pub age_ms: u64,
}

/// Reads and empties the queues. Each database has one. An entry is written in the transaction of its change, so no
/// change is missed; it is removed when the index has the change, so one may be read twice.
#[async_trait]
pub trait IndexQueues: Send + Sync + Debug {
    /// The oldest entries of one database.
    async fn read_index_queue(&self, database: usize, count: usize) -> Result<Vec<QueuedComment>>;
    /// Removes these entries. Later ones of the same comments stay.
    async fn remove_from_index_queue(&self, database: usize, entries: &[QueuedComment]) -> Result<()>;
    /// Removes all entries up to this number, a few at a time.
    async fn clear_index_queue(&self, database: usize, last: u64) -> Result<()>;
    /// What waits in one database.
    async fn read_index_backlog(&self, database: usize) -> Result<IndexBacklog>;
    /// The next comments of all subjects, whatever their state. A comment that exists when the walk begins is listed,
    /// wherever it moves meanwhile.
    async fn list_all_comments(
        &self,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<(ExportCursor, CommentId)>>;
    /// About how many comments there are, whatever their state.
    async fn estimate_comments(&self) -> Result<u64>;
    /// What the installation knows of its index, as [`IndexQueues::swap_index_state`] stored it.
    async fn read_index_state(&self) -> Result<Option<Vec<u8>>>;
    /// Replaces what [`IndexQueues::read_index_state`] has answered. Whether it was still that.
    async fn swap_index_state(&self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool>;
}
