//! Checkpoints: conditional on what is known of them, and lowered where a slot comes to a database.

use gailou_shared::id::Slot;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::StoredEnum as _;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::tests::write::{comment, count_rows, publish};
use crate::adapters::mysql::tests::{TestDatabases, key, move_slot};
use crate::cluster::reshard::{IncompleteCopy, decide_owner};
use crate::domain::checkpoint::{Checkpoint, CheckpointAdvance, LogSample, LogSamples};
use crate::domain::operation::LoggedOperation;
use crate::domain::positions::OperationStream::Comments;
use crate::ports::broker::Topic;
use crate::ports::store::*;
use crate::testing::memory_broker::MemoryBroker;

fn advance(partition: u32, known: &Checkpoint, next: u64) -> CheckpointAdvance {
    let (known_next, known_moves, samples) = (known.next, known.moves, known.samples.clone());
    CheckpointAdvance { partition, known_next, known_moves, next, applied: vec![], samples }
}

async fn read(store: &MysqlStore, database: usize, partition: u32) -> Checkpoint {
    store.read_checkpoints(database, Comments, &[(partition, 3)]).await.unwrap().remove(&partition).unwrap()
}

#[tokio::test]
async fn checkpoint_that_is_not_what_is_known_of_it_stops_its_batch() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let key = (1..).map(key).find(|key| store.database_of(key.slot()) == 0).unwrap();
    let batch = [LoggedOperation { position: Some(7), ..LoggedOperation::new(1, publish(&comment(1, &key, None))) }];
    let mut known = read(&store, 0, 2).await;
    assert_eq!((known.next, known.moves), (3, 0), "created at the offset given");
    known.samples.push(LogSample::new(6, b"six"));
    store.persist_from(Comments, &batch, 0, &[advance(2, &known, 8)]).await.unwrap();
    let stored = read(&store, 0, 2).await;
    assert_eq!((stored.next, &stored.samples), (8, &known.samples));
    // What was known before is less: it is no contradiction, and nothing goes back.
    store.advance_checkpoints(0, Comments, &[advance(2, &known, 5)]).await.unwrap();
    assert_eq!(read(&store, 0, 2).await.next, 8);
    let earlier = Checkpoint { samples: LogSamples::default(), ..known.clone() };
    store.advance_checkpoints(0, Comments, &[advance(2, &earlier, 5)]).await.unwrap();
    assert_eq!(read(&store, 0, 2).await.samples, known.samples, "samples that end earlier do not replace them");
    known.samples.push(LogSample::new(7, b"seven"));
    store.advance_checkpoints(0, Comments, &[advance(2, &known, 8)]).await.unwrap();
    assert_eq!(read(&store, 0, 2).await.samples, known.samples);
    let stored = read(&store, 0, 2).await;
    // The database has less than what is known.
    let beyond = Checkpoint { next: 9, ..stored.clone() };
    let other = [LoggedOperation { position: Some(9), ..LoggedOperation::new(1, publish(&comment(2, &key, None))) }];
    let refused = store.persist_from(Comments, &other, 0, &[advance(2, &stored, 10), advance(1, &beyond, 10)]).await;
    assert!(matches!(refused, Err(StoreError::CheckpointChanged)), "{refused:?}");
    assert_eq!((read(&store, 0, 2).await.next, count_rows(&store, "comment").await), (8, 1), "nothing is written");
    store.advance_checkpoints(1, Comments, &[]).await.unwrap();
    let refused = store.persist_from(Comments, &other, 1, &[]).await;
    assert!(matches!(refused, Err(StoreError::Moved)), "{refused:?}");
    databases.drop_all().await;
}

