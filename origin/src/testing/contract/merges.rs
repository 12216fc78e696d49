//! The contract of the ends of members and of merges, on every adapter: what a guest wrote is the member's, and rows
//! that name the guest name the member.

use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, MemberRef};

use crate::adapters::sqlite::SqliteStore;
use crate::domain::erasure::MemberEnd;
use crate::domain::operation::{CommentChange, ErasureStep, LoggedOperation, MergeStep, Operation, OperationOutcome};
use crate::domain::row::NewCommentRow;
use crate::ports::store::{BatchWriter, CommentReader, ErasureReader, MemberDataReader, MemberDirectory, MemberReader};
use crate::testing::contract::reconcile::{NOW, publish, publish_as};

trait MergeTables: BatchWriter + CommentReader + ErasureReader + MemberDataReader + MemberDirectory + MemberReader {}

impl<T> MergeTables for T where
    T: BatchWriter + CommentReader + ErasureReader + MemberDataReader + MemberDirectory + MemberReader
{
}

/// The member who is merged into, with a name that quotes have to be escaped in.
fn heir() -> Author {
    Author::new(MemberId::new(70).unwrap(), "Ann \"O'Hara\" 安".into(), Some("/a.png".into()), 3, None)
}

fn named(id: MemberId, name: &str) -> MemberRef {
    MemberRef { id, name: name.into() }
}

/// The publication with other fields.
fn with(operation: LoggedOperation, change: impl FnOnce(&mut NewCommentRow)) -> LoggedOperation {
    let Operation::Publish(mut new) = operation.operation else { unreachable!("it is a publication") };
    change(&mut new);
    LoggedOperation { operation: Operation::Publish(new), ..operation }
}

fn change(id: CommentId, change: CommentChange) -> LoggedOperation {
    LoggedOperation::new(NOW + 50, Operation::Change { id, change, audit: None })
}

