//! What is compared between databases: histories and outboxes; and rows where they do not belong.

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::{first_subject, member_slot};
use crate::adapters::mysql::rows::StoredEnum as _;
use crate::adapters::mysql::slot_state::SlotState;
use crate::adapters::mysql::tests::write::{NOW, comment, count_rows, publish};
use crate::adapters::mysql::tests::{TestDatabases, deliver_outboxes, find_misplaced, key, member};
use crate::domain::operation::LoggedOperation;
use crate::domain::reconcile::{ComparedChunk, FoundDifference};
use crate::ports::store::*;

/// A subject in the first database.
fn near_key() -> SubjectKey {
    (1..).map(key).find(|key| key.slot().get() < 512).unwrap()
}

/// Stores comments on [`near_key`] by fifty members, and delivers what is owed for them if asked to.
async fn put_comments(store: &MysqlStore, count: u64, deliver: bool) -> Vec<(MemberId, CommentId)> {
    let new: Vec<_> = (0..count).map(|n| comment(n, &near_key(), None)).collect();
    let batch: Vec<_> = new.iter().map(|new| LoggedOperation::new(NOW, publish(new))).collect();
    store.persist(&batch).await.unwrap();
    if deliver {
        deliver_outboxes(store, &[]).await;
    }
    new.iter().map(|new| (new.author.id, new.path.id())).collect()
}

/// What is different, in words; all of it repaired if that was asked for.
fn describe(found: Vec<FoundDifference>, repair: bool) -> Vec<String> {
    assert!(found.iter().all(|found| found.repaired == repair), "{found:?}");
    found.into_iter().map(|found| found.difference.to_string()).collect()
}

async fn compare_histories(store: &MysqlStore, repair: bool) -> Vec<String> {
    let (mut after, mut all) = (None, Vec::new());
    loop {
        let ComparedChunk { found, next } =
            store.reconcile_histories(&near_key(), after.as_ref(), repair).await.unwrap();
        all.extend(describe(found, repair));
        after = next;
        if after.is_none() {
            return all;
        }
    }
}

#[tokio::test]
async fn comment_in_no_history_is_found_unless_an_outbox_owes_it() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let comments = put_comments(&store, 1_300, false).await;
    assert_eq!(compare_histories(&store, false).await, [""; 0], "everything is owed");
    deliver_outboxes(&store, &[]).await;
    assert_eq!(compare_histories(&store, false).await, [""; 0]);
    // One in each database, and in each chunk.
    let far = *comments.iter().rev().find(|(member, _)| member_slot(*member).get() >= 512).unwrap();
    let near = *comments.iter().find(|(member, _)| member_slot(*member).get() < 512).unwrap();
    for (member, id) in [far, near] {
        store.execute(member_slot(member), &format!("DELETE FROM member_comment{{n}} WHERE comment_id = {id}")).await;
    }
    let expected =
        [near, far].map(|(member, id)| format!("comment {id}: its row in the history of member {member} is missing"));
    assert_eq!(compare_histories(&store, false).await, expected);
    assert_eq!(compare_histories(&store, true).await, expected);
    assert_eq!(compare_histories(&store, false).await, [""; 0]);
    assert_eq!(count_rows(&store, "member_comment").await, 1_300);
    assert!(store.list_history(far.0, None, 2_000).await.unwrap().contains(&far.1));
    databases.drop_all().await;
}

#[tokio::test]
async fn row_of_a_history_without_its_comment_is_found() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    put_comments(&store, 100, true).await;
    let (by, slot) = (member(7), member_slot(member(7)));
    // Comments that would be in the other database, and in the same.
    let lost: Vec<CommentId> =
        [3, 1_020].map(|slot| CommentId::from_parts(NOW + 5_000, Slot::new(slot).unwrap(), 0, 0)).to_vec();
    for id in &lost {
        let row = format!("INSERT INTO member_comment{{n}} VALUES ({by}, {id}, {}, 0)", slot.get());
        store.execute(slot, &row).await;
    }
    let compare = async |repair| {
        let chunk = store.reconcile_history_rows(slot, None, repair).await.unwrap();
        assert_eq!(chunk.next, None);
        describe(chunk.found, repair)
    };
    let words = "has it, but the member has no such comment";
    let expected: Vec<String> =
        lost.iter().map(|id| format!("comment {id}: the history of member {by} {words}")).collect();
    assert_eq!(compare(false).await, expected);
    // Nothing is deleted in a slot that is being copied: the copy would not learn of it.
    let set = async |state: SlotState| {
        let text = format!("UPDATE slot SET state = {} WHERE slot = {}", state.number(), slot.get());
        store.execute(slot, &text).await;
    };
    set(SlotState::Copying).await;
    let refused = store.reconcile_history_rows(slot, None, true).await.unwrap_err();
    assert!(refused.to_string().contains("is being moved; run this again later"), "{refused}");
    set(SlotState::Owned).await;
    assert_eq!(compare(true).await, expected);
    assert_eq!(compare(false).await, [""; 0]);
    assert_eq!(count_rows(&store, "member_comment").await, 100);
    // The histories of the other members have more rows than one chunk has none of.
    let (mut after, mut rows) = (None, 0);
    for slot in (0..1_024).filter_map(Slot::new) {
        loop {
            let chunk = store.reconcile_history_rows(slot, after, false).await.unwrap();
            rows += chunk.found.len();
            after = chunk.next;
            if after.is_none() {
                break;
            }
        }
    }
    assert_eq!(rows, 0);
    databases.drop_all().await;
}

