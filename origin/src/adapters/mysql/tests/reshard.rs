//! Slots that move while they are written.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{CommentState, Reaction};
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::reshard::SlotRows;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::tests::write::{NOW, comment, like, publish};
use crate::adapters::mysql::tests::{TestDatabases, key, member, put_comment};
use crate::domain::operation::{CommentChange, LoggedOperation, Operation, PinnedBy, ReactionChange, SubjectPatch};
use crate::domain::positions::OperationStream;
use crate::domain::row::NewCommentRow;
use crate::ports::store::{BatchWriter as _, CommentReader as _, Sharding as _, SlotPositions as _, StoreError};

#[tokio::test(flavor = "multi_thread")]
async fn slot_moves_while_it_is_written() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = Arc::new(databases.open().await);
    let key = key(1);
    let (slot, from) = (key.slot(), store.database_of(key.slot()));
    let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let longest = Arc::new(AtomicU64::new(0));
    let writers = (0..4).map(|node| {
        let (store, key, stop, written, longest) =
            (store.clone(), key.clone(), stop.clone(), written.clone(), longest.clone());
        tokio::spawn(async move {
            let mut sequence = 0;
            while !stop.load(Ordering::Relaxed) {
                let id = CommentId::from_parts(1_700_000_000_000 + sequence, key.slot(), node, 0);
                let begun = Instant::now();
                loop {
                    match put_comment(&store, &key, id, member(7 + node)).await {
                        Ok(()) => break,
                        Err(StoreError::Moved) => store.wait_for_move(begun).await.unwrap(),
                        Err(error) => panic!("{error}"),
                    }
                }
                longest.fetch_max(begun.elapsed().as_millis() as u64, Ordering::Relaxed);
                written.fetch_add(1, Ordering::Relaxed);
                sequence += 1;
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    sleep(Duration::from_secs(2)).await;
    store.relocate(slot, 1 - from).await.unwrap();
    sleep(Duration::from_millis(500)).await;
    // Back, over rows that still exist there.
    store.relocate(slot, from).await.unwrap();
    store.relocate(slot, 1 - from).await.unwrap();
    stop.store(true, Ordering::Relaxed);
    for writer in writers {
        writer.await.unwrap();
    }
    let written = written.load(Ordering::Relaxed);
    eprintln!("{written} written, the longest write took {} ms", longest.load(Ordering::Relaxed));
    assert!(!store.find_misplaced_rows().await.unwrap().is_empty(), "the old rows still exist");
    store.delete_old_copies(&[slot]).await.unwrap();
    assert_eq!(store.find_misplaced_rows().await.unwrap(), Vec::<String>::new());
    let mut session = store.session("test", 1 - from).await.unwrap();
    let n = store.table_number(slot);
    for table in ["comment", "content", "reaction", "root_rank", "idempotency"] {
        let found = session.fetch_first(sql(format!("SELECT COUNT(*) FROM {table}_{n}"))).await.unwrap().unwrap();
        assert_eq!(sqlx::Row::get::<i64, _>(&found, 0) as u64, written, "{table}");
    }
    let subject = store.read_subjects(std::slice::from_ref(&key)).await.unwrap().remove(0).unwrap();
    assert_eq!((subject.comments, subject.version), (written, written));
    assert_eq!(store.read_positions(OperationStream::Comments, &[slot]).await.unwrap()[&slot], written);
    databases.drop_all().await;
}

/// Random batches of every operation, the same for the same seed.
struct RandomBatches {
    random: StdRng,
    key: SubjectKey,
    paths: Vec<Path>,
}

impl RandomBatches {
    fn next(&mut self) -> Vec<LoggedOperation> {
        let count = self.random.random_range(1..25);
        (0..count).map(|_| self.operation()).map(|operation| LoggedOperation::new(NOW, operation)).collect()
    }

    fn operation(&mut self) -> Operation {
        let n = self.paths.len() as u64;
        if n < 5 || self.random.random_bool(0.4) {
            let parent = self.paths.get((n / 2) as usize).filter(|_| n > 20 && n % 4 > 1);
            let state = if n % 9 == 8 { CommentState::Review } else { CommentState::Published };
            let new = NewCommentRow { state, ..comment(n, &self.key, parent) };
            self.paths.push(new.path.clone());
            return publish(&new);
        }
        let id = self.paths[self.random.random_range(0..self.paths.len())].id();
        let change = match self.random.random_range(0..12) {
            0 => CommentChange::State(CommentState::Deleted),
            1 => CommentChange::State(CommentState::Published),
            2 => CommentChange::State(CommentState::Hidden),
            3 => CommentChange::Pin(Some(PinnedBy::Moderator)),
            4 => CommentChange::Feature(true),
            5 => CommentChange::Edit {
                content: format!("{n} 中'"),
                html: "e".into(),
                original_text: None,
                state: CommentState::Published,
                max_edits: 0,
            },
            6 => {
                let patch = SubjectPatch { title: Some(Some(format!("title {n}"))), ..SubjectPatch::default() };
                return Operation::Subject { key: self.key.clone(), patch, audit: None };
            }
            7 => {
                let snapshot = Snapshot::rank(vec![(n as i64, id)]);
                return Operation::Snapshot { slot: id.slot(), snapshot };
            }
            8 | 9 => {
                let (by, change) = (member(self.random.random_range(1..9)), ReactionChange::Take(Reaction::Like));
                return Operation::React { id, member: by, change };
            }
            _ => return like(id, self.random.random_range(1..9)),
        };
        Operation::Change { id, change, audit: None }
    }
}

/// Two stores get the same batches; in one of them the slots move all the time.
#[tokio::test(flavor = "multi_thread")]
async fn moved_slot_has_the_rows_of_one_that_stayed() {
    let (Some(databases), Some(quiet)) = (TestDatabases::new(2), TestDatabases::new(1)) else { return };
    let (store, still) = (Arc::new(databases.open().await), quiet.open().await);
    let author = comment(0, &key(1), None).author.id;
    let slots = [key(1).slot(), member_slot(author)];
    let moving = Arc::new(AtomicBool::new(true));
    let mover = {
        let (store, moving) = (store.clone(), moving.clone());
        tokio::spawn(async move {
            let mut moves = 0;
            while moving.load(Ordering::Relaxed) {
                for slot in slots {
                    store.relocate(slot, 1 - store.database_of(slot)).await.unwrap();
                    moves += 1;
                }
            }
            moves
        })
    };
    let mut batches = RandomBatches { random: StdRng::seed_from_u64(7), key: key(1), paths: vec![] };
    let mut operations = 0;
    for _ in 0..250 {
        let batch = batches.next();
        operations += batch.len();
        still.persist(&batch).await.unwrap();
        store.persist(&batch).await.unwrap();
    }
    moving.store(false, Ordering::Relaxed);
    let moves = mover.await.unwrap();
    eprintln!("{operations} operations, {} comments, {moves} moves", batches.paths.len());
    assert!(moves >= 4);
    for slot in slots {
        let checksums = async |store: &MysqlStore| {
            let mut session = store.session("test", store.database_of(slot)).await.unwrap();
            SlotRows::new(&mut session, store.table_number(slot), slot)
                .await
                .unwrap()
                .checksums(&mut session)
                .await
                .unwrap()
        };
        let (moved, stayed) = (checksums(&store).await, checksums(&still).await);
        assert_eq!(moved, stayed, "slot {}", slot.get());
    }
    store.delete_old_copies(&slots).await.unwrap();
    assert_eq!(store.find_misplaced_rows().await.unwrap(), Vec::<String>::new());
    databases.drop_all().await;
    quiet.drop_all().await;
}

#[tokio::test]
async fn interrupted_move_is_finished_or_undone() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let key = key(1);
    let (slot, from) = (key.slot(), store.database_of(key.slot()));
    let to = 1 - from;
    let id = |n: u64| CommentId::from_parts(1_700_000_000_000 + n, slot, 0, 0);
    put_comment(&store, &key, id(1), member(7)).await.unwrap();
    let set_state = async |shard: usize, state: SlotState| {
        state.store(&mut store.session("test", shard).await.unwrap(), slot).await.unwrap();
    };
    // Interrupted during the copy, with half a copy there and dirty rows here: it starts again.
    set_state(to, SlotState::Incoming).await;
    set_state(from, SlotState::Copying).await;
    put_comment(&store, &key, id(2), member(7)).await.unwrap();
    store.relocate(slot, to).await.unwrap();
    assert_eq!((store.database_of(slot), store.read_comments(&[id(1), id(2)]).await.unwrap().len()), (to, 2));
    assert_eq!(store.compare_copies(slot, from, to).await.unwrap(), Vec::<String>::new());
    // Interrupted after the slot was sealed, with a complete copy, before the map was written.
    set_state(to, SlotState::Sealed).await;
    set_state(from, SlotState::Incoming).await;
    assert!(matches!(put_comment(&store, &key, id(3), member(7)).await, Err(StoreError::Moved)));
    store.relocate(slot, from).await.unwrap();
    assert_eq!(store.database_of(slot), from);
    put_comment(&store, &key, id(3), member(7)).await.unwrap();
    // Interrupted after the map was written, before the source was updated; and moved back at once.
    set_state(to, SlotState::Sealed).await;
    store.relocate(slot, to).await.unwrap();
    assert_eq!((store.database_of(slot), store.read_comments(&[id(1), id(2), id(3)]).await.unwrap().len()), (to, 3));
    store.delete_old_copies(&[slot]).await.unwrap();
    assert_eq!(store.find_misplaced_rows().await.unwrap(), Vec::<String>::new());
    databases.drop_all().await;
}
