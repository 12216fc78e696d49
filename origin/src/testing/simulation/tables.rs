//! The tables as one process reaches them: the writing ports.
//!
//! Promises what MySQL promises: a transaction of one database happens as a whole or not at all; an answer that
//! does not come leaves it unknown which; an operation on several databases is one transaction in each; what is
//! written where a slot is not any more is refused.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::Reaction;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::domain::broker_state::BrokerState;
use crate::domain::checkpoint::{Checkpoint, CheckpointAdvance};
use crate::domain::fold::HistoryRow;
use crate::domain::operation::{ChangeRow, LoggedOperation, OperationOutcome, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::ports::store::{
    BatchWriter, BrokerStates, ChangeFeedReader, Checkpoints, Delivered, Outboxes, ReactionStateReader, Result,
    Rewinds, Sharding, SlotPositions, StoreError,
};
use crate::testing::faults::lock;
use crate::testing::simulation::database::{Database, member_slot};
use crate::testing::simulation::slot_map::{ProcessSlotMap, SlotCheck};
use crate::testing::simulation::world::{Node, Server, Unanswered};

/// Rows of an outbox that are delivered at once.
const ROWS_PER_DELIVERY: usize = 8;
/// How long a transaction waits for the lock of a slot.
const ROW_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
const ROW_LOCK_POLL_INTERVAL: Duration = Duration::from_millis(5);

/// All databases.
pub(super) type Databases = Arc<Mutex<Vec<Database>>>;

/// The tables as one process reaches them.
pub(super) struct SimulatedTables {
    pub(super) node: Arc<Node>,
    pub(super) databases: Databases,
    pub(super) count: usize,
    pub(super) slot_map: ProcessSlotMap,
    /// By database: this process has written to its outbox.
    outbox_written: Vec<Notify>,
}

impl fmt::Debug for SimulatedTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedTables")
    }
}

impl From<Unanswered> for StoreError {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Refused => Self::Unavailable("refused".into()),
            Unanswered::TimedOut => Self::Unavailable("no answer in time".into()),
        }
    }
}

impl SimulatedTables {
    pub(super) fn new(node: Arc<Node>, databases: Databases) -> Self {
        let count = lock(&databases).len();
        let (slot_map, outbox_written) = (ProcessSlotMap::new(count), (0..count).map(|_| Notify::new()).collect());
        Self { node, databases, count, slot_map, outbox_written }
    }

    /// One transaction.
    pub(super) async fn transact<T>(
        &self,
        database: usize,
        what: &'static str,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<T> {
        let work = || work(&mut lock(&self.databases)[database]);
        Ok(self.node.call(Server::Database(database), what, work).await?)
    }

