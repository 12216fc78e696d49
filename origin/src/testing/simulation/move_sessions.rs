//! The port of a mover over the simulated databases: sessions with transactions, the right to move slots, and the rows
//! of a slot.
//!
//! Promises what `adapters/mysql/reshard` promises: what a transaction writes is there when it is committed and not
//! before; the row of a slot stays locked until then; a step is refused where the state or the number of the move is
//! not the expected one; and a session that the server has closed does nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use tokio::time::{Instant, sleep};

use crate::domain::slot_state::{SlotProgress, SlotStatus};
use crate::ports::store::{CopiedSlot, MoveLock, MoveSession, Result, SlotMoves, StoreError};
use crate::testing::faults::lock;
use crate::testing::fixtures::TEST_START_MS;
use crate::testing::simulation::connections::MoverConnection;
use crate::testing::simulation::database::Database;
use crate::testing::simulation::slot_rows::{SlotRow, SlotRowKey, changed_keys};
use crate::testing::simulation::tables::{Databases, SimulatedTables};
use crate::testing::simulation::world::{Node, Server};

/// Rows that are copied or deleted in one transaction.
const ROWS_PER_CHUNK: usize = 8;
/// How long a mover waits for the lock of a slot, which a transaction of another one may have.
const MOVER_LOCK_TIMEOUT: Duration = Duration::from_secs(50);
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(10);

type PendingWrite = Box<dyn FnOnce(&mut Database) + Send>;

/// What a transaction has written, which others see when it is committed.
#[derive(Default)]
struct MoverTransaction {
    writes: Vec<PendingWrite>,
    /// The statuses that it has written.
    status: Option<(Slot, SlotStatus)>,
    /// The dirty rows that it has taken.
    taken: BTreeSet<SlotRowKey>,
}

/// A connection of a mover to one database.
pub(super) struct SimulatedMoveSession {
    node: Arc<Node>,
    databases: Databases,
    database: usize,
    connection: Arc<MoverConnection>,
    transaction: Option<MoverTransaction>,
    /// A statement had no answer: the driver has given the connection up.
    is_broken: bool,
}

impl fmt::Debug for SimulatedMoveSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedMoveSession")
    }
}

impl Drop for SimulatedMoveSession {
    fn drop(&mut self) {
        self.connection.close();
    }
}

fn lost() -> StoreError {
    StoreError::Unavailable("the connection is lost".into())
}

impl SimulatedMoveSession {
    async fn open(tables: &SimulatedTables, database: usize) -> Result<Self> {
        let server = Server::Database(database);
        let connect = |of: &mut Database| of.connections.open(&tables.node, server);
        let connection = tables.transact(database, "connect", connect).await?;
        let (node, databases) = (tables.node.clone(), tables.databases.clone());
        Ok(Self { node, databases, database, connection, transaction: None, is_broken: false })
    }

    /// One statement.
    async fn call<T>(&mut self, what: &'static str, work: impl FnOnce(&mut Database) -> T) -> Result<T> {
        if self.is_broken {
            return Err(lost());
        }
        let (databases, database, connection) = (&self.databases, self.database, &self.connection);
        let work = || {
            let of = &mut lock(databases)[database];
            of.connections.take_statement(connection).then(|| work(of))
        };
        match self.node.call(Server::Database(database), what, work).await {
            Ok(Some(done)) => Ok(done),
            unanswered => {
                self.is_broken = true;
                self.connection.close();
                Err(unanswered.err().map_or_else(lost, StoreError::from))
            }
        }
    }

    /// A statement that needs the lock of a slot's row. In a transaction it is kept.
    async fn call_locked<T>(
        &mut self,
        what: &'static str,
        slot: Slot,
        work: impl FnOnce(&mut Database) -> T,
    ) -> Result<T> {
        let (begun, mut work, keeps) = (Instant::now(), Some(work), self.transaction.is_some());
        loop {
            let connection = self.connection.clone();
            let try_it = |of: &mut Database| {
                if of.connections.is_locked(slot, Some(&connection)) {
                    return None;
                }
                if keeps {
                    of.connections.lock_row(slot, &connection);
                }
                work.take().map(|work| work(of))
            };
            if let Some(done) = self.call(what, try_it).await? {
                return Ok(done);
            }
            if begun.elapsed() >= MOVER_LOCK_TIMEOUT {
                return Err(StoreError::Unavailable("the slot's row is locked".into()));
            }
            sleep(LOCK_POLL_INTERVAL).await;
        }
    }

