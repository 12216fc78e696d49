//! The contract of the threads that members watch, on every adapter.

use gailou_shared::id::{CommentId, EventId, MemberId, Slot, SubjectKey};

use crate::adapters::sqlite::SqliteStore;
use crate::domain::notification::{MAX_NOTIFICATIONS, NewNotification, NotificationReason};
use crate::domain::watch::{MAX_WATCHES, ReadyWatcher, StoredWatch, WatchInsertion, WatchNotification};
use crate::ports::store::{Notifications, Watches};

const NOW: u64 = 1_700_000_000_000;

trait WatchTables: Notifications + Watches {}
impl<T: Notifications + Watches> WatchTables for T {}

fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

fn subject(key: &str) -> SubjectKey {
    SubjectKey::new("article", key).unwrap()
}

/// The event of the n-th comment.
fn event(n: u64) -> EventId {
    EventId::from_parts(NOW + n, n)
}

/// What a watcher is notified of the n-th comment.
fn new(member: MemberId, subject: &SubjectKey, n: u64) -> WatchNotification {
    let comment = CommentId::from_parts(NOW + n, Slot::FIRST, 0, 0);
    let reason = NotificationReason::Watched;
    let new = NewNotification { member, id: event(n), reason, comment, at: NOW + n, mail_at: None };
    WatchNotification { subject: subject.clone(), new }
}

async fn watch(tables: &dyn WatchTables, member: MemberId, subject: &SubjectKey) {
    let watch = StoredWatch::new(subject.clone(), NOW);
    assert_eq!(tables.add_watches(member, &[watch]).await.unwrap(), WatchInsertion::Watching);
}

/// Notifies a watcher of the n-th comment, where their watch is.
async fn notify(tables: &dyn WatchTables, member: MemberId, subject: &SubjectKey, n: u64) {
    let database = tables.database_of_member(member);
    assert_eq!(tables.notify_watchers(database, &[new(member, subject, n)]).await.unwrap(), []);
}

/// The ready watchers of these subjects in every database, read in pages of this size.
async fn ready(tables: &dyn WatchTables, subjects: &[SubjectKey], count: usize) -> Vec<ReadyWatcher> {
    let mut all: Vec<ReadyWatcher> = Vec::new();
    for database in 0..2 {
        let mut after = None;
        loop {
            let page = tables.list_ready_watchers(database, subjects, after.as_ref(), count).await.unwrap();
            assert!(page.len() <= count);
            let is_last = page.len() < count;
            after = page.last().cloned();
            all.extend(page);
            if is_last {
                break;
            }
        }
    }
    all.sort_unstable_by_key(|watcher| (watcher.subject.clone(), watcher.member));
    all
}

async fn ready_members(tables: &dyn WatchTables, subjects: &[SubjectKey]) -> Vec<(String, u64)> {
    let name = |watcher: ReadyWatcher| (watcher.subject.key().to_owned(), watcher.member.get());
    ready(tables, subjects, 100).await.into_iter().map(name).collect()
}

/// Events and reasons of what a member is notified of, the newest first, and how much is unread.
async fn notified(tables: &dyn WatchTables, member: MemberId) -> (Vec<(EventId, NotificationReason)>, u64) {
    let stored = tables.list_notifications(member, None, 2_000).await.unwrap();
    (stored.iter().map(|row| (row.id, row.reason)).collect(), tables.count_unread(member).await.unwrap())
}

