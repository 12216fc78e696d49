//! Moves of slots that stall or die, maps that are wrong, and databases that went back.

use std::collections::BTreeSet;
use std::time::Duration;

use gailou_shared::id::{CommentId, Slot};
use tokio::time::Instant;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::slot_state::{SlotState, SlotStatus};
use crate::adapters::mysql::tests::{TestDatabases, find_misplaced, key, member, move_slot, put_comment};
use crate::cluster::reshard::{
    IncompleteCopy, MOVE_STEPS, MoveTarget, SettledSlots, SlotMover, decide_owner, delete_old_copies, relocate,
    settle_interrupted_moves,
};
use crate::domain::positions::OperationStream;
use crate::ports::store::{CommentReader as _, HealthCheck as _, Sharding as _, SlotPositions as _, StoreError};
use crate::testing::memory_broker::MemoryBroker;

async fn set_status(store: &MysqlStore, shard: usize, slot: Slot, state: SlotState, move_number: i64) {
    let mut session = store.long_session("test", shard).await.unwrap();
    let before = SlotStatus::read(&mut session, slot).await.unwrap();
    before.replace_by(&mut session, slot, SlotStatus { state, move_number }).await.unwrap();
}

async fn statuses(store: &MysqlStore, slot: Slot) -> Vec<SlotStatus> {
    let mut all = Vec::new();
    for shard in 0..store.pools.len() {
        all.push(SlotStatus::read(&mut store.long_session("test", shard).await.unwrap(), slot).await.unwrap());
    }
    all
}

/// Checks that this database alone has the slot, by its rows and by the stored map, with these comments, each of them
/// applied.
async fn assert_owner(store: &MysqlStore, slot: Slot, owner: usize, ids: &[CommentId], what: &str) {
    assert_owner_at(store, slot, owner, ids, ids.len() as u64, what).await;
}

/// As [`assert_owner`], with the position of the comments.
async fn assert_owner_at(
    store: &MysqlStore,
    slot: Slot,
    owner: usize,
    ids: &[CommentId],
    expected_position: u64,
    what: &str,
) {
    store.refresh_slot_map().await.unwrap();
    let map = store.slot_map.get();
    assert_eq!((map.shard(slot), map.stored_shard(slot)), (owner, Some(owner)), "{what}");
    for (shard, status) in statuses(store, slot).await.into_iter().enumerate() {
        let expected = if shard == owner { SlotState::Owned } else { SlotState::Elsewhere };
        assert_eq!(status.state, expected, "{what}: database {shard}");
    }
    assert_eq!(store.read_comments(ids).await.unwrap().len(), ids.len(), "{what}");
    let written = store.read_positions(OperationStream::Comments, &[slot]).await.unwrap()[&slot];
    assert_eq!(written, expected_position, "{what}");
}

/// Ids of comments in a slot.
fn id(slot: Slot, n: u64) -> CommentId {
    CommentId::from_parts(1_700_000_000_000 + n, slot, 0, 0)
}

