//! Comments that get another author.

use gailou_shared::id::MemberId;
use gailou_shared::wire::{Author, CommentState};

use super::{NOW, comment, logged, review, subject};
use crate::domain::fold::{HistoryRow, TableLayout};
use crate::domain::operation::{CommentChange, LoggedOperation, Operation, OperationOutcome};
use crate::domain::row::NewCommentRow;
use crate::testing::fold_tables::FoldTables;

/// The author of generated comments with this number; the third one is a guest.
pub(super) fn author_id(number: u64) -> MemberId {
    if number == 3 { MemberId::guest(number) } else { MemberId::new(number).unwrap() }
}

/// The guest becomes this member.
pub(super) fn transfer(to: u64) -> CommentChange {
    let to = Author::new(author_id(to), format!("member {to}"), None, 2, None);
    CommentChange::Transfer { from: author_id(3), to: Box::new(to) }
}

fn held_comment_of(guest: MemberId) -> NewCommentRow {
    NewCommentRow {
        state: CommentState::Review,
        author: Author::new(guest, "Gus".into(), None, 0, None),
        ..comment(0, &subject(0), None)
    }
}

#[test]
fn comment_of_a_guest_becomes_a_members_once_and_is_read_again_as_theirs() {
    let guest = MemberId::guest(5);
    let new = held_comment_of(guest);
    let id = new.path.id();
    let mut tables = FoldTables::default();
    let change = |change| LoggedOperation::new(NOW, Operation::Change { id, change, audit: None });
    let becomes = |member: u64| {
        let to = Author::new(MemberId::new(member).unwrap(), "Ann".into(), None, 3, None);
        change(CommentChange::Transfer { from: guest, to: Box::new(to) })
    };
    let publish = |position| logged(position, Operation::Publish(Box::new(new.clone())));
    tables.persist(TableLayout::Sharded, &[publish(0)]).unwrap();
    let moved = tables.persist(TableLayout::Sharded, &[becomes(7)]).unwrap();
    assert!(matches!(moved.outcomes[..], [OperationOutcome::Done]) && !moved.touched[0].takedown, "it was held");
    // It is the guest's no more.
    let again = tables.persist(TableLayout::Sharded, &[becomes(7), becomes(8)]).unwrap();
    assert!(again.changed.is_empty() && again.touched.is_empty(), "{again:?}");
    let author = &tables.comments[&id].author;
    assert_eq!((author.id.get(), &*author.name, author.level, author.guest), (7, "Ann", 3, false));
    let held = |member| HistoryRow { member, id, held: true };
    assert!(tables.history.contains(&held(author.id)), "{:?}", tables.history);
    assert_eq!(tables.names[&author.id], (id, "Ann".into()));
    // The broker has it once more.
    tables.history.clear();
    tables.persist(TableLayout::Sharded, &[publish(0), publish(1)]).unwrap();
    assert_eq!(tables.history.iter().collect::<Vec<_>>(), [&held(MemberId::new(7).unwrap())]);
    tables.check();
    let shown = tables.persist(TableLayout::Sharded, &[change(CommentChange::State(CommentState::Published))]).unwrap();
    assert!(shown.touched[0].visible);
    let to = Box::new(Author::new(MemberId::new(9).unwrap(), "Cy".into(), None, 0, None));
    let from = MemberId::new(7).unwrap();
    let moved = tables.persist(TableLayout::Sharded, &[change(CommentChange::Transfer { from, to })]).unwrap();
    assert!(moved.touched[0].takedown, "pages show the former name");
}

#[test]
fn comment_that_waits_again_after_it_became_a_members_is_among_those_of_the_member_that_wait() {
    let guest = MemberId::guest(5);
    let new = held_comment_of(guest);
    let id = new.path.id();
    let audited = |n| Some(review::audit(id, n));
    let change = |change, audit| LoggedOperation::new(NOW, Operation::Change { id, change, audit });
    let to = Author::new(MemberId::new(7).unwrap(), "Ann".into(), None, 3, None);
    let becomes = CommentChange::Transfer { from: guest, to: Box::new(to.clone()) };
    let row = |held| HistoryRow { member: to.id, id, held };
    let mut tables = FoldTables::default();
    tables.persist(TableLayout::Sharded, &[logged(0, Operation::Publish(Box::new(new)))]).unwrap();
    tables.persist(TableLayout::Sharded, &[change(CommentChange::Approve, audited(1)), change(becomes, None)]).unwrap();
    assert!(tables.history.contains(&row(false)), "{:?}", tables.history);
    let undo = change(CommentChange::Undo(audited(1).unwrap().id), audited(2));
    tables.persist(TableLayout::Sharded, &[undo]).unwrap();
    assert_eq!(tables.comments[&id].row.state, CommentState::Review);
    assert!(tables.history.contains(&row(true)), "{:?}", tables.history);
}
