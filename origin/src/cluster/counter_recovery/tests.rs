use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot};
use gailou_shared::wire::Reaction;

use crate::cluster::counter_recovery::{CATCH_UP, CounterRecovery};
use crate::domain::positions::OperationStream;
use crate::ports::broker::{Broker, BrokerError, Consumer, DeadLetter, Record, Topic};
use crate::ports::counters::{Base, Counters, CountersError, Fold, Folded, PersistedReaction, Recovery};
use crate::ports::store::{SlotPositions, StoreError};

const PARTITIONS: u32 = 16;

/// Log, tables and counters at once: numbers that tests set, and what was asked.
#[derive(Debug)]
struct World {
    end: u64,
    /// Grows by one each time it is asked, up to the end.
    committed: AtomicU64,
    /// What every slot's own position is.
    position: u64,
    open: Mutex<BTreeSet<u16>>,
    begun: AtomicUsize,
    /// How many times the counters are lost between beginning and opening.
    losses: AtomicUsize,
}

fn world(end: u64, committed: u64, position: u64) -> Arc<World> {
    let (committed, begun, losses) = (AtomicU64::new(committed), AtomicUsize::new(0), AtomicUsize::new(0));
    Arc::new(World { end, committed, position, open: Mutex::default(), begun, losses })
}

fn opener(world: &Arc<World>) -> CounterRecovery {
    CounterRecovery::new(world.clone(), world.clone(), world.clone())
}

fn slot(number: u16) -> Slot {
    Slot::new(number).unwrap()
}

#[async_trait]
impl SlotPositions for World {
    async fn read_positions(&self, _: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>, StoreError> {
        Ok(slots.iter().map(|slot| (*slot, self.position)).collect())
    }

    async fn skip_position(&self, _: OperationStream, _: Slot, _: u64) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl Broker for World {
    fn partitions(&self) -> u32 {
        PARTITIONS
    }
    async fn end(&self, topic: Topic, _: u32) -> Result<u64, BrokerError> {
        assert_eq!(topic, Topic::Reactions);
        assert!(self.begun.load(Ordering::SeqCst) > 0, "the end is read after the beginning");
        Ok(self.end)
    }
    async fn committed(&self, _: Topic, _: u32) -> Result<u64, BrokerError> {
        let committed = self.committed.load(Ordering::SeqCst);
        // A partition of which nothing is known to be committed stands still.
        if committed > 0 && committed < self.end {
            self.committed.store(committed + 1, Ordering::SeqCst);
        }
        Ok(committed)
    }
    async fn append(&self, _: Topic, _: Slot, _: Vec<u8>) -> Result<u64, BrokerError> {
        Err(BrokerError::Full)
    }
    fn consumer(&self, _: Topic) -> Result<Box<dyn Consumer>, BrokerError> {
        Err(BrokerError::Full)
    }
    async fn dead_letter(&self, _: &Record, _: &str, _: u64) -> Result<(), BrokerError> {
        Err(BrokerError::Full)
    }
    async fn dead_letters(&self, _: Topic) -> Result<Vec<DeadLetter>, BrokerError> {
        Ok(vec![])
    }
    async fn mark_retried(&self, _: Topic, _: u64) -> Result<(), BrokerError> {
        Ok(())
    }
    async fn check(&self) -> Result<Vec<String>, BrokerError> {
        Ok(vec![])
    }
    async fn close(&self) {}
}

#[async_trait]
impl Counters for World {
    async fn lost(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError> {
        let open = self.open.lock().unwrap();
        Ok(slots.iter().copied().filter(|slot| !open.contains(&slot.get())).collect())
    }
    async fn begin(&self, slots: &[Slot]) -> Result<Recovery, CountersError> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        Ok(Recovery { slots: slots.to_vec(), token: String::new() })
    }
    async fn reopen(&self, opening: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError> {
        let before = self.losses.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if before.is_ok() {
            return Err(CountersError::Lost);
        }
        assert!(opening.slots.iter().all(|slot| reached[slot] == self.position));
        self.open.lock().unwrap().extend(opening.slots.iter().map(|slot| slot.get()));
        Ok(())
    }
    async fn fold(&self, _: Fold) -> Result<Folded, CountersError> {
        Err(CountersError::Lost)
    }
    async fn counts(&self, _: &[Base]) -> Result<HashMap<CommentId, (u64, u64)>, CountersError> {
        Err(CountersError::Lost)
    }
    async fn reactions(
        &self,
        _: MemberId,
        _: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError> {
        Err(CountersError::Lost)
    }
    async fn persisted(&self, _: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError> {
        Err(CountersError::Lost)
    }
    async fn view(&self, _: CommentId) -> Result<Option<(Base, (u64, u64))>, CountersError> {
        Err(CountersError::Lost)
    }
    async fn forget(&self, _: CommentId) -> Result<(), CountersError> {
        Err(CountersError::Lost)
    }
}

#[tokio::test]
async fn all_lost_slots_of_a_partition_are_opened_together_and_once() {
    let world = world(10, 7, 5);
    let opener = opener(&world);
    let (a, b) = ([slot(3), slot(3 + 16)], [slot(3 + 32)]);
    let (a, b, c) = tokio::join!(opener.open(&a), opener.open(&b), opener.open(&b));
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(world.begun.load(Ordering::SeqCst), 1, "one flight");
    let open = world.open.lock().unwrap().clone();
    assert_eq!(open.len(), usize::from(SLOT_COUNT) / PARTITIONS as usize);
    assert!(open.iter().all(|slot| slot % 16 == 3));
    assert_eq!(world.committed.load(Ordering::SeqCst), 10, "it waited for the tables");
}

#[tokio::test]
async fn the_slots_own_positions_count_where_nothing_is_committed() {
    let world = world(10, 0, 10);
    opener(&world).open(&[slot(0)]).await.unwrap();
    assert!(!world.open.lock().unwrap().is_empty());
}

#[tokio::test]
async fn lost_again_means_begun_again() {
    let world = world(10, 10, 0);
    world.losses.store(2, Ordering::SeqCst);
    opener(&world).open(&[slot(1)]).await.unwrap();
    assert_eq!(world.begun.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn tables_that_stand_still_fail_all_who_wait_at_the_same_time() {
    let world = world(10, 0, 0);
    let opener = opener(&world);
    let slots = [slot(2)];
    let both = async { tokio::join!(opener.open(&slots), opener.open(&slots)) };
    let (a, b) = tokio::time::timeout(CATCH_UP * 3 / 2, both).await.expect("nobody waits twice");
    assert!(matches!((a, b), (Err(CountersError::Unavailable(_)), Err(CountersError::Unavailable(_)))));
    assert_eq!(world.begun.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn everything_is_opened_at_the_start() {
    let world = world(10, 10, 5);
    opener(&world).recover_all().await;
    assert_eq!(world.open.lock().unwrap().len(), usize::from(SLOT_COUNT));
}
