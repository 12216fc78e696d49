//! The tables as one process reaches them: the writing ports.
//!
//! Promises what MySQL promises: a transaction of one database happens as a whole or not at all; an answer that
//! does not come leaves it unknown which; an operation on several databases is one transaction in each.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot};
use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::Reaction;
use tokio::sync::Notify;

use crate::domain::broker_state::BrokerState;
use crate::domain::checkpoint::{Checkpoint, CheckpointAdvance};
use crate::domain::fold::HistoryRow;
use crate::domain::operation::{ChangeRow, LoggedOperation, OperationOutcome, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::ReactionState;
use crate::ports::store::{
    BatchWriter, BrokerStates, ChangeFeedReader, Checkpoints, Outboxes, ReactionStateReader, Result, Rewinds, Sharding,
    SlotPositions, StoreError,
};
use crate::testing::faults::lock;
use crate::testing::simulation::database::{Database, member_slot, slot_of};
use crate::testing::simulation::world::{Node, Server, Unanswered};

/// Rows of an outbox that are delivered at once.
const ROWS_PER_DELIVERY: usize = 8;

/// All databases.
pub(super) type Databases = Arc<Mutex<Vec<Database>>>;

/// The tables as one process reaches them.
pub(super) struct SimulatedTables {
    pub(super) node: Arc<Node>,
    databases: Databases,
    count: usize,
    /// By database: this process has written to its outbox.
    outbox_written: Vec<Notify>,
}

impl fmt::Debug for SimulatedTables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedTables")
    }
}

/// The database of a slot.
pub(super) fn database_of(slot: Slot, databases: usize) -> usize {
    usize::from(slot.get()) * databases / usize::from(SLOT_COUNT)
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
        Self { node, databases, count, outbox_written: (0..count).map(|_| Notify::new()).collect() }
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
        let parts = self.by_database(batch.iter().enumerate(), |(_, logged)| slot_of(&logged.operation));
        if checkpoints.is_some_and(|(of, ..)| parts.keys().any(|database| *database != of)) {
            return Err(StoreError::Moved);
        }
        let written = parts.iter().map(|(database, part)| {
            let operations: Vec<&LoggedOperation> = part.iter().map(|(_, logged)| *logged).collect();
            let checkpoints = checkpoints.map(|(_, stream, advances)| (stream, advances));
            self.transact(*database, "write", move |database| database.write(&operations, checkpoints))
        });
        let written = join_all(written).await;
        let mut outcomes: Vec<OperationOutcome> = vec![OperationOutcome::Done; batch.len()];
        let mut persisted = PersistedBatch::default();
        for ((database, part), done) in parts.iter().zip(written) {
            let done = done?;
            self.node.world.explain(|| {
                format!(
                    "written to {database}: {:?} {done:?}",
                    part.iter().map(|(_, of)| of.position).collect::<Vec<_>>()
                )
            });
            let done = done?;
            for ((index, _), outcome) in part.iter().zip(done.outcomes) {
                outcomes[*index] = outcome;
            }
            persisted.changed.extend(done.changed);
            persisted.touched.extend(done.touched);
            self.outbox_written[*database].notify_one();
        }
        Ok(PersistedBatch { outcomes, ..persisted })
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
        self.transact(database, "skip_operation", |database| database.skip(dead, advances)).await?
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
        let latest = answers.iter().flatten().max_by_key(|state| state.generation).cloned();
        let Some(latest) = latest else { return Err(StoreError::Unavailable("no database answers".into())) };
        for (database, answer) in answers.iter().enumerate() {
            if answer.as_ref().is_ok_and(|state| state.generation < latest.generation) {
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
}

#[async_trait]
impl Rewinds for SimulatedTables {
    /// One transaction; the lock that lets one process do it is left out.
    async fn pass_rewind(&self, database: usize, now: u64, window: Duration) -> Result<bool> {
        self.transact(database, "pass_rewind", |of| of.pass_rewind(now, window)).await?;
        Ok(true)
    }
}

#[async_trait]
impl Sharding for SimulatedTables {
    fn count_databases(&self) -> usize {
        self.count
    }

    fn database_of(&self, slot: Slot) -> usize {
        database_of(slot, self.count)
    }

    async fn refresh_slots_of(&self, database: usize) -> Result<()> {
        self.transact(database, "refresh_slots", |_| ()).await
    }
}

#[async_trait]
impl SlotPositions for SimulatedTables {
    async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>> {
        let mut positions = HashMap::with_capacity(slots.len());
        for (database, slots) in self.by_database(slots.iter().copied(), |slot| *slot) {
            let read = |database: &mut Database| -> Vec<(Slot, u64)> {
                slots.iter().map(|slot| (*slot, database.position(stream, *slot))).collect()
            };
            positions.extend(self.transact(database, "read_positions", read).await?);
        }
        Ok(positions)
    }
}

#[async_trait]
impl ReactionStateReader for SimulatedTables {
    async fn read_reaction_states(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>> {
        let mut states: Vec<Option<ReactionState>> = vec![None; pairs.len()];
        for (database, part) in self.by_database(pairs.iter().enumerate(), |(_, (id, _))| id.slot()) {
            let read = |database: &mut Database| -> Vec<(usize, ReactionState)> {
                part.iter().map(|(index, (id, member))| (*index, reaction_state(database, *id, *member))).collect()
            };
            for (index, state) in self.transact(database, "read_reaction_states", read).await? {
                states[index] = Some(state);
            }
        }
        states.into_iter().collect::<Option<_>>().ok_or_else(|| StoreError::damaged("a pair without a state"))
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
        let slots = (0..SLOT_COUNT).filter_map(Slot::new);
        slots.filter(|slot| self.database_of(*slot) == database).collect()
    }
}

#[async_trait]
impl Outboxes for SimulatedTables {
    async fn list_recipients(&self, database: usize) -> Result<Vec<usize>> {
        let count = self.count;
        let list = move |database: &mut Database| {
            let recipient = |row: &HistoryRow| database_of(member_slot(row.member), count);
            let recipients: std::collections::BTreeSet<usize> = database.outbox.values().map(recipient).collect();
            recipients.into_iter().collect()
        };
        self.transact(database, "list_recipients", list).await
    }

    /// Takes rows, writes them to the recipient, and deletes them when that is committed. The locks between are left
    /// out: two processes may deliver the same rows, which changes nothing.
    async fn deliver(
        &self,
        database: usize,
        recipient: usize,
        _: &(dyn Fn(MemberId) -> bool + Send + Sync),
    ) -> Result<usize> {
        let count = self.count;
        let take = move |database: &mut Database| -> Vec<(u64, HistoryRow)> {
            let is_for = |row: &HistoryRow| database_of(member_slot(row.member), count) == recipient;
            let rows = database.outbox.iter().filter(|(_, row)| is_for(row));
            rows.map(|(number, row)| (*number, *row)).take(ROWS_PER_DELIVERY).collect()
        };
        let rows = self.transact(database, "take_from_outbox", take).await?;
        if rows.is_empty() {
            return Ok(0);
        }
        let histories: Vec<HistoryRow> = rows.iter().map(|(_, row)| *row).collect();
        self.transact(recipient, "write_histories", |of| of.add_histories(&histories)).await?;
        let delete = |of: &mut Database| of.outbox.retain(|number, row| !rows.contains(&(*number, *row)));
        self.transact(database, "delete_from_outbox", delete).await?;
        Ok(rows.len())
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
