//! The port to what is accepted and not yet a row, where every origin sees it: new comments for a
//! minute, idempotency keys for a day.
//!
//! Everything here may vanish; the log and the tables hold the truth.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};

use crate::domain::operation::LoggedOperation;

/// What is pending could not be asked for. Whether a write landed is not known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("what is pending cannot be reached: {0}")]
pub struct PendingError(pub String);

/// What an idempotency key was found to be.
#[derive(Debug, Clone)]
pub enum Reserved {
    /// Nobody's until now; it belongs to the event given. `sure` is false when earlier reservations
    /// may have been lost (the memory is younger than they live): then the rows have to be asked.
    Now { sure: bool },
    /// An earlier request's: its event, and whether it is known to be appended.
    Before { event: Box<LoggedOperation>, appended: bool },
}

#[async_trait]
pub trait Pending: Send + Sync + std::fmt::Debug {
    /// Reserves (member, key) for this [`crate::domain::operation::Event::Publish`], whose row carries both.
    /// At most one event ever holds a key while reservations live (24 hours).
    async fn reserve(&self, event: &LoggedOperation) -> Result<Reserved, PendingError>;
    /// The event that holds a key.
    async fn reserved(&self, member: MemberId, key: &str) -> Result<Option<LoggedOperation>, PendingError>;
    /// Gives a key back whose event is known not to be appended.
    async fn release(&self, event: &LoggedOperation) -> Result<(), PendingError>;
    /// Shows an appended comment to every origin, for a minute, and marks its key as appended.
    async fn put(&self, event: &LoggedOperation) -> Result<(), PendingError>;
    /// Comments that were put lately.
    async fn comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, LoggedOperation>, PendingError>;
    /// A member's own, newest first.
    async fn of(&self, member: MemberId) -> Result<Vec<CommentId>, PendingError>;
}
