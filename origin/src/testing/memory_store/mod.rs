//! Tables in memory: rows, floors and versions, the positions that fence replays, and faults.
//!
//! Tests change rows directly (`edits`) or through [`crate::ports::store::BatchWriter`] (`writes`).

mod edits;
mod reads;
mod writes;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot, SubjectKey};
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;

use crate::domain::broker_state::BrokerState;
use crate::domain::checkpoint::Checkpoint;
use crate::domain::operation::LoggedOperation;
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::DeadReaction;
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
    dead_reactions: BTreeSet<DeadReaction>,
    positions: HashMap<(OperationStream, Slot), u64>,
    checkpoints: HashMap<(usize, OperationStream, u32), Checkpoint>,
    broker_state: BrokerState,
    /// After how many more resets of checkpoints the next one fails, once.
    resets_before_failure: Option<usize>,
    passed_rewinds: Vec<usize>,
    write_delay: Duration,
    skipped: Vec<(OperationStream, Slot, u64)>,
    applied: Vec<LoggedOperation>,
    batch_sizes: Vec<usize>,
    state_queries: usize,
    applied_offset_queries: usize,
    reads: usize,
    /// How long the next read takes, after its answer is fixed.
    read_delay: Duration,
    fault: Option<DecideWrite>,
    databases_down: HashSet<usize>,
    /// Slots that another database has than the map says.
    moved_slots: HashMap<Slot, usize>,
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

    /// Lets each write take so much longer.
    pub(crate) fn delay_writes(&self, delay: Duration) {
        self.state().write_delay = delay;
    }

    /// Ends every fault.
    pub(crate) fn heal(&self) {
        let mut state = self.state();
        state.fault = None;
        state.databases_down.clear();
    }

    /// A copy of what can go back: rows, positions and checkpoints of all databases.
    pub(crate) fn copy(&self) -> StoreCopy {
        let state = self.state();
        StoreCopy {
            rows: state.rows.clone(),
            reactions: state.reactions.clone(),
            dead_reactions: state.dead_reactions.clone(),
            positions: state.positions.clone(),
            checkpoints: state.checkpoints.clone(),
        }
    }

    /// Puts one database back to a copy.
    pub(crate) fn rewind(&self, database: usize, copy: &StoreCopy) {
        let state = &mut *self.state();
        let is_of = |slot: Slot| self.database_of(slot) == database;
        replace(&mut state.rows, &copy.rows, |id| is_of(id.slot()));
        replace(&mut state.reactions, &copy.reactions, |(id, _)| is_of(id.slot()));
        state.dead_reactions.retain(|dead| !is_of(dead.id.slot()));
        state.dead_reactions.extend(copy.dead_reactions.iter().filter(|dead| is_of(dead.id.slot())));
        replace(&mut state.positions, &copy.positions, |(_, slot)| is_of(*slot));
        replace(&mut state.checkpoints, &copy.checkpoints, |(of, _, _)| *of == database);
    }

    /// The databases that have gone back and were passed over.
    pub(crate) fn passed_rewinds(&self) -> Vec<usize> {
        self.state().passed_rewinds.clone()
    }

    /// Sets the checkpoint of a database.
    pub(crate) fn set_checkpoint(&self, database: usize, stream: OperationStream, partition: u32, next: u64) {
        let checkpoint = Checkpoint { next, ..Checkpoint::default() };
        self.state().checkpoints.insert((database, stream, partition), checkpoint);
    }

    /// Gives a slot to another database; the map does not say so yet.
    pub(crate) fn move_slot_unnoticed(&self, slot: Slot, to: usize) {
        self.state().moved_slots.insert(slot, to);
    }

    /// Fails one reset of a checkpoint, after so many others.
    pub(crate) fn fail_reset_after(&self, resets: usize) {
        self.state().resets_before_failure = Some(resets);
    }

    /// Forgets every checkpoint.
    pub(crate) fn forget_checkpoints(&self) {
        self.state().checkpoints.clear();
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

    /// How many statements read how far a partition is applied.
    pub(crate) fn applied_offset_queries(&self) -> usize {
        self.state().applied_offset_queries
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

/// What [`MemoryStore::rewind`] goes back to.
pub(crate) struct StoreCopy {
    rows: BTreeMap<CommentId, CommentRow>,
    reactions: HashMap<(CommentId, MemberId), Option<Reaction>>,
    dead_reactions: BTreeSet<DeadReaction>,
    positions: HashMap<(OperationStream, Slot), u64>,
    checkpoints: HashMap<(usize, OperationStream, u32), Checkpoint>,
}

/// Replaces the entries with these keys by those of a copy.
fn replace<K: Clone, V: Clone, M>(all: &mut M, copy: &M, is_replaced: impl Fn(&K) -> bool)
where
    M: Extend<(K, V)> + Default + IntoIterator<Item = (K, V)> + Clone,
{
    let kept = std::mem::take(all).into_iter().filter(|(key, _)| !is_replaced(key));
    let mut replaced = M::default();
    replaced.extend(kept);
    replaced.extend(copy.clone().into_iter().filter(|(key, _)| is_replaced(key)));
    *all = replaced;
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
