//! Moves slots from one database to another while they are read and written.
//!
//! The states of the slot's rows say how far a move has come, so that the next call continues or undoes
//! a move that was interrupted:
//!
//! 1. Source `SlotState::Copying`, target `SlotState::Incoming`: the slot's rows are copied. Writers
//!    continue, and record their dirty rows (`super::dirty_rows`). A move that is interrupted here
//!    starts again from an empty copy.
//! 2. Source `SlotState::Sealed`: under the lock of the source's row the last dirty rows were copied
//!    too. No process can write. A move that is interrupted from here on is finished.
//! 3. Target `SlotState::Owned` with the source's positions; the slot map names the target; source
//!    `SlotState::Elsewhere`.
//! 4. After the time in which every process refreshes its map, the source's rows are deleted.

mod copy;
mod dirty_conditions;
mod plan;
mod verify;

use std::time::Duration;

pub(super) use copy::SlotRows;
use gailou_shared::id::{SLOT_COUNT, Slot};
pub use plan::SlotMove;
use sqlx::Row as _;
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::take_dirty_rows;
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::row_numbers::{first_subject, last_subject};
use crate::adapters::mysql::rows::{StoredEnum as _, damaged};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::ports::store::{Result, StoreError};

/// How long the source's rows are kept: a process refreshes its map every second, and one whose map is
/// older than five seconds asks the database before it reads.
const OLD_ROWS_RETENTION: Duration = Duration::from_secs(8);
/// Dirty rows copied at a time while writers continue.
const DIRTY_ROWS_PER_PASS: usize = 1_000;
/// Passes that do not block writers.
const MAX_CATCH_UP_PASSES: usize = 100;
/// How long writers are blocked at a time; the next pause copies what remains.
const MAX_WRITE_PAUSE: Duration = Duration::from_millis(400);
/// Pauses before the move is given up. Between two pauses each writer writes one batch, and the copy is
/// faster than the writers.
const MAX_WRITE_PAUSES: usize = 500;
/// How long a caller waits while another process moves slots.
const MOVE_LOCK_WAIT_S: u64 = 1;

impl MysqlStore {
    /// The moves after which the first `databases` of the configured ones have as many slots each, and
    /// the others none.
    ///
    /// # Errors
    /// When fewer databases are configured, or the first does not answer.
    pub async fn plan_moves(&self, databases: usize) -> Result<Vec<SlotMove>> {
        if databases == 0 || databases > self.pools.len() {
            return Err(StoreError::Database(format!("there are {} databases", self.pools.len()).into()));
        }
        Ok(plan::plan_even_moves(&self.owners().await?, databases))
    }

    /// The database of each slot, by a fresh map.
    async fn owners(&self) -> Result<Vec<usize>> {
        self.refresh_slot_map().await?;
        let map = self.slot_map.get();
        Ok((0..SLOT_COUNT).filter_map(Slot::new).map(|slot| map.shard(slot)).collect())
    }

    /// Moves a slot to a database, or continues a move that was interrupted. Its rows stay readable where
    /// they were until [`MysqlStore::delete_old_copies`].
    ///
    /// # Errors
    /// When a database does not answer, another process is moving slots, or writers are too fast. The
    /// slot stays where it was, or (when it was sealed already) refuses writes until the next call.
    pub async fn relocate(&self, slot: Slot, to: usize) -> Result<()> {
        if to >= self.pools.len() {
            return Err(StoreError::Database(format!("there are {} databases, from 0", self.pools.len()).into()));
        }
        let mut lock = self.lock_moves().await?;
        self.resume(slot).await?;
        self.refresh_slot_map().await?;
        let from = self.slot_map.get().shard(slot);
        if from != to {
            let copied = self.copy(&mut lock, slot, from, to).await;
            if copied.is_err() {
                // Dirty rows cost the writers time; if this fails too, the next call undoes the copy.
                let _ = self.undo(slot, from).await;
            }
            copied?;
            self.finish(slot, from, to).await?;
        }
        lock.release().await
    }

