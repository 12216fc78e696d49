//! The slot map of one process, and the way of its calls by it: as `adapters/mysql/slot_map.rs` and
//! `adapters/mysql/routing.rs` do it, with the same times.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use gailou_shared::id::Slot;
use gailou_shared::slot_set::SlotSet;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, sleep, timeout};

use crate::domain::slot_map::SlotMap;
use crate::domain::slot_state::SlotStatus;
use crate::ports::store::{Result, StoreError};
use crate::testing::faults::lock;
use crate::testing::simulation::database::Database;
use crate::testing::simulation::database_slots::StoredSlotMap;
use crate::testing::simulation::tables::SimulatedTables;

/// How often a process reads which slots each database has.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);
/// How long a caller waits for a slot that moves.
const SLOT_MOVE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often it refreshes the map meanwhile, and how long it waits for the databases then.
const SLOT_MOVE_POLL_INTERVAL: Duration = Duration::from_millis(20);
const SLOT_MAP_READ_TIMEOUT: Duration = Duration::from_millis(300);

/// The map as last read, and what was computed of it.
pub(super) struct ProcessSlotMap {
    current: Mutex<LastReadSlotMap>,
    /// One process asks a database once at a time.
    reads: Vec<AsyncMutex<()>>,
}

struct LastReadSlotMap {
    map: Arc<SlotMap>,
    statuses: Vec<Arc<std::collections::BTreeMap<Slot, SlotStatus>>>,
    stored: Arc<StoredSlotMap>,
    /// Of this map; forgotten when it changes.
    slots_of: Vec<Option<SlotSet>>,
    unsettled: Option<Vec<Slot>>,
}

/// What a statement asks of the slots whose rows it reads, in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotCheck {
    /// Nothing, while what the process knows of them is young.
    Known,
    /// That the rows are current.
    Readable,
    /// That the rows are current and take writes; what the process knows does not matter.
    Owned,
}

impl ProcessSlotMap {
    /// A map that knows nothing yet.
    pub(super) fn new(databases: usize) -> Self {
        let current = LastReadSlotMap {
            map: Arc::new(SlotMap::new(databases)),
            statuses: vec![Arc::default(); databases],
            stored: Arc::default(),
            slots_of: vec![None; databases],
            unsettled: None,
        };
        Self { current: Mutex::new(current), reads: (0..databases).map(|_| AsyncMutex::default()).collect() }
    }

    fn get(&self) -> Arc<SlotMap> {
        lock(&self.current).map.clone()
    }

    pub(super) fn slots_of(&self, database: usize) -> SlotSet {
        let mut current = lock(&self.current);
        let map = current.map.clone();
        *current.slots_of[database].get_or_insert_with(|| map.slots_of(database))
    }

    pub(super) fn find_unsettled(&self) -> Vec<Slot> {
        let mut current = lock(&self.current);
        let map = current.map.clone();
        current.unsettled.get_or_insert_with(|| map.find_unsettled()).clone()
    }
}

impl SimulatedTables {
    /// The database of a slot, as far as this process knows.
    pub(super) fn known_database(&self, slot: Slot) -> usize {
        lock(&self.slot_map.current).map.shard(slot)
    }

    pub(super) async fn refresh_slots(&self, database: usize) -> Result<()> {
        let begun = Instant::now().into_std();
        let _read = self.slot_map.reads[database].lock().await;
        if self.slot_map.get().read_at(database) > Some(begun) {
            return Ok(());
        }
        self.node.run().await;
        let read_at = Instant::now().into_std();
        let read = |of: &mut Database| (of.slots.present.clone(), (database == 0).then(|| of.slots.stored_map.clone()));
        let (statuses, stored) = self.transact(database, "read_slot_map", read).await?;
        let mut current = lock(&self.slot_map.current);
        let stored = stored.unwrap_or_else(|| current.stored.clone());
        let is_same = current.map.read_at(database).is_some()
            && Arc::ptr_eq(&current.statuses[database], &statuses)
            && Arc::ptr_eq(&current.stored, &stored);
        let shards = (database == 0).then(|| stored.shards.clone());
        current.map = Arc::new(current.map.with_answer(database, statuses.clone(), read_at, shards));
        if !is_same {
            (current.statuses[database], current.stored) = (statuses, stored);
            current.slots_of.fill(None);
            current.unsettled = None;
        }
        Ok(())
    }

