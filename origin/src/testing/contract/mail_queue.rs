//! The contract of what members are to be mailed, on every adapter.

use gailou_shared::id::{CommentId, EventId, MemberId, Slot};

use crate::adapters::sqlite::SqliteStore;
use crate::domain::notification::{NewNotification, NotificationReason};
use crate::ports::store::{DueMail, MailOutcome, MailQueue, Notifications};

const NOW: u64 = 1_700_000_000_000;

trait MailedTables: MailQueue + Notifications {}

impl<T: MailQueue + Notifications> MailedTables for T {}

fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

async fn notify(tables: &dyn MailedTables, of: MemberId, n: u64, mail_at: Option<u64>) {
    let comment = CommentId::from_parts(NOW + n, Slot::FIRST, 0, 0);
    let id = EventId::from_parts(NOW + n, n);
    let new = NewNotification { member: of, id, reason: NotificationReason::Reply, comment, at: NOW + n, mail_at };
    let database = tables.database_of_member(of);
    assert_eq!(tables.add_notifications(database, &[new]).await.unwrap(), []);
}

async fn claim(tables: &dyn MailedTables, now: u64, until: u64) -> Vec<DueMail> {
    let mut all = tables.claim_mails(0, now, until, 10).await.unwrap();
    all.extend(tables.claim_mails(1, now, until, 10).await.unwrap());
    all.sort_unstable_by_key(|mail| mail.member);
    all
}

/// Members, and how many rows their mails have.
fn sizes(mails: &[DueMail]) -> Vec<(u64, usize)> {
    mails.iter().map(|mail| (mail.member.get(), mail.rows.len())).collect()
}

async fn check_mails(tables: &dyn MailedTables) {
    for of in 1..=4 {
        for n in 0..3 {
            notify(tables, member(of), n, (of < 4).then_some(NOW + of * 10)).await;
        }
    }
    // A later one is another mail.
    notify(tables, member(1), 7, Some(NOW + 11)).await;
    assert_eq!(claim(tables, NOW + 9, NOW + 1_000).await, []);
    let first = claim(tables, NOW + 20, NOW + 1_000).await;
    assert_eq!(sizes(&first), [(1, 3), (2, 3)], "the longest due of each member");
    assert!(first.iter().all(|mail| (mail.tries, mail.mailed_lately, mail.claimed_until) == (1, 0, NOW + 1_000)));
    assert!(first[0].rows.is_sorted_by(|one, next| one.id > next.id));
    let second = claim(tables, NOW + 20, NOW + 1_001).await;
    assert_eq!(sizes(&second), [(1, 1)], "what is claimed is claimed");
    assert_eq!(claim(tables, NOW + 20, NOW + 1_002).await, []);

    tables.finish_mail(&first[0], MailOutcome::Sent(NOW + 21)).await.unwrap();
    tables.finish_mail(&second[0], MailOutcome::Later(NOW + 50, 1)).await.unwrap();
    tables.finish_mail(&first[1], MailOutcome::Dropped).await.unwrap();
    let third = claim(tables, NOW + 49, NOW + 2_000).await;
    assert_eq!(sizes(&third), [(3, 3)]);
    let again = claim(tables, NOW + 50, NOW + 2_000).await;
    assert_eq!(sizes(&again), [(1, 1)]);
    assert_eq!((again[0].tries, again[0].mailed_lately, &again[0].rows), (2, 1, &second[0].rows));
    // Whose claim is over has nothing to say of it any more.
    let taken_over = claim(tables, NOW + 2_000, NOW + 4_000).await;
    assert_eq!(sizes(&taken_over), [(1, 1), (3, 3)]);
    assert_eq!(taken_over[1].rows, third[0].rows);
    tables.finish_mail(&third[0], MailOutcome::Dropped).await.unwrap();
    tables.finish_mail(&taken_over[0], MailOutcome::Sent(NOW + 2_001)).await.unwrap();
    let last = claim(tables, NOW + 4_000, NOW + 6_000).await;
    assert_eq!((sizes(&last), last[0].tries), (vec![(3, 3)], 3));
    tables.finish_mail(&last[0], MailOutcome::Sent(NOW + 4_001)).await.unwrap();
    // Two mails of this hour, and none of the one before.
    notify(tables, member(1), 8, Some(NOW + 5_000)).await;
    let lately = claim(tables, NOW + 5_000, NOW + 6_000).await;
    assert_eq!((sizes(&lately), lately[0].mailed_lately), (vec![(1, 1)], 2));
    notify(tables, member(3), 8, Some(NOW + 5_000)).await;
    let hour_later = claim(tables, NOW + 4_001 + 3_600_000, NOW + 9_000_000).await;
    assert_eq!((sizes(&hour_later), hour_later[1].mailed_lately), (vec![(1, 1), (3, 1)], 0));
    // What is written again is not mailed again.
    notify(tables, member(2), 0, Some(NOW)).await;
    assert_eq!(claim(tables, NOW + 6_000_000, NOW + 9_000_001).await, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_sqlite_and_a_start_ends_the_claims_of_the_former_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    check_mails(&store).await;
    let now = NOW + 100_000_000;
    for n in 20..23 {
        notify(&store, member(9), n, Some(now)).await;
    }
    notify(&store, member(8), 20, Some(now + 5)).await;
    let claimed = claim(&store, now, now + 120_000).await;
    store.release_mails(now + 1).await.unwrap();
    let again: Vec<DueMail> = claim(&store, now + 1, now + 120_001).await;
    let again = again.into_iter().find(|mail| mail.member == member(9)).unwrap();
    let before = claimed.iter().find(|mail| mail.member == member(9)).unwrap();
    assert_eq!((&again.rows, again.tries), (&before.rows, 2));
    assert_eq!(sizes(&claim(&store, now + 5, now + 120_005).await), [(8, 1)], "what was not claimed is due as before");
}

#[cfg(feature = "cluster")]
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_in_mysql_and_of_many_processes_one_claims_a_mail() {
    use futures_util::future::join_all;

    let Some(databases) = crate::adapters::mysql::tests::TestDatabases::new(2) else { return };
    let store = databases.open().await;
    check_mails(&store).await;
    let now = NOW + 100_000_000;
    for of in 100..108 {
        notify(&store, member(of), 50, Some(now)).await;
    }
    let claims = (0..6).map(|process| claim(&store, now, now + 120_000 + process));
    let mut claimed: Vec<u64> = join_all(claims).await.concat().iter().map(|mail| mail.member.get()).collect();
    claimed.sort_unstable();
    claimed.retain(|of| *of >= 100);
    assert_eq!(claimed, (100..108).collect::<Vec<_>>());
    databases.drop_all().await;
}
