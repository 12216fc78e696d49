//! Which slots a database has: their states and the numbers of their moves, the dirty rows of those that are being
//! copied, and in the first database the stored map and the last number of a move.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use gailou_shared::id::{SLOT_COUNT, Slot};

use crate::domain::slot_map::initial_shard;
use crate::domain::slot_state::{SlotOwner, SlotState, SlotStatus};
use crate::ports::store::{Result, StoreError};
use crate::testing::simulation::database::Database;
use crate::testing::simulation::slot_rows::{CopiedSlotRows, SlotRowKey, changed_keys};

/// The states of all slots in one database.
#[derive(Debug, Clone, Default)]
pub(super) struct SimulatedSlots {
    /// Those that are not elsewhere.
    pub(super) present: Arc<BTreeMap<Slot, SlotStatus>>,
    /// The last moves of others; 0 for a slot that was never here.
    left: BTreeMap<Slot, i64>,
    pub(super) dirty: BTreeMap<Slot, BTreeSet<SlotRowKey>>,
    /// Used in the first database alone.
    pub(super) stored_map: Arc<StoredSlotMap>,
    pub(super) last_move: i64,
}

/// By slot: the database that is entered, and the number of the move that entered it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StoredSlotMap {
    pub(super) shards: Vec<u16>,
    pub(super) moves: Vec<i64>,
}

impl SimulatedSlots {
    /// The slots of one of so many databases, as they are made.
    pub(super) fn new(database: usize, databases: usize) -> Self {
        let shards: Vec<u16> = (0..SLOT_COUNT).map(|slot| initial_shard(slot, databases) as u16).collect();
        let own = (0..SLOT_COUNT).filter(|slot| initial_shard(*slot, databases) == database).filter_map(Slot::new);
        let status = SlotStatus { state: SlotState::Owned, move_number: 0 };
        let moves = vec![0; shards.len()];
        Self {
            present: Arc::new(own.map(|slot| (slot, status)).collect()),
            stored_map: Arc::new(StoredSlotMap { shards, moves }),
            ..Self::default()
        }
    }

    pub(super) fn status(&self, slot: Slot) -> SlotStatus {
        let left = || self.left.get(&slot).copied().unwrap_or(0);
        let elsewhere = || SlotStatus { state: SlotState::Elsewhere, move_number: left() };
        self.present.get(&slot).copied().unwrap_or_else(elsewhere)
    }

    pub(super) fn set_status(&mut self, slot: Slot, status: SlotStatus) {
        let present = Arc::make_mut(&mut self.present);
        if status.state == SlotState::Elsewhere {
            present.remove(&slot);
            self.left.insert(slot, status.move_number);
        } else {
            present.insert(slot, status);
        }
    }

    /// Fails with [`StoreError::Moved`] unless writers may change these slots here.
    pub(super) fn ensure_owned(&self, mut slots: impl Iterator<Item = Slot>) -> Result<()> {
        if slots.all(|slot| self.status(slot).state.is_owned()) { Ok(()) } else { Err(StoreError::Moved) }
    }

    /// The slots that writers may change here.
    pub(super) fn owned(&self) -> impl Iterator<Item = Slot> {
        self.present.iter().filter(|(_, status)| status.state.is_owned()).map(|(slot, _)| *slot)
    }

    /// Enters the owner of a slot in the stored map; `move_number` stays where there is none.
    pub(super) fn enter_owner(&mut self, slot: Slot, owner: usize, move_number: Option<i64>) {
        let (map, slot) = (Arc::make_mut(&mut self.stored_map), usize::from(slot.get()));
        map.shards[slot] = owner as u16;
        map.moves[slot] = move_number.unwrap_or(map.moves[slot]);
    }
}

impl Database {
    /// The rows of those of these slots that are being copied from here.
    pub(super) fn copied_rows(&self, slots: impl Iterator<Item = Slot>) -> BTreeMap<Slot, CopiedSlotRows> {
        let copied = slots.filter(|slot| self.slots.status(*slot).state == SlotState::Copying);
        copied.map(|slot| (slot, self.slot_rows(slot))).collect()
    }

    /// Records what was written to slots that are being copied since their rows were these.
    pub(super) fn record_dirty_rows(&mut self, before: &BTreeMap<Slot, CopiedSlotRows>) {
        for (slot, rows) in before {
            let changed = changed_keys(rows, &self.slot_rows(*slot));
            self.slots.dirty.entry(*slot).or_default().extend(changed);
        }
    }
}

/// Which database has a slot, by the rows of all.
pub(super) fn owner_of(databases: &[Database], slot: Slot) -> SlotOwner {
    SlotOwner::find(databases.iter().map(|database| database.slots.status(slot)).enumerate())
}

/// The database of a slot: the owner by the rows, or the last one.
pub(super) fn database_of(databases: &[Database], slot: Slot) -> usize {
    let last = || databases.iter().enumerate().max_by_key(|(_, of)| of.slots.status(slot).move_number);
    owner_of(databases, slot).database().or_else(|| Some(last()?.0)).unwrap_or(0)
}