async fn check_list(tables: &dyn WatchTables) {
    let of = member(1);
    let watches: Vec<StoredWatch> =
        (0..7).map(|n| StoredWatch::new(subject(&format!("list {n} ü/%")), NOW + n)).collect();
    assert_eq!(tables.add_watches(of, &watches).await.unwrap(), WatchInsertion::Watching);
    let listed = tables.list_watches(of, None, 100).await.unwrap();
    assert_eq!(listed, watches.iter().rev().cloned().collect::<Vec<_>>());
    assert_eq!(tables.list_watches(of, Some(listed[2].id), 3).await.unwrap(), listed[3..6]);
    // One that is there stays as it is.
    let again = StoredWatch::new(watches[0].subject.clone(), NOW + 99);
    assert_eq!(tables.add_watches(of, &[again]).await.unwrap(), WatchInsertion::Watching);
    assert_eq!(tables.list_watches(of, None, 100).await.unwrap(), listed);
    assert!(tables.is_watching(of, &watches[3].subject).await.unwrap());
    for _ in 0..2 {
        tables.delete_watch(of, &watches[3].subject).await.unwrap();
        assert!(!tables.is_watching(of, &watches[3].subject).await.unwrap());
    }
    assert!(!tables.is_watching(of, &SubjectKey::new("video", watches[0].subject.key()).unwrap()).await.unwrap());
    assert!(!tables.is_watching(member(2), &watches[0].subject).await.unwrap());
    // There is a bound, which what is there already does not reach twice.
    let many: Vec<StoredWatch> =
        (0..MAX_WATCHES as u64).map(|n| StoredWatch::new(subject(&format!("many {n}")), NOW + 10 + n)).collect();
    assert_eq!(tables.add_watches(of, &many).await.unwrap(), WatchInsertion::Full);
    let kept = tables.list_watches(of, None, 2_000).await.unwrap();
    assert_eq!((kept.len(), &kept[0]), (MAX_WATCHES, &many[MAX_WATCHES - 7]));
    assert_eq!(tables.add_watches(of, &many[..9]).await.unwrap(), WatchInsertion::Watching);
    assert_eq!(tables.add_watches(of, &many[MAX_WATCHES - 1..]).await.unwrap(), WatchInsertion::Full);
    tables.delete_watches_of(of).await.unwrap();
    assert_eq!(tables.list_watches(of, None, 10).await.unwrap(), []);
}

