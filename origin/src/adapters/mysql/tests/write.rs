//! Batches, and the rows that they leave.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{Author, CommentState, MemberRef, Reaction, Visibility};
use gailou_shared::word_filter::{Term, TermAction};
use tokio::time::{Instant, sleep};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::tests::{TestDatabases, deliver_outboxes, find_misplaced, key, member, move_slot};
use crate::cluster::reshard::delete_old_copies;
use crate::domain::audit::AuditEntry;
use crate::domain::operation::{
    CommentChange, LoggedOperation, Operation, OperationOutcome, PinnedBy, ReactionChange, SubjectPatch,
};
use crate::domain::positions::OperationStream;
use crate::domain::row::{IdempotencyKey, ImportedFrom, NewCommentRow};
use crate::ports::store::*;

pub(super) const NOW: u64 = 1_700_000_000_000;

pub(super) fn comment(n: u64, key: &SubjectKey, parent: Option<&Path>) -> NewCommentRow {
    let id = CommentId::from_parts(NOW + n, key.slot(), 0, 0);
    NewCommentRow {
        subject: key.clone(),
        path: parent.map_or(Path::root(id), |parent| parent.child(id).unwrap()),
        parent_id: parent.map(Path::id),
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author: Author::new(member(1 + n % 50), format!("Zoë {n} 😀"), None, 1, None),
        created_at: NOW + n,
        content: format!("it's 中文 {n} 😀 \\ ?"),
        html: "<p>".into(),
        original_text: None,
        mentions: vec![],
        media: vec![],
        reasons: vec![],
        idempotency: Some(IdempotencyKey { key: format!("k'{n}"), request: [n as u8; 32] }),
        imported: None,
        network: None,
    }
}

pub(super) fn publish(new: &NewCommentRow) -> Operation {
    Operation::Publish(Box::new(new.clone()))
}

pub(super) fn like(id: CommentId, by: u64) -> Operation {
    Operation::React { id, member: member(by), change: ReactionChange::Put(Reaction::Like) }
}

pub(super) fn logged(position: u64, operation: Operation) -> LoggedOperation {
    LoggedOperation { position: Some(position), ..LoggedOperation::new(NOW, operation) }
}

pub(super) async fn assert_reconciled(store: &MysqlStore, keys: &[SubjectKey]) {
    for key in keys {
        let found = store.reconcile_counters(key, false).await.unwrap();
        assert!(found.is_empty(), "{key}: {found:?}");
        let found = store.reconcile_ranks(key, None, false).await.unwrap().found;
        assert!(found.is_empty(), "{key}: {found:?}");
    }
}

pub(super) async fn count_rows(store: &MysqlStore, table: &str) -> i64 {
    let mut count = 0;
    for shard in 0..store.pools.len() {
        for n in 0..store.tables {
            let mut session = store.long_session("test", shard).await.unwrap();
            let r = session.fetch_first(sql(format!("SELECT COUNT(*) FROM {table}_{n}"))).await.unwrap().unwrap();
            count += sqlx::Row::get::<i64, _>(&r, 0);
        }
    }
    count
}