    /// One transaction that writes to slots; `None` for all of the database. It waits while a mover has one of them
    /// locked.
    pub(super) async fn transact_on_slots<T>(
        &self,
        database: usize,
        what: &'static str,
        slots: Option<&[Slot]>,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<T> {
        let (begun, mut work) = (Instant::now(), Some(work));
        loop {
            let try_it = |of: &mut Database| {
                let is_locked = slots.map_or_else(
                    || of.connections.has_locks(),
                    |slots| slots.iter().any(|slot| of.connections.is_locked(*slot, None)),
                );
                if is_locked { None } else { work.take().map(|work| work(of)) }
            };
            if let Some(done) = self.transact(database, what, try_it).await? {
                return Ok(done);
            }
            if begun.elapsed() >= ROW_LOCK_TIMEOUT {
                return Err(StoreError::Unavailable("a slot is locked for too long".into()));
            }
            sleep(ROW_LOCK_POLL_INTERVAL).await;
        }
    }

    /// Items by the databases of their slots.
    pub(super) fn by_database<I>(
        &self,
        items: impl IntoIterator<Item = I>,
        slot: impl Fn(&I) -> Slot,
    ) -> BTreeMap<usize, Vec<I>> {
        let mut all: BTreeMap<usize, Vec<I>> = BTreeMap::new();
        for item in items {
            all.entry(self.database_of(slot(&item))).or_default().push(item);
        }
        all
    }

    async fn write(
        &self,
        batch: &[LoggedOperation],
        checkpoints: Option<(usize, OperationStream, &[CheckpointAdvance])>,
    ) -> Result<PersistedBatch> {
        let begun = Instant::now();
        let mut outcomes: Vec<Option<OperationOutcome>> = vec![None; batch.len()];
        let mut persisted = PersistedBatch::default();
        let mut remaining: Vec<usize> = (0..batch.len()).collect();
        while !remaining.is_empty() {
            let parts = self.by_database(remaining.drain(..), |index| batch[*index].operation.slot());
            if checkpoints.is_some_and(|(of, ..)| parts.keys().any(|database| *database != of)) {
                return Err(StoreError::Moved);
            }
            let written = parts.iter().map(|(database, indexes)| {
                let operations: Vec<&LoggedOperation> = indexes.iter().map(|index| &batch[*index]).collect();
                async move { self.write_part(*database, &operations, checkpoints).await }
            });
            let written = join_all(written).await;
            for (indexes, done) in parts.into_values().zip(written) {
                match done {
                    Ok(part) => {
                        for (index, outcome) in indexes.into_iter().zip(part.outcomes) {
                            outcomes[index] = Some(outcome);
                        }
                        persisted.changed.extend(part.changed);
                        persisted.touched.extend(part.touched);
                    }
                    Err(StoreError::Moved) => remaining.extend(indexes),
                    Err(error) => return Err(error),
                }
            }
            remaining.sort_unstable();
            if !remaining.is_empty() {
                self.wait_for_move(begun).await?;
            }
        }
        let outcomes = outcomes.into_iter().collect::<Option<_>>();
        let outcomes = outcomes.ok_or_else(|| StoreError::damaged("an operation without an outcome"))?;
        Ok(PersistedBatch { outcomes, ..persisted })
    }

    async fn write_part(
        &self,
        database: usize,
        part: &[&LoggedOperation],
        checkpoints: Option<(usize, OperationStream, &[CheckpointAdvance])>,
    ) -> Result<PersistedBatch> {
        let slots: Vec<Slot> = part.iter().map(|logged| logged.operation.slot()).collect();
        let checkpoints = checkpoints.map(|(_, stream, advances)| (stream, advances));
        let write = |of: &mut Database| of.write(part, checkpoints);
        let done = self.transact_on_slots(database, "write", Some(&slots), write).await?;
        self.node.world.explain(|| {
            let positions: Vec<_> = part.iter().map(|of| of.position).collect();
            format!("process {} writes to {database}: {positions:?} {done:?}", self.node.number)
        });
        if done.is_ok() {
            self.outbox_written[database].notify_one();
        }
        done
    }
}

#[async_trait]
impl BatchWriter for SimulatedTables {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        self.write(batch, None).await
    }
}

#[async_trait]
impl Checkpoints for SimulatedTables {
    async fn read_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        partitions: &[(u32, u64)],
    ) -> Result<HashMap<u32, Checkpoint>> {
        let read = |database: &mut Database| {
            let checkpoint = |(part, first): &(u32, u64)| (*part, database.checkpoint(stream, *part, *first));
            partitions.iter().map(checkpoint).collect()
        };
        self.transact(database, "read_checkpoints", read).await
    }

    async fn read_applied_offset(
        &self,
        database: usize,
        stream: OperationStream,
        partition: u32,
    ) -> Result<Option<u64>> {
        let read = |database: &mut Database| database.checkpoints.get(&(stream, partition)).map(|of| of.next);
        self.transact(database, "read_applied_offset", read).await
    }

    async fn persist_from(
        &self,
        stream: OperationStream,
        batch: &[LoggedOperation],
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<PersistedBatch> {
        self.write(batch, Some((database, stream, advances))).await
    }

    async fn skip_operation(
        &self,
        dead: &LoggedOperation,
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<()> {
        let slot = dead.operation.slot();
        self.transact_on_slots(database, "skip_operation", Some(&[slot]), |of| of.skip(dead, advances)).await?
    }

    async fn reset_checkpoint(
        &self,
        database: usize,
        stream: OperationStream,
        partition: u32,
        next: u64,
    ) -> Result<()> {
        let reset = |database: &mut Database| database.reset_checkpoint(stream, partition, next);
        self.transact(database, "reset_checkpoint", reset).await
    }

    async fn advance_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        advances: &[CheckpointAdvance],
    ) -> Result<()> {
        self.transact(database, "advance", |database| database.write_checkpoints(stream, advances)).await?
    }
}

