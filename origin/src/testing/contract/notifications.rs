//! The contract of what members are notified of, on every adapter.

use gailou_shared::id::{CommentId, EventId, MemberId, Slot};

use crate::adapters::sqlite::SqliteStore;
use crate::domain::notification::{MAX_NOTIFICATIONS, NewNotification, NotificationReason, StoredNotification};
use crate::domain::review::Decision;
use crate::ports::store::Notifications;

const NOW: u64 = 1_700_000_000_000;

fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

/// The n-th notification of a member.
fn new(member: MemberId, n: u64) -> NewNotification {
    let reason = match n % 3 {
        0 => NotificationReason::Reply,
        1 => NotificationReason::Mention,
        _ => NotificationReason::Decision(Decision::Feature),
    };
    let comment = CommentId::from_parts(NOW + n, Slot::FIRST, 0, 0);
    NewNotification { member, id: EventId::from_parts(NOW + n, n), reason, comment, at: NOW + n, mail_at: None }
}

async fn add(tables: &dyn Notifications, new: &[NewNotification]) {
    for database in 0..2 {
        let of: Vec<_> = new.iter().filter(|new| tables.database_of_member(new.member) == database).copied().collect();
        if !of.is_empty() {
            assert_eq!(tables.add_notifications(database, &of).await.unwrap(), []);
        }
    }
}

async fn list(tables: &dyn Notifications, member: MemberId, below: Option<EventId>) -> Vec<StoredNotification> {
    tables.list_notifications(member, below, 2_000).await.unwrap()
}

async fn check_notifications(tables: &dyn Notifications) {
    let members: Vec<MemberId> = (1..=20).chain([MemberId::guest(7).get()]).map(member).collect();
    let all: Vec<NewNotification> = (0..10).flat_map(|n| members.iter().map(move |member| new(*member, n))).collect();
    add(tables, &all).await;
    for of in &members {
        let stored = list(tables, *of, None).await;
        let expected = (0..10).rev().map(|n| new(*of, n));
        let expected = expected.map(|NewNotification { id, reason, comment, at, .. }| StoredNotification {
            id,
            reason,
            comment,
            at,
            is_read: false,
        });
        assert_eq!(stored, expected.collect::<Vec<_>>());
        assert_eq!(list(tables, *of, Some(stored[3].id)).await, stored[4..]);
        assert_eq!(tables.list_notifications(*of, Some(stored[3].id), 2).await.unwrap(), stored[4..6]);
        assert_eq!(tables.count_unread(*of).await.unwrap(), 10);
    }
    // What is marked is marked up to there, and stays so when it is written again.
    let of = members[0];
    tables.mark_read(of, new(of, 6).id).await.unwrap();
    add(tables, &all).await;
    assert_eq!(tables.count_unread(of).await.unwrap(), 3);
    assert_eq!(tables.count_unread(members[1]).await.unwrap(), 10);
    let is_read: Vec<bool> = list(tables, of, None).await.iter().map(|row| row.is_read).collect();
    assert_eq!(is_read, [false, false, false, true, true, true, true, true, true, true]);
    // One that comes late is not read, although it is older than the mark.
    let late = NewNotification { id: EventId::from_parts(NOW + 2, 77), ..new(of, 2) };
    add(tables, &[late]).await;
    assert_eq!(tables.count_unread(of).await.unwrap(), 4);

    // The newest are kept.
    let many: Vec<NewNotification> = (10..MAX_NOTIFICATIONS as u64 + 5).map(|n| new(of, n)).collect();
    add(tables, &many).await;
    let kept = list(tables, of, None).await;
    assert_eq!(kept.len(), MAX_NOTIFICATIONS);
    assert_eq!((kept[0].id, kept[MAX_NOTIFICATIONS - 1].id), (new(of, 1_004).id, new(of, 5).id));
    assert_eq!(tables.count_unread(of).await.unwrap(), 998, "two of them are read");
    assert_eq!(list(tables, members[1], None).await.len(), 10);

    tables.delete_notifications_of(of).await.unwrap();
    assert_eq!((list(tables, of, None).await, tables.count_unread(of).await.unwrap()), (vec![], 0));
    assert_eq!(list(tables, members[2], None).await.len(), 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    check_notifications(&store).await;
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql_and_while_a_slot_moves() {
    use crate::adapters::mysql::tests::TestDatabases;
    use crate::cluster::reshard::{delete_old_copies, relocate};
    use crate::domain::member_standing::member_slot;

    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    check_notifications(&store).await;
    // They move with the slot of their member, those that are written, read and deleted meanwhile too.
    let (of, erased) = (member(3), member(4));
    let from = store.database_of_member(of);
    let moving = relocate(&store, member_slot(of), 1 - from);
    let writing = async {
        for n in 10..40 {
            let (row, to) = (new(of, n), store.database_of_member(of));
            while !store.add_notifications(to, &[row]).await.unwrap().is_empty() {}
            store.mark_read(of, new(of, n - 5).id).await.unwrap();
        }
    };
    let (moved, ()) = tokio::join!(moving, writing);
    moved.unwrap();
    assert_eq!(store.database_of_member(of), 1 - from);
    delete_old_copies(&store, &[member_slot(of)]).await.unwrap();
    let rows = list(&store, of, None).await;
    assert_eq!((rows.len(), rows[0].id, store.count_unread(of).await.unwrap()), (40, new(of, 39).id, 5));
    let from = store.database_of_member(erased);
    relocate(&store, member_slot(erased), 1 - from).await.unwrap();
    store.delete_notifications_of(erased).await.unwrap();
    relocate(&store, member_slot(erased), from).await.unwrap();
    assert_eq!(list(&store, erased, None).await, []);
    databases.drop_all().await;
}