#[tokio::test]
async fn every_operation_leaves_its_rows() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let keys: Vec<SubjectKey> = (1..=6).map(key).collect();
    let persist = async |batch: &[LoggedOperation]| store.persist(batch).await.unwrap();
    let (mut batch, mut paths) = (vec![], vec![]);
    for n in 0..120 {
        let key = &keys[n as usize % keys.len()];
        let parent = (n >= 12 && n % 3 > 0).then(|| &paths[n as usize - 12 + n as usize % 2 * 6]);
        let held = n % 11 == 10;
        let new = NewCommentRow {
            state: if held { CommentState::Review } else { CommentState::Published },
            ..comment(n, key, parent)
        };
        paths.push(new.path.clone());
        batch.push(logged(n, publish(&new)));
        batch.push(logged(n, like(new.path.id(), 1_000 + n)));
    }
    let first = persist(&batch).await;
    assert_eq!((first.changed.len(), first.touched.len()), (6, 120));
    assert_reconciled(&store, &keys).await;
    let again = persist(&batch).await;
    assert!(again.outcomes.iter().all(|o| matches!(o, OperationOutcome::Seen)));
    assert_eq!(again.touched.len(), 120);
    assert_eq!((count_rows(&store, "comment").await, count_rows(&store, "reaction").await), (120, 120));
    deliver_outboxes(&store, &[]).await;
    assert_eq!((count_rows(&store, "member_comment").await, count_rows(&store, "idempotency").await), (120, 120));
    assert_eq!(store.read_names(&[member(1)]).await.unwrap()[&member(1)], "Zoë 100 😀");

    let audits = std::cell::Cell::new(0);
    let audit = |slot: Slot| {
        audits.set(audits.get() + 1);
        let actor = MemberRef { id: member(9), name: "Zoë".into() };
        let id = CommentId::from_parts(NOW, slot, 1, audits.get()).into();
        Some(AuditEntry { id, actor, action: "test", reason: Some("it's".into()), before: None, after: None })
    };
    let change = |n: usize, change| {
        LoggedOperation::new(
            NOW + 1,
            Operation::Change { id: paths[n].id(), change, audit: audit(paths[n].id().slot()) },
        )
    };
    let edit = |text: &str| CommentChange::Edit {
        content: text.into(),
        html: "e".into(),
        original_text: None,
        state: CommentState::Published,
        reasons: vec![],
        max_edits: 3,
    };
    persist(&[
        change(0, CommentChange::State(CommentState::Deleted)),
        change(10, CommentChange::State(CommentState::Published)),
        change(14, CommentChange::Pin(Some(PinnedBy::Owner))),
        change(15, edit("new '中文'")),
        change(16, CommentChange::Feature(true)),
        LoggedOperation::new(
            NOW,
            Operation::React {
                id: paths[15].id(),
                member: member(1_015),
                change: ReactionChange::Take(Reaction::Like),
            },
        ),
    ])
    .await;
    assert_reconciled(&store, &keys).await;
    let row = store.read_comments(&[paths[15].id()]).await.unwrap().remove(&paths[15].id()).unwrap();
    assert_eq!((row.content.as_str(), row.likes, row.edited_at), ("new '中文'", 0, Some(NOW + 1)));
    assert_eq!(store.read_first_text(paths[15].id()).await.unwrap().unwrap(), "it's 中文 15 😀 \\ ?");
    // Every text of one moment is kept, also one that differs by the case of a letter alone; an edit that
    // changes nothing keeps none; none is beyond the bound.
    let edits = persist(&[change(15, edit("A")), change(15, edit("a")), change(15, edit("b"))]).await;
    assert!(matches!(
        edits.outcomes[..],
        [OperationOutcome::Done, OperationOutcome::Done, OperationOutcome::TooManyEdits]
    ));
    assert_eq!(count_rows(&store, "content_history").await, 3);
    persist(&[LoggedOperation::new(NOW, Operation::DeleteEditHistory { before: NOW + 1 })]).await;
    assert_eq!(count_rows(&store, "content_history").await, 3);
    persist(&[LoggedOperation::new(NOW, Operation::DeleteEditHistory { before: NOW + 2 })]).await;
    assert_eq!(count_rows(&store, "content_history").await, 0);
    assert!(store.estimate_comments().await.unwrap() < 1_000);
    let mut changed = vec![];
    for shard in 0..2 {
        changed.extend(store.read_changes(shard, 0, 100).await.unwrap().into_iter().filter_map(|row| row.id));
    }
    changed.sort_unstable();
    assert_eq!(changed, [paths[0].id(), paths[15].id(), paths[15].id()]);

    let patch =
        SubjectPatch { title: Some(Some("it's".into())), owner_id: Some(Some(member(5))), ..Default::default() };
    let unseen = key(77);
    persist(&[LoggedOperation::new(
        NOW,
        Operation::Subject { key: unseen.clone(), patch, audit: audit(unseen.slot()) },
    )])
    .await;
    let subject = store.read_subjects(&[unseen]).await.unwrap().remove(0).unwrap();
    assert_eq!((subject.title.as_deref(), subject.owner_id, subject.version), (Some("it's"), Some(member(5)), 1));
    let snapshot = Snapshot::rank(vec![(1, paths[0].id()), (2, paths[6].id())]);
    let keep = Operation::Snapshot { slot: keys[0].slot(), snapshot: snapshot.clone() };
    let term = |term: &str| Term { term: term.into(), category: "ads".into(), action: TermAction::Mask };
    let words =
        Operation::Dictionary { terms: vec![term("b"), term("a"), term("a")], expected_version: None, audit: None };
    persist(&[
        LoggedOperation::new(NOW, keep),
        LoggedOperation::new(NOW, words.clone()),
        LoggedOperation::new(NOW, words),
    ])
    .await;
    assert_eq!(store.read_snapshot(keys[0].slot(), snapshot.id()).await.unwrap(), Some(snapshot));
    let dictionary = store.read_dictionary().await.unwrap();
    assert_eq!((dictionary.version, dictionary.terms.len()), (2, 2));
    persist(&[LoggedOperation::new(NOW + 26 * 3_600_000, Operation::DeleteExpired)]).await;
    assert_eq!((count_rows(&store, "snapshot").await, count_rows(&store, "idempotency").await), (0, 0));
    assert!(
        store.read_changes(0, 0, 100).await.unwrap().is_empty()
            && store.read_changes(1, 0, 100).await.unwrap().is_empty()
    );
    databases.drop_all().await;
}