#[tokio::test]
async fn interrupted_move_is_finished_or_undone() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let key = key(1);
    let (slot, from) = (key.slot(), store.database_of(key.slot()));
    let (to, ids) = (1 - from, [0, 1, 2, 3].map(|n| id(key.slot(), n)));
    put_comment(&store, &key, ids[0], member(7)).await.unwrap();
    // Interrupted during the copy, with half a copy there and dirty rows here: it starts again.
    set_status(&store, to, slot, SlotState::Incoming, 5).await;
    set_status(&store, from, slot, SlotState::Copying, 5).await;
    put_comment(&store, &key, ids[1], member(7)).await.unwrap();
    store.refresh_slot_map().await.unwrap();
    let settled = settle_interrupted_moves(&store).await.unwrap();
    assert_eq!((settled.moved.len(), settled.repairs.len(), settled.problems.len()), (0, 1, 0), "{settled:?}");
    assert_owner(&store, slot, from, &ids[..2], "undone").await;
    move_slot(&store, slot, to).await;
    assert_owner(&store, slot, to, &ids[..2], "moved").await;
    assert_eq!(store.compare_copies(slot, from, to).await.unwrap(), Vec::<String>::new());
    // Interrupted after the slot was sealed, with a complete copy.
    let number = statuses(&store, slot).await[to].move_number + 1;
    set_status(&store, to, slot, SlotState::Sealed, number).await;
    set_status(&store, from, slot, SlotState::Incoming, number).await;
    assert!(matches!(put_comment(&store, &key, ids[2], member(7)).await, Err(StoreError::Moved)));
    store.refresh_slot_map().await.unwrap();
    assert!(!store.find_damage().await.unwrap().is_empty(), "a sealed slot is named");
    assert_eq!(settle_interrupted_moves(&store).await.unwrap().moved, [slot]);
    assert_owner(&store, slot, from, &ids[..2], "finished").await;
    put_comment(&store, &key, ids[2], member(7)).await.unwrap();
    // Interrupted after the slot was sealed, with a copy that has gone back since: it is undone.
    set_status(&store, from, slot, SlotState::Sealed, number + 1).await;
    set_status(&store, to, slot, SlotState::Incoming, number + 1).await;
    store.refresh_slot_map().await.unwrap();
    assert!(matches!(relocate(&store, slot, from).await, Err(StoreError::Unavailable(_))), "a job gives it back");
    let settled = settle_interrupted_moves(&store).await.unwrap();
    assert_eq!((settled.moved.len(), settled.given_back), (0, BTreeSet::from([from])));
    assert_owner(&store, slot, from, &ids[..3], "back").await;
    // With a copy that has as many comments, but lost an edit.
    move_slot(&store, slot, to).await;
    let number = statuses(&store, slot).await[to].move_number + 1;
    let edit =
        format!("UPDATE content_{} SET content = 'lost' WHERE id = {}", store.table_number(slot), ids[0].signed());
    store.long_session("test", from).await.unwrap().execute_text(edit).await.unwrap();
    set_status(&store, to, slot, SlotState::Sealed, number).await;
    set_status(&store, from, slot, SlotState::Incoming, number).await;
    store.refresh_slot_map().await.unwrap();
    assert_eq!(settle_interrupted_moves(&store).await.unwrap().moved, []);
    assert_owner(&store, slot, to, &ids[..3], "not finished with another copy").await;
    move_slot(&store, slot, from).await;
    // Interrupted before the source was released; and moved back at once.
    move_slot(&store, slot, to).await;
    let number = statuses(&store, slot).await[to].move_number;
    set_status(&store, from, slot, SlotState::Sealed, number).await;
    store.refresh_slot_map().await.unwrap();
    assert_eq!(store.database_of(slot), to, "what the new owner says counts at once");
    move_slot(&store, slot, from).await;
    put_comment(&store, &key, ids[3], member(7)).await.unwrap();
    delete_old_copies(&store, &[slot]).await.unwrap();
    assert_owner(&store, slot, from, &ids, "released").await;
    assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
    databases.drop_all().await;
}

/// What others do while a mover stalls.
#[derive(Debug, Clone, Copy)]
enum Meanwhile {
    /// Its move is finished, or undone and made again.
    Moved,
    /// And the slot moves on to a third database.
    MovedOn,
    /// And the slot moves back.
    MovedBack,
}