    pub(super) async fn refresh_all_slots(&self) -> Result<()> {
        join_all((0..self.count).map(|database| self.refresh_slots(database))).await.into_iter().collect()
    }

    /// Refreshes the map without end. A database that does not answer holds up no other.
    pub(super) async fn keep_slot_map_fresh(&self) {
        let follow = |database| async move {
            loop {
                sleep(REFRESH_INTERVAL).await;
                let _ = self.refresh_slots(database).await;
            }
        };
        join_all((0..self.count).map(follow)).await;
    }

    /// The answer of `call`, which is repeated while a slot moves.
    pub(super) async fn retry_while_moving<T, F: Future<Output = Result<T>>>(&self, call: impl Fn() -> F) -> Result<T> {
        let begun = Instant::now();
        loop {
            match call().await {
                Err(StoreError::Moved) => self.wait_for_move(begun).await?,
                answer => return answer,
            }
        }
    }

    /// Waits a little and refreshes the map.
    ///
    /// # Errors
    /// [`StoreError::Moved`] when the time since `begun` is over.
    pub(super) async fn wait_for_move(&self, begun: Instant) -> Result<()> {
        if begun.elapsed() > SLOT_MOVE_TIMEOUT {
            return Err(StoreError::Moved);
        }
        sleep(SLOT_MOVE_POLL_INTERVAL).await;
        self.read_slot_map_again().await;
        Ok(())
    }

    pub(super) async fn read_slot_map_again(&self) {
        let _ = timeout(SLOT_MAP_READ_TIMEOUT, self.refresh_all_slots()).await;
    }

    /// Reads items where their slots are. `read` is one statement for those of one database.
    pub(super) async fn read_by_slot<I: Clone, T>(
        &self,
        what: &'static str,
        check: SlotCheck,
        items: &[I],
        slot: impl Fn(&I) -> Slot,
        read: impl Fn(&mut Database, &[I]) -> Vec<T>,
    ) -> Result<Vec<T>> {
        let (slot, read) = (&slot, &read);
        let read_all = || async move {
            let parts = self.by_database(items.iter().cloned(), slot);
            let reads = parts.into_iter().map(|(database, items)| async move {
                let slots: Vec<Slot> = items.iter().map(slot).collect();
                self.read_checked(database, what, check, &slots, |of| read(of, &items)).await
            });
            Ok(try_join_all(reads).await?.into_iter().flatten().collect())
        };
        self.retry_while_moving(read_all).await
    }

    /// Reads something of one slot where it is.
    pub(super) async fn read_slot<T>(
        &self,
        what: &'static str,
        slot: Slot,
        read: impl Fn(&mut Database) -> T,
    ) -> Result<T> {
        let read = &read;
        let read_it =
            || async move { self.read_checked(self.known_database(slot), what, SlotCheck::Known, &[slot], read).await };
        self.retry_while_moving(read_it).await
    }

    async fn read_checked<T>(
        &self,
        database: usize,
        what: &'static str,
        check: SlotCheck,
        slots: &[Slot],
        read: impl FnOnce(&mut Database) -> T,
    ) -> Result<T> {
        // A process that stands still does not look at its map meanwhile.
        self.node.run().await;
        let known = self.slot_map.get().is_readable(database, slots, Instant::now().into_std());
        if known == Some(false) && check != SlotCheck::Owned {
            return Err(StoreError::Moved);
        }
        let read = |of: &mut Database| {
            let mut states = slots.iter().map(|slot| of.slots.status(*slot).state);
            let is_there = match check {
                SlotCheck::Known => known == Some(true) || states.all(|state| state.is_readable()),
                SlotCheck::Readable => states.all(|state| state.is_readable()),
                SlotCheck::Owned => states.all(|state| state.is_owned()),
            };
            if is_there { Ok(read(of)) } else { Err(StoreError::Moved) }
        };
        self.transact(database, what, read).await?
    }
}