#[tokio::test]
async fn second_ids_sources_and_early_reactions_are_found() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let key = key(1);
    let once = |n| NewCommentRow {
        reasons: vec![],
        idempotency: Some(IdempotencyKey { key: "k".into(), request: [1; 32] }),
        ..comment(n, &key, None)
    };
    let (first, second) = (once(0), once(50));
    let (first_id, second_id) = (first.path.id(), second.path.id());
    let author = |new: NewCommentRow| NewCommentRow { author: first.author.clone(), ..new };
    let second = author(second);
    let answer = comment(2, &key, Some(&second.path));
    store.persist(&[logged(0, like(second_id, 1)), logged(1, like(second_id, 2))]).await.unwrap();
    store.persist(&[logged(0, publish(&first)), logged(2, like(first_id, 1))]).await.unwrap();
    let batch = [logged(1, publish(&second)), logged(2, publish(&answer)), logged(3, like(second_id, 3))];
    let outcomes = store.persist(&batch).await.unwrap().outcomes;
    assert!(matches!(outcomes[0], OperationOutcome::Replayed { id, .. } if id == first_id), "{outcomes:?}");
    let row = store.read_comments(&[second_id]).await.unwrap().remove(&second_id).unwrap();
    assert_eq!((row.id(), row.likes, row.replies), (first_id, 3, 1));
    let imported = |n, source: &str| {
        let imported =
            ImportedFrom { source: source.into(), likes: 4, dislikes: 1, edited_at: Some(NOW), pinned: true };
        NewCommentRow { idempotency: None, imported: Some(imported), ..comment(n, &key, None) }
    };
    let batch = [logged(3, publish(&imported(3, "a'源"))), logged(4, publish(&imported(4, "a'源")))];
    let outcomes = store.persist(&batch).await.unwrap().outcomes;
    assert!(matches!(outcomes[1], OperationOutcome::Present { .. }), "{outcomes:?}");
    let outcomes = store.persist(&[logged(5, publish(&imported(5, "a'源")))]).await.unwrap().outcomes;
    assert!(matches!(outcomes[0], OperationOutcome::Present { .. }), "{outcomes:?}");
    // The same operation twice in the broker, and another comment under its id.
    let outcomes = store.persist(&[logged(6, publish(&answer))]).await.unwrap().outcomes;
    assert!(matches!(outcomes[..], [OperationOutcome::Published { floor: Some(1) }]), "{outcomes:?}");
    let other = NewCommentRow { content: "other".into(), ..answer };
    let error = store.persist(&[logged(7, publish(&other))]).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    let database = store.database_of(key.slot());
    for position in [7, 2] {
        store.skip_operation(&logged(position, publish(&other)), database, &[]).await.unwrap();
    }
    assert_eq!(store.read_positions(OperationStream::Comments, &[key.slot()]).await.unwrap()[&key.slot()], 8);
    assert_reconciled(&store, &[key]).await;
    databases.drop_all().await;
}

