//! Slots move from one database to another while they are written and read.

use std::process::Stdio;
use std::time::Duration;

use gailou_tests::services::{available, shared};
use gailou_tests::{Process, Program, who};
use rand::Rng as _;

use crate::load::Load;
use crate::world::{World, clients, subjects_in};

async fn parts(world: &World) -> (Program, Program, Program) {
    tokio::join!(world.serve(), world.serve(), world.job())
}

/// Every slot is where the map says, and nothing differs.
async fn whole(world: &World) {
    world.settle().await;
    let verified = world.done(&["shard", "verify"]).await;
    assert_eq!(verified, "0 rows or slots are not where they belong");
    world.agrees().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slots_that_move_lose_nothing_and_hold_up_nobody_for_long() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 100)]).await;
    let (one, other, _job) = parts(&world).await;
    let load = Load::new(subjects_in(0..4)).reading();
    let clients = clients(&[&one, &other]);
    // From now on the job reads.
    one.post(&who(7, "Ann", "member"), "post/first", "first").await;
    world.settle().await;
    let moved = async {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        load.measure();
        world.done(&["shard", "move", "--slots", "0-7", "--to", "1"]).await
    };
    assert_eq!(load.beside(&clients, 8, moved).await, "8 slots moved");
    assert_eq!(world.count("FROM slot WHERE slot < 8 AND state = 1 AND DATABASE() LIKE '%_b'"), 8);
    whole(&world).await;
    load.holds(&clients[0]).await;
    let pause = load.longest_pause();
    assert!(pause < Duration::from_secs(2), "no like was acknowledged for {pause:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mover_that_is_killed_again_and_again_is_gone_on_with() {
    if !available() {
        return;
    }
    let world = World::on(shared(), &[("COMMENTS_MS", 20), ("REACTIONS_MS", 100)]).await;
    let (one, other, _job) = parts(&world).await;
    let load = Load::new(subjects_in(0..4));
    let clients = clients(&[&one, &other]);
    let arguments = ["shard", "move", "--slots", "0-3", "--to", "1"];
    let faults = async {
        tokio::time::sleep(Duration::from_millis(1_000)).await;
        for _ in 0..8 {
            let mut mover = Process::spawn(&world.command(&arguments), Stdio::null(), Stdio::null());
            let delay = rand::rng().random_range(100..700);
            tokio::time::sleep(Duration::from_millis(delay)).await;
            assert!(mover.status().is_none(), "it was done before it was killed");
            mover.kill();
        }
        world.done(&arguments).await
    };
    assert_eq!(load.beside(&clients, 6, faults).await, "4 slots moved");
    whole(&world).await;
    load.holds(&clients[1]).await;
}