#[tokio::test]
async fn late_rows_of_an_outbox_are_found_and_delivered() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let comments = put_comments(&store, 60, false).await;
    let compare = async |repair| describe(store.reconcile_outboxes(&|_| false, repair).await.unwrap(), repair);
    assert_eq!(compare(false).await, [""; 0], "they are not late yet");
    let far = *comments.iter().find(|(member, _)| member_slot(*member).get() >= 512).unwrap();
    let age = format!("UPDATE outbox SET at = at - 400000 WHERE comment_id = {}", far.1);
    store.execute(near_key().slot(), &age).await;
    // It names the slot of another member, so no delivery takes it.
    let slot = (member_slot(far.0).get() + 1) % 512;
    store
        .execute(near_key().slot(), &format!("UPDATE outbox SET member_slot = {slot} WHERE comment_id = {}", far.1))
        .await;
    let found = compare(false).await;
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].starts_with("the outbox of database 0: 1 rows for database 1, which answers, wait for 40"),
        "{found:?}"
    );
    assert_eq!(compare(true).await.len(), 1);
    assert_eq!(compare(false).await, [""; 0]);
    assert!(store.list_history(far.0, None, 100).await.unwrap().contains(&far.1));
    databases.drop_all().await;
}

#[tokio::test]
async fn rows_of_slots_that_a_database_does_not_have_are_found() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    let comments = put_comments(&store, 20, true).await;
    assert_eq!(find_misplaced(&store).await, [""; 0]);
    let all = async || store.find_misplaced_texts(Slot::FIRST, Slot::new(1_023).unwrap()).await.unwrap();
    assert_eq!(all().await, [""; 0]);
    let execute = async |database: usize, text: &str| {
        store.long_session("test", database).await.unwrap().execute_text(text).await.unwrap();
    };
    // In the wrong database, in the wrong tables, and in both.
    execute(1, "INSERT INTO member_comment_0 VALUES (1, 5, 6, 0), (2, 5, 6, 0), (3, 5, 10, 0)").await;
    execute(0, "INSERT INTO reaction_1 (comment_id, member_id, reaction) VALUES (8 << 12, 1, 1)").await;
    let of_slot_3 = first_subject(Slot::new(3).unwrap()) + 9;
    execute(
        1,
        &format!(
            "INSERT INTO root_rank_0 (subject, id, likes, dislikes, replies, created_at) VALUES ({of_slot_3}, 1, 1, 1, 1, 1)"
        ),
    )
    .await;
    let found = find_misplaced(&store).await;
    let parts = [
        "reaction_1 has rows of slot 8",
        "root_rank_0 has rows of slot 3",
        "member_comment_0 has rows of slot 6",
        "member_comment_0 has rows of slot 10",
    ];
    assert_eq!(found.len(), 4, "{found:?}");
    for part in parts {
        assert!(found.iter().any(|line| line.ends_with(part)), "{part} is missing in {found:?}");
    }
    let of = |first, last| store.find_misplaced_rows(Slot::new(first).unwrap(), Slot::new(last).unwrap());
    assert_eq!(of(6, 8).await.unwrap().len(), 2, "slots of a part");
    assert_eq!(of(11, 1_023).await.unwrap(), [""; 0]);
    // A comment without its text, and a text without its comment.
    let n = store.table_number(near_key().slot());
    execute(0, &format!("UPDATE content_{n} SET id = id + 1 WHERE id = {}", comments[4].1)).await;
    let found = all().await;
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].ends_with(&format!("comment_{n} has 1 comments without a text, the first is {}", comments[4].1)));
    assert!(found[1].contains(&format!("content_{n} has 1 texts without a comment")));
    databases.drop_all().await;
}

#[tokio::test]
async fn every_table_is_checked_when_that_is_asked_for() {
    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    assert_eq!(store.check_tables().await.unwrap(), [""; 0]);
    for database in 0..2 {
        let text = "RENAME TABLE alias_1 TO alias_away";
        store.long_session("test", database).await.unwrap().execute_text(text).await.unwrap();
    }
    assert_eq!(store.find_damage().await.unwrap(), [""; 0], "it asks for nothing that takes long");
    let found = store.check_tables().await.unwrap();
    assert!(found.iter().any(|line| line.contains("alias_1")), "{found:?}");
    databases.drop_all().await;
}