#[tokio::test]
async fn refused_batch_leaves_no_row() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let key = key(1);
    let good = comment(0, &key, None);
    let mut bad = comment(1, &key, None);
    bad.author.name = "x".repeat(256);
    let error = store.persist(&[logged(0, publish(&good)), logged(1, publish(&bad))]).await.unwrap_err();
    assert!(matches!(error, StoreError::Database(_)), "{error}");
    assert_eq!((count_rows(&store, "comment").await, count_rows(&store, "subject").await), (0, 0));
    assert_eq!(store.read_positions(OperationStream::Comments, &[key.slot()]).await.unwrap()[&key.slot()], 0);
    store.persist(&[logged(0, publish(&good))]).await.unwrap();
    assert_eq!((count_rows(&store, "comment").await, count_rows(&store, "subject").await), (1, 1));
    databases.drop_all().await;
}

/// Consumers that all believe they have the partition: each writes the whole partition, in batches of its own.
#[tokio::test(flavor = "multi_thread")]
async fn overlapping_writers_apply_each_operation_once() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = Arc::new(databases.open().await);
    let keys: Vec<SubjectKey> = (1..=5).map(key).collect();
    let (mut comments, mut reactions) = (vec![], vec![]);
    let mut paths: Vec<Path> = vec![];
    for n in 0..1_000 {
        let parent = (n >= 10 && n % 2 == 1).then(|| &paths[n as usize - 10]);
        let new = comment(n, &keys[n as usize % keys.len()], parent);
        paths.push(new.path.clone());
        comments.push(logged(n, publish(&new)));
    }
    for n in 0..10_000 {
        let id = paths[if n % 2 == 0 { 3 } else { n as usize % 1_000 }].id();
        let change =
            if n % 7 == 6 { ReactionChange::Take(Reaction::Like) } else { ReactionChange::Put(Reaction::Like) };
        reactions.push(logged(n, Operation::React { id, member: member(1 + n % 3_001), change }));
    }
    let begun = Instant::now();
    let writers: Vec<_> = (0..6u64)
        .map(|writer| {
            let store = store.clone();
            let log = if writer % 2 == 0 { comments.clone() } else { reactions.clone() };
            let size = 150 + 97 * writer as usize;
            tokio::spawn(async move {
                let (mut failures, mut slowest) = (0, Duration::ZERO);
                for batch in log.chunks(size) {
                    let begun = Instant::now();
                    while let Err(error) = store.persist(batch).await {
                        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                        failures += 1;
                    }
                    slowest = slowest.max(begun.elapsed());
                }
                (failures, slowest)
            })
        })
        .collect();
    for writer in writers {
        let (failures, slowest) = writer.await.unwrap();
        eprintln!("{failures} retries, slowest batch {} ms", slowest.as_millis());
    }
    eprintln!("6 writers of 1,000 comments or 10,000 reactions: {} ms", begun.elapsed().as_millis());
    assert_reconciled(&store, &keys).await;
    deliver_outboxes(&store, &[]).await;
    assert_eq!((count_rows(&store, "comment").await, count_rows(&store, "member_comment").await), (1_000, 1_000));
    let mut expected: HashMap<(CommentId, MemberId), Option<Reaction>> = HashMap::new();
    for logged_operation in &reactions {
        let Operation::React { id, member, change } = logged_operation.operation else { continue };
        let pair = expected.entry((id, member)).or_default();
        *pair = change.fold(*pair);
    }
    let expected = expected.into_values().flatten().count() as i64;
    assert_eq!(count_rows(&store, "reaction").await, expected);
    let likes: u64 = store
        .read_comments(&paths.iter().map(Path::id).collect::<Vec<_>>())
        .await
        .unwrap()
        .into_values()
        .map(|row| row.likes)
        .sum();
    assert_eq!(likes as i64, expected);
    databases.drop_all().await;
}

