//! Comments that are accepted and not yet rows, and those of which that is not known.

use super::*;
use crate::domain::operation::{CommentChange, LoggedOperation, Operation, OperationOutcome};
use crate::domain::positions::OperationStream;
use crate::domain::row::IdempotencyKey;
use crate::ports::broker::{PartitionOffsets as _, RECORD_RETENTION};
use crate::ports::pending::{MAX_PENDING_TIME, Pending as _};
use crate::ports::store::BatchWriter as _;
use crate::testing::fixtures::new_row;

/// A comment that was made so long ago.
fn of_age(age: Duration) -> CommentId {
    CommentId::from_parts(TEST_START_MS - age.as_millis() as u64, subject().slot(), 0, 0)
}

fn pending_comment(id: CommentId) -> LoggedOperation {
    let mut row = new_row(&subject(), id);
    row.idempotency = Some(IdempotencyKey { key: "key".into(), request: [7; 32] });
    LoggedOperation::new(TEST_START_MS, Operation::Publish(Box::new(row)))
}

#[tokio::test(start_paused = true)]
async fn pending_comment_is_read_before_its_row() {
    let bed = CachedStoreTestBed::new();
    let (ids, _) = publish_thread(&bed, 9);
    let young = CommentId::from_parts(TEST_START_MS - 1, subject().slot(), 0, 0);
    let looked_for = Instant::now();
    assert!(bed.cached_store.read_comments(&[young]).await.unwrap().is_empty());
    assert!((1_000..1_100).contains(&looked_for.elapsed().as_millis()), "{:?}", looked_for.elapsed());
    // A page does not wait. Neither does a read of an id that is too old to be pending.
    let at_once = Instant::now();
    let page: Vec<_> = ids.iter().copied().chain([young]).collect();
    assert_eq!(bed.cached_store.read_comments(&page).await.unwrap().len(), 9);
    let old = CommentId::from_parts(TEST_START_MS - 20_000, subject().slot(), 0, 0);
    assert!(bed.cached_store.read_comments(&[old]).await.unwrap().is_empty());
    assert_eq!(at_once.elapsed(), Duration::ZERO);

    let pending = bed.doubles.pending.clone();
    tokio::spawn(async move {
        sleep(Duration::from_millis(300)).await;
        pending.show(young, pending_comment(young));
    });
    bed.doubles.counters.set_counts(young, 3, 1);
    let row = read_one(&bed.cached_store, young).await;
    assert_eq!((row.content, row.floor, row.likes, row.dislikes), (format!("comment {young}"), None, 3, 1));
    assert_eq!(bed.cached_store.list_pending(member(1), 9).await.unwrap(), [young]);
    let done =
        bed.cached_store.find_remembered(&subject(), member(1), "key", TEST_START_MS - 5).await.unwrap().unwrap();
    assert_eq!((done.id, done.request, done.state), (young, [7; 32], CommentState::Published));
    assert!(bed.cached_store.find_remembered(&subject(), member(1), "key", TEST_START_MS + 5).await.unwrap().is_none());
    // It is read while the tables are down, too.
    bed.doubles.store.take_all_down();
    assert_eq!(read_one(&bed.cached_store, young).await.likes, 3);
    bed.doubles.store.heal();

    // It gets its row, which is held for review later.
    let (row, _) = bed.doubles.store.publish(&subject(), 59_999, None);
    assert_eq!(row, young);
    assert_eq!(bed.cached_store.list_pending(member(1), 9).await.unwrap(), []);
    commit(&bed.cached_store, &bed.doubles.store.edit(young, |row| row.state = CommentState::Review)).await;
    assert_eq!(bed.cached_store.list_pending(member(1), 9).await.unwrap(), [young]);
}

/// As while the jobs are away: what was acknowledged is found, for a day.
#[tokio::test(start_paused = true)]
async fn comment_is_pending_until_it_is_a_row() {
    let bed = CachedStoreTestBed::new();
    let (waiting, too_old) = (of_age(MAX_PENDING_TIME / 2), of_age(MAX_PENDING_TIME * 2));
    for id in [waiting, too_old] {
        bed.doubles.pending.show(id, pending_comment(id));
    }
    let found = bed.cached_store.read_comments(&[waiting, too_old]).await.unwrap();
    assert_eq!(found.into_keys().collect::<Vec<_>>(), [waiting]);
    let persisted = PersistedBatch { outcomes: vec![OperationOutcome::Published { floor: Some(1) }], ..<_>::default() };
    bed.cached_store.on_commit(&[pending_comment(waiting)], &persisted).await;
    assert!(bed.doubles.pending.shown(waiting).is_none());
}

