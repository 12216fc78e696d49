//! Where a partition begins, by what the databases say and by what was seen stored of it.

use std::collections::{BTreeMap, HashMap};

use gailou_shared::id::Slot;

/// Where the reading of a partition begins.
#[derive(Debug, Default)]
pub(crate) struct PartitionStart {
    /// The first offset that is read.
    pub(crate) offset: u64,
    /// By database: the next offset of its checkpoint; `None` for one that does not answer.
    pub(crate) checkpoints: Vec<Option<u64>>,
    /// By slot: everything before this offset is done and need not be written again.
    pub(crate) done_before: HashMap<Slot, u64>,
}

/// What was seen stored of a partition. A database that has less has gone back, unless a slot came to it.
#[derive(Debug, Default)]
pub(crate) struct SeenStored {
    /// By database: its checkpoint, if that is known.
    pub(crate) checkpoints: Vec<Option<u64>>,
    /// By database: the slots that came to it until then.
    pub(crate) moves: Vec<u64>,
    /// By database: the slots that came to it until it had stored what is committed.
    pub(crate) moves_when_committed: Vec<u64>,
    /// The offset after the last record of each slot.
    pub(crate) positions: BTreeMap<Slot, u64>,
}