    /// A statement that writes to a slot whose row is locked.
    async fn write(
        &mut self,
        what: &'static str,
        slot: Slot,
        write: impl FnOnce(&mut Database) + Send + 'static,
    ) -> Result<()> {
        match &mut self.transaction {
            None => self.call_locked(what, slot, write).await,
            Some(transaction) => {
                transaction.writes.push(Box::new(write));
                self.call(what, |_| ()).await
            }
        }
    }

    /// The status that this transaction has written, or the one that is there.
    fn own_status(&self, slot: Slot) -> Option<SlotStatus> {
        let written = self.transaction.as_ref()?.status.filter(|(of, _)| *of == slot)?;
        Some(written.1)
    }

    async fn replace_rows(&mut self, slot: Slot, rows: Vec<(SlotRowKey, Option<SlotRow>)>) -> Result<()> {
        let replace = move |of: &mut Database| {
            rows.into_iter().for_each(|(key, row)| of.replace_row(slot, key, row));
        };
        self.write("replace_rows", slot, replace).await
    }
}

#[async_trait]
impl MoveSession for SimulatedMoveSession {
    type Dirty = SlotRowKey;

    async fn begin(&mut self) -> Result<()> {
        self.call("begin", |_| ()).await?;
        self.transaction = Some(MoverTransaction::default());
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        let Some(MoverTransaction { writes, .. }) = self.transaction.take() else { return Err(lost()) };
        let connection = self.connection.clone();
        let commit = move |of: &mut Database| {
            writes.into_iter().for_each(|write| write(of));
            of.connections.unlock_rows(&connection);
        };
        self.call("commit", commit).await
    }

    async fn rollback(&mut self) -> Result<()> {
        self.transaction = None;
        let connection = self.connection.clone();
        self.call("rollback", move |of| of.connections.unlock_rows(&connection)).await
    }

    async fn read_status(&mut self, slot: Slot) -> Result<SlotStatus> {
        let stored = self.call("read_status", |of| of.slots.status(slot)).await?;
        Ok(self.own_status(slot).unwrap_or(stored))
    }

    async fn lock_status(&mut self, slot: Slot) -> Result<SlotStatus> {
        let stored = self.call_locked("lock_status", slot, |of| of.slots.status(slot)).await?;
        Ok(self.own_status(slot).unwrap_or(stored))
    }

    async fn replace_status(&mut self, slot: Slot, before: SlotStatus, next: SlotStatus) -> Result<()> {
        let (written, is_alone) = (self.own_status(slot), self.transaction.is_none());
        let replace = |of: &mut Database| {
            let is_expected = written.unwrap_or_else(|| of.slots.status(slot)) == before;
            if is_expected && is_alone {
                of.slots.set_status(slot, next);
            }
            is_expected
        };
        if !self.call_locked("replace_status", slot, replace).await? {
            return Err(StoreError::Moved);
        }
        self.node.world.explain(|| {
            let (process, database) = (self.node.number, self.database);
            format!("process {process} makes slot {slot:?} {next:?} in {database} instead of {before:?}")
        });
        if let Some(transaction) = &mut self.transaction {
            transaction.status = Some((slot, next));
            transaction.writes.push(Box::new(move |of| of.slots.set_status(slot, next)));
        }
        Ok(())
    }