#[tokio::test]
async fn stalled_mover_changes_nothing() {
    let Some(databases) = TestDatabases::new(3) else { return };
    let store = databases.open().await;
    let (mut number, mut slots) = (0, vec![]);
    for stalled_before in 0..MOVE_STEPS.len() {
        for meanwhile in [Meanwhile::Moved, Meanwhile::MovedOn, Meanwhile::MovedBack] {
            // A slot of its own.
            let key = loop {
                number += 1;
                let key = key(number);
                if !slots.contains(&key.slot()) {
                    break key;
                }
            };
            let (slot, from) = (key.slot(), store.database_of(key.slot()));
            slots.push(slot);
            let [to, third] = [(from + 1) % 3, (from + 2) % 3];
            let ids = [0, 1, 2].map(|n| id(slot, n));
            put_comment(&store, &key, ids[0], member(7)).await.unwrap();
            // Its lock is another one: it has seen that it holds the right one, and stalls.
            let lock = NamedLock::acquire(store.long_session("test", 0).await.unwrap(), "stalled", 1).await.unwrap();
            let mut lock = lock.unwrap();
            let mover = SlotMover::begin(&store, &mut lock, slot, [from, to]).await.unwrap();
            for step in &MOVE_STEPS[..stalled_before] {
                mover.take_step(&mut lock, *step).await.unwrap();
            }
            move_slot(&store, slot, to).await;
            put_comment(&store, &key, ids[1], member(8)).await.unwrap();
            let owner = match meanwhile {
                Meanwhile::Moved => to,
                Meanwhile::MovedOn => third,
                Meanwhile::MovedBack => from,
            };
            move_slot(&store, slot, owner).await;
            put_comment(&store, &key, ids[2], member(8)).await.unwrap();
            let before = statuses(&store, slot).await;
            // From any step on: one that is refused ends a move.
            for step in &MOVE_STEPS[stalled_before..] {
                let what = format!("stalled before {:?}, {step:?}, {meanwhile:?}", MOVE_STEPS[stalled_before]);
                let taken = mover.take_step(&mut lock, *step).await;
                let is_void = format!("{step:?}") == "UpdateMap" || format!("{step:?}") == "GiveToTarget";
                assert!(matches!(taken, Err(StoreError::Moved)) || is_void && taken.is_ok(), "{what}: {taken:?}");
                assert_eq!(statuses(&store, slot).await, before, "{what}");
                assert_owner(&store, slot, owner, &ids, &what).await;
            }
            lock.release().await.unwrap();
        }
    }
    delete_old_copies(&store, &slots).await.unwrap();
    assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
    databases.drop_all().await;
}

#[tokio::test]
async fn mover_without_its_lock_takes_no_step() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (key, slot) = (key(1), key(1).slot());
    put_comment(&store, &key, id(slot, 0), member(7)).await.unwrap();
    let from = store.database_of(slot);
    let lock = NamedLock::acquire(store.long_session("test", 0).await.unwrap(), "test", 1).await.unwrap();
    let mut lock = lock.unwrap();
    let mover = SlotMover::begin(&store, &mut lock, slot, [from, 1 - from]).await.unwrap();
    // As a proxy, a restart or a failover does.
    lock.session().execute_text("DO RELEASE_ALL_LOCKS()").await.unwrap();
    let before = statuses(&store, slot).await;
    for step in MOVE_STEPS {
        let taken = mover.take_step(&mut lock, step).await;
        assert!(matches!(taken, Err(StoreError::Unavailable(_))), "{step:?}: {taken:?}");
    }
    assert_eq!(statuses(&store, slot).await, before);
    databases.drop_all().await;
}

