//! The locks of slots: a transaction that writes to a slot locks the slot's row, which says whether this
//! database has the slot and how far its streams are applied.

use std::collections::{BTreeMap, BTreeSet};

use gailou_shared::id::Slot;

use crate::adapters::mysql::dirty_rows::{DirtyRow, record_dirty_rows};
use crate::adapters::mysql::rows::{StoredEnum as _, count_at, damaged, slot_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotState;
use crate::domain::positions::{NextPositions, OperationStream};
use crate::ports::store::Result;

/// Slots that this database has, and keeps while the transaction lasts.
#[derive(Debug)]
pub(in crate::adapters::mysql) struct LockedSlots {
    positions: BTreeMap<Slot, StoredPositions>,
    /// Slots that are being copied: what is written to them must be recorded.
    copying: BTreeSet<Slot>,
}

/// The next positions of a slot, as its row has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct StoredPositions {
    comments: u64,
    reactions: u64,
}

/// Locks slots for writing; [`StoreError::Moved`] when another database has one of them.
///
/// [`StoreError::Moved`]: crate::ports::store::StoreError::Moved
pub(in crate::adapters::mysql) async fn lock_slots(
    session: &mut MysqlSession,
    slots: impl Iterator<Item = Slot>,
) -> Result<LockedSlots> {
    lock_rows(session, slots, "FOR UPDATE").await
}

/// Keeps slots from moving, for writes that do not depend on their positions.
pub(in crate::adapters::mysql) async fn share_slots(
    session: &mut MysqlSession,
    slots: impl Iterator<Item = Slot>,
) -> Result<LockedSlots> {
    lock_rows(session, slots, "LOCK IN SHARE MODE").await
}

async fn lock_rows(session: &mut MysqlSession, slots: impl Iterator<Item = Slot>, lock: &str) -> Result<LockedSlots> {
    let slots: BTreeSet<Slot> = slots.collect();
    let list: Vec<String> = slots.iter().map(|slot| slot.get().to_string()).collect();
    // In ascending order, as every transaction locks them.
    let text = format!(
        "SELECT slot, state, comments, reactions FROM slot WHERE slot IN ({}) ORDER BY slot {lock}",
        list.join(",")
    );
    let mut locked = LockedSlots { positions: BTreeMap::new(), copying: BTreeSet::new() };
    for r in session.fetch_text(text).await? {
        let (slot, state) = (slot_at(&r, 0)?, SlotState::at(&r, 1)?);
        state.ensure_owned()?;
        if state == SlotState::Copying {
            locked.copying.insert(slot);
        }
        let positions = StoredPositions { comments: count_at(&r, 2)?, reactions: count_at(&r, 3)? };
        locked.positions.insert(slot, positions);
    }
    if locked.positions.len() == slots.len() { Ok(locked) } else { Err(damaged("a slot has no row")) }
}

impl LockedSlots {
    pub(in crate::adapters::mysql) fn positions(&self) -> NextPositions {
        let mut positions = NextPositions::default();
        for (slot, stored) in &self.positions {
            positions.set(OperationStream::Comments, *slot, stored.comments);
            positions.set(OperationStream::Reactions, *slot, stored.reactions);
        }
        positions
    }

    /// Stores the positions that have advanced.
    pub(in crate::adapters::mysql) async fn advance(
        &self,
        session: &mut MysqlSession,
        positions: &NextPositions,
    ) -> Result<()> {
        let rows = self.positions.iter().filter_map(|(slot, stored)| {
            let comments = positions.next(OperationStream::Comments, *slot);
            let reactions = positions.next(OperationStream::Reactions, *slot);
            let advanced = *stored != StoredPositions { comments, reactions };
            advanced.then(|| format!("({},{},{comments},{reactions})", slot.get(), SlotState::Owned.number()))
        });
        let rows: Vec<String> = rows.collect();
        if rows.is_empty() {
            return Ok(());
        }
        // The rows exist and are locked, so this updates them and never inserts a state.
        let text = format!(
            "INSERT INTO slot (slot, state, comments, reactions) VALUES {} \
             ON DUPLICATE KEY UPDATE comments = VALUES(comments), reactions = VALUES(reactions)",
            rows.join(",")
        );
        session.execute_text(text).await
    }

    /// Records what was written to the slots that are being copied.
    pub(in crate::adapters::mysql) async fn record_dirty_rows(
        &self,
        session: &mut MysqlSession,
        written: impl Iterator<Item = (Slot, DirtyRow)>,
    ) -> Result<()> {
        if self.copying.is_empty() {
            return Ok(());
        }
        let mut by_slot: BTreeMap<Slot, Vec<DirtyRow>> = BTreeMap::new();
        for (slot, row) in written.filter(|(slot, _)| self.copying.contains(slot)) {
            by_slot.entry(slot).or_default().push(row);
        }
        for (slot, written) in by_slot {
            record_dirty_rows(session, slot, written).await?;
        }
        Ok(())
    }
}
