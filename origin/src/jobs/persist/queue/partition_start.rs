//! Where a partition begins, by what the databases say and by what was seen stored of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use gailou_shared::id::Slot;
use parking_lot::Mutex;

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
#[derive(Debug, Clone, Default)]
pub(crate) struct SeenStored {
    /// By database: its checkpoint, if that is known.
    pub(crate) checkpoints: Vec<Option<u64>>,
    /// By database: the slots that came to it until then, if that is known.
    pub(crate) moves: Vec<Option<u64>>,
    /// By database: the slots that came to it until it had stored what is committed, if that is known.
    pub(crate) moves_when_committed: Vec<Option<u64>>,
    /// The offset after the last record of each slot.
    pub(crate) positions: BTreeMap<Slot, u64>,
    /// Databases that were found to have less. Clones share it: a start may be looked for several times.
    pub(super) found: Arc<Mutex<BTreeSet<usize>>>,
}

impl SeenStored {
    /// Notes that a database was found to have less than was seen; whether that is new.
    pub(crate) fn note_less(&self, database: usize) -> bool {
        self.found.lock().insert(database)
    }
}
