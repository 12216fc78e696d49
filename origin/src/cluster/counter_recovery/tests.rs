//! When lost counters are loaded again, and when they have to wait.

use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::time::{Instant, sleep};

use crate::cluster::counter_recovery::RECOVERY_WAIT_TIMEOUT;
use crate::cluster::counter_recovery::group_recovery::{LOCAL_CACHE_DRAIN_TIME, MAX_POLL_INTERVAL, RECOVERY_LEASE};
use crate::domain::positions::OperationStream;
use crate::ports::broker::Topic;
use crate::ports::counters::CountersError;
use crate::testing::test_bed::TestBed;

const PARTITIONS: u32 = 16;

fn slot(number: u16) -> Slot {
    Slot::new(number).unwrap()
}

/// Lost counters, and in each partition of the reactions ten records, of which so many are applied.
fn bed(applied: u64, position: u64) -> TestBed {
    let bed = TestBed::new(PARTITIONS, 1);
    bed.counters.lose_all();
    bed.store.set_reaction_positions(position);
    for partition in 0..PARTITIONS {
        for _ in 0..10 {
            bed.broker.put(Topic::Reactions, partition, vec![]);
        }
        bed.store.set_checkpoint(0, OperationStream::Reactions, partition, applied);
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
            sleep(Duration::from_millis(50)).await;
            assert!(bed.counters.open_slots().is_empty(), "it waits for the tables");
            bed.store.set_checkpoint(0, OperationStream::Reactions, 3, offset);
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
async fn positions_of_slots_count_without_any_checkpoint() {
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
    let (a, b) = tokio::time::timeout(RECOVERY_WAIT_TIMEOUT * 3 / 2, both).await.expect("neither waits twice");
    assert!(matches!((a, b), (Err(CountersError::Unavailable(_)), Err(CountersError::Unavailable(_)))));
    assert_eq!(bed.counters.begun.load(SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn recover_all_opens_every_slot() {
    let bed = bed(10, 5);
    bed.recovery().recover_all().await;
    assert_eq!(bed.counters.open_slots().len(), usize::from(SLOT_COUNT));
}

#[tokio::test(start_paused = true)]
async fn database_that_is_away_keeps_its_own_slots_lost_and_no_others() {
    let bed = TestBed::new(PARTITIONS, 2);
    bed.counters.lose_all();
    bed.broker.put(Topic::Reactions, 3, vec![]);
    bed.store.set_checkpoint(0, OperationStream::Reactions, 3, 1);
    bed.store.take_down(1);
    let recovery = bed.recovery();
    recovery.recover_slots(&[slot(3)]).await.unwrap();
    assert!(recovery.recover_slots(&[slot(3 + 16 * 40)]).await.is_err());
    let open = bed.counters.open_slots();
    assert!(open.iter().all(|slot| slot.get() < 512) && open.len() == 32, "{open:?}");
}

#[tokio::test(start_paused = true)]
async fn many_processes_ask_the_tables_as_often_as_one() {
    let asked_by = async |processes: usize| {
        let bed = bed(7, 5);
        let recoveries: Vec<_> = (0..processes).map(|_| bed.recovery()).collect();
        let commits = async {
            sleep(Duration::from_secs(6)).await;
            for partition in 0..PARTITIONS {
                bed.store.set_checkpoint(0, OperationStream::Reactions, partition, 10);
            }
        };
        tokio::join!(join_all(recoveries.iter().map(|recovery| recovery.recover_all())), commits);
        assert_eq!(bed.counters.open_slots().len(), usize::from(SLOT_COUNT));
        assert_eq!(bed.counters.begun.load(SeqCst), PARTITIONS as usize);
        bed.store.applied_offset_queries()
    };
    let one = asked_by(1).await;
    assert_eq!(one, 20 * PARTITIONS as usize);
    assert_eq!(asked_by(20).await, one);
}

#[tokio::test(start_paused = true)]
async fn process_that_stands_still_is_succeeded_after_its_lease() {
    let bed = bed(10, 5);
    let (first, second, slots) = (bed.recovery(), bed.recovery(), [slot(3)]);
    bed.counters.hangs_in_recovery.store(true, SeqCst);
    let succeeds = async {
        sleep(Duration::from_millis(10)).await;
        bed.counters.hangs_in_recovery.store(false, SeqCst);
        let began = Instant::now();
        (second.recover_slots(&slots).await, began.elapsed())
    };
    let (stuck, (recovered, time)) = tokio::join!(first.recover_slots(&slots), succeeds);
    assert!(stuck.is_err() && recovered.is_ok(), "{stuck:?} {recovered:?}");
    assert!(time <= RECOVERY_LEASE + MAX_POLL_INTERVAL + LOCAL_CACHE_DRAIN_TIME, "{time:?}");
    assert!(first.recover_slots(&slots).await.is_err(), "it is still stuck");
}

#[tokio::test(start_paused = true)]
async fn process_that_fails_gives_up_its_claim_at_once() {
    let bed = bed(10, 5);
    bed.store.take_down(0);
    assert!(bed.recovery().recover_slots(&[slot(3)]).await.is_err());
    bed.store.heal();
    let began = Instant::now();
    bed.recovery().recover_slots(&[slot(3)]).await.unwrap();
    assert_eq!(began.elapsed(), LOCAL_CACHE_DRAIN_TIME);
}

#[tokio::test(start_paused = true)]
async fn every_process_recovers_while_claims_have_no_answer() {
    let bed = bed(10, 5);
    bed.counters.fails_claims.store(true, SeqCst);
    let (first, second, slots) = (bed.recovery(), bed.recovery(), [slot(3)]);
    let (first, second) = tokio::join!(first.recover_slots(&slots), second.recover_slots(&slots));
    assert!(first.is_ok() && second.is_ok());
    assert_eq!(bed.counters.begun.load(SeqCst), 2);
}