    async fn take_dirty_rows(&mut self, slot: Slot, limit: usize) -> Result<Vec<SlotRowKey>> {
        let Some(taken) = self.transaction.as_ref().map(|of| of.taken.clone()) else { return Err(lost()) };
        let read = |of: &mut Database| -> Vec<SlotRowKey> {
            let dirty = of.slots.dirty.get(&slot).into_iter().flatten();
            dirty.filter(|key| !taken.contains(key)).take(limit).cloned().collect()
        };
        let dirty = self.call("take_dirty_rows", read).await?;
        if let Some(transaction) = &mut self.transaction {
            transaction.taken.extend(dirty.iter().cloned());
            let keys = dirty.clone();
            transaction.writes.push(Box::new(move |of| {
                of.slots.dirty.entry(slot).or_default().retain(|key| !keys.contains(key));
            }));
        }
        Ok(dirty)
    }

    async fn forget_dirty_rows(&mut self, slot: Slot) -> Result<()> {
        self.write("forget_dirty_rows", slot, move |of| _ = of.slots.dirty.remove(&slot)).await
    }

    async fn read_progress(&mut self, slot: Slot, status: SlotStatus) -> Result<SlotProgress> {
        let written = self.own_status(slot);
        let read = |of: &mut Database| {
            let is_expected = written.unwrap_or_else(|| of.slots.status(slot)) == status;
            is_expected.then(|| of.progress(slot))
        };
        self.call("read_progress", read).await?.ok_or(StoreError::Moved)
    }

    async fn receive_progress(&mut self, slot: Slot, progress: &SlotProgress) -> Result<()> {
        let progress = progress.clone();
        self.write("receive_progress", slot, move |of| of.receive_progress(slot, &progress)).await
    }
}

/// The held right to move slots.
pub(super) struct SimulatedMoveLock {
    session: SimulatedMoveSession,
}

impl SimulatedMoveLock {
    /// A statement of the connection that holds the lock.
    async fn call<T>(&mut self, what: &'static str, work: impl FnOnce(&mut Database) -> T) -> Result<T> {
        self.session.call(what, work).await
    }
}

#[async_trait]
impl MoveLock for SimulatedMoveLock {
    async fn check(&mut self) -> Result<()> {
        let connection = self.session.connection.clone();
        let is_held = self.call("check_lock", |of| of.connections.may_move(&connection)).await?;
        if is_held { Ok(()) } else { Err(StoreError::Unavailable("the lock was lost".into())) }
    }

    async fn release(mut self) -> Result<()> {
        let connection = self.session.connection.clone();
        self.call("release_lock", |of| of.connections.unlock_moves(&connection)).await
    }

    async fn take_move_number(&mut self, least: i64) -> Result<i64> {
        let now = TEST_START_MS as i64 + self.session.node.world.elapsed_ms() as i64;
        let take = |of: &mut Database| {
            of.slots.last_move = (of.slots.last_move + 1).max(least).max(now);
            of.slots.last_move
        };
        self.call("take_move_number", take).await
    }

    async fn enter_move(&mut self, slot: Slot, to: usize, move_number: i64) -> Result<()> {
        let enter = |of: &mut Database| {
            if of.slots.stored_map.moves[usize::from(slot.get())] < move_number {
                of.slots.enter_owner(slot, to, Some(move_number));
            }
        };
        self.call("enter_move", enter).await
    }

    async fn correct_map(&mut self, slot: Slot, owner: usize) -> Result<bool> {
        let index = usize::from(slot.get());
        let find = |of: &mut Database| (of.slots.stored_map.shards[index], of.slots.stored_map.moves[index]);
        let found = self.call("find_in_map", find).await?;
        if usize::from(found.0) == owner {
            return Ok(false);
        }
        let correct = |of: &mut Database| {
            let is_same = (of.slots.stored_map.shards[index], of.slots.stored_map.moves[index]) == found;
            if is_same {
                of.slots.enter_owner(slot, owner, None);
            }
            is_same
        };
        self.call("correct_map", correct).await
    }
}

/// The rows of a slot.
pub(super) struct SimulatedSlotRows(Slot);

#[async_trait]
impl CopiedSlot for SimulatedSlotRows {
    type Session = SimulatedMoveSession;
    /// The key after which it goes on.
    type Walk = Option<SlotRowKey>;

