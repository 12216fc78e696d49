//! The contract of the queues of events, on every adapter: what happens to a comment is an event of the transaction
//! that wrote it, once.

use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::{CommentState, MemberRef, ReportReason};

use crate::adapters::sqlite::SqliteStore;
use crate::domain::audit::AuditEntry;
use crate::domain::event::{Event, EventKind};
use crate::domain::operation::{CommentChange, LoggedOperation, Operation};
use crate::domain::review::{Decision, NewReport};
use crate::domain::row::{ImportedFrom, NewCommentRow};
use crate::ports::store::{BatchWriter, EventBacklog, EventQueues};
use crate::testing::contract::reconcile::{NOW, publish, publish_as};

trait EventTables: BatchWriter + EventQueues {}

impl<T: BatchWriter + EventQueues> EventTables for T {}

/// The n-th change of a comment, by a moderator.
fn decide(id: CommentId, n: u64, change: CommentChange) -> LoggedOperation {
    let audit = AuditEntry {
        id: CommentId::from_parts(NOW + n, id.slot(), 1, 0).into(),
        actor: MemberRef { id: MemberId::new(9).unwrap(), name: "moderator".into() },
        action: "test",
        reason: None,
        before: None,
        after: None,
    };
    LoggedOperation::new(NOW + n, Operation::Change { id, change, audit: Some(audit) })
}

fn report(id: CommentId, by: u64, threshold: u64) -> LoggedOperation {
    let reporter = MemberRef { id: MemberId::new(by).unwrap(), name: "Bob".into() };
    let report = NewReport { reporter, reason: ReportReason::Spam, note: None, threshold };
    let change = CommentChange::Report(Box::new(report));
    LoggedOperation::new(NOW + by, Operation::Change { id, change, audit: None })
}

/// The events that a batch adds, without their numbers; they are removed.
async fn events_of(tables: &dyn EventTables, database: usize, batch: &[LoggedOperation]) -> Vec<Event> {
    tables.persist(batch).await.unwrap();
    let queued = tables.read_events(database, 0, 1_000).await.unwrap();
    tables.remove_events(database, &queued).await.unwrap();
    queued.into_iter().map(|queued| queued.event).collect()
}

async fn check_events(tables: &dyn EventTables, database: usize) {
    let moderator = MemberId::new(9).ok();
    let ((published, new), (held, hold)) = (publish(1, None), publish_as(CommentState::Review, 2, None));
    let (published, held) = (published.id(), held.id());
    let of = |comment, kind, actor, n: u64| Event::new(comment, kind, actor, NOW + n);
    let (_, imported) = publish(3, None);
    let Operation::Publish(imported) = imported.operation else { unreachable!() };
    let source = ImportedFrom { source: "1".into(), likes: 0, dislikes: 0, edited_at: None, pinned: false };
    let imported = NewCommentRow { imported: Some(source), ..*imported };
    let imported = LoggedOperation::new(NOW, Operation::Publish(Box::new(imported)));
    let begin = [new.clone(), hold, imported];
    assert_eq!(
        events_of(tables, database, &begin).await,
        [of(published, EventKind::Published, None, 0), of(held, EventKind::Held, None, 0)]
    );
    // What was applied before, and what changes nothing, is notified of no more.
    let restore = || decide(published, 4, CommentChange::State(CommentState::Published));
    assert_eq!(events_of(tables, database, &[new, restore()]).await, []);
    let decided = |decision| EventKind::Decided(decision);
    let approve = [decide(held, 5, CommentChange::Approve), report(published, 6, 2), report(published, 6, 2)];
    assert_eq!(
        events_of(tables, database, &approve).await,
        [
            of(held, EventKind::Published, None, 5),
            of(held, decided(Decision::Approve), moderator, 5),
            of(published, EventKind::Reported, MemberId::new(6).ok(), 6),
        ]
    );
    let dismissed = [decide(published, 7, CommentChange::Approve), report(published, 8, 1)];
    assert_eq!(
        events_of(tables, database, &dismissed).await,
        [
            of(published, EventKind::Dismissed, moderator, 7),
            of(published, EventKind::Reported, MemberId::new(8).ok(), 8),
            of(published, EventKind::Held, None, 8),
        ]
    );
    let hide = decide(held, 10, CommentChange::State(CommentState::Hidden));
    let undo = decide(held, 11, CommentChange::Undo(CommentId::from_parts(NOW + 10, held.slot(), 1, 0).into()));
    let own = LoggedOperation::new(
        NOW + 12,
        Operation::Change { id: held, change: CommentChange::State(CommentState::Deleted), audit: None },
    );
    let rest = [
        decide(published, 9, CommentChange::Approve),
        hide,
        undo,
        decide(held, 12, CommentChange::Feature(true)),
        decide(published, 13, CommentChange::Reject),
        own,
    ];
    assert_eq!(
        events_of(tables, database, &rest).await,
        [
            of(published, decided(Decision::Approve), moderator, 9),
            of(held, decided(Decision::Hide), moderator, 10),
            of(held, EventKind::Undone, moderator, 11),
            of(held, decided(Decision::Feature), moderator, 12),
            of(published, decided(Decision::Reject), moderator, 13),
        ]
    );
}

