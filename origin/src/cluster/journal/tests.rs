use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use futures_util::future::join_all;
use gailou_shared::id::SubjectKey;
use gailou_shared::wire::{CommentState, Reaction};
use tokio::time::sleep;

use crate::cluster::journal::*;
use crate::domain::codec::operation::decode;
use crate::domain::operation::CommentChange;
use crate::domain::row::{ImportedFrom, NewCommentRow};
use crate::ports::counters::{Base, CountersError, Fold, Folded, PersistedReaction, Recovery};
use crate::ports::pending::{PendingError, Reserved};
use crate::ports::store::BatchWriter as _;
use crate::testing::doubles::{Told, When, comment, like, new_row, publish, subject_in};
use crate::testing::memory_broker::MemoryLog;
use crate::testing::memory_tables::MemoryTables;

/// What is pending, in memory.
#[derive(Debug, Default)]
struct Shelf {
    reserved: Mutex<HashMap<(MemberId, String), (LoggedOperation, bool)>>,
    shown: Mutex<HashMap<CommentId, LoggedOperation>>,
    /// Younger than what was reserved may live.
    unsure: AtomicBool,
    down: AtomicBool,
    /// Only showing fails.
    dark: AtomicBool,
}

fn key_of(event: &LoggedOperation) -> Option<(MemberId, String)> {
    let Operation::Publish(row) = &event.operation else { return None };
    row.idempotency.as_ref().map(|(key, _)| (row.author.id, key.clone()))
}

impl Shelf {
    fn up(&self) -> Result<(), PendingError> {
        if self.down.load(Ordering::Relaxed) { Err(PendingError("down".into())) } else { Ok(()) }
    }

    fn is_reserved(&self, key: &str) -> bool {
        self.reserved.lock().unwrap().keys().any(|(_, of)| of == key)
    }
}

#[async_trait]
impl Pending for Shelf {
    async fn reserve(&self, event: &LoggedOperation) -> Result<Reserved, PendingError> {
        self.up()?;
        let mut reserved = self.reserved.lock().unwrap();
        let key = key_of(event).unwrap();
        if let Some((event, appended)) = reserved.get(&key) {
            return Ok(Reserved::Before { event: Box::new(event.clone()), appended: *appended });
        }
        reserved.insert(key, (event.clone(), false));
        Ok(Reserved::Now { sure: !self.unsure.load(Ordering::Relaxed) })
    }

    async fn reserved(&self, member: MemberId, key: &str) -> Result<Option<LoggedOperation>, PendingError> {
        Ok(self.reserved.lock().unwrap().get(&(member, key.to_owned())).map(|(event, _)| event.clone()))
    }

    async fn release(&self, event: &LoggedOperation) -> Result<(), PendingError> {
        self.up()?;
        self.reserved.lock().unwrap().remove(&key_of(event).unwrap());
        Ok(())
    }

    async fn put(&self, event: &LoggedOperation) -> Result<(), PendingError> {
        self.up()?;
        if self.dark.load(Ordering::Relaxed) {
            return Err(PendingError("dark".into()));
        }
        let Operation::Publish(row) = &event.operation else { return Ok(()) };
        self.shown.lock().unwrap().insert(row.path.id(), event.clone());
        if let Some(key) = key_of(event)
            && let Some((_, appended)) = self.reserved.lock().unwrap().get_mut(&key)
        {
            *appended = true;
        }
        Ok(())
    }

    async fn comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, LoggedOperation>, PendingError> {
        self.up()?;
        let shown = self.shown.lock().unwrap();
        Ok(ids.iter().filter_map(|id| Some((*id, shown.get(id)?.clone()))).collect())
    }

    async fn of(&self, _: MemberId) -> Result<Vec<CommentId>, PendingError> {
        Ok(vec![])
    }
}

/// Counters that fold onto the standing they are given, after what they are told to fail with.
#[derive(Debug, Default)]
struct View {
    errors: Mutex<VecDeque<CountersError>>,
    folds: Mutex<Vec<Fold>>,
    reopened: AtomicU64,
}