    async fn copy_next(
        &self,
        walk: &mut Option<SlotRowKey>,
        source: &mut SimulatedMoveSession,
        target: &mut SimulatedMoveSession,
    ) -> Result<bool> {
        let rows = self.next_rows(walk, source).await?;
        let has_more = rows.len() == ROWS_PER_CHUNK;
        target.replace_rows(self.0, rows).await?;
        Ok(has_more)
    }

    async fn copy_dirty(
        &self,
        source: &mut SimulatedMoveSession,
        target: &mut SimulatedMoveSession,
        dirty: &[SlotRowKey],
    ) -> Result<()> {
        let slot = self.0;
        let read = |of: &mut Database| {
            let mut rows = of.slot_rows(slot);
            dirty.iter().map(|key| (key.clone(), rows.remove(key))).collect()
        };
        let rows = source.call("read_rows", read).await?;
        target.replace_rows(slot, rows).await
    }

    async fn delete_next(&self, walk: &mut Option<SlotRowKey>, session: &mut SimulatedMoveSession) -> Result<bool> {
        let rows = self.next_rows(walk, session).await?;
        let has_more = rows.len() == ROWS_PER_CHUNK;
        session.replace_rows(self.0, rows.into_iter().map(|(key, _)| (key, None)).collect()).await?;
        Ok(has_more)
    }

    async fn count_comments(&self, session: &mut SimulatedMoveSession) -> Result<u64> {
        let slot = self.0;
        session.call("count_comments", |of| of.count_comments(slot)).await
    }
}

impl SimulatedSlotRows {
    /// The next rows of a walk.
    async fn next_rows(
        &self,
        walk: &mut Option<SlotRowKey>,
        session: &mut SimulatedMoveSession,
    ) -> Result<Vec<(SlotRowKey, Option<SlotRow>)>> {
        let (slot, after) = (self.0, walk.take());
        let read = |of: &mut Database| {
            let rows = of.slot_rows(slot);
            let rows = rows.range((after.as_ref().map_or(Unbounded, Excluded), Unbounded)).take(ROWS_PER_CHUNK);
            rows.map(|(key, row)| (key.clone(), Some(row.clone()))).collect()
        };
        let rows: Vec<_> = session.call("read_rows", read).await?;
        *walk = rows.last().map(|(key, _): &(SlotRowKey, _)| key.clone());
        Ok(rows)
    }
}

#[async_trait]
impl SlotMoves for SimulatedTables {
    type Lock = SimulatedMoveLock;
    type Session = SimulatedMoveSession;
    type Rows = SimulatedSlotRows;

    async fn lock_moves(&self, wait: Duration) -> Result<Option<SimulatedMoveLock>> {
        let (begun, mut session) = (Instant::now(), SimulatedMoveSession::open(self, 0).await?);
        let connection = session.connection.clone();
        loop {
            if session.call("lock_moves", |of| of.connections.lock_moves(&connection)).await? {
                return Ok(Some(SimulatedMoveLock { session }));
            }
            if begun.elapsed() >= wait {
                return Ok(None);
            }
            sleep(LOCK_POLL_INTERVAL * 10).await;
        }
    }

    async fn move_session(&self, database: usize) -> Result<SimulatedMoveSession> {
        SimulatedMoveSession::open(self, database).await
    }

    async fn rows_of_slot(&self, _: &mut SimulatedMoveSession, slot: Slot) -> Result<SimulatedSlotRows> {
        Ok(SimulatedSlotRows(slot))
    }

    async fn compare_copies(&self, slot: Slot, one: usize, other: usize) -> Result<Vec<String>> {
        let read = |of: &mut Database| of.slot_rows(slot);
        let one = self.transact(one, "read_copy", read).await?;
        let other = self.transact(other, "read_copy", read).await?;
        Ok(changed_keys(&one, &other).into_iter().map(|key| format!("{key:?}")).collect())
    }

    async fn refresh_slot_map(&self) -> Result<()> {
        self.refresh_all_slots().await
    }

    fn find_unsettled(&self) -> Vec<Slot> {
        self.slot_map.find_unsettled()
    }

    fn describe_database(&self, database: usize) -> String {
        format!("database {database}")
    }
}