/// A reader may find no row, and then no pending comment either, because it became a row in between.
#[tokio::test(start_paused = true)]
async fn comment_that_becomes_a_row_meanwhile_is_found() {
    let bed = CachedStoreTestBed::new();
    let (_, committed) = bed.doubles.store.publish(&subject(), 1, None);
    drop(committed);
    let id = of_age(Duration::from_secs(60));
    bed.doubles.store.delay_next_read(Duration::from_millis(200));
    let reading = tokio::spawn({
        let store = bed.cached_store.clone();
        async move { store.read_comments(&[id]).await }
    });
    sleep(Duration::from_millis(100)).await;
    bed.doubles.store.persist(&[pending_comment(id)]).await.unwrap();
    assert!(reading.await.unwrap().unwrap().contains_key(&id));
}

#[tokio::test(start_paused = true)]
async fn changed_comment_is_never_shown_from_pending() {
    for is_redis_down in [false, true] {
        let bed = CachedStoreTestBed::new();
        let (id, _) = bed.doubles.store.publish(&subject(), 59_999, None);
        bed.doubles.pending.show(id, pending_comment(id));
        bed.doubles.pending.is_down.store(is_redis_down, SeqCst);
        let change = Operation::Change { id, change: CommentChange::State(CommentState::Deleted), audit: None };
        let persisted = PersistedBatch { outcomes: vec![OperationOutcome::Done], ..<_>::default() };
        bed.cached_store.on_commit(&[LoggedOperation::new(TEST_START_MS, change)], &persisted).await;
        bed.doubles.pending.is_down.store(false, SeqCst);
        // What Redis did not acknowledge is repeated.
        sleep(Duration::from_secs(1)).await;
        assert!(bed.doubles.pending.shown(id).is_none(), "{is_redis_down}");
    }
    // The process that changed it may have died. Another follows the change feed.
    let bed = CachedStoreTestBed::new();
    let (id, _) = bed.doubles.store.publish(&subject(), 59_999, None);
    bed.doubles.pending.show(id, pending_comment(id));
    bed.cached_store.invalidate_comments(&[id], true).await.unwrap();
    assert!(bed.doubles.pending.shown(id).is_none());
    // Or Redis went back to a copy that has it.
    bed.doubles.pending.put_comment(&pending_comment(id)).await.unwrap();
    bed.doubles.pending.is_other_server.store(true, SeqCst);
    bed.doubles.store.take_all_down();
    assert!(bed.cached_store.read_comments(&[id]).await.is_err());
}

/// Redis has lost a pending comment: whether it exists is not known until the tables have caught up.
#[tokio::test(start_paused = true)]
async fn comment_is_missing_only_when_the_tables_have_caught_up() {
    let bed = CachedStoreTestBed::new();
    let partition = bed.doubles.broker.partition_of(subject().slot());
    bed.doubles.broker.put(Topic::Comments, partition, vec![]);
    let read = async |id| bed.cached_store.read_comments(&[id]).await.map(|found| found.len());
    for age in [Duration::ZERO, Duration::from_secs(60), MAX_PENDING_TIME * 2] {
        assert!(matches!(read(of_age(age)).await, Err(StoreError::NotCaughtUp)), "{age:?}");
    }
    // Ids that no clock of today has issued, and those whose records are gone, are not asked about.
    let at_once = Instant::now();
    let later = CommentId::from_parts(TEST_START_MS + 600_000, subject().slot(), 0, 0);
    for id in [of_age(RECORD_RETENTION), later] {
        assert_eq!(read(id).await.unwrap(), 0);
    }
    // A process whose clock is far ahead has issued this one.
    bed.doubles.pending.show(later, pending_comment(later));
    assert_eq!(read(later).await.unwrap(), 1);
    // Many ids are those of a list: what is missing is left out.
    let ids: Vec<_> = (10..20).map(|seconds| of_age(Duration::from_secs(seconds))).collect();
    assert!(bed.cached_store.read_comments(&ids).await.unwrap().is_empty());
    assert_eq!(at_once.elapsed(), Duration::ZERO);
    let partition = bed.doubles.broker.partition_of(subject().slot());
    let end = bed.doubles.broker.end_offset(Topic::Comments, partition).await.unwrap();
    bed.doubles.store.set_checkpoint(0, OperationStream::Comments, partition, end);
    for age in [Duration::ZERO, Duration::from_secs(60)] {
        assert_eq!(read(of_age(age)).await.unwrap(), 0, "{age:?}");
    }
}