#[tokio::test]
async fn stale_map_is_corrected_and_never_believed() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (key, slot) = (key(1), key(1).slot());
    let from = store.database_of(slot);
    let to = 1 - from;
    let ids = [id(slot, 0), id(slot, 1)];
    put_comment(&store, &key, ids[0], member(7)).await.unwrap();
    move_slot(&store, slot, to).await;
    delete_old_copies(&store, &[slot]).await.unwrap();
    let spoil = async || {
        let text = format!("UPDATE slot_map SET shard = {from}, move = 0 WHERE slot = {}", slot.get());
        store.long_session("test", 0).await.unwrap().execute_text(text).await.unwrap();
        store.refresh_slot_map().await.unwrap();
        assert_eq!(store.slot_map.get().stored_shard(slot), Some(from));
        assert_eq!(store.database_of(slot), to, "reads and writes follow the rows");
        assert_eq!(store.find_damage().await.unwrap().len(), 1);
    };
    spoil().await;
    put_comment(&store, &key, ids[1], member(7)).await.unwrap();
    move_slot(&store, slot, to).await;
    assert_owner(&store, slot, to, &ids, "by a move to where it is").await;
    spoil().await;
    settle_interrupted_moves(&store).await.unwrap();
    assert_owner(&store, slot, to, &ids, "by a job").await;
    spoil().await;
    move_slot(&store, slot, from).await;
    assert_owner(&store, slot, from, &ids, "by a move").await;
    delete_old_copies(&store, &[slot]).await.unwrap();
    assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
    assert_eq!(store.find_damage().await.unwrap(), Vec::<String>::new());
    databases.drop_all().await;
}

#[tokio::test]
async fn slot_that_two_databases_claim_is_named_and_left_alone() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (key, slot) = (key(1), key(1).slot());
    let from = store.database_of(slot);
    let to = 1 - from;
    let ids = [id(slot, 0), id(slot, 1)];
    put_comment(&store, &key, ids[0], member(7)).await.unwrap();
    move_slot(&store, slot, to).await;
    put_comment(&store, &key, ids[1], member(7)).await.unwrap();
    // The source goes back to before the move.
    set_status(&store, from, slot, SlotState::Owned, 0).await;
    store.refresh_slot_map().await.unwrap();
    assert_eq!(store.database_of(slot), to, "the later move counts");
    assert_eq!(store.read_comments(&ids).await.unwrap().len(), 2);
    for target in [from, to] {
        assert!(matches!(relocate(&store, slot, target).await, Err(StoreError::Damaged(_))));
    }
    assert!(matches!(delete_old_copies(&store, &[slot]).await, Err(StoreError::Damaged(_))));
    // The lock of what was refused ends with its connection, and until then another process seems to move slots.
    let mut settled = SettledSlots::default();
    for _ in 0..100 {
        settled = settle_interrupted_moves(&store).await.unwrap();
        if settled != SettledSlots::default() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!((settled.repairs.len(), settled.problems.len()), (0, 1), "{settled:?}");
    assert_eq!(store.find_damage().await.unwrap().len(), 1);
    let count = async |shard: usize| {
        let text = format!("SELECT COUNT(*) FROM comment_{} WHERE id > 0", store.table_number(slot));
        let found = store.long_session("test", shard).await.unwrap().fetch_text(text).await.unwrap();
        sqlx::Row::get::<i64, _>(&found[0], 0)
    };
    assert_eq!((count(from).await, count(to).await), (1, 2), "nothing was deleted");
    for _ in 0..2 {
        decide_owner(&store, &MemoryBroker::new(4), slot, to, IncompleteCopy::Refuse).await.unwrap();
        assert_owner(&store, slot, to, &ids, "decided").await;
    }
    assert!(
        decide_owner(&store, &MemoryBroker::new(4), slot, from, IncompleteCopy::Refuse).await.is_err(),
        "there is nothing to decide"
    );
    // Rows that the owner does not have are not deleted.
    move_slot(&store, slot, from).await;
    set_status(&store, from, slot, SlotState::Elsewhere, 0).await;
    set_status(&store, to, slot, SlotState::Owned, 0).await;
    let n = store.table_number(slot);
    let delete = format!("DELETE FROM comment_{n} WHERE id = {}", ids[0]);
    store.long_session("test", to).await.unwrap().execute_text(delete).await.unwrap();
    assert!(matches!(delete_old_copies(&store, &[slot]).await, Err(StoreError::Damaged(_))));
    assert_eq!(count(from).await, 2);
    databases.drop_all().await;
}

