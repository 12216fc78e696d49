//! The rows of slots: whoever writes to a slot holds its row, which says whether the slot lives here
//! and how far its logs are applied.

use std::collections::{BTreeMap, BTreeSet};

use gailou_shared::id::Slot;
use sqlx::Row as _;

use crate::adapters::mysql::dirty_rows;
use crate::adapters::mysql::dirty_rows::Mark;
use crate::adapters::mysql::pool::Session;
use crate::adapters::mysql::rows::{count_at, damaged};
use crate::domain::positions::{NextPositions, OperationStream};
use crate::ports::store::{Result, StoreError};

/// Slots that live here and stay while the transaction lasts.
#[derive(Debug)]
pub(super) struct Held {
    /// The next positions of the comments' and the reactions' log.
    positions: BTreeMap<Slot, (u64, u64)>,
    /// Those that are being copied: what is written to them must be marked.
    copied: BTreeSet<Slot>,
}

/// Locks slots for writing; [`StoreError::Moved`] when one of them does not live here.
pub(super) async fn lock(session: &mut Session, slots: impl Iterator<Item = Slot>) -> Result<Held> {
    hold(session, slots, "FOR UPDATE").await
}

/// Keeps slots from moving, for what does not depend on their positions.
pub(super) async fn share(session: &mut Session, slots: impl Iterator<Item = Slot>) -> Result<Held> {
    hold(session, slots, "LOCK IN SHARE MODE").await
}

async fn hold(session: &mut Session, slots: impl Iterator<Item = Slot>, how: &str) -> Result<Held> {
    let slots: BTreeSet<Slot> = slots.collect();
    let list: Vec<String> = slots.iter().map(|slot| slot.get().to_string()).collect();
    // In their order, as everybody does.
    let text = format!(
        "SELECT slot, state, comments, reactions FROM slot WHERE slot IN ({}) ORDER BY slot {how}",
        list.join(",")
    );
    let mut held = Held { positions: BTreeMap::new(), copied: BTreeSet::new() };
    for r in session.raw_all(&text).await? {
        let slot = u16::try_from(r.try_get::<i64, _>(0)?).ok().and_then(Slot::new);
        let slot = slot.ok_or_else(|| damaged("a slot's number"))?;
        match r.try_get::<i64, _>(1)? {
            1 => {}
            4 => _ = held.copied.insert(slot),
            _ => return Err(StoreError::Moved),
        }
        held.positions.insert(slot, (count_at(&r, 2)?, count_at(&r, 3)?));
    }
    if held.positions.len() == slots.len() { Ok(held) } else { Err(damaged("a slot has no row")) }
}

impl Held {
    pub(super) fn positions(&self) -> NextPositions {
        let mut positions = NextPositions::default();
        for (slot, (comments, reactions)) in &self.positions {
            positions.set(OperationStream::Comments, *slot, *comments);
            positions.set(OperationStream::Reactions, *slot, *reactions);
        }
        positions
    }

    /// Writes the positions that have moved.
    pub(super) async fn advance(&self, session: &mut Session, positions: &NextPositions) -> Result<()> {
        let rows = self.positions.iter().filter_map(|(slot, before)| {
            let next =
                [OperationStream::Comments, OperationStream::Reactions].map(|stream| positions.next(stream, *slot));
            let moved = next != [before.0, before.1];
            moved.then(|| format!("({},1,{},{})", slot.get(), next[0], next[1]))
        });
        let rows: Vec<String> = rows.collect();
        if rows.is_empty() {
            return Ok(());
        }
        // The rows are there and locked: this only updates them.
        let text = format!(
            "INSERT INTO slot (slot, state, comments, reactions) VALUES {} \
             ON DUPLICATE KEY UPDATE comments = VALUES(comments), reactions = VALUES(reactions)",
            rows.join(",")
        );
        session.raw(&text).await
    }

    /// Notes what was written to those that are being copied.
    pub(super) async fn mark(&self, session: &mut Session, written: impl Iterator<Item = (Slot, Mark)>) -> Result<()> {
        if self.copied.is_empty() {
            return Ok(());
        }
        let mut by_slot: BTreeMap<Slot, Vec<Mark>> = BTreeMap::new();
        for (slot, mark) in written.filter(|(slot, _)| self.copied.contains(slot)) {
            by_slot.entry(slot).or_default().push(mark);
        }
        for (slot, written) in by_slot {
            dirty_rows::mark(session, slot, written).await?;
        }
        Ok(())
    }
}