    /// Deletes the rows of slots from the databases that have them no more, after every process has had
    /// time to refresh its map.
    ///
    /// # Errors
    /// When a database does not answer, or the copy is incomplete; the next call deletes what remains.
    pub async fn delete_old_copies(&self, slots: &[Slot]) -> Result<()> {
        sleep(OLD_ROWS_RETENTION).await;
        let lock = self.lock_moves().await?;
        self.refresh_slot_map().await?;
        for slot in slots {
            let owner = self.slot_map.get().shard(*slot);
            let number = self.table_number(*slot);
            let mut session = self.long_session("reshard", owner).await?;
            if SlotState::read(&mut session, *slot).await? != SlotState::Owned {
                return Err(StoreError::Moved);
            }
            let kept = count_comments(&mut session, number, *slot).await?;
            for shard in (0..self.pools.len()).filter(|shard| *shard != owner) {
                let mut session = self.long_session("reshard", shard).await?;
                if SlotState::read(&mut session, *slot).await? != SlotState::Elsewhere {
                    return Err(StoreError::Moved);
                }
                // Comments are never deleted from their table, so a complete copy has all of them.
                let old = count_comments(&mut session, number, *slot).await?;
                if old > kept {
                    return Err(damaged(format_args!(
                        "slot {}: {} has {old} comments, {} has only {kept}; nothing was deleted",
                        slot.get(),
                        self.pool(shard).address(),
                        self.pool(owner).address()
                    )));
                }
                SlotRows::new(&mut session, number, *slot).await?.delete(&mut session).await?;
            }
        }
        lock.release().await
    }

    /// The right to move slots, which one process has at a time.
    async fn lock_moves(&self) -> Result<NamedLock> {
        let lock = NamedLock::acquire(self.long_session("reshard", 0).await?, "shift", MOVE_LOCK_WAIT_S).await?;
        lock.ok_or_else(|| StoreError::Unavailable("another process is moving slots; try again later".into()))
    }

    /// Finishes or undoes a move that was interrupted.
    async fn resume(&self, slot: Slot) -> Result<()> {
        self.refresh_slot_map().await?;
        let owner = self.slot_map.get().shard(slot);
        let mut states = Vec::with_capacity(self.pools.len());
        for shard in 0..self.pools.len() {
            states.push(SlotState::read(&mut self.long_session("reshard", shard).await?, slot).await?);
        }
        if states[owner] == SlotState::Sealed {
            let is_target = |state| matches!(state, SlotState::Incoming | SlotState::Owned);
            let target = (0..states.len()).find(|shard| *shard != owner && is_target(states[*shard]));
            let missing = || damaged(format_args!("slot {} is sealed and has no target", slot.get()));
            return self.finish(slot, owner, target.ok_or_else(missing)?).await;
        }
        if states[owner] == SlotState::Copying {
            self.undo(slot, owner).await?;
        }
        for (shard, state) in states.iter().enumerate() {
            if shard != owner && *state != SlotState::Elsewhere {
                SlotState::Elsewhere.store(&mut self.long_session("reshard", shard).await?, slot).await?;
            }
        }
        Ok(())
    }

    /// Returns the source to the state before the copy.
    async fn undo(&self, slot: Slot, from: usize) -> Result<()> {
        let mut session = self.long_session("reshard", from).await?;
        session.begin().await?;
        if SlotState::lock(&mut session, slot).await? == SlotState::Copying {
            SlotState::Owned.store(&mut session, slot).await?;
            session.execute(sql("DELETE FROM mark WHERE slot = ?").bind(slot.get())).await?;
        }
        session.commit().await
    }

    /// Copies the slot and seals it.
    async fn copy(&self, moves: &mut NamedLock, slot: Slot, from: usize, to: usize) -> Result<()> {
        let (mut source, mut target) =
            (self.long_session("reshard", from).await?, self.long_session("reshard", to).await?);
        let rows = SlotRows::new(&mut source, self.table_number(slot), slot).await?;
        SlotState::Incoming.store(&mut target, slot).await?;
        rows.delete(&mut target).await?;
        source.begin().await?;
        if SlotState::lock(&mut source, slot).await? != SlotState::Owned {
            return Err(StoreError::Moved);
        }
        source.execute(sql("DELETE FROM mark WHERE slot = ?").bind(slot.get())).await?;
        SlotState::Copying.store(&mut source, slot).await?;
        source.commit().await?;
        rows.copy_all(&mut source, &mut target).await?;
        copy_dirty_rows(&mut source, &mut target, &rows, slot).await?;
        for _ in 0..MAX_WRITE_PAUSES {
            // Without the lock another process may be moving this slot.
            moves.check().await?;
            if seal(&mut source, &mut target, &rows, slot).await? {
                return Ok(());
            }
        }
        let text = format!("slot {} is written too fast to be moved now", slot.get());
        Err(StoreError::Unavailable(text.into()))
    }

