//! Publishing, reacting and replays over doubles that fail before or after they landed.

use std::sync::atomic::Ordering::SeqCst;

use futures_util::future::join_all;
use gailou_shared::id::SubjectKey;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{CommentState, Reaction};
use tokio::time::sleep;

use crate::cluster::journal::*;
use crate::domain::codec::operation::decode;
use crate::domain::operation::CommentChange;
use crate::domain::positions::OperationStream;
use crate::domain::row::{IdempotencyKey, ImportedFrom, NewCommentRow};
use crate::ports::broker::PartitionOffsets as _;
use crate::ports::counters::CountersError;
use crate::ports::store::{BatchWriter as _, StoreError, ThreadReader as _};
use crate::testing::faults::FaultPoint;
use crate::testing::fixtures::{comment, like, member, new_row, publish, subject_in};
use crate::testing::memory_pending::MemoryPending;
use crate::testing::test_bed::TestBed;

/// The slot of every comment of these tests.
const SLOT: u16 = 5;

/// A journal over its doubles.
struct JournalTestBed {
    doubles: TestBed,
    journal: ClusterJournal,
    subject: SubjectKey,
}

impl JournalTestBed {
    fn new() -> Self {
        let doubles = TestBed::new(4, 2);
        Self { journal: doubles.journal(), doubles, subject: subject_in(SLOT) }
    }

    fn row(&self, number: u64, key: Option<(&str, u8)>) -> NewCommentRow {
        let idempotency = key.map(|(key, hash)| IdempotencyKey { key: key.to_owned(), request: [hash; 32] });
        NewCommentRow { idempotency, ..new_row(&self.subject, comment(SLOT, number)) }
    }

    async fn publish(&self, row: NewCommentRow) -> Result<OperationOutcome, JournalError> {
        self.journal.append(Operation::Publish(Box::new(row))).await
    }

    /// Writes a row directly.
    async fn store_row(&self, number: u64) -> CommentId {
        let id = comment(SLOT, number);
        self.doubles.store.persist(&[publish(&self.subject, id)]).await.unwrap();
        id
    }

    async fn like(&self, id: CommentId, by: u64) -> Result<OperationOutcome, JournalError> {
        self.journal.append(like(id, by).operation).await
    }

    /// Writes the records of a topic into the tables, after a delay.
    async fn persist_records(&self, topic: Topic, delay: Duration) {
        sleep(delay).await;
        for (offset, bytes) in self.doubles.broker.payloads(topic).iter().enumerate() {
            let logged = LoggedOperation { position: Some(offset as u64), ..decode(bytes).unwrap() };
            self.doubles.store.persist(&[logged]).await.unwrap();
        }
        let stream = if topic == Topic::Comments { OperationStream::Comments } else { OperationStream::Reactions };
        for partition in 0..self.doubles.broker.partition_count() {
            let end = self.doubles.broker.end_offset(topic, partition).await.unwrap();
            self.doubles.store.set_checkpoint(0, stream, partition, end);
        }
    }

    fn appended(&self, topic: Topic) -> usize {
        self.doubles.broker.payloads(topic).len()
    }
}

fn no_broker() -> BrokerError {
    BrokerError::Unavailable("no broker".into())
}

