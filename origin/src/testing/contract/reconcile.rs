//! The contract of comparing and repairing counters, ranks and the review queue, on every adapter.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, MemberRef, Reaction, ReportReason, Visibility};

use crate::adapters::sqlite::SqliteStore;
use crate::domain::operation::{CommentChange, LoggedOperation, Operation, ReactionChange};
use crate::domain::reconcile::{ReconcileSample, ReconcileScope};
use crate::domain::review::{NewReport, QueueCounts};
use crate::domain::row::NewCommentRow;
use crate::ports::store::{BatchWriter, CommentReader, Reconciler, ReviewReader};

pub(super) const NOW: u64 = 1_700_000_000_000;

/// What the contract needs of the tables.
pub(super) trait ReconciledTables: Reconciler + BatchWriter + CommentReader + ReviewReader {}

impl<T: Reconciler + BatchWriter + CommentReader + ReviewReader> ReconciledTables for T {}

pub(super) fn subject() -> SubjectKey {
    SubjectKey::new("video", "1").unwrap()
}

pub(super) fn publish(n: u64, parent: Option<&Path>) -> (Path, LoggedOperation) {
    publish_as(CommentState::Published, n, parent)
}

pub(super) fn publish_as(state: CommentState, n: u64, parent: Option<&Path>) -> (Path, LoggedOperation) {
    let id = CommentId::from_parts(NOW + n, subject().slot(), 0, 0);
    let path = parent.map_or(Path::root(id), |parent| parent.child(id).unwrap());
    let new = NewCommentRow {
        subject: subject(),
        path: path.clone(),
        parent_id: parent.map(Path::id),
        reply_to: None,
        state,
        visibility: Visibility::Everyone,
        author: Author::new(MemberId::new(7).unwrap(), "reader".into(), None, 1, None),
        created_at: NOW + n,
        content: "text".into(),
        html: String::new(),
        original_text: None,
        mentions: vec![],
        media: vec![],
        reasons: vec![],
        idempotency: None,
        imported: None,
        network: None,
    };
    (path, LoggedOperation::new(NOW, Operation::Publish(Box::new(new))))
}

pub(super) fn like(id: CommentId, by: u64) -> LoggedOperation {
    let (member, change) = (MemberId::new(by).unwrap(), ReactionChange::Put(Reaction::Like));
    LoggedOperation::new(NOW, Operation::React { id, member, change })
}

/// What a run over the subject's slot finds, in words; all of it repaired if that was asked for.
pub(super) async fn compare(tables: &dyn ReconciledTables, repair: bool) -> Vec<String> {
    let mut found = Vec::new();
    let scope = ReconcileScope::new(subject().slot(), subject().slot(), ReconcileSample::ALL);
    let subjects = tables.list_subjects_after(scope, None, 10).await.unwrap();
    for subject in &subjects {
        found.extend(tables.reconcile_counters(subject, repair).await.unwrap());
        let mut after = None;
        loop {
            let chunk = tables.reconcile_ranks(subject, after.as_ref(), repair).await.unwrap();
            found.extend(chunk.found);
            after = chunk.next;
            if after.is_none() {
                break;
            }
        }
        loop {
            let chunk = tables.reconcile_reviews(subject, after.as_ref(), repair).await.unwrap();
            found.extend(chunk.found);
            after = chunk.next;
            if after.is_none() {
                break;
            }
        }
    }
    let mut walk = None;
    loop {
        let chunk = tables.reconcile_rank_rows(scope, walk, repair).await.unwrap();
        found.extend(chunk.found);
        walk = chunk.next;
        if walk.is_none() {
            break;
        }
    }
    assert!(found.iter().all(|found| found.repaired == repair), "{found:?}");
    found.into_iter().map(|found| found.difference.to_string()).collect()
}

