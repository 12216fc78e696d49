//! Subjects, comments and operations of tests.

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Reaction, RefusedText, RefusedTextKind, SubjectRef, Visibility};

use crate::domain::operation::{LoggedOperation, Operation, ReactionChange};
use crate::domain::row::{CommentRow, NewCommentRow};

/// The time at which tests begin, in Unix milliseconds.
pub(crate) const TEST_START_MS: u64 = 1_700_000_000_000;

/// A subject in this slot.
pub(crate) fn subject_in(slot: u16) -> SubjectKey {
    (0..).map(|n: u32| SubjectKey::new("article", &n.to_string()).unwrap()).find(|s| s.slot().get() == slot).unwrap()
}

/// The id of a comment in this slot.
pub(crate) fn comment(slot: u16, number: u64) -> CommentId {
    CommentId::from_parts(TEST_START_MS + number / 64, Slot::new(slot).unwrap(), 0, number % 64)
}

pub(crate) fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

fn author() -> Author {
    Author::new(member(1), "a".into(), None, 0, None)
}

/// A new root of member 1.
pub(crate) fn new_row(subject: &SubjectKey, id: CommentId) -> NewCommentRow {
    NewCommentRow {
        subject: subject.clone(),
        path: Path::root(id),
        parent_id: None,
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author: author(),
        created_at: id.created_ms(),
        content: format!("comment {id}"),
        html: String::new(),
        original_text: None,
        mentions: vec![],
        media: vec![],
        reasons: vec![],
        idempotency: None,
        imported: None,
        network: None,
    }
}

/// A text of member 1 that was refused at this time.
pub(crate) fn refused_text(at: u64) -> RefusedText {
    let subject = subject_in(7);
    RefusedText {
        id: CommentId::from_parts(TEST_START_MS + at, subject.slot(), 0, 0).into(),
        at,
        kind: RefusedTextKind::Post,
        subject: SubjectRef::from(&subject),
        parent_id: None,
        comment_id: None,
        author: author(),
        content: format!("casino {at}"),
        why: vec![],
        mentions: vec![],
        visibility: Visibility::Everyone,
    }
}

/// A visible comment of member 1.
pub(crate) fn comment_row(subject: &SubjectKey, path: Path, content: &str) -> CommentRow {
    CommentRow {
        subject: subject.clone(),
        version: 0,
        mode: None,
        path,
        parent_id: None,
        reply_to: None,
        parent_gone: false,
        floor: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        flags: vec![],
        author: author(),
        likes: 0,
        dislikes: 0,
        reactions_offset: 0,
        replies: 0,
        created_at: TEST_START_MS,
        edited_at: None,
        content: content.into(),
        html: String::new(),
        mentions: vec![],
        media: vec![],
    }
}

/// The operation that publishes a root.
pub(crate) fn publish(subject: &SubjectKey, id: CommentId) -> LoggedOperation {
    LoggedOperation::new(1, Operation::Publish(Box::new(new_row(subject, id))))
}

/// The operation of a like.
pub(crate) fn like(id: CommentId, by: u64) -> LoggedOperation {
    LoggedOperation::new(1, Operation::React { id, member: member(by), change: ReactionChange::Put(Reaction::Like) })
}