#[tokio::test]
async fn slot_that_no_database_has_is_an_error_and_no_empty_answer() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (key, slot) = (key(1), key(1).slot());
    put_comment(&store, &key, id(slot, 0), member(7)).await.unwrap();
    let owner = store.database_of(slot);
    set_status(&store, owner, slot, SlotState::Elsewhere, 1).await;
    store.refresh_slot_map().await.unwrap();
    let begun = Instant::now();
    assert!(matches!(store.read_comments(&[id(slot, 0)]).await, Err(StoreError::Moved)));
    assert!(matches!(store.read_subjects(std::slice::from_ref(&key)).await, Err(StoreError::Moved)));
    assert!(begun.elapsed().as_secs() < 8, "{:?}", begun.elapsed());
    assert_eq!(settle_interrupted_moves(&store).await.unwrap().problems.len(), 1);
    let broker = MemoryBroker::new(4);
    let decide = |incomplete| decide_owner(&store, &broker, slot, owner, incomplete);
    decide(IncompleteCopy::Refuse).await.unwrap();
    // A database that did not have the slot may lack rows: the log is applied to it from its first record on.
    assert_owner_at(&store, slot, owner, &[id(slot, 0)], 0, "decided").await;
    // It has no positions any more, as where a part of its rows was deleted.
    set_status(&store, owner, slot, SlotState::Elsewhere, 1).await;
    store.refresh_slot_map().await.unwrap();
    assert!(matches!(decide(IncompleteCopy::Refuse).await, Err(StoreError::Database(_))));
    assert_eq!(settle_interrupted_moves(&store).await.unwrap().problems.len(), 1, "nothing was changed");
    decide(IncompleteCopy::Discard).await.unwrap();
    assert_owner_at(&store, slot, owner, &[], 0, "discarded").await;
    assert!(store.read_comments(&[id(slot, 0)]).await.unwrap().is_empty(), "what is left is not counted twice");
    databases.drop_all().await;
}

#[tokio::test]
async fn database_that_is_away_holds_up_no_slot_of_the_others() {
    let Some(databases) = TestDatabases::new(3) else { return };
    let store = databases.open().await;
    let key = (1..).map(key).find(|key| store.database_of(key.slot()) == 1).unwrap();
    let slot = key.slot();
    put_comment(&store, &key, id(slot, 0), member(7)).await.unwrap();
    let elsewhere = (0..).filter_map(Slot::new).find(|slot| store.database_of(*slot) == 0).unwrap();
    // The first database goes away, with the stored map, while a slot has just moved from the second to the third.
    move_slot(&store, slot, 2).await;
    let other = databases.open().await;
    set_status(&store, 2, slot, SlotState::Elsewhere, 1).await;
    set_status(&store, 1, slot, SlotState::Owned, 2).await;
    let mut session = store.long_session("test", 0).await.unwrap();
    session.execute_text(format!("DROP DATABASE {}", databases.names[0])).await.unwrap();
    assert!(other.refresh_slot_map().await.is_err());
    assert_eq!(other.database_of(slot), 1, "by the rows of those that answer");
    assert_eq!(other.database_of(elsewhere), 0, "as it was last known");
    assert_eq!(other.read_comments(&[id(slot, 0)]).await.unwrap().len(), 1);
    session.execute_text(format!("CREATE DATABASE {}", databases.names[0])).await.unwrap();
    databases.drop_all().await;
}

#[tokio::test]
async fn database_that_has_the_slot_is_never_emptied() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (slot, owner) = (key(1).slot(), store.database_of(key(1).slot()));
    let mut lock = NamedLock::acquire(store.long_session("test", 0).await.unwrap(), "test", 1).await.unwrap().unwrap();
    for state in [SlotState::Owned, SlotState::Sealed, SlotState::Copying] {
        let mut session = store.long_session("test", owner).await.unwrap();
        let status = SlotStatus { state, move_number: 0 };
        assert!(MoveTarget::new(&mut session, &mut lock, slot, status).is_err(), "{state:?}");
    }
    databases.drop_all().await;
}