/// `execute` runs a statement on the tables of the subject, whose names end in `{n}`.
async fn check_reconciling(tables: &dyn ReconciledTables, execute: impl AsyncFn(String)) {
    assert!(tables.is_ranked().await.unwrap());
    let (root, first) = publish(1, None);
    let (plain, second) = publish(2, None);
    let mut batch = vec![first, second, like(root.id(), 11), like(root.id(), 12)];
    let replies: Vec<Path> = (10..1_210)
        .map(|n| {
            let (path, reply) = publish(n, Some(&root));
            batch.push(reply);
            path
        })
        .collect();
    tables.persist(&batch).await.unwrap();
    assert_eq!(compare(tables, false).await, [""; 0]);
    let (root, plain, reply, last) = (root.id(), plain.id(), replies[3].id(), replies[1_199].id());
    let missing = CommentId::from_parts(NOW + 9_999, subject().slot(), 0, 0);
    let rank = |id: CommentId, what: &str| vec![format!("comment {id}: {what}")];
    let insert_root = "INSERT INTO root_rank{n} (subject, id, likes, dislikes, replies, created_at, hot, best, controversial) \
                       SELECT subject, id, 0, 0, 0, 0, 1, 1, 1 FROM comment{n}";
    let insert_reply = "INSERT INTO reply_rank{n} (root_id, hot, id) VALUES";
    let damages = [
        (format!("DELETE FROM root_rank{{n}} WHERE id = {root}"), rank(root, "its rank row is missing")),
        (format!("UPDATE root_rank{{n}} SET best = 1 WHERE id = {root}"), rank(root, "its rank row is wrong")),
        (format!("{insert_root} WHERE id = {plain}"), rank(plain, "a rank row is superfluous")),
        (format!("DELETE FROM reply_rank{{n}} WHERE id = {reply}"), rank(reply, "its rank row is missing")),
        (format!("UPDATE reply_rank{{n}} SET hot = 5 WHERE id = {last}"), rank(last, "its rank row is wrong")),
        (format!("{insert_reply} ({root}, 5, {reply})"), rank(reply, "a rank row is superfluous")),
        (format!("{insert_reply} ({root}, 5, {missing})"), rank(missing, "a rank row is superfluous")),
        (format!("{insert_reply} ({plain}, 5, {last})"), rank(last, "a rank row is superfluous")),
        // Its key is that of the stored count until this is repaired.
        (
            format!("UPDATE comment{{n}} SET likes = 9 WHERE id = {reply}"),
            vec![
                format!("comment {reply}: likes stored 9, counted 0"),
                format!("comment {reply}: its rank row is wrong"),
            ],
        ),
        (
            format!("UPDATE comment{{n}} SET replies = 0 WHERE id = {root}"),
            vec![
                format!("comment {root}: visible comments below stored 0, counted 1200"),
                format!("comment {root}: its rank row is wrong"),
            ],
        ),
        (
            "UPDATE subject{n} SET roots = 0, floors = 9".to_owned(),
            vec![
                "the subject: visible roots stored 0, counted 2".into(),
                "the subject: floors given stored 9, counted 2".into(),
            ],
        ),
    ];
    for (damage, expected) in damages {
        execute(damage.clone()).await;
        assert_eq!(compare(tables, false).await, expected, "{damage}");
        let repaired = compare(tables, true).await;
        assert_eq!(repaired.first(), expected.first(), "{damage}");
        assert_eq!(compare(tables, false).await, [""; 0], "{damage}");
    }
    // A counter that writers move while it is repaired.
    execute(format!("UPDATE comment{{n}} SET likes = 70 WHERE id = {root}")).await;
    let likes = async {
        for by in 100..140 {
            tables.persist(&[like(root, by)]).await.unwrap();
        }
    };
    let (_, repaired) = tokio::join!(likes, compare(tables, true));
    assert!(repaired[0].starts_with(&format!("comment {root}: likes stored ")), "{repaired:?}");
    assert_eq!(compare(tables, true).await, [""; 0]);
    assert_eq!(tables.read_comments(&[root]).await.unwrap()[&root].likes, 42);
    // Of the days of a sample, one has the subject.
    let mut seen = 0;
    for day in 0..5 {
        let sample = ReconcileSample::of_day(5, day * 86_400_000);
        let scope = ReconcileScope::new(subject().slot(), subject().slot(), sample);
        let listed = tables.list_subjects_after(scope, None, 10).await.unwrap();
        seen += listed.iter().filter(|key| scope.contains_subject(key)).count();
    }
    assert_eq!(seen, 1);
}

