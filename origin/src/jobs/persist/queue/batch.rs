//! Records on their way to a database.

use std::collections::BTreeSet;

use gailou_shared::id::Slot;

use crate::domain::operation::LoggedOperation;
use crate::ports::broker::Record;

/// A record with its operation.
#[derive(Debug)]
pub(crate) struct QueuedRecord {
    pub(crate) record: Record,
    pub(crate) slot: Slot,
    pub(crate) operation: LoggedOperation,
    /// See [`PartitionProgress`](super::PartitionProgress).
    pub(crate) assignment: u64,
}

/// A batch on its way to a database.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(crate) shard: usize,
    pub(crate) records: Vec<QueuedRecord>,
    /// Whether its slots have failed before.
    pub(super) suspect: bool,
    /// How far the database has applied each partition when the batch is stored: partition and next offset.
    pub(crate) checkpoints: Vec<(u32, u64)>,
    /// The last assignment when it was picked.
    pub(crate) last_assignment: u64,
}

impl Batch {
    /// Its slots, each once.
    pub(crate) fn slots(&self) -> BTreeSet<Slot> {
        self.records.iter().map(|queued| queued.slot).collect()
    }
}