#[tokio::test]
async fn what_refers_to_lost_rows_is_neither_refused_nor_skipped() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let (key, parent) = (key(1), comment(1, &key(1), None));
    let answer = comment(2, &key, Some(&parent.path));
    let batch = [LoggedOperation { position: Some(9), ..LoggedOperation::new(1, publish(&answer)) }];
    let stored = read(&store, 0, 0).await;
    // The parent is not there because it never was: the record is the cause.
    let refused = store.persist_from(Comments, &batch, 0, &[advance(0, &stored, 10)]).await;
    assert!(matches!(refused, Err(StoreError::Damaged(_))), "{refused:?}");
    // The database had more than it has: the parent may be among what it lost.
    let before = Checkpoint { next: 9, ..stored };
    let refused = store.persist_from(Comments, &batch, 0, &[advance(0, &before, 10)]).await;
    assert!(matches!(refused, Err(StoreError::CheckpointChanged)), "{refused:?}");
    let skipped = store.skip_operation(&batch[0], 0, &[advance(0, &before, 10)]).await;
    assert!(matches!(skipped, Err(StoreError::CheckpointChanged)), "{skipped:?}");
    let positions = store.read_positions(Comments, &[key.slot()]).await.unwrap();
    assert_eq!(positions[&key.slot()], 0, "what was lost is read again");
    databases.drop_all().await;
}

/// A slot was ahead of the checkpoint when the database went back.
#[tokio::test]
async fn slot_that_has_less_than_was_applied_beyond_the_checkpoint_stops_its_batch() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let (key, known) = (key(1), read(&store, 0, 0).await);
    let slot = key.slot();
    let logged = |n: u64, position| LoggedOperation {
        position: Some(position),
        ..LoggedOperation::new(1, publish(&comment(n, &key, None)))
    };
    store.persist_from(Comments, &[logged(1, 7)], 0, &[advance(0, &known, 3)]).await.unwrap();
    let seen = |position| [CheckpointAdvance { applied: vec![(slot, position)], ..advance(0, &known, 12) }];
    for (position, is_right) in [(9, false), (8, true)] {
        let done = [
            store.persist_from(Comments, &[logged(2, 11)], 0, &seen(position)).await.map(drop),
            store.skip_operation(&logged(2, 11), 0, &seen(position)).await,
            store.advance_checkpoints(0, Comments, &seen(position)).await,
        ];
        let is_refused = |done: &Result<()>| matches!(done, Err(StoreError::CheckpointChanged));
        assert!(done.iter().all(|done| if is_right { done.is_ok() } else { is_refused(done) }), "{done:?}");
        let (next, comments) = if is_right { (12, 2) } else { (3, 1) };
        assert_eq!((read(&store, 0, 0).await.next, count_rows(&store, "comment").await), (next, comments));
    }
    databases.drop_all().await;
}

#[tokio::test]
async fn slot_that_comes_lowers_the_checkpoint_of_its_partition() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let slot = Slot::new(5).unwrap();
    let mut known = vec![];
    for (database, next) in [(0, 40), (1, 90)] {
        for partition in 0..4 {
            let first = read(&store, database, partition).await;
            store.advance_checkpoints(database, Comments, &[advance(partition, &first, next)]).await.unwrap();
            known.push(read(&store, database, partition).await);
        }
    }
    assert_eq!(store.database_of(slot), 0);
    move_slot(&store, slot, 1).await;
    for partition in 0..4 {
        let (next, moves) = if partition == 1 { (40, 1) } else { (90, 0) };
        let is = read(&store, 1, partition).await;
        assert_eq!((is.next, is.moves), (next, moves), "partition {partition}");
    }
    let outdated = Checkpoint { next: 0, samples: LogSamples::default(), ..known[5].clone() };
    let refused = store.advance_checkpoints(1, Comments, &[advance(1, &outdated, 90)]).await;
    assert!(matches!(refused, Err(StoreError::CheckpointChanged)), "it does not know of the slot: {refused:?}");
    // An owner that an operator decides on is read again from the slot's own position on, or what the log still has of it.
    let broker = MemoryBroker::new(4);
    broker.delete_before(Topic::Comments, 1, 30);
    let forget = format!("UPDATE slot SET state = {} WHERE slot = 5", SlotState::Elsewhere.number());
    store.long_session("test", 1).await.unwrap().execute_text(forget).await.unwrap();
    decide_owner(&store, &broker, slot, 0, IncompleteCopy::Refuse).await.unwrap();
    let decided = [read(&store, 0, 1).await, read(&store, 0, 2).await].map(|is| (is.next, is.moves));
    assert_eq!(decided, [(30, 1), (40, 0)]);
    databases.drop_all().await;
}