/// The same of the review queue, behind a thousand comments that are not in it.
async fn check_reviews(tables: &dyn ReconciledTables, execute: impl AsyncFn(String)) {
    let mut batch: Vec<_> = (0..1_100).map(|n| publish(n, None).1).collect();
    let (held, hold) = publish_as(CommentState::Review, 2_001, None);
    let (reported, publish) = publish(2_002, None);
    let (held, reported) = (held.id(), reported.id());
    let reporter = MemberRef { id: MemberId::new(9).unwrap(), name: "Bob".into() };
    let report = NewReport { reporter, reason: ReportReason::Spam, note: None, threshold: 0 };
    let change = CommentChange::Report(Box::new(report));
    batch.extend([hold, publish, LoggedOperation::new(NOW, Operation::Change { id: reported, change, audit: None })]);
    tables.persist(&batch).await.unwrap();
    let is_right = async |held: u64, reported: u64| {
        assert_eq!(compare(tables, false).await, [""; 0]);
        assert_eq!(tables.count_queue().await.unwrap(), QueueCounts { held, reported });
    };
    is_right(1, 1).await;
    let nothing = r#"{"reasons":[],"since":1,"reports":0,"edit":null}"#;
    let wrong = |id: CommentId| format!("comment {id}: its row of the review queue is wrong");
    for (damage, expected, counts) in [
        (
            format!("DELETE FROM review{{n}} WHERE comment_id = {held}"),
            format!("comment {held}: it is held, and its row of the review queue is missing"),
            (1, 1),
        ),
        (format!("UPDATE review{{n}} SET kind = 1, since = 3 WHERE comment_id = {held}"), wrong(held), (1, 1)),
        (format!("UPDATE comment{{n}} SET flags = 0 WHERE id = {held}"), wrong(held), (1, 1)),
        (format!("UPDATE comment{{n}} SET flags = 96 WHERE id = {reported}"), wrong(reported), (1, 1)),
        (
            format!("UPDATE review{{n}} SET item = '{nothing}' WHERE comment_id = {reported}"),
            format!("comment {reported}: it is decided, and its row of the review queue is superfluous"),
            (1, 0),
        ),
    ] {
        execute(damage.clone()).await;
        assert_eq!(compare(tables, false).await, std::slice::from_ref(&expected), "{damage}");
        assert_eq!(compare(tables, true).await, [expected], "{damage}");
        is_right(counts.0, counts.1).await;
    }
    // What was repaired is decided as if it had always been so.
    let approve = Operation::Change { id: held, change: CommentChange::Approve, audit: None };
    tables.persist(&[LoggedOperation::new(NOW, approve)]).await.unwrap();
    is_right(0, 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_is_compared_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    let execute = async |statement: String| store.execute(&statement.replace("{n}", ""));
    check_reviews(&store, execute).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn queue_is_compared_in_mysql() {
    let Some(databases) = crate::adapters::mysql::tests::TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let execute = async |statement: String| store.execute(subject().slot(), &statement).await;
    check_reviews(&store, execute).await;
    databases.drop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gailou.db");
    let store = SqliteStore::open(&file, Default::default()).unwrap();
    let execute = async |statement: String| store.execute(&statement.replace("{n}", ""));
    check_reconciling(&store, execute).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql() {
    let Some(databases) = crate::adapters::mysql::tests::TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let execute = async |statement: String| store.execute(subject().slot(), &statement).await;
    check_reconciling(&store, execute).await;
    databases.drop_all().await;
}
