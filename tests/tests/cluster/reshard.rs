//! Slots move from one database to another while members write and read.

use std::process::Stdio;
use std::time::Duration;

use gailou_tests::ChildProcess;
use gailou_tests::backing_servers::{available, shared};
use rand::Rng as _;

use crate::background_load::BackgroundLoad;
use crate::test_bed::{ClusterTestBed, clients, subjects_in};

/// How long the move of a slot may hold back a write, beyond the pauses of the machine itself.
const MAX_PAUSE_OF_A_MOVE: Duration = Duration::from_secs(2);
/// Writes before the move begins, so that there are rows to move.
const WRITES_BEFORE_THE_MOVE: u64 = 200;
/// How often the mover is killed.
const KILL_COUNT: usize = 8;

/// Checks that every slot is where the slot map has it, and that rows, counters and caches agree.
async fn check_slots(bed: &ClusterTestBed) {
    bed.wait_until_persisted().await;
    let verified = bed.run_successfully(&["shard", "verify"]).await;
    assert_eq!(verified, "0 rows or slots are not where they belong");
    bed.check_consistency().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_slots_lose_no_write_and_hold_it_back_for_less_than_two_seconds() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 100)]).await;
    let (one, other, _job) = bed.start_all().await;
    let load = BackgroundLoad::new(subjects_in(0..4)).checking_reads();
    let clients = clients(&[&one, &other]);
    bed.wait_for_jobs(&one).await;
    let moved = async {
        load.wait_for_writes(WRITES_BEFORE_THE_MOVE).await;
        let pause_before = load.take_longest_pause();
        (bed.run_successfully(&["shard", "move", "--slots", "0-7", "--to", "1"]).await, pause_before)
    };
    let (moved, pause_before) = load.run_during(&clients, 8, moved).await;
    assert_eq!(moved, "8 slots moved");
    assert_eq!(bed.count("FROM slot WHERE slot < 8 AND state = 1 AND DATABASE() LIKE '%_b'"), 8);
    check_slots(&bed).await;
    load.check(&clients[0]).await;
    let pause = load.take_longest_pause();
    assert!(pause < MAX_PAUSE_OF_A_MOVE + pause_before, "no like was acknowledged for {pause:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_move_is_continued_by_the_next_run() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 100)]).await;
    let (one, other, _job) = bed.start_all().await;
    let load = BackgroundLoad::new(subjects_in(0..4));
    let clients = clients(&[&one, &other]);
    let arguments = ["shard", "move", "--slots", "0-3", "--to", "1"];
    let faults = async {
        load.wait_for_writes(WRITES_BEFORE_THE_MOVE).await;
        let mut kills = 0;
        while kills < KILL_COUNT {
            let mut mover = ChildProcess::spawn(&bed.command(&arguments), Stdio::null(), Stdio::null());
            // A random moment: the next run must be able to continue from any state.
            tokio::time::sleep(Duration::from_millis(rand::rng().random_range(100..700))).await;
            if mover.status().is_some() {
                break;
            }
            mover.kill();
            kills += 1;
        }
        assert!(kills > 0, "the move ended before its first kill");
        bed.run_successfully(&arguments).await
    };
    assert_eq!(load.run_during(&clients, 6, faults).await, "4 slots moved");
    check_slots(&bed).await;
    load.check(&clients[1]).await;
}
