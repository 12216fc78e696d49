//! Doubles of the log and the tables, in memory. Faults say whether the write landed before it failed.

use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, Reaction, Visibility};

use crate::domain::operation::{LoggedOperation, Operation, PersistedBatch, ReactionChange};
use crate::domain::row::NewCommentRow;
use crate::ports::journal::CommitListener;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a write landed before it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Before,
    After,
}

/// A subject in this slot.
pub(crate) fn subject_in(slot: u16) -> SubjectKey {
    (0..).map(|n: u32| SubjectKey::new("article", &n.to_string()).unwrap()).find(|s| s.slot().get() == slot).unwrap()
}

pub(crate) fn comment(slot: u16, number: u64) -> CommentId {
    CommentId::from_parts(1_700_000_000_000 + number / 64, Slot::new(slot).unwrap(), 0, number % 64)
}

pub(crate) fn member(number: u64) -> MemberId {
    MemberId::new(number).unwrap()
}

/// A comment of member 1.
pub(crate) fn new_row(subject: &SubjectKey, id: CommentId) -> NewCommentRow {
    NewCommentRow {
        subject: subject.clone(),
        path: Path::root(id),
        parent_id: None,
        reply_to: None,
        state: CommentState::Published,
        visibility: Visibility::Everyone,
        author: Author { id: member(1), name: "a".into(), avatar: None, level: 0 },
        created_at: id.created_ms(),
        content: format!("comment {id}"),
        html: String::new(),
        written: None,
        mentions: vec![],
        idempotency: None,
        imported: None,
    }
}

pub(crate) fn publish(subject: &SubjectKey, id: CommentId) -> LoggedOperation {
    LoggedOperation::new(1, Operation::Publish(Box::new(new_row(subject, id))))
}

pub(crate) fn like(id: CommentId, by: u64) -> LoggedOperation {
    LoggedOperation::new(1, Operation::React { id, member: member(by), react: ReactionChange::Put(Reaction::Like) })
}

/// Counts what it is told.
#[derive(Debug, Default)]
pub(crate) struct Told(Mutex<usize>);

impl Told {
    pub(crate) fn events(&self) -> usize {
        *lock(&self.0)
    }
}

#[async_trait]
impl CommitListener for Told {
    async fn on_commit(&self, batch: &[LoggedOperation], _: &PersistedBatch) {
        *lock(&self.0) += batch.len();
    }
}
