//! The port to what is accepted and not yet a row, shared by all processes: new comments for a
//! minute, idempotency keys for a day.
//!
//! Everything in here may vanish; the broker and the tables hold the truth.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};

use crate::domain::operation::LoggedOperation;
use crate::ports::failure::Failure;

/// The pending comments could not be reached. Whether a write was applied is not known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the pending comments cannot be reached: {0}")]
pub struct PendingError(pub Failure);

/// What was found for an idempotency key.
#[derive(Debug, Clone)]
pub enum Reservation {
    /// The key was free and belongs to the given operation now. `is_certain` is false when earlier
    /// reservations may have been lost, because the server has run for less time than they live.
    /// Then the rows must be read, too.
    New { is_certain: bool },
    /// The key belongs to an earlier request: its operation, and whether that is known to be
    /// appended.
    Existing { operation: Box<LoggedOperation>, is_appended: bool },
}

/// Comments on their way from the broker to the tables.
#[async_trait]
pub trait Pending: Send + Sync + std::fmt::Debug {
    /// Reserves (member, key) for this [`crate::domain::operation::Operation::Publish`], whose row
    /// has both. While reservations live (24 hours), at most one operation ever holds a key.
    async fn reserve_key(&self, operation: &LoggedOperation) -> Result<Reservation, PendingError>;
    /// The operation that holds a key.
    async fn find_reservation(&self, member: MemberId, key: &str) -> Result<Option<LoggedOperation>, PendingError>;
    /// Releases the key of an operation that is known not to be appended.
    async fn release_key(&self, operation: &LoggedOperation) -> Result<(), PendingError>;
    /// Shows an appended comment to every process for a minute, and marks its key as appended.
    async fn put_comment(&self, operation: &LoggedOperation) -> Result<(), PendingError>;
    /// Those of these comments that were put during the last minute.
    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, LoggedOperation>, PendingError>;
    /// The comments of a member that were put during the last minute, newest first.
    async fn list_member_comments(&self, member: MemberId) -> Result<Vec<CommentId>, PendingError>;
}
