//! What a transaction owes the rows of members, and how it reaches them.

use gailou_shared::id::{MemberId, Slot};
use gailou_shared::wire::{Author, CommentState};

use crate::adapters::mysql::pool::{MysqlPool, parse_address};
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::StoredEnum as _;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::tests::write::{comment, count_rows, publish};
use crate::adapters::mysql::tests::{TABLES, TestDatabases, deliver_outboxes, key, member};
use crate::domain::operation::{LoggedOperation, OperationOutcome};
use crate::domain::row::NewCommentRow;
use crate::ports::store::*;

/// A comment of this member and name.
fn comment_by(n: u64, author: MemberId, name: &str) -> NewCommentRow {
    let key = (1..).map(key).find(|key| key.slot().get() < 512).unwrap();
    NewCommentRow { author: Author::new(author, name.into(), None, 1, None), ..comment(n, &key, None) }
}

fn operation(new: &NewCommentRow) -> LoggedOperation {
    LoggedOperation::new(1, publish(new))
}

/// A member whose rows are in the first or the second half of the slots.
fn member_in(is_there: impl Fn(Slot) -> bool) -> MemberId {
    (1..).map(member).find(|member| is_there(member_slot(*member))).unwrap()
}

#[tokio::test]
async fn batch_waits_for_no_database_but_its_own() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (near, far) = (member_in(|slot| slot.get() < 512), member_in(|slot| slot.get() >= 512));
    let mut cut = databases.open().await;
    cut.pools[1] = MysqlPool::new(parse_address("mysql://root@127.0.0.1:9/away").unwrap());
    let batch = [operation(&comment_by(1, far, "Far")), operation(&comment_by(2, near, "Near"))];
    cut.persist(&batch).await.unwrap();
    assert_eq!(cut.list_recipients(0).await.unwrap(), [0, 1]);
    cut.deliver(0, 1, &|_| false).await.unwrap_err();
    assert_eq!(cut.deliver(0, 0, &|_| false).await.unwrap().rows, 1);
    assert_eq!(cut.list_history(near, None, 10).await.unwrap().len(), 1, "it waits for no other");
    assert!(store.read_outbox_age(0).await.unwrap().is_some());
    // What is not delivered yet is found by an erasure.
    assert_eq!(store.list_history(far, None, 10).await.unwrap(), []);
    assert_eq!(store.list_comments_of(far, None, 10).await.unwrap().len(), 1);
    // Two processes deliver at once.
    let (first, second) = tokio::join!(store.deliver(0, 1, &|_| false), store.deliver(0, 1, &|_| false));
    assert_eq!(first.unwrap().rows + second.unwrap().rows, 1);
    assert_eq!(store.list_history(far, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.list_comments_of(far, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.read_names(&[far]).await.unwrap()[&far], "Far");
    assert_eq!((store.list_recipients(0).await.unwrap(), store.read_outbox_age(0).await.unwrap()), (vec![], None));
    databases.drop_all().await;
}

#[tokio::test]
async fn slot_without_an_owner_holds_up_no_member_of_another() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let stuck = member_in(|slot| slot.get() >= 512);
    let other = member_in(|slot| slot.get() >= 512 && slot != member_slot(stuck));
    store
        .persist(&[operation(&comment_by(1, stuck, "Stuck")), operation(&comment_by(2, other, "Other"))])
        .await
        .unwrap();
    let set = async |state: SlotState| {
        let text = format!("UPDATE slot SET state = {} WHERE slot = {}", state.number(), member_slot(stuck).get());
        store.long_session("test", 1).await.unwrap().execute_text(text).await.unwrap();
    };
    set(SlotState::Elsewhere).await;
    assert_eq!(store.deliver(0, 1, &|_| false).await.unwrap().rows, 1);
    assert_eq!(store.deliver(0, 1, &|_| false).await.unwrap().rows, 0);
    assert_eq!(store.list_history(other, None, 10).await.unwrap().len(), 1);
    assert!(store.read_outbox_age(0).await.unwrap().is_some(), "the other is still owed");
    set(SlotState::Owned).await;
    assert_eq!(store.deliver(0, 1, &|_| false).await.unwrap().rows, 1);
    assert_eq!(store.list_history(stuck, None, 10).await.unwrap().len(), 1);
    databases.drop_all().await;
}

#[tokio::test]
async fn rows_are_delivered_in_any_order_and_again() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let (renamed, erased) = (member_in(|slot| slot.get() >= 512), member(7));
    let old = NewCommentRow { state: CommentState::Review, ..comment_by(1, renamed, "Old") };
    let new = comment_by(2, renamed, "New");
    let of_erased = comment_by(3, erased, "Erased");
    for batch in [&[operation(&new), operation(&of_erased)][..], &[operation(&old)], &[operation(&old)]] {
        store.persist(batch).await.unwrap();
        deliver_outboxes(&store, &[erased]).await;
        assert_eq!(store.read_names(&[renamed]).await.unwrap()[&renamed], "New");
    }
    assert_eq!(count_rows(&store, "member_comment").await, 3);
    assert_eq!(store.list_pending(renamed, 10).await.unwrap(), [old.path.id()]);
    assert_eq!(store.read_names(&[erased]).await.unwrap().len(), 0);
    assert_eq!(store.list_comments_of(erased, None, 10).await.unwrap(), [of_erased.path.id()]);
    databases.drop_all().await;
}

#[tokio::test]
async fn comment_that_is_read_again_owes_its_row_of_the_history_again() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let far = member_in(|slot| slot.get() >= 512);
    let new = comment_by(1, far, "Far");
    let read = LoggedOperation { position: Some(7), ..operation(&new) };
    store.persist(std::slice::from_ref(&read)).await.unwrap();
    let delivered = store.deliver(0, 1, &|_| false).await.unwrap();
    assert_eq!(delivered, Delivered { rows: 1, last_new: Some((far, new.path.id())) });
    let has = async |database| store.has_history(database, far, new.path.id()).await.unwrap();
    assert_eq!((has(0).await, has(1).await), (None, Some(true)));
    // What it has already is not what it would lose.
    store.persist(std::slice::from_ref(&read)).await.unwrap();
    assert_eq!(store.deliver(0, 1, &|_| false).await.unwrap(), Delivered { rows: 1, last_new: None });
    // The database of the member goes back; that of the comment does not.
    for n in 0..TABLES {
        let lose = format!("DELETE FROM member_comment_{n}; DELETE FROM member_{n}");
        store.long_session("test", 1).await.unwrap().execute_text(lose).await.unwrap();
    }
    assert_eq!(store.list_history(far, None, 10).await.unwrap(), []);
    assert_eq!(has(1).await, Some(false));
    let outcomes = store.persist(&[read]).await.unwrap().outcomes;
    assert!(matches!(outcomes[..], [OperationOutcome::Seen]), "{outcomes:?}");
    deliver_outboxes(&store, &[]).await;
    assert_eq!(store.list_history(far, None, 10).await.unwrap().len(), 1);
    assert_eq!(store.list_comments_of(far, None, 10).await.unwrap(), [new.path.id()]);
    assert_eq!(store.read_names(&[far]).await.unwrap()[&far], "Far");
    databases.drop_all().await;
}