/// The queue is read in parts, and emptied by numbers.
async fn check_queue(tables: &dyn EventTables, database: usize) {
    assert_eq!(tables.read_event_backlog(database).await.unwrap(), EventBacklog::default());
    let batch: Vec<LoggedOperation> = (100..106).map(|n| publish(n, None).1).collect();
    tables.persist(&batch).await.unwrap();
    let all = tables.read_events(database, 0, 10).await.unwrap();
    assert_eq!(all.len(), 6);
    assert!(all.is_sorted_by(|one, next| one.seq < next.seq));
    assert_eq!(tables.read_events(database, all[1].seq, 2).await.unwrap(), all[2..4]);
    tables.remove_events(database, &[all[0], all[2]]).await.unwrap();
    let left = tables.read_events(database, 0, 10).await.unwrap();
    assert_eq!(left, [all[1], all[3], all[4], all[5]]);
    let backlog = tables.read_event_backlog(database).await.unwrap();
    assert_eq!((backlog.first, backlog.events), (all[1].seq, 5));
    assert!(backlog.age_ms < 60_000, "{backlog:?}");
    tables.clear_events(database, all[4].seq).await.unwrap();
    assert_eq!(tables.read_events(database, 0, 10).await.unwrap(), [all[5]]);
    tables.remove_events(database, &[all[5]]).await.unwrap();
    // Numbers are never used again.
    tables.persist(&[publish(106, None).1]).await.unwrap();
    let later = tables.read_events(database, 0, 10).await.unwrap();
    assert!(later[0].seq > all[5].seq);
    tables.remove_events(database, &later).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    check_events(&store, 0).await;
    check_queue(&store, 0).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql() {
    use crate::ports::store::Sharding as _;
    use crate::testing::contract::reconcile::subject;

    let Some(databases) = crate::adapters::mysql::tests::TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let database = store.database_of(subject().slot());
    check_events(&store, database).await;
    check_queue(&store, database).await;
    // One process does a job of a database, until it says so no more.
    let claim =
        async |holder: &'static str, duration_ms| store.claim_job(1, "notify", holder, duration_ms).await.unwrap();
    assert!(claim("a", 60_000).await && claim("a", 60_000).await);
    assert!(!claim("b", 60_000).await);
    assert!(store.claim_job(0, "notify", "b", 60_000).await.unwrap(), "of another database");
    assert!(store.claim_job(1, "send", "b", 60_000).await.unwrap(), "another job");
    assert!(claim("a", 0).await);
    assert!(claim("b", 60_000).await && !claim("a", 60_000).await);
    databases.drop_all().await;
}