async fn check_fan_out(tables: &dyn WatchTables) {
    let (one, two) = (subject("one"), subject("two"));
    for number in 1..=30 {
        watch(tables, member(number), &one).await;
    }
    watch(tables, member(3), &two).await;
    let both = [one.clone(), two.clone()];
    let all = ready(tables, &both, 100).await;
    assert_eq!(all.len(), 31);
    assert!(all.iter().all(|watcher| watcher.last.is_none() && watcher.since > NOW));
    for count in [1, 7, 31] {
        assert_eq!(ready(tables, &both, count).await, all, "pages of {count}");
    }
    assert_eq!(ready(tables, &[subject("three")], 5).await, []);

    // Who is notified waits, and is notified of nothing more; in another thread they are.
    let of = member(3);
    for n in [1, 1, 2] {
        notify(tables, of, &one, n).await;
    }
    assert_eq!(notified(tables, of).await, (vec![(event(1), NotificationReason::Watched)], 1));
    assert!(!ready_members(tables, &both).await.contains(&("one".into(), 3)));
    notify(tables, of, &two, 3).await;
    assert_eq!(notified(tables, of).await.1, 2);
    // Read up to the first: the second still waits. What was written is not written again.
    tables.mark_read(of, event(1)).await.unwrap();
    let back = ready(tables, &both, 100).await.into_iter().filter(|watcher| watcher.member == of).collect::<Vec<_>>();
    let before = all.iter().find(|watcher| watcher.member == of).unwrap();
    assert_eq!((back.len(), &back[0].subject, back[0].last), (1, &one, Some(event(1))));
    assert!(back[0].since >= before.since);
    notify(tables, of, &one, 1).await;
    assert_eq!(notified(tables, of).await.1, 1, "what is read stays read");
    assert!(ready_members(tables, &both).await.contains(&("one".into(), 3)), "and waits for nothing");
    notify(tables, of, &one, 4).await;
    assert_eq!(notified(tables, of).await.0.first(), Some(&(event(4), NotificationReason::Watched)));
    tables.mark_read(of, event(9)).await.unwrap();
    assert_eq!(ready_members(tables, &both).await.len(), 31);

    // Another reason for the same event is stronger, in whatever order.
    let (first, second) = (member(4), member(5));
    let mention = |member| NewNotification { reason: NotificationReason::Mention, ..new(member, &one, 5).new };
    let mentioned = async |of| {
        let database = tables.database_of_member(of);
        assert_eq!(tables.add_notifications(database, &[mention(of)]).await.unwrap(), []);
    };
    mentioned(first).await;
    notify(tables, first, &one, 5).await;
    notify(tables, second, &one, 5).await;
    mentioned(second).await;
    notify(tables, second, &one, 5).await;
    for of in [first, second] {
        assert_eq!(notified(tables, of).await, (vec![(event(5), NotificationReason::Mention)], 1));
    }
    assert!(ready_members(tables, &both).await.contains(&("one".into(), 4)));
    tables.mark_read(second, event(5)).await.unwrap();
    assert!(ready_members(tables, &both).await.contains(&("one".into(), 5)));

    // Who does not watch is not notified. A watch that begins again is a new one.
    let of = member(6);
    notify(tables, of, &one, 6).await;
    tables.delete_watch(of, &one).await.unwrap();
    notify(tables, of, &one, 7).await;
    assert_eq!(notified(tables, of).await.0.len(), 1);
    watch(tables, of, &one).await;
    notify(tables, of, &one, 8).await;
    assert_eq!(notified(tables, of).await.0.len(), 2);

    // The newest are kept of these too.
    let of = member(7);
    let rows: Vec<NewNotification> = (0..MAX_NOTIFICATIONS as u64).map(|n| new(of, &one, 1_000 + n).new).collect();
    tables.add_notifications(tables.database_of_member(of), &rows).await.unwrap();
    notify(tables, of, &one, 4_000).await;
    let kept = notified(tables, of).await.0;
    assert_eq!((kept.len(), kept[0].0, kept[MAX_NOTIFICATIONS - 1].0), (MAX_NOTIFICATIONS, event(4_000), event(1_001)));

    tables.delete_watches_of(member(8)).await.unwrap();
    let left = ready_members(tables, &[one]).await;
    assert!(!left.contains(&("one".into(), 8)) && left.contains(&("one".into(), 9)));
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    check_list(&store).await;
    check_fan_out(&store).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql_and_watches_move_with_their_slot() {
    use crate::adapters::mysql::tests::TestDatabases;
    use crate::cluster::reshard::{delete_old_copies, relocate};
    use crate::domain::member_standing::member_slot;

    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    check_list(&store).await;
    check_fan_out(&store).await;
    // Watches that begin, wait, are read and end while the slot is copied are the same in the other database.
    let of = member(50);
    let thread = |n: u64| subject(&format!("moving {n}"));
    for n in 0..40 {
        watch(&store, of, &thread(n)).await;
    }
    let from = store.database_of_member(of);
    let moving = relocate(&store, member_slot(of), 1 - from);
    let writing = async {
        for n in 0..40 {
            let row = new(of, &thread(n), 5_000 + n);
            while !store
                .notify_watchers(store.database_of_member(of), std::slice::from_ref(&row))
                .await
                .unwrap()
                .is_empty()
            {}
            watch(&store, of, &thread(40 + n)).await;
            if n >= 20 {
                store.delete_watch(of, &thread(n)).await.unwrap();
            }
        }
        store.mark_read(of, event(5_009)).await.unwrap();
    };
    let (moved, ()) = tokio::join!(moving, writing);
    moved.unwrap();
    assert_eq!(store.database_of_member(of), 1 - from);
    delete_old_copies(&store, &[member_slot(of)]).await.unwrap();
    assert_eq!(store.list_watches(of, None, 100).await.unwrap().len(), 60);
    let all: Vec<SubjectKey> = (0..80).map(thread).collect();
    let waiting = |watcher: &ReadyWatcher| watcher.last.is_some();
    let found = ready(&store, &all, 9).await;
    assert_eq!((found.len(), found.iter().filter(|watcher| waiting(watcher)).count()), (50, 10));
    databases.drop_all().await;
}