#[async_trait]
impl Counters for View {
    async fn fold(&self, fold: Fold) -> Result<Folded, CountersError> {
        self.folds.lock().unwrap().push(fold.clone());
        if let Some(error) = self.errors.lock().unwrap().pop_front() {
            return Err(error);
        }
        let (before, reaction) = (fold.standing.reaction, fold.react.fold(fold.standing.reaction));
        let delta = |which| i64::from(reaction == Some(which)) - i64::from(before == Some(which));
        Ok(Folded {
            likes: fold.standing.likes.saturating_add_signed(delta(Reaction::Like)),
            dislikes: fold.standing.dislikes.saturating_add_signed(delta(Reaction::Dislike)),
            reaction,
        })
    }

    async fn counts(&self, _: &[Base]) -> Result<HashMap<CommentId, (u64, u64)>, CountersError> {
        Ok(HashMap::new())
    }

    async fn reactions(
        &self,
        _: MemberId,
        _: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError> {
        Ok(HashMap::new())
    }

    async fn persisted(&self, _: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError> {
        Ok(vec![])
    }

    async fn lost(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError> {
        Ok(slots.to_vec())
    }

    async fn begin(&self, slots: &[Slot]) -> Result<Recovery, CountersError> {
        Ok(Recovery { slots: slots.to_vec(), token: String::new() })
    }

    async fn reopen(&self, _: &Recovery, _: &HashMap<Slot, u64>) -> Result<(), CountersError> {
        self.reopened.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn view(&self, _: CommentId) -> Result<Option<(Base, (u64, u64))>, CountersError> {
        Ok(None)
    }

    async fn forget(&self, _: CommentId) -> Result<(), CountersError> {
        Ok(())
    }
}

struct Site {
    log: MemoryLog,
    tables: Arc<MemoryTables>,
    shelf: Arc<Shelf>,
    view: Arc<View>,
    told: Arc<Told>,
    journal: ClusterJournal,
    subject: SubjectKey,
}

const SLOT: u16 = 5;

impl Site {
    fn new() -> Self {
        let (log, tables, told) = (MemoryLog::new(4), MemoryTables::new(2), Arc::new(Told::default()));
        let (shelf, view) = (Arc::new(Shelf::default()), Arc::new(View::default()));
        let ports: (Arc<dyn Broker>, Arc<dyn Counters>) = (Arc::new(log.clone()), view.clone());
        let opener = Arc::new(CounterRecovery::new(ports.0.clone(), tables.clone(), view.clone()));
        // The comments of these tests are made in this moment.
        let clock = Clock::from_fn(|| comment(SLOT, 1).created_ms());
        let journal = ClusterJournal::new(
            ports.0,
            tables.clone(),
            tables.clone(),
            ports.1,
            shelf.clone(),
            opener,
            told.clone(),
            clock,
        );
        Self { log, tables, shelf, view, told, journal, subject: subject_in(SLOT) }
    }

    fn row(&self, number: u64, key: Option<(&str, u8)>) -> NewCommentRow {
        let idempotency = key.map(|(key, hash)| (key.to_owned(), [hash; 32]));
        NewCommentRow { idempotency, ..new_row(&self.subject, comment(SLOT, number)) }
    }

    async fn publish(&self, row: NewCommentRow) -> Result<OperationOutcome, JournalError> {
        self.journal.append(Operation::Publish(Box::new(row))).await
    }

    /// The comment is a row.
    async fn stored(&self, number: u64) -> CommentId {
        let id = comment(SLOT, number);
        self.tables.persist(&[publish(&self.subject, id)]).await.unwrap();
        id
    }

    async fn like(&self, id: CommentId, by: u64) -> Result<OperationOutcome, JournalError> {
        self.journal.append(like(id, by).operation).await
    }

    /// Writes what is in the log into the tables, `after` a while.
    async fn persist_log(&self, topic: Topic, after: Duration) {
        sleep(after).await;
        for (offset, bytes) in self.log.messages(topic).iter().enumerate() {
            let stamped = LoggedOperation { position: Some(offset as u64), ..decode(bytes).unwrap() };
            self.tables.persist(&[stamped]).await.unwrap();
        }
        self.log.commit_all(topic);
    }

    fn appended(&self, topic: Topic) -> usize {
        self.log.messages(topic).len()
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
async fn a_comment_is_appended_and_shown() {
    let site = Site::new();
    let outcome = site.publish(site.row(1, None)).await.unwrap();
    assert!(matches!(outcome, OperationOutcome::Published { floor: None }));
    let bytes = site.log.messages(Topic::Comments);
    let Operation::Publish(row) = decode(&bytes[0]).unwrap().operation else { panic!("a publish") };
    assert_eq!(row.path.id(), comment(SLOT, 1));
    assert_eq!(site.shelf.shown.lock().unwrap()[&comment(SLOT, 1)].position, Some(0));
}

#[tokio::test(start_paused = true)]
async fn a_key_makes_one_comment_wherever_the_first_attempt_died() {
    // Whether the first append was written before it failed, and what the log holds in the end.
    for (when, copies) in [(When::Before, 1), (When::After, 2)] {
        let site = Site::new();
        site.log.fail(move |_| Some((when, no_broker())));
        is_unknown(&site.publish(site.row(1, Some(("k", 1)))).await);
        assert!(site.shelf.is_reserved("k"), "it may have been written");
        site.log.heal();
        let again = site.publish(site.row(2, Some(("k", 1)))).await.unwrap();
        let OperationOutcome::Replayed { id, state } = again else { panic!("{again:?}") };
        assert_eq!((id, state), (comment(SLOT, 1), CommentState::Published));
        let bytes = site.log.messages(Topic::Comments);
        assert_eq!(bytes.len(), copies);
        assert!(bytes.iter().all(|b| *b == bytes[0]), "the same bytes again");
        // Known to be appended by now: nothing is appended a third time.
        site.publish(site.row(3, Some(("k", 1)))).await.unwrap();
        assert_eq!(site.appended(Topic::Comments), copies);
        let other = site.publish(site.row(4, Some(("k", 2)))).await.unwrap();
        assert!(matches!(other, OperationOutcome::Mismatch));
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_log_writes_nothing_and_keeps_no_key() {
    let site = Site::new();
    site.log.fail(|_| Some((When::Before, BrokerError::Full)));
    let refused = site.publish(site.row(1, Some(("k", 1)))).await;
    assert!(matches!(refused, Err(JournalError::Full)), "{refused:?}");
    assert!(!site.shelf.is_reserved("k"));
}

#[tokio::test(start_paused = true)]
async fn where_reservations_may_be_lost_the_rows_are_asked() {
    let site = Site::new();
    site.tables
        .persist(&[LoggedOperation::new(1, Operation::Publish(Box::new(site.row(1, Some(("k", 1))))))])
        .await
        .unwrap();
    for lost in [
        |shelf: &Shelf| shelf.unsure.store(true, Ordering::Relaxed),
        |shelf: &Shelf| {
            shelf.down.store(true, Ordering::Relaxed);
        },
    ] {
        lost(&site.shelf);
        let again = site.publish(site.row(2, Some(("k", 1)))).await.unwrap();
        assert!(matches!(again, OperationOutcome::Replayed { id, .. } if id == comment(SLOT, 1)), "{again:?}");
        let other = site.publish(site.row(2, Some(("k", 2)))).await.unwrap();
        assert!(matches!(other, OperationOutcome::Mismatch));
        assert!(!site.shelf.is_reserved("k"), "given back: the rows know it");
    }
    assert_eq!(site.appended(Topic::Comments), 0);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_shown_is_answered_when_its_row_is_there() {
    let site = Site::new();
    site.shelf.dark.store(true, Ordering::Relaxed);
    let late = site.persist_log(Topic::Comments, Duration::from_millis(500));
    let (outcome, ()) = tokio::join!(site.publish(site.row(1, None)), late);
    assert!(matches!(outcome, Ok(OperationOutcome::Published { .. })), "{outcome:?}");
    is_unknown(&site.publish(site.row(2, None)).await);
    assert_eq!(site.appended(Topic::Comments), 2, "it is in the log all the same");
}

#[tokio::test(start_paused = true)]
async fn a_like_is_appended_and_counted() {
    let site = Site::new();
    let id = site.stored(1).await;
    let outcome = site.like(id, 7).await.unwrap();
    assert!(matches!(outcome, OperationOutcome::Reacted { likes: 1, dislikes: 0, reaction: Some(Reaction::Like) }));
    assert_eq!(site.view.folds.lock().unwrap()[0].version, 0);
    // Nobody reacts to what cannot be seen, and nothing of it is in the log.
    let unseen = site.like(comment(SLOT, 2), 7).await.unwrap();
    assert!(matches!(unseen, OperationOutcome::NoComment));
    assert_eq!(site.appended(Topic::Reactions), 1);
    // One that was asked for in vain and published here is seen at once.
    site.publish(site.row(2, None)).await.unwrap();
    site.persist_log(Topic::Comments, Duration::ZERO).await;
    assert!(matches!(site.like(comment(SLOT, 2), 7).await, Ok(OperationOutcome::Reacted { .. })));
}

#[tokio::test(start_paused = true)]
async fn a_row_says_at_once_what_can_be_seen_and_what_was_thought() {
    let site = Site::new();
    let held = NewCommentRow { state: CommentState::Review, ..site.row(1, None) };
    site.tables.persist(&[LoggedOperation::new(1, Operation::Publish(Box::new(held)))]).await.unwrap();
    assert!(matches!(site.like(comment(SLOT, 1), 7).await, Ok(OperationOutcome::NoComment)));
    assert_eq!((site.tables.statements(), site.appended(Topic::Reactions)), (1, 0));
    let id = site.stored(2).await;
    assert!(matches!(site.like(id, 7).await, Ok(OperationOutcome::Reacted { likes: 1, .. })));
    assert_eq!(site.tables.statements(), 2);
    // Remembered for a moment, and not beyond a change.
    site.journal
        .append(Operation::Change { id, change: CommentChange::State(CommentState::Hidden), audit: None })
        .await
        .unwrap();
    assert!(site.journal.faces.known(id).await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_like_whose_append_failed_is_unknown_and_not_counted() {
    for (when, copies) in [(When::Before, 0), (When::After, 1)] {
        let site = Site::new();
        let id = site.stored(1).await;
        site.log.fail(move |_| Some((when, no_broker())));
        is_unknown(&site.like(id, 7).await);
        assert_eq!(site.appended(Topic::Reactions), copies);
        assert!(site.view.folds.lock().unwrap().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn lost_counters_are_opened_and_asked_again() {
    let site = Site::new();
    let id = site.stored(1).await;
    site.view.errors.lock().unwrap().extend([CountersError::Lost, CountersError::Behind]);
    // The opener waits until the rows hold the like that is in the log.
    let (outcome, ()) = tokio::join!(site.like(id, 7), site.persist_log(Topic::Reactions, Duration::from_millis(100)));
    let outcome = outcome.unwrap();
    assert!(
        matches!(outcome, OperationOutcome::Reacted { likes: 1, reaction: Some(Reaction::Like), .. }),
        "{outcome:?}"
    );
    assert_eq!(site.view.reopened.load(Ordering::Relaxed), 1);
    let positions: Vec<_> = site.view.folds.lock().unwrap().iter().map(|fold| fold.standing.position).collect();
    assert_eq!(positions, [0, 1, 1], "each time from a fresh standing");

    site.view.errors.lock().unwrap().extend([CountersError::Lost, CountersError::Lost]);
    let late = site.persist_log(Topic::Reactions, Duration::from_millis(100));
    let (outcome, ()) = tokio::join!(site.like(id, 8), late);
    is_unknown(&outcome);
}

#[tokio::test(start_paused = true)]
async fn without_counters_a_like_is_answered_from_its_row() {
    let site = Site::new();
    let id = site.stored(1).await;
    let gone = || CountersError::Unavailable("gone".into());
    site.view.errors.lock().unwrap().push_back(gone());
    let late = site.persist_log(Topic::Reactions, Duration::from_millis(900));
    let (outcome, ()) = tokio::join!(site.like(id, 7), late);
    assert!(
        matches!(outcome, Ok(OperationOutcome::Reacted { likes: 1, reaction: Some(Reaction::Like), .. })),
        "{outcome:?}"
    );
    // The rows do not come so far in two seconds.
    site.view.errors.lock().unwrap().push_back(gone());
    is_unknown(&site.like(id, 8).await);
    // Nor do they answer.
    assert!(site.journal.faces.visible(id).await.unwrap());
    site.tables.down(0);
    is_unknown(&site.like(id, 9).await);
    assert_eq!(site.appended(Topic::Reactions), 3, "they count once the rows have them");
}

#[tokio::test(start_paused = true)]
async fn standings_are_asked_for_together() {
    let site = Site::new();
    let id = site.stored(1).await;
    let outcomes = join_all((1..=1_200).map(|by| site.like(id, by))).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(OperationOutcome::Reacted { .. }))));
    assert!(site.tables.statements() <= 8, "{}", site.tables.statements());
}

#[tokio::test(start_paused = true)]
async fn a_change_waits_for_the_row_of_what_is_pending() {
    let site = Site::new();
    let change =
        |number| Operation::Change { id: comment(SLOT, number), change: CommentChange::Feature(true), audit: None };
    site.publish(site.row(1, None)).await.unwrap();
    let late = site.persist_log(Topic::Comments, Duration::from_millis(600));
    let (outcome, ()) = tokio::join!(site.journal.append(change(1)), late);
    assert!(matches!(outcome, Ok(OperationOutcome::Done)), "{outcome:?}");
    // One that never becomes a row, and one that is nowhere.
    site.publish(site.row(2, None)).await.unwrap();
    is_unknown(&site.journal.append(change(2)).await);
    assert!(matches!(site.journal.append(change(3)).await, Ok(OperationOutcome::NoComment)));
    assert!(site.told.events() >= 1);
}

#[tokio::test(start_paused = true)]
async fn a_change_is_tried_again_while_its_slot_moves() {
    let site = Site::new();
    let id = site.stored(1).await;
    let mut left = 5;
    site.tables.refuse(move |_| {
        left -= 1;
        (left > 0).then_some((When::Before, StoreError::Moved))
    });
    let change = Operation::Change { id, change: CommentChange::State(CommentState::Hidden), audit: None };
    assert!(matches!(site.journal.append(change.clone()).await, Ok(OperationOutcome::Done)));
    site.tables.refuse(|_| Some((When::After, StoreError::Unavailable("gone".into()))));
    is_unknown(&site.journal.append(change).await);
}

#[tokio::test(start_paused = true)]
async fn imported_comments_are_written_together_and_fail_alone() {
    let site = Site::new();
    let imported = |number: u64| {
        let source = format!("{number}");
        let imported = ImportedFrom { source, likes: 0, dislikes: 0, edited_at: None, pinned: false };
        NewCommentRow { imported: Some(imported), ..site.row(number, None) }
    };
    let outcomes = join_all((0..500).map(|number| site.publish(imported(number)))).await;
    assert!(outcomes.iter().all(|outcome| matches!(outcome, Ok(OperationOutcome::Published { .. }))));
    assert!(site.tables.batches().len() < 5, "{:?}", site.tables.batches());
    let order: Vec<_> = site
        .tables
        .applied()
        .iter()
        .filter_map(|stamped| match &stamped.operation {
            Operation::Publish(row) => Some(row.path.id()),
            _ => None,
        })
        .collect();
    assert!(order.is_sorted(), "in the order they were appended");
    let again = site.publish(imported(3)).await.unwrap();
    assert!(matches!(again, OperationOutcome::Present { .. }));
    site.tables.refuse(|batch| {
        let bad = batch
            .iter()
            .any(|s| matches!(&s.operation, Operation::Publish(row) if row.path.id() == comment(SLOT, 707)));
        bad.then(|| (When::Before, StoreError::Database("too long".into())))
    });
    let outcomes = join_all((700..720).map(|number| site.publish(imported(number)))).await;
    let failed: Vec<_> = outcomes.iter().map(Result::is_err).collect();
    assert_eq!(failed.iter().filter(|failed| **failed).count(), 1);
    assert!(matches!(outcomes[7], Err(JournalError::Store(StoreError::Database(_)))));
    // A database that is away is no bad line.
    site.tables.down(0);
    is_unknown(&site.publish(imported(800)).await);
    assert_eq!(site.appended(Topic::Comments), 0);
}

#[tokio::test(start_paused = true)]
async fn closing_waits_for_what_is_under_way_and_takes_nothing_more() {
    let site = Arc::new(Site::new());
    site.shelf.dark.store(true, Ordering::Relaxed);
    let posting = tokio::spawn({
        let site = site.clone();
        async move { site.publish(site.row(1, None)).await }
    });
    sleep(Duration::from_millis(10)).await;
    let ((), ()) = tokio::join!(site.journal.close(), site.persist_log(Topic::Comments, Duration::from_millis(300)));
    assert!(posting.is_finished());
    assert!(posting.await.unwrap().is_ok());
    let late = site.publish(site.row(2, None)).await;
    assert!(matches!(late, Err(JournalError::Closed)), "{late:?}");
}
