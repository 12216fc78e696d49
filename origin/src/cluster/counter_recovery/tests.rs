//! When lost counters are loaded again, and when they have to wait.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use gailou_shared::id::{SLOT_COUNT, Slot};

use crate::cluster::counter_recovery::CATCH_UP_TIMEOUT;
use crate::ports::broker::Topic;
use crate::ports::counters::CountersError;
use crate::testing::test_bed::TestBed;

const PARTITIONS: u32 = 16;

fn slot(number: u16) -> Slot {
    Slot::new(number).unwrap()
}

/// Lost counters, and in each partition of the reactions ten records, of which so many are committed.
fn bed(committed: u64, position: u64) -> TestBed {
    let bed = TestBed::new(PARTITIONS, 1);
    bed.counters.lose_all();
    bed.store.set_reaction_positions(position);
    for partition in 0..PARTITIONS {
        for _ in 0..10 {
            bed.broker.put(Topic::Reactions, partition, vec![]);
        }
        bed.broker.commit(Topic::Reactions, partition, committed);
    }
    let counters = bed.counters.clone();
    bed.broker.on_end_offset(move || {
        assert!(counters.begun.load(SeqCst) > 0, "the end is read after the beginning");
    });
    bed
}

#[tokio::test(start_paused = true)]
async fn lost_slots_of_a_partition_are_recovered_together_once() {
    let bed = bed(7, 5);
    let recovery = bed.recovery();
    let (a, b) = ([slot(3), slot(3 + 16)], [slot(3 + 32)]);
    let commits = async {
        for offset in 8..=10 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            assert!(bed.counters.open_slots().is_empty(), "it waits for the tables");
            bed.broker.commit(Topic::Reactions, 3, offset);
        }
    };
    let recovered =
        async { tokio::join!(recovery.recover_slots(&a), recovery.recover_slots(&b), recovery.recover_slots(&b)) };
    let ((a, b, c), ()) = tokio::join!(recovered, commits);
    assert!(a.is_ok() && b.is_ok() && c.is_ok());
    assert_eq!(bed.counters.begun.load(SeqCst), 1, "one recovery");
    let open = bed.counters.open_slots();
    assert_eq!(open.len(), usize::from(SLOT_COUNT) / PARTITIONS as usize);
    assert!(open.iter().all(|slot| slot.get() % 16 == 3));
}

#[tokio::test(start_paused = true)]
async fn positions_of_slots_count_without_any_commit() {
    let bed = bed(0, 10);
    bed.recovery().recover_slots(&[slot(0)]).await.unwrap();
    assert!(!bed.counters.open_slots().is_empty());
}

#[tokio::test(start_paused = true)]
async fn recovery_begins_again_when_the_slots_are_lost_again() {
    let bed = bed(10, 0);
    bed.counters.failing_recoveries.store(2, SeqCst);
    bed.recovery().recover_slots(&[slot(1)]).await.unwrap();
    assert_eq!(bed.counters.begun.load(SeqCst), 3);
}

#[tokio::test(start_paused = true)]
async fn tables_that_do_not_catch_up_fail_all_waiting_callers_at_once() {
    let bed = bed(0, 0);
    let recovery = bed.recovery();
    let slots = [slot(2)];
    let both = async { tokio::join!(recovery.recover_slots(&slots), recovery.recover_slots(&slots)) };
    let (a, b) = tokio::time::timeout(CATCH_UP_TIMEOUT * 3 / 2, both).await.expect("neither waits twice");
    assert!(matches!((a, b), (Err(CountersError::Unavailable(_)), Err(CountersError::Unavailable(_)))));
    assert_eq!(bed.counters.begun.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn recover_all_opens_every_slot() {
    let bed = bed(10, 5);
    bed.recovery().recover_all().await;
    assert_eq!(bed.counters.open_slots().len(), usize::from(SLOT_COUNT));
}