#[async_trait]
impl BrokerStates for SimulatedTables {
    async fn read_broker_state(&self) -> Result<BrokerState> {
        let read = |database| self.transact(database, "read_broker_state", |of| of.broker_state.clone());
        let answers = join_all((0..self.count).map(read)).await;
        let together = |mut latest: BrokerState, state: &BrokerState| {
            latest.take(state);
            latest
        };
        let latest = answers.iter().flatten().cloned().reduce(|latest, state| together(latest, &state));
        let Some(latest) = latest else { return Err(StoreError::Unavailable("no database answers".into())) };
        for (database, answer) in answers.iter().enumerate() {
            let is_behind = |state: &BrokerState| {
                state.generation < latest.generation || state.cluster_id.is_none() && latest.cluster_id.is_some()
            };
            if answer.as_ref().is_ok_and(is_behind) {
                // As the adapter: a copy that is not written is written later.
                let copy = |of: &mut Database| of.write_broker_state(&latest);
                let _ = self.transact(database, "copy_broker_state", copy).await;
            }
        }
        Ok(latest)
    }

    async fn write_broker_state(&self, state: &BrokerState) -> Result<usize> {
        let write = |database| self.transact(database, "write_broker_state", |of| of.write_broker_state(state));
        let answers = join_all((0..self.count).map(write)).await;
        match answers.iter().filter(|answer| answer.is_ok()).count() {
            0 => Err(StoreError::Unavailable("no database answers".into())),
            written => Ok(written),
        }
    }

    /// As the adapter: the first database decides.
    async fn remember_cluster(&self, cluster_id: &str) -> Result<String> {
        let state = BrokerState { cluster_id: Some(cluster_id.to_owned()), ..BrokerState::default() };
        let remember = |of: &mut Database| {
            of.write_broker_state(&state);
            of.broker_state.cluster_id.clone()
        };
        let stored = self.transact(0, "remember_cluster", remember).await?;
        stored.ok_or_else(|| StoreError::damaged("a cluster that was stored is missing"))
    }
}

#[async_trait]
impl Rewinds for SimulatedTables {
    /// One transaction; the lock that lets one process do it is left out.
    async fn pass_rewind(&self, database: usize, now: u64, window: Option<Duration>) -> Result<bool> {
        self.transact_on_slots(database, "pass_rewind", None, |of| of.pass_rewind(now, window)).await?;
        Ok(true)
    }
}

#[async_trait]
impl Sharding for SimulatedTables {
    fn count_databases(&self) -> usize {
        self.count
    }

    fn database_of(&self, slot: Slot) -> usize {
        self.known_database(slot)
    }

    async fn refresh_slots_of(&self, database: usize) -> Result<SlotSet> {
        self.refresh_slots(database).await?;
        Ok(self.slot_map.slots_of(database))
    }
}

#[async_trait]
impl SlotPositions for SimulatedTables {
    async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let read = |of: &mut Database, slots: &[Slot]| -> Vec<(Slot, u64)> {
            slots.iter().map(|slot| (*slot, of.position(stream, *slot))).collect()
        };
        let positions = self.read_by_slot("read_positions", SlotCheck::Owned, slots, |slot| *slot, read);
        Ok(positions.await?.into_iter().collect())
    }
}

#[async_trait]
impl ReactionStateReader for SimulatedTables {
    async fn read_reaction_states(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>> {
        let numbered: Vec<_> = pairs.iter().copied().enumerate().collect();
        let read = |of: &mut Database, pairs: &[(usize, (CommentId, MemberId))]| -> Vec<(usize, ReactionState)> {
            pairs.iter().map(|(index, (id, member))| (*index, reaction_state(of, *id, *member))).collect()
        };
        let slot = |(_, (id, _)): &(usize, (CommentId, MemberId))| id.slot();
        let states = self.read_by_slot("read_reaction_states", SlotCheck::Owned, &numbered, slot, read).await?;
        let states: BTreeMap<usize, ReactionState> = states.into_iter().collect();
        Ok(states.into_values().collect())
    }
}

/// What a database knows of a pair. Without a row, reactions that came before their comment are counted.
fn reaction_state(database: &Database, id: CommentId, member: MemberId) -> ReactionState {
    let position = database.position(OperationStream::Reactions, id.slot());
    let stored = database.stored(id);
    let own = stored.map_or(id, |stored| stored.row.path.id());
    let count = |which| database.tables.reactions.iter().filter(|((of, _), is)| *of == id && **is == which).count();
    ReactionState {
        position,
        reaction: database.tables.reactions.get(&(own, member)).copied(),
        visible: stored.map(|stored| stored.row.is_visible()),
        likes: stored.map_or_else(|| count(Reaction::Like) as u64, |stored| stored.row.counts.likes),
        dislikes: stored.map_or_else(|| count(Reaction::Dislike) as u64, |stored| stored.row.counts.dislikes),
        reactions_offset: stored.map_or(position, |stored| stored.row.reactions_offset),
    }
}

#[async_trait]
impl ChangeFeedReader for SimulatedTables {
    async fn read_changes(&self, database: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>> {
        let read = |database: &mut Database| {
            database.changes.range(after + 1..).map(|(_, row)| row.clone()).take(count).collect()
        };
        self.transact(database, "read_changes", read).await
    }

    async fn read_changes_at(&self, database: usize, numbers: &[u64]) -> Result<Vec<ChangeRow>> {
        let read = |database: &mut Database| {
            numbers.iter().filter_map(|number| database.changes.get(number).cloned()).collect()
        };
        self.transact(database, "read_changes_at", read).await
    }

    fn slots_of(&self, database: usize) -> SlotSet {
        self.slot_map.slots_of(database)
    }
}

#[async_trait]
impl Outboxes for SimulatedTables {
    async fn list_recipients(&self, database: usize) -> Result<Vec<usize>> {
        let slots = self.list_member_slots(database).await?;
        let recipients: BTreeSet<usize> = slots.into_iter().map(|slot| self.known_database(slot)).collect();
        Ok(recipients.into_iter().collect())
    }