#[track_caller]
fn is_unknown(outcome: &Result<OperationOutcome, JournalError>) {
    assert!(matches!(outcome, Err(JournalError::Unknown(_))), "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn published_comment_is_appended_and_shown() {
    let bed = JournalTestBed::new();
    let outcome = bed.publish(bed.row(1, None)).await.unwrap();
    assert!(matches!(outcome, OperationOutcome::Published { floor: None }));
    let bytes = bed.doubles.broker.payloads(Topic::Comments);
    let Operation::Publish(row) = decode(&bytes[0]).unwrap().operation else { panic!("a publish") };
    assert_eq!(row.path.id(), comment(SLOT, 1));
    assert_eq!(bed.doubles.pending.shown(comment(SLOT, 1)).unwrap().position, Some(0));
}

#[tokio::test(start_paused = true)]
async fn key_makes_one_comment_wherever_the_first_append_failed() {
    // Where the first append fails, and how many records there are in the end.
    for (when, copies) in [(FaultPoint::Before, 1), (FaultPoint::After, 2)] {
        let bed = JournalTestBed::new();
        bed.doubles.broker.fail_appends(move |_| Some((when, no_broker())));
        is_unknown(&bed.publish(bed.row(1, Some(("k", 1)))).await);
        assert!(bed.doubles.pending.is_reserved("k"), "it may have been written");
        bed.doubles.broker.heal();
        let again = bed.publish(bed.row(2, Some(("k", 1)))).await.unwrap();
        let OperationOutcome::Replayed { id, state } = again else { panic!("{again:?}") };
        assert_eq!((id, state), (comment(SLOT, 1), CommentState::Published));
        let bytes = bed.doubles.broker.payloads(Topic::Comments);
        assert_eq!(bytes.len(), copies);
        assert!(bytes.iter().all(|b| *b == bytes[0]), "the same bytes");
        // It is known to be appended: nothing is appended a third time.
        bed.publish(bed.row(3, Some(("k", 1)))).await.unwrap();
        assert_eq!(bed.appended(Topic::Comments), copies);
        let other = bed.publish(bed.row(4, Some(("k", 2)))).await.unwrap();
        assert!(matches!(other, OperationOutcome::Mismatch));
    }
}

#[tokio::test(start_paused = true)]
async fn replay_of_a_comment_that_is_only_in_the_broker_appends_nothing() {
    let bed = JournalTestBed::new();
    bed.publish(bed.row(1, Some(("k", 1)))).await.unwrap();
    // Redis kept the mark of the append and lost the comment, and the row is not written yet.
    bed.doubles.pending.lose_comment(comment(SLOT, 1));
    let again = bed.publish(bed.row(2, Some(("k", 1)))).await.unwrap();
    assert!(matches!(again, OperationOutcome::Replayed { id, .. } if id == comment(SLOT, 1)), "{again:?}");
    assert_eq!(bed.appended(Topic::Comments), 1);
}

#[tokio::test(start_paused = true)]
async fn comment_that_the_broker_has_lost_is_published_anew() {
    let bed = JournalTestBed::new();
    bed.publish(bed.row(1, Some(("k", 1)))).await.unwrap();
    bed.doubles.pending.lose_comment(comment(SLOT, 1));
    bed.doubles.broker.recreate(Topic::Comments);
    // By then everything that is in the broker is stored.
    sleep(Duration::from_secs(60)).await;
    let again = bed.publish(bed.row(2, Some(("k", 1)))).await.unwrap();
    assert!(matches!(again, OperationOutcome::Published { .. }), "{again:?}");
    assert!(bed.doubles.pending.shown(comment(SLOT, 2)).is_some());
    // The rows know who has the key from then on.
    bed.doubles
        .store
        .persist(&[LoggedOperation::new(1, Operation::Publish(Box::new(bed.row(2, Some(("k", 1))))))])
        .await
        .unwrap();
    let again = bed.publish(bed.row(3, Some(("k", 1)))).await.unwrap();
    assert!(matches!(again, OperationOutcome::Replayed { id, .. } if id == comment(SLOT, 2)), "{again:?}");
    assert_eq!(bed.appended(Topic::Comments), 1);
}

#[tokio::test(start_paused = true)]
async fn full_producer_appends_nothing_and_releases_the_key() {
    let bed = JournalTestBed::new();
    bed.doubles.broker.fail_appends(|_| Some((FaultPoint::Before, BrokerError::Full)));
    let refused = bed.publish(bed.row(1, Some(("k", 1)))).await;
    assert!(matches!(refused, Err(JournalError::Full)), "{refused:?}");
    assert!(!bed.doubles.pending.is_reserved("k"));
}

#[tokio::test(start_paused = true)]
async fn uncertain_reservation_is_checked_against_the_rows() {
    let bed = JournalTestBed::new();
    bed.doubles
        .store
        .persist(&[LoggedOperation::new(1, Operation::Publish(Box::new(bed.row(1, Some(("k", 1))))))])
        .await
        .unwrap();
    for lose in [
        |pending: &MemoryPending| pending.is_uncertain.store(true, SeqCst),
        |pending: &MemoryPending| pending.is_down.store(true, SeqCst),
    ] {
        lose(&bed.doubles.pending);
        let again = bed.publish(bed.row(2, Some(("k", 1)))).await.unwrap();
        assert!(matches!(again, OperationOutcome::Replayed { id, .. } if id == comment(SLOT, 1)), "{again:?}");
        let other = bed.publish(bed.row(2, Some(("k", 2)))).await.unwrap();
        assert!(matches!(other, OperationOutcome::Mismatch));
        assert!(!bed.doubles.pending.is_reserved("k"), "released: the rows remember it");
    }
    assert_eq!(bed.appended(Topic::Comments), 0);
}

#[tokio::test(start_paused = true)]
async fn comment_that_cannot_be_shown_is_answered_with_its_row() {
    let bed = JournalTestBed::new();
    bed.doubles.pending.refuses_comments.store(true, SeqCst);
    let late = bed.persist_records(Topic::Comments, Duration::from_millis(500));
    let (outcome, ()) = tokio::join!(bed.publish(bed.row(1, None)), late);
    assert!(matches!(outcome, Ok(OperationOutcome::Published { .. })), "{outcome:?}");
    is_unknown(&bed.publish(bed.row(2, None)).await);
    assert_eq!(bed.appended(Topic::Comments), 2, "it is appended all the same");
}

#[tokio::test(start_paused = true)]
async fn like_is_appended_and_counted() {
    let bed = JournalTestBed::new();
    let id = bed.store_row(1).await;
    let outcome = bed.like(id, 7).await.unwrap();
    assert!(matches!(outcome, OperationOutcome::Reacted { likes: 1, dislikes: 0, reaction: Some(Reaction::Like) }));
    assert_eq!(bed.doubles.counters.folds()[0].offset, 0);
    // A reaction to an invisible comment is refused and not appended.
    let unseen = bed.like(comment(SLOT, 2), 7).await.unwrap();
    assert!(matches!(unseen, OperationOutcome::NoComment));
    assert_eq!(bed.appended(Topic::Reactions), 1);
    // A comment that was invisible and is published here becomes visible at once.
    bed.publish(bed.row(2, None)).await.unwrap();
    bed.persist_records(Topic::Comments, Duration::ZERO).await;
    assert!(matches!(bed.like(comment(SLOT, 2), 7).await, Ok(OperationOutcome::Reacted { .. })));
}

#[tokio::test(start_paused = true)]
async fn one_row_answers_visibility_and_state() {
    let bed = JournalTestBed::new();
    let held = NewCommentRow { state: CommentState::Review, ..bed.row(1, None) };
    bed.doubles.store.persist(&[LoggedOperation::new(1, Operation::Publish(Box::new(held)))]).await.unwrap();
    assert!(matches!(bed.like(comment(SLOT, 1), 7).await, Ok(OperationOutcome::NoComment)));
    assert_eq!((bed.doubles.store.state_queries(), bed.appended(Topic::Reactions)), (1, 0));
    let id = bed.store_row(2).await;
    assert!(matches!(bed.like(id, 7).await, Ok(OperationOutcome::Reacted { likes: 1, .. })));
    assert_eq!(bed.doubles.store.state_queries(), 2);
}

#[tokio::test(start_paused = true)]
async fn like_whose_append_failed_is_unknown_and_not_counted() {
    for (when, copies) in [(FaultPoint::Before, 0), (FaultPoint::After, 1)] {
        let bed = JournalTestBed::new();
        let id = bed.store_row(1).await;
        bed.doubles.broker.fail_appends(move |_| Some((when, no_broker())));
        is_unknown(&bed.like(id, 7).await);
        assert_eq!(bed.appended(Topic::Reactions), copies);
        assert!(bed.doubles.counters.folds().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn like_with_lost_counters_recovers_them_and_folds_again() {
    let bed = JournalTestBed::new();
    let id = bed.store_row(1).await;
    bed.doubles.counters.fail_folds([CountersError::Lost, CountersError::StaleState]);
    // The recovery waits until the rows hold the appended like.
    let (outcome, ()) =
        tokio::join!(bed.like(id, 7), bed.persist_records(Topic::Reactions, Duration::from_millis(100)));
    let outcome = outcome.unwrap();
    assert!(
        matches!(outcome, OperationOutcome::Reacted { likes: 1, reaction: Some(Reaction::Like), .. }),
        "{outcome:?}"
    );
    assert_eq!(bed.doubles.counters.finished.load(SeqCst), 1);
    let positions: Vec<_> = bed.doubles.counters.folds().iter().map(|fold| fold.state.position).collect();
    assert_eq!(positions, [0, 1, 1], "each time with a newer state");

    bed.doubles.counters.fail_folds([CountersError::Lost, CountersError::Lost]);
    let late = bed.persist_records(Topic::Reactions, Duration::from_millis(100));
    let (outcome, ()) = tokio::join!(bed.like(id, 8), late);
    is_unknown(&outcome);
}

#[tokio::test(start_paused = true)]
async fn like_without_counters_is_answered_from_its_row() {
    let bed = JournalTestBed::new();
    let id = bed.store_row(1).await;
    let gone = || CountersError::Unavailable("gone".into());
    bed.doubles.counters.fail_folds([gone()]);
    let late = bed.persist_records(Topic::Reactions, Duration::from_millis(900));
    let (outcome, ()) = tokio::join!(bed.like(id, 7), late);
    assert!(
        matches!(outcome, Ok(OperationOutcome::Reacted { likes: 1, reaction: Some(Reaction::Like), .. })),
        "{outcome:?}"
    );
    // The rows do not hold it within two seconds.
    bed.doubles.counters.fail_folds([gone()]);
    is_unknown(&bed.like(id, 8).await);
    assert_eq!(bed.appended(Topic::Reactions), 2, "it counts when the rows have it");
}

#[tokio::test(start_paused = true)]
async fn like_is_refused_while_the_tables_cannot_say_what_the_member_thinks() {
    let bed = JournalTestBed::new();
    let id = bed.store_row(1).await;
    assert!(bed.journal.visibility.is_visible(id).await.unwrap());
    bed.doubles.store.take_down(0);
    let refused = bed.like(id, 7).await;
    assert!(matches!(refused, Err(JournalError::Store(StoreError::Unavailable(_)))), "{refused:?}");
    assert_eq!(bed.appended(Topic::Reactions), 0, "no later answer lacks it");
}

#[tokio::test(start_paused = true)]
async fn reaction_states_are_read_in_batches() {
    let bed = JournalTestBed::new();
    let id = bed.store_row(1).await;
    let outcomes = join_all((1..=1_200).map(|by| bed.like(id, by))).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(OperationOutcome::Reacted { .. }))));
    assert!(bed.doubles.store.state_queries() <= 8, "{}", bed.doubles.store.state_queries());
}

#[tokio::test(start_paused = true)]
async fn change_waits_for_the_row_of_a_pending_comment() {
    let bed = JournalTestBed::new();
    let change =
        |number| Operation::Change { id: comment(SLOT, number), change: CommentChange::Feature(true), audit: None };
    bed.publish(bed.row(1, None)).await.unwrap();
    let late = bed.persist_records(Topic::Comments, Duration::from_millis(600));
    let (outcome, ()) = tokio::join!(bed.journal.append(change(1)), late);
    assert!(matches!(outcome, Ok(OperationOutcome::Done)), "{outcome:?}");
    // A comment that has no row after two seconds, and one that is known nowhere while it may be in the broker.
    bed.publish(bed.row(2, None)).await.unwrap();
    assert!(matches!(bed.journal.append(change(2)).await, Err(JournalError::NotStoredYet)));
    bed.doubles.pending.lose_comment(comment(SLOT, 2));
    let unknown = bed.journal.append(change(2)).await;
    assert!(matches!(unknown, Err(JournalError::Store(StoreError::NotCaughtUp))), "{unknown:?}");
    let liked = bed.like(comment(SLOT, 2), 7).await;
    assert!(matches!(liked, Err(JournalError::Store(StoreError::NotCaughtUp))), "{liked:?}");
    bed.persist_records(Topic::Comments, Duration::ZERO).await;
    assert!(matches!(bed.journal.append(change(2)).await, Ok(OperationOutcome::Done)));
    // One that does not exist, and one whose row cannot be changed.
    assert!(matches!(bed.journal.append(change(3)).await, Ok(OperationOutcome::NoComment)));
    assert!(bed.doubles.listener.operations() >= 1);
}

#[tokio::test(start_paused = true)]
async fn change_is_retried_while_its_slot_moves() {
    let bed = JournalTestBed::new();
    let id = bed.store_row(1).await;
    let mut left = 5;
    bed.doubles.store.fail_writes(move |_| {
        left -= 1;
        (left > 0).then_some((FaultPoint::Before, StoreError::Moved))
    });
    let change = Operation::Change { id, change: CommentChange::State(CommentState::Hidden), audit: None };
    assert!(matches!(bed.journal.append(change.clone()).await, Ok(OperationOutcome::Done)));
    bed.doubles.store.fail_writes(|_| Some((FaultPoint::After, StoreError::Unavailable("gone".into()))));
    is_unknown(&bed.journal.append(change).await);
}

/// The slot is locked or its database takes no writes, and a cursor is about to name the ranking.
#[tokio::test(start_paused = true)]
async fn ranking_that_cannot_be_stored_is_kept_by_redis() {
    let bed = JournalTestBed::new();
    let slot = bed.subject.slot();
    let snapshot = Snapshot::rank(vec![(1, comment(SLOT, 1))]);
    let store = || bed.journal.append(Operation::Snapshot { slot, snapshot: snapshot.clone() });
    for error in [StoreError::Database("read-only".into()), StoreError::Unavailable("locked".into()), StoreError::Moved]
    {
        bed.doubles.store.fail_writes(move |_| Some((FaultPoint::Before, error.clone())));
        let begun = Instant::now();
        assert!(matches!(store().await, Ok(OperationOutcome::Done)));
        assert!(begun.elapsed() < Duration::from_secs(1), "a reader waits");
    }
    let found = bed.doubles.cached_store().read_snapshot(slot, snapshot.id()).await.unwrap();
    assert_eq!(found.map(|found| found.id()), Some(snapshot.id()));
    bed.doubles.pending.is_down.store(true, SeqCst);
    assert!(store().await.is_err(), "then the reader gets a former ranking");
}

#[tokio::test(start_paused = true)]
async fn imports_are_written_in_batches_and_fail_alone() {
    let bed = JournalTestBed::new();
    let imported = |number: u64| {
        let source = format!("{number}");
        let imported = ImportedFrom { source, likes: 0, dislikes: 0, edited_at: None, pinned: false };
        NewCommentRow { imported: Some(imported), ..bed.row(number, None) }
    };
    let outcomes = join_all((0..500).map(|number| bed.publish(imported(number)))).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(OperationOutcome::Published { .. }))));
    assert!(bed.doubles.store.batch_sizes().len() < 5, "{:?}", bed.doubles.store.batch_sizes());
    let order: Vec<_> = bed
        .doubles
        .store
        .applied()
        .iter()
        .filter_map(|logged| match &logged.operation {
            Operation::Publish(row) => Some(row.path.id()),
            _ => None,
        })
        .collect();
    assert!(order.is_sorted(), "in the order they were appended");
    let again = bed.publish(imported(3)).await.unwrap();
    assert!(matches!(again, OperationOutcome::Present { .. }));
    bed.doubles.store.fail_writes(|batch| {
        let bad = batch
            .iter()
            .any(|s| matches!(&s.operation, Operation::Publish(row) if row.path.id() == comment(SLOT, 707)));
        bad.then(|| (FaultPoint::Before, StoreError::Database("too long".into())))
    });
    let outcomes = join_all((700..720).map(|number| bed.publish(imported(number)))).await;
    let failed: Vec<_> = outcomes.iter().map(Result::is_err).collect();
    assert_eq!(failed.iter().filter(|failed| **failed).count(), 1);
    assert!(matches!(outcomes[7], Err(JournalError::Store(StoreError::Database(_)))));
    // A database that is down is not the fault of a comment.
    bed.doubles.store.take_down(0);
    is_unknown(&bed.publish(imported(800)).await);
    assert_eq!(bed.appended(Topic::Comments), 0);
}

