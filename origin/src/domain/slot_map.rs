//! Which database has which slot, as one process last read it.
//!
//! The rows of the slots are the truth: each process reads them from every database once a second. The stored map
//! of the first database is a cache of them, and counts only for a slot that no known row claims.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gailou_shared::id::{SLOT_COUNT, Slot};
use gailou_shared::slot_set::SlotSet;

use crate::domain::slot_state::{SlotOwner, SlotState, SlotStatus};

/// Older states may name a database from which the rows of a slot that moved are being deleted.
const MAX_TRUSTED_AGE: Duration = Duration::from_secs(5);

/// What the rows of one database said.
#[derive(Debug, Clone, Default)]
struct DatabaseSlots {
    /// The slots that are not elsewhere.
    statuses: Arc<BTreeMap<Slot, SlotStatus>>,
    /// `None` before the first answer.
    read_at: Option<Instant>,
}

/// The map at one moment.
#[derive(Debug, Clone)]
pub struct SlotMap {
    /// The stored map; empty before the first answer.
    stored: Vec<u16>,
    databases: Vec<DatabaseSlots>,
    owners: Vec<u16>,
}

impl SlotMap {
    /// A map that knows nothing yet.
    pub fn new(databases: usize) -> Self {
        let mut map = Self { stored: vec![], databases: vec![DatabaseSlots::default(); databases], owners: vec![] };
        map.find_owners();
        map
    }

    /// The map after a database was asked at `read_at`: by the statuses of the slots that are not elsewhere, and by the
    /// stored map if it was read too.
    #[must_use]
    pub fn with_answer(
        &self,
        shard: usize,
        statuses: Arc<BTreeMap<Slot, SlotStatus>>,
        read_at: Instant,
        stored: Option<Vec<u16>>,
    ) -> Self {
        let mut map = self.clone();
        let stored = stored.unwrap_or_else(|| self.stored.clone());
        let known = self.databases.get(shard);
        let is_known = known.is_some_and(|known| known.read_at.is_some() && known.statuses == statuses);
        let is_same = is_known && stored == self.stored;
        if let Some(database) = map.databases.get_mut(shard) {
            *database = DatabaseSlots { statuses, read_at: Some(read_at) };
        }
        if !is_same {
            map.stored = stored;
            map.find_owners();
        }
        map
    }

    /// When a database was asked last; `None` before its first answer.
    pub fn read_at(&self, shard: usize) -> Option<Instant> {
        self.databases.get(shard)?.read_at
    }

    /// The database of a slot: by its rows, else by the stored map.
    pub fn shard(&self, slot: Slot) -> usize {
        self.owners.get(usize::from(slot.get())).copied().map_or(0, usize::from)
    }

    /// The database of a slot by the stored map.
    pub fn stored_shard(&self, slot: Slot) -> Option<usize> {
        self.stored.get(usize::from(slot.get())).copied().map(usize::from)
    }

    /// Whether a database has the newest rows of these slots; `None` when its last answer is too old to say.
    pub fn is_readable(&self, shard: usize, slots: &[Slot], now: Instant) -> Option<bool> {
        let database = self.databases.get(shard)?;
        database.read_at.filter(|read_at| now.saturating_duration_since(*read_at) < MAX_TRUSTED_AGE)?;
        let is_readable = |slot| database.statuses.get(slot).is_some_and(|status| status.state.is_readable());
        Some(slots.iter().all(is_readable))
    }

    /// The slots that a database has, by its own rows.
    pub fn slots_of(&self, shard: usize) -> SlotSet {
        let is_owned = |slot: &Slot| self.owner(*slot).database() == Some(shard);
        let present = self.databases.get(shard).into_iter().flat_map(|known| known.statuses.keys().copied());
        present.filter(is_owned).collect()
    }

    /// The last status of a slot in each database that does not have it elsewhere.
    fn statuses(&self, slot: Slot) -> impl Iterator<Item = (usize, SlotStatus)> {
        let of_database = move |(shard, known): (usize, &DatabaseSlots)| Some((shard, *known.statuses.get(&slot)?));
        self.databases.iter().enumerate().filter_map(of_database)
    }

    /// The owner of a slot by the rows that are known.
    pub fn owner(&self, slot: Slot) -> SlotOwner {
        SlotOwner::find(self.statuses(slot))
    }

    /// Whether a database has a slot, and takes no writes to it.
    pub fn is_sealed(&self, slot: Slot, shard: usize) -> bool {
        self.statuses(slot).any(|(known, status)| known == shard && status.state == SlotState::Sealed)
    }

    /// Slots whose rows do not name one owner and nothing else, or whose owner the stored map does not name: they
    /// are being moved, or a move of them was interrupted, or a database has gone back.
    pub fn find_unsettled(&self) -> Vec<Slot> {
        let is_settled = |slot: &Slot| {
            let mut statuses = self.statuses(*slot);
            let one = statuses.next().filter(|(_, status)| status.state == SlotState::Owned);
            one.is_some_and(|(owner, _)| self.stored_shard(*slot).is_none_or(|stored| stored == owner))
                && statuses.next().is_none()
        };
        // A database that has not answered yet may have any of the slots.
        let knows_all = self.databases.iter().all(|database| database.read_at.is_some());
        let is_unsettled = |slot: &Slot| (knows_all || self.owner(*slot) != SlotOwner::Unclaimed) && !is_settled(slot);
        (0..SLOT_COUNT).filter_map(Slot::new).filter(is_unsettled).collect()
    }

    fn find_owners(&mut self) {
        // Without the stored map, a slot that no row claims is in a database that has not answered yet.
        let unread = self.databases.iter().position(|database| database.read_at.is_none());
        let unread = unread.and_then(|shard| u16::try_from(shard).ok()).unwrap_or(0);
        let owner = |slot| {
            let by_rows = self.owner(slot).database().and_then(|shard| u16::try_from(shard).ok());
            by_rows.or_else(|| self.stored.get(usize::from(slot.get())).copied()).unwrap_or(unread)
        };
        self.owners = (0..SLOT_COUNT).filter_map(Slot::new).map(owner).collect();
    }
}

/// The database of a slot in a new installation with this many databases: each has an even range.
pub fn initial_shard(slot: u16, databases: usize) -> usize {
    usize::from(slot) * databases / usize::from(SLOT_COUNT)
}