    async fn deliver(
        &self,
        database: usize,
        recipient: usize,
        _: &(dyn Fn(MemberId) -> bool + Send + Sync),
    ) -> Result<Delivered> {
        let is_own = |slot: &Slot| self.known_database(*slot) == recipient;
        let slots: Vec<Slot> = self.list_member_slots(database).await?.into_iter().filter(is_own).collect();
        match self.deliver_to(database, recipient, &slots).await {
            Err(StoreError::Moved) => {}
            done => return done,
        }
        self.read_slot_map_again().await;
        let mut all = Delivered::default();
        for slot in self.list_member_slots(database).await?.into_iter().filter(is_own) {
            match self.deliver_to(database, recipient, &[slot]).await {
                Ok(delivered) => all.add(delivered),
                Err(StoreError::Moved) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    async fn has_history(&self, database: usize, member: MemberId, id: CommentId) -> Result<Option<bool>> {
        let find = |of: &mut Database| {
            let is_here = of.slots.status(member_slot(member)).state.is_readable();
            is_here.then(|| of.histories.contains_key(&(member, id)))
        };
        self.transact(database, "has_history", find).await
    }

    async fn read_outbox_age(&self, _: usize) -> Result<Option<u64>> {
        Ok(None)
    }

    async fn wait_for_rows(&self, database: usize) {
        match self.outbox_written.get(database) {
            Some(written) => written.notified().await,
            None => pending().await,
        }
    }
}

impl SimulatedTables {
    /// The slots of the members for whom an outbox has rows.
    async fn list_member_slots(&self, database: usize) -> Result<BTreeSet<Slot>> {
        let list = |of: &mut Database| of.outbox.values().map(|row| member_slot(row.member)).collect();
        self.transact(database, "list_recipients", list).await
    }

    /// Takes rows for members in these slots, writes them to the recipient, and deletes them when that is committed. The
    /// locks between are left out: two processes may deliver the same rows, which changes nothing.
    async fn deliver_to(&self, database: usize, recipient: usize, slots: &[Slot]) -> Result<Delivered> {
        let take = |of: &mut Database| -> Vec<(u64, HistoryRow)> {
            let rows = of.outbox.iter().filter(|(_, row)| slots.contains(&member_slot(row.member)));
            rows.map(|(number, row)| (*number, *row)).take(ROWS_PER_DELIVERY).collect()
        };
        let rows = self.transact(database, "take_from_outbox", take).await?;
        if rows.is_empty() {
            return Ok(Delivered::default());
        }
        let histories: Vec<HistoryRow> = rows.iter().map(|(_, row)| *row).collect();
        let slots: Vec<Slot> = histories.iter().map(|row| member_slot(row.member)).collect();
        let write = |of: &mut Database| of.add_histories(&histories);
        let last_new = self.transact_on_slots(recipient, "write_histories", Some(&slots), write).await??;
        let delete = |of: &mut Database| of.outbox.retain(|number, row| !rows.contains(&(*number, *row)));
        self.transact(database, "delete_from_outbox", delete).await?;
        Ok(Delivered { rows: rows.len(), last_new })
    }
}
