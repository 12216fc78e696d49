//! Tables in memory: rows, floors and versions, the positions that fence replays, and faults.
//!
//! Tests change rows directly (`edits`) or through [`crate::ports::store::BatchWriter`] (`writes`).

mod edits;
mod reads;
mod writes;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot, SubjectKey};
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;

use crate::domain::operation::LoggedOperation;
use crate::domain::positions::OperationStream;
use crate::domain::row::{CommentRow, RememberedRequest, SubjectRow};
use crate::ports::store::{Result, Sharding as _, StoreError};
use crate::testing::faults::{FaultPoint, lock};

type DecideWrite = Box<dyn FnMut(&[LoggedOperation]) -> Option<(FaultPoint, StoreError)> + Send>;

#[derive(Default)]
struct StoreState {
    rows: BTreeMap<CommentId, CommentRow>,
    subjects: HashMap<SubjectKey, SubjectRow>,
    /// The last floor of the roots (`None`) and of each root's replies.
    floors: HashMap<(SubjectKey, Option<CommentId>), u64>,
    /// Second ids of comments.
    aliases: HashMap<CommentId, CommentId>,
    snapshots: HashMap<SnapshotId, Snapshot>,
    keys: HashMap<(MemberId, String), RememberedRequest>,
    reactions: HashMap<(CommentId, MemberId), Option<Reaction>>,
    positions: HashMap<(OperationStream, Slot), u64>,
    skipped: Vec<(OperationStream, Slot, u64)>,
    applied: Vec<LoggedOperation>,
    batch_sizes: Vec<usize>,
    state_queries: usize,
    reads: usize,
    /// How long the next read takes, after its answer is fixed.
    read_delay: Duration,
    fault: Option<DecideWrite>,
    databases_down: HashSet<usize>,
}

/// The tables, in so many databases.
pub(crate) struct MemoryStore {
    databases: usize,
    state: Mutex<StoreState>,
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryStore")
    }
}

impl MemoryStore {
    pub(crate) fn new(databases: usize) -> Arc<Self> {
        Arc::new(Self { databases, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, StoreState> {
        lock(&self.state)
    }

    /// Decides before each batch whether and when it fails.
    pub(crate) fn fail_writes(
        &self,
        decide: impl FnMut(&[LoggedOperation]) -> Option<(FaultPoint, StoreError)> + Send + 'static,
    ) {
        self.state().fault = Some(Box::new(decide));
    }

    /// Ends every fault.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.fault = None;
        state.databases_down.clear();
    }

    /// Makes one database unavailable.
    pub(crate) fn take_down(&self, database: usize) {
        self.state().databases_down.insert(database);
    }

    /// Makes every database unavailable.
    pub(crate) fn take_all_down(&self) {
        self.state().databases_down.extend(0..self.databases);
    }

    /// Delays the next read, after its answer is fixed.
    pub(crate) fn delay_next_read(&self, delay: Duration) {
        self.state().read_delay = delay;
    }

    /// The operations that were applied, in order.
    pub(crate) fn applied(&self) -> Vec<LoggedOperation> {
        self.state().applied.clone()
    }

    pub(crate) fn skipped(&self) -> Vec<(OperationStream, Slot, u64)> {
        self.state().skipped.clone()
    }

    /// The sizes of the batches that were tried.
    pub(crate) fn batch_sizes(&self) -> Vec<usize> {
        self.state().batch_sizes.clone()
    }

    /// How many statements read reaction states.
    pub(crate) fn state_queries(&self) -> usize {
        self.state().state_queries
    }

    /// How many statements read rows.
    pub(crate) fn reads(&self) -> usize {
        self.state().reads
    }

    pub(crate) fn count_likes(&self, id: CommentId) -> u64 {
        self.state().count_reactions(id, Reaction::Like)
    }

    /// Sets the next position of a slot.
    pub(crate) fn set_position(&self, stream: OperationStream, slot: Slot, position: u64) {
        self.state().positions.insert((stream, slot), position);
    }

    /// Sets the next position of every slot in the stream of reactions.
    pub(crate) fn set_reaction_positions(&self, position: u64) {
        for slot in (0..SLOT_COUNT).filter_map(Slot::new) {
            self.set_position(OperationStream::Reactions, slot, position);
        }
    }

    fn check_slot(&self, state: &StoreState, slot: Slot) -> Result<()> {
        match state.databases_down.contains(&self.database_of(slot)) {
            true => Err(StoreError::Unavailable("down".into())),
            false => Ok(()),
        }
    }
}

impl StoreState {
    fn count_reactions(&self, id: CommentId, reaction: Reaction) -> u64 {
        self.reactions.iter().filter(|((of, _), r)| *of == id && **r == Some(reaction)).count() as u64
    }

    /// The row of a comment as reads answer it.
    fn row(&self, id: CommentId) -> Option<CommentRow> {
        let row = self.rows.get(self.aliases.get(&id).unwrap_or(&id))?;
        let parent = row.parent_id.and_then(|id| self.rows.get(&id));
        let version = self.subjects.get(&row.subject).map_or(0, |subject| subject.version);
        let parent_gone = parent.is_some_and(|parent| parent.state != gailou_shared::wire::CommentState::Published);
        Some(CommentRow { parent_gone, version, ..row.clone() })
    }
}