    /// Gives a sealed slot to its new database.
    async fn finish(&self, slot: Slot, from: usize, to: usize) -> Result<()> {
        let (mut source, mut target) =
            (self.long_session("reshard", from).await?, self.long_session("reshard", to).await?);
        let find = "SELECT comments, reactions FROM slot WHERE slot = ? AND state = ?";
        let found = source.fetch_first(sql(find).bind(slot.get()).bind(SlotState::Sealed.number())).await?;
        let found = found.ok_or_else(|| damaged(format_args!("slot {} is not sealed", slot.get())))?;
        let (comments, reactions): (i64, i64) = (found.try_get(0)?, found.try_get(1)?);
        // Only once: the target's positions may have advanced since.
        let take = "UPDATE slot SET state = ?, comments = ?, reactions = ? WHERE slot = ? AND state <> ?";
        let owned = SlotState::Owned.number();
        let take = sql(take).bind(owned).bind(comments).bind(reactions).bind(slot.get()).bind(owned);
        target.execute(take).await?;
        let map = "UPDATE slot_map SET shard = ?, version = version + 1 WHERE slot = ?";
        self.session("reshard", 0).await?.execute(sql(map).bind(to as i64).bind(slot.get())).await?;
        SlotState::Elsewhere.store(&mut source, slot).await?;
        self.refresh_slot_map().await
    }
}

/// Copies what was written meanwhile, until few dirty rows remain.
async fn copy_dirty_rows(
    source: &mut MysqlSession,
    target: &mut MysqlSession,
    rows: &SlotRows,
    slot: Slot,
) -> Result<()> {
    for _ in 0..MAX_CATCH_UP_PASSES {
        source.begin().await?;
        if SlotState::lock(source, slot).await? != SlotState::Copying {
            return Err(StoreError::Moved);
        }
        let dirty = take_dirty_rows(source, slot, DIRTY_ROWS_PER_PASS).await?;
        source.commit().await?;
        rows.copy_dirty(source, target, &dirty).await?;
        if dirty.len() < DIRTY_ROWS_PER_PASS {
            break;
        }
    }
    Ok(())
}

/// Copies the remaining dirty rows while writers are blocked, and seals the slot. Copies only some of
/// them, and answers `false`, when that takes too long.
async fn seal(source: &mut MysqlSession, target: &mut MysqlSession, rows: &SlotRows, slot: Slot) -> Result<bool> {
    let begun = Instant::now();
    source.begin().await?;
    if SlotState::lock(source, slot).await? != SlotState::Copying {
        return Err(StoreError::Moved);
    }
    while begun.elapsed() < MAX_WRITE_PAUSE {
        let dirty = take_dirty_rows(source, slot, DIRTY_ROWS_PER_PASS / 2).await?;
        if dirty.is_empty() {
            SlotState::Sealed.store(source, slot).await?;
            source.commit().await?;
            let (slot, pause_ms) = (slot.get(), begun.elapsed().as_millis() as u64);
            tracing::info!(slot, pause_ms, "Sealed slot {slot} after blocking its writers for {pause_ms} ms");
            return Ok(true);
        }
        rows.copy_dirty(source, target, &dirty).await?;
    }
    source.commit().await?;
    Ok(false)
}

/// The number of a slot's comments in this database.
async fn count_comments(session: &mut MysqlSession, number: u16, slot: Slot) -> Result<i64> {
    let text =
        format!("SELECT COUNT(*) FROM comment_{number} FORCE INDEX (comment_path) WHERE subject BETWEEN ? AND ?");
    let statement = sql(text).bind(first_subject(slot)).bind(last_subject(slot));
    Ok(session.fetch_first(statement).await?.ok_or_else(|| damaged("no count"))?.try_get(0)?)
}