/// One transaction a comment would keep a popular subject's slot busy for longer than caches may show them.
#[tokio::test(start_paused = true)]
async fn erased_comments_are_overwritten_in_a_few_transactions() {
    let bed = JournalTestBed::new();
    let published: Vec<_> = (0..2_500).map(|number| publish(&bed.subject, comment(SLOT, number))).collect();
    bed.doubles.store.persist(&published).await.unwrap();
    let before = bed.doubles.store.batch_sizes().len();
    let change = |number, change| Operation::Change { id: comment(SLOT, number), change, audit: None };
    let forget = CommentChange::Forget { member: member(7), is_shown: true };
    let changes = (0..2_000).map(|number| change(number, CommentChange::Erase));
    let changes = changes.chain((2_000..2_500).map(|number| change(number, forget.clone())));
    let outcomes = join_all(changes.map(|operation| bed.journal.append(operation))).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(OperationOutcome::Done))));
    let batches = bed.doubles.store.batch_sizes().split_off(before);
    assert!(batches.len() <= 4 && batches.iter().sum::<usize>() == 2_500, "{batches:?}");
    // A comment without a row is not waited for.
    bed.publish(bed.row(3_000, None)).await.unwrap();
    let begun = Instant::now();
    let early = bed.journal.append(change(3_000, CommentChange::Erase)).await;
    assert!(matches!(early, Ok(OperationOutcome::NoComment)) && begun.elapsed() < WRITE_TIMEOUT, "{early:?}");
}

#[tokio::test(start_paused = true)]
async fn close_waits_for_operations_in_flight_and_accepts_no_more() {
    let bed = Arc::new(JournalTestBed::new());
    bed.doubles.pending.refuses_comments.store(true, SeqCst);
    let posting = tokio::spawn({
        let bed = bed.clone();
        async move { bed.publish(bed.row(1, None)).await }
    });
    sleep(Duration::from_millis(10)).await;
    let ((), ()) = tokio::join!(bed.journal.close(), bed.persist_records(Topic::Comments, Duration::from_millis(300)));
    assert!(posting.is_finished());
    assert!(posting.await.unwrap().is_ok());
    let late = bed.publish(bed.row(2, None)).await;
    assert!(matches!(late, Err(JournalError::Closed)), "{late:?}");
}
