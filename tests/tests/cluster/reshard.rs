//! Slots move from one database to another while members write and read.

use std::process::Stdio;
use std::time::Duration;

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{ChildProcess, ann};
use rand::Rng as _;
use tokio::time::Instant;

use crate::background_load::BackgroundLoad;
use crate::test_bed::{ClusterTestBed, clients, subjects_in};

/// How long the move of a slot may hold back a write, beyond the pauses of the machine itself.
const MAX_PAUSE_OF_A_MOVE: Duration = Duration::from_secs(2);
/// Writes before the move begins, so that there are rows to move.
const WRITES_BEFORE_THE_MOVE: u64 = 200;
/// How often the mover is killed.
const KILL_COUNT: usize = 8;
/// How long a slot may take no writes after its mover was killed.
const MAX_PAUSE_AFTER_A_KILL: Duration = Duration::from_secs(30);
/// How long the row of the slot map is locked, so that a mover waits between two steps.
const LOCKED_S: u64 = 8;

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
    assert_eq!(bed.sql(1, "SELECT COUNT(*) FROM slot WHERE slot < 8 AND state = 1").trim(), "8");
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

/// The states of slot 0 in the two databases, and the database that the stored map names.
fn states_of_the_slot(bed: &ClusterTestBed) -> [String; 3] {
    let read = |database, what| bed.sql(database, &format!("SELECT {what} WHERE slot = 0")).trim().to_owned();
    [read(0, "state FROM slot"), read(1, "state FROM slot"), read(0, "shard FROM slot_map")]
}

/// The number of comments of slot 0 in one database.
fn comments_in(bed: &ClusterTestBed, database: usize) -> String {
    bed.sql(database, "SELECT COUNT(*) FROM comment_0").trim().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_mover_is_finished_by_the_job() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 100)]).await;
    let (one, _other, _job) = bed.start_all().await;
    let subject = subjects_in(0..1).remove(0);
    let first = one.post(&ann(), &subject, "before the move").await;
    bed.wait_until_persisted().await;
    let (servers, name) = (bed.servers.clone(), bed.name.clone());
    let lock = "START TRANSACTION; SELECT * FROM slot_map WHERE slot = 0 FOR UPDATE";
    let lock = format!("USE {name}; {lock}; DO SLEEP({LOCKED_S})");
    let locked = tokio::task::spawn_blocking(move || servers.sql(0, &lock));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut mover = ChildProcess::spawn(
        &bed.command(&["shard", "move", "--slots", "0", "--to", "1"]),
        Stdio::null(),
        Stdio::null(),
    );
    let begun = Instant::now();
    while states_of_the_slot(&bed)[..2] != ["2", "1"] {
        assert!(begun.elapsed() < Duration::from_secs(LOCKED_S), "{:?}", states_of_the_slot(&bed));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    mover.kill();
    let killed = Instant::now();
    // As it was a step before: sealed here, and a complete copy there.
    bed.sql(1, "UPDATE slot SET state = 3 WHERE slot = 0");
    locked.await.expect("the lock ends");
    one.post(&ann(), &subject, "while the slot is sealed").await;
    while states_of_the_slot(&bed) != ["0", "1", "1"] {
        assert!(killed.elapsed() < MAX_PAUSE_AFTER_A_KILL, "{:?}", states_of_the_slot(&bed));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    bed.wait_until_persisted().await;
    eprintln!("the slot took writes again {:?} after its mover was killed", killed.elapsed());
    assert!(killed.elapsed() < MAX_PAUSE_AFTER_A_KILL, "{:?}", killed.elapsed());
    one.post(&ann(), &subject, "after the move").await;
    bed.wait_until_persisted().await;
    assert_eq!(comments_in(&bed, 1), "3");
    assert_eq!(one.poll_comment(&first, |_| true).await["content"], "before the move");
    // The job deletes the old copy, too.
    while comments_in(&bed, 0) != "0" {
        assert!(killed.elapsed() < 2 * MAX_PAUSE_AFTER_A_KILL, "the old rows are left");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    check_slots(&bed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn stale_map_is_corrected_and_loses_no_slot() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 100)]).await;
    let (one, _other, job) = bed.start_all().await;
    let subject = subjects_in(0..1).remove(0);
    let first = one.post(&ann(), &subject, "in a").await;
    bed.wait_until_persisted().await;
    let arguments = ["shard", "move", "--slots", "0", "--to", "1"];
    assert_eq!(bed.run_successfully(&arguments).await, "1 slots moved");
    job.terminate();
    job.wait_for_exit().await;
    // What a failover to a replica without the last update leaves.
    let go_back = || bed.sql(0, "UPDATE slot_map SET shard = 0, version = 1, move = 0 WHERE slot = 0");
    go_back();
    assert_eq!(bed.run(&["doctor"]).await.code, Some(1), "doctor names it");
    assert_eq!(bed.run_successfully(&["shard", "repair"]).await, "1 repairs, 0 slots left");
    assert_eq!(states_of_the_slot(&bed), ["0", "1", "1"]);
    go_back();
    assert_eq!(bed.run_successfully(&arguments).await, "1 slots moved");
    assert_eq!(states_of_the_slot(&bed), ["0", "1", "1"]);
    assert_eq!(comments_in(&bed, 1), "1");
    let _job = bed.start_job().await;
    go_back();
    one.post(&ann(), &subject, "by the rows").await;
    bed.wait_until_persisted().await;
    assert_eq!(one.poll_comment(&first, |_| true).await["content"], "in a");
    let begun = Instant::now();
    while states_of_the_slot(&bed) != ["0", "1", "1"] {
        assert!(begun.elapsed() < MAX_PAUSE_AFTER_A_KILL, "the job corrects the map");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    check_slots(&bed).await;
}