#[tokio::test]
async fn batch_of_a_thousand_likes_reports_its_time() {
    let Some(databases) = TestDatabases::new(1) else { return };
    let store = databases.open().await;
    let key = key(1);
    let new = comment(0, &key, None);
    store.persist(&[logged(0, publish(&new))]).await.unwrap();
    let mut times = vec![];
    for batch in 0..20 {
        let likes: Vec<_> = (0..1_000)
            .map(|n| logged(batch * 1_000 + n, like(new.path.id(), 1 + (batch * 1_000 + n) * 7_919 % 1_000_003)))
            .collect();
        let begun = Instant::now();
        store.persist(&likes).await.unwrap();
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    eprintln!("1,000 likes of one comment: median {} ms, slowest {} ms", times[10].as_millis(), times[19].as_millis());
    let posts: Vec<_> = (1..=1_000)
        .map(|n| logged(n, publish(&comment(n, &crate::adapters::mysql::tests::key(n % 40), None))))
        .collect();
    let begun = Instant::now();
    store.persist(&posts).await.unwrap();
    eprintln!("1,000 comments on 40 subjects: {} ms", begun.elapsed().as_millis());
    assert_reconciled(&store, &[key]).await;
    databases.drop_all().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_continue_while_their_slot_moves() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = Arc::new(databases.open().await);
    let key = key(1);
    let (slot, from) = (key.slot(), store.database_of(key.slot()));
    let stop = Arc::new(AtomicBool::new(false));
    let root = comment(0, &key, None);
    store.persist(&[logged(0, publish(&root))]).await.unwrap();
    let writers = (0..2u64).map(|writer| {
        let (store, key, root, stop) = (store.clone(), key.clone(), root.clone(), stop.clone());
        tokio::spawn(async move {
            let mut next = 1;
            while !stop.load(Ordering::Relaxed) {
                let batch: Vec<_> = (next..next + 20)
                    .map(|n| match writer {
                        0 => logged(n, publish(&comment(n, &key, (n % 2 == 0).then_some(&root.path)))),
                        _ => logged(n, like(root.path.id(), n)),
                    })
                    .collect();
                store.persist(&batch).await.unwrap();
                next += 20;
            }
            next
        })
    });
    let writers: Vec<_> = writers.collect();
    for to in [1 - from, from, 1 - from] {
        sleep(Duration::from_millis(500)).await;
        move_slot(&store, slot, to).await;
    }
    stop.store(true, Ordering::Relaxed);
    let mut next = vec![];
    for writer in writers {
        next.push(writer.await.unwrap());
    }
    delete_old_copies(&*store, &[slot]).await.unwrap();
    assert_eq!(find_misplaced(&store).await, Vec::<String>::new());
    assert_eq!(store.read_positions(OperationStream::Comments, &[slot]).await.unwrap()[&slot], next[0]);
    let id = root.path.id();
    assert_eq!(store.read_comments(&[id]).await.unwrap()[&id].likes, next[1] - 1);
    assert_eq!(count_rows(&store, "comment").await as u64, next[0]);
    assert_reconciled(&store, &[key]).await;
    databases.drop_all().await;
}