/// `deliver` brings histories up to date, which may be in another database than their comments.
async fn check_merges(tables: &dyn MergeTables, deliver: impl AsyncFn()) {
    let (guest, heir) = (MemberId::guest(5), heir());
    let by_guest = |new: &mut NewCommentRow| new.author = Author::new(guest, "Gus".into(), None, 0, None);
    let ((shown, first), (held, second)) = (publish(1, None), publish_as(CommentState::Review, 2, None));
    let (answer, third) = publish(3, Some(&shown));
    let third = with(third, |new| {
        new.reply_to = Some(named(guest, "Gus"));
        new.mentions = vec![named(guest, "Gus"), named(MemberId::new(8).unwrap(), "Bob")];
    });
    let (both, fourth) = publish(4, None);
    let fourth = with(fourth, |new| new.mentions = vec![named(heir.id, "Ann"), named(guest, "Gus")]);
    tables.persist(&[with(first, by_guest), with(second, by_guest), third, fourth]).await.unwrap();
    deliver().await;
    let [shown, held, answer, both] = [shown, held, answer, both].map(|path: Path| path.id());

    // Who has become whom is said once.
    assert_eq!(
        (tables.read_heir(guest).await.unwrap(), tables.list_merged_guests(heir.id).await.unwrap()),
        (None, vec![])
    );
    let step = |at, step| LoggedOperation::new(NOW + at, Operation::Merge { guest, step });
    let begin = |at, author: &Author| step(at, MergeStep::Begin(Box::new(author.clone())));
    let other = Author { id: MemberId::new(71).unwrap(), ..heir.clone() };
    for (operation, is_done) in [(begin(10, &heir), true), (begin(20, &heir), true), (begin(30, &other), false)] {
        let outcomes = tables.persist(&[operation]).await.unwrap().outcomes;
        assert_eq!(matches!(outcomes[..], [OperationOutcome::Done]), is_done, "{outcomes:?}");
        assert_eq!(matches!(outcomes[..], [OperationOutcome::Conflict]), !is_done, "{outcomes:?}");
    }
    assert_eq!(tables.read_heir(guest).await.unwrap().as_ref(), Some(&heir));
    assert_eq!(tables.list_merged_guests(heir.id).await.unwrap(), [guest]);
    // Erasures and merges are one list, in the order of the requests.
    let erased = MemberId::new(90).unwrap();
    let erasure = |at, step| LoggedOperation::new(NOW + at, Operation::Erasure { member: erased, step, audit: None });
    tables.persist(&[erasure(5, ErasureStep::Begin)]).await.unwrap();
    let ends = [
        MemberEnd { at: NOW + 5, member: erased, heir: None },
        MemberEnd { at: NOW + 10, member: guest, heir: Some(heir.id) },
    ];
    assert_eq!(tables.list_member_ends(None, 10).await.unwrap(), ends);
    assert_eq!(tables.list_member_ends(None, 1).await.unwrap(), ends[..1]);
    assert_eq!(tables.list_member_ends(Some(ends[0]), 10).await.unwrap(), ends[1..]);
    assert_eq!(tables.list_member_ends(Some(ends[1]), 10).await.unwrap(), []);
    assert_eq!(tables.list_member_ends_copy(None, 10).await.unwrap(), ends);
    assert_eq!(tables.list_unfinished_ends(10).await.unwrap(), ends);

    // The comments, and who is named in others.
    assert_eq!(tables.list_not_erased(guest, &[shown, held, answer]).await.unwrap().len(), 2);
    let transfer = |id| change(id, CommentChange::Transfer { from: guest, to: Box::new(heir.clone()) });
    let rename = |id| change(id, CommentChange::Rename { from: guest, to: named(heir.id, &heir.name) });
    tables.persist(&[transfer(shown), transfer(held), transfer(answer), rename(answer), rename(both)]).await.unwrap();
    deliver().await;
    let rows = tables.read_comments(&[shown, held, answer, both]).await.unwrap();
    assert_eq!((&rows[&shown].author, &rows[&held].author), (&heir, &heir));
    assert_eq!(rows[&answer].author.id.get(), 7, "it is another's");
    assert_eq!(rows[&answer].reply_to, Some(named(heir.id, &heir.name)));
    assert_eq!(rows[&answer].mentions, [named(heir.id, &heir.name), named(MemberId::new(8).unwrap(), "Bob")]);
    assert_eq!(rows[&both].mentions, [named(heir.id, "Ann")], "no one is mentioned twice");
    for (member, mentioned) in [(heir.id, vec![answer, both]), (guest, vec![])] {
        assert_eq!(tables.list_mentioning(member, None, 10).await.unwrap(), mentioned);
    }
    // Histories are compared with the authors, before and after they are cleaned.
    for clean in [vec![], vec![step(40, MergeStep::History)]] {
        tables.persist(&clean).await.unwrap();
        assert_eq!(tables.list_history(heir.id, None, 10).await.unwrap(), [shown]);
        assert_eq!(tables.list_pending(heir.id, 10).await.unwrap(), [held]);
        assert_eq!(tables.list_history(guest, None, 10).await.unwrap(), []);
        assert_eq!(tables.list_pending(guest, 10).await.unwrap(), []);
        assert_eq!(tables.list_not_erased(guest, &[shown, held]).await.unwrap(), []);
        let counts = tables.summarize_member(guest).await.unwrap().counts;
        assert_eq!((counts.published, counts.held), (0, 0));
        let counts = tables.summarize_member(heir.id).await.unwrap().counts;
        assert_eq!((counts.published, counts.held), (1, 1));
    }
    assert_eq!(tables.list_comments_of(heir.id, None, 10).await.unwrap(), [shown, held]);
    assert_eq!(tables.list_comments_of(guest, None, 10).await.unwrap(), []);
    assert_eq!(tables.read_names(&[heir.id]).await.unwrap()[&heir.id], heir.name);

    tables.persist(&[step(60, MergeStep::Finish), erasure(60, ErasureStep::Finish)]).await.unwrap();
    assert_eq!(tables.list_unfinished_ends(10).await.unwrap(), []);
    assert_eq!(tables.list_member_ends(None, 10).await.unwrap(), ends);
    // An erasure of the member leaves the numbers.
    let name = Operation::Erasure { member: heir.id, step: ErasureStep::Name, audit: None };
    tables.persist(&[LoggedOperation::new(NOW + 70, name)]).await.unwrap();
    let nameless = Author::new(heir.id, String::new(), None, 0, None);
    assert_eq!(tables.read_heir(guest).await.unwrap(), Some(nameless));
}

#[tokio::test]
async fn contract_holds_in_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
    check_merges(&store, async || ()).await;
}

#[cfg(feature = "cluster")]
#[tokio::test]
async fn contract_holds_in_mysql() {
    use crate::adapters::mysql::tests::{TestDatabases, deliver_outboxes};
    use crate::domain::member_standing::member_slot;
    use crate::ports::store::HistoryReconciler as _;

    let Some(databases) = TestDatabases::new(2) else { return };
    let store = databases.open().await;
    check_merges(&store, async || deliver_outboxes(&store, &[]).await).await;
    // A row of the guest's history that is delivered late is found and repaired.
    let (guest, slot) = (MemberId::guest(5), member_slot(MemberId::guest(5)));
    let late = store.list_comments_of(heir().id, None, 1).await.unwrap()[0];
    let insert = format!("INSERT INTO member_comment{{n}} VALUES ({guest}, {late}, {}, 0)", slot.get());
    store.execute(slot, &insert).await;
    assert_eq!(store.list_history(guest, None, 10).await.unwrap(), []);
    for (repair, expected) in [(false, 1), (true, 1), (false, 0)] {
        let found = store.reconcile_history_rows(slot, None, repair).await.unwrap().found;
        assert_eq!(found.len(), expected, "{found:?}");
    }
    databases.drop_all().await;
}
