//! A database that has gone back: its versions and numbers are beyond those that it had.

use std::time::Duration;

use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::tests::write::{comment, publish};
use crate::adapters::mysql::tests::{TestDatabases, key};
use crate::cluster::reshard::count_as_rewound;
use crate::domain::operation::{ChangeRow, CommentChange, LoggedOperation, Operation, least_after_rewind};
use crate::ports::store::*;
use gailou_shared::wire::CommentState;

const NOW: u64 = 1_800_000_000_000;
/// In which another pass does nothing.
const WINDOW: Duration = Duration::from_secs(20);

#[tokio::test]
async fn versions_and_numbers_are_beyond_those_of_the_lost_time() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let in_database = |database: usize| (1..).map(key).find(|key| store.database_of(key.slot()) == database).unwrap();
    let keys = [in_database(0), in_database(1)];
    let news = [comment(1, &keys[0], None), comment(2, &keys[1], None)];
    for new in &news {
        store.persist(&[LoggedOperation::new(1, publish(new))]).await.unwrap();
    }
    let delete = |index: usize| {
        let (id, change) = (news[index].path.id(), CommentChange::State(CommentState::Deleted));
        LoggedOperation::new(2, Operation::Change { id, change, audit: None })
    };
    store.persist(&[delete(0)]).await.unwrap();
    let before = store.read_changes(0, 0, 10).await.unwrap();
    assert!(store.pass_rewind(0, NOW, Some(WINDOW)).await.unwrap());
    let versions = async || {
        let subjects = store.read_subjects(&keys).await.unwrap();
        subjects.into_iter().map(|subject| subject.unwrap().version).collect::<Vec<_>>()
    };
    assert_eq!(versions().await, [least_after_rewind(NOW), 1], "those of the other database stay");
    let rows = store.read_changes(0, before[0].seq, 10).await.unwrap();
    let [first, second] = rows.as_slice() else { panic!("{rows:?}") };
    assert!(rows.iter().all(|row| row.is_rewind() && (NOW..NOW + 10_000).contains(&row.at)), "{rows:?}");
    assert_eq!((first.seq, second.seq), (before[0].seq + 1, least_after_rewind(first.at)));
    // Another process that finds the same finds it done.
    assert!(store.pass_rewind(0, first.at + 5_000, Some(WINDOW)).await.unwrap());
    assert_eq!(versions().await, [least_after_rewind(NOW), 1]);
    assert_eq!(store.read_changes(1, 0, 10).await.unwrap().len(), 0);
    // It was given a slot.
    count_as_rewound(&store, 0, || first.at + 5_000).await.unwrap();
    assert_eq!(versions().await, [least_after_rewind(first.at + 5_000), 1]);
    let second = store.read_changes(0, 0, 10).await.unwrap().pop().unwrap();
    assert!(second.is_rewind() && second.at >= first.at + 5_000);
    // What follows has larger numbers, too.
    let again = CommentChange::State(CommentState::Published);
    let again = Operation::Change { id: news[0].path.id(), change: again, audit: None };
    store.persist(&[LoggedOperation::new(3, again)]).await.unwrap();
    let last: Vec<ChangeRow> = store.read_changes(0, second.seq, 10).await.unwrap();
    assert_eq!(last.len(), 1);
    // A table that is empty has given numbers before.
    let mut session = store.long_session("test", 0).await.unwrap();
    session.execute_text("DELETE FROM feed").await.unwrap();
    assert!(store.pass_rewind(0, NOW + 200_000, Some(WINDOW)).await.unwrap());
    let rows = store.read_changes(0, 0, 10).await.unwrap();
    assert!(rows.len() == 2 && rows[0].seq > last[0].seq, "{rows:?}");
    assert_eq!(versions().await, [least_after_rewind(NOW + 200_000), 1]);
    let held = NamedLock::acquire(store.long_session("test", 0).await.unwrap(), "rewind", 0).await.unwrap().unwrap();
    assert!(!store.pass_rewind(0, NOW + 900_000, Some(WINDOW)).await.unwrap(), "another process does it");
    held.release().await.unwrap();
    databases.drop_all().await;
}
