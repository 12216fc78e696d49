//! The port to what is accepted and not yet a row, shared by all processes: new comments until they are rows, for
//! a day at most, idempotency keys for a day, and rankings that could not be stored for two hours.
//!
//! Everything in here may vanish; the broker and the tables hold the truth.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::walk::Snapshot;

use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::RememberedRequest;
use crate::ports::failure::Failure;

/// How long a comment is pending at most. After a day without the jobs, it appears with its row.
pub const MAX_PENDING_TIME: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a comment is kept after it became a row: longer than a process reads a database that its slot has left.
pub const STORED_COMMENT_TIME: Duration = Duration::from_secs(15);
/// How long a ranking is kept that could not be stored. A process that uses it for longer than an hour tries to store
/// it again.
pub const MAX_SNAPSHOT_TIME: Duration = Duration::from_secs(2 * 60 * 60);

/// A comment that is accepted.
#[derive(Debug, Clone)]
pub struct PendingComment {
    pub operation: LoggedOperation,
    /// Whether the server that has it is the one that accepted it, so that it has kept every removal since. Another
    /// one may have a comment that became a row and was deleted.
    pub is_of_this_server: bool,
}

/// Why a comment is not pending any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PendingEnd {
    /// It is a row, and this member wrote it.
    Stored(MemberId),
    /// Its row was changed.
    Changed,
}

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
    /// The key belongs to an earlier request.
    Existing(KeyHolder),
}

/// What an idempotency key belongs to.
#[derive(Debug, Clone)]
pub enum KeyHolder {
    /// An operation that may have been appended or not: a repeated request appends it.
    Reserved(Box<LoggedOperation>),
    /// A comment that was appended and shown.
    Appended(AppendedKey),
}

/// What is kept of an operation once it is appended.
#[derive(Debug, Clone)]
pub struct AppendedKey {
    /// When the operation was made, in Unix milliseconds.
    pub at: u64,
    pub request: RememberedRequest,
}

impl AppendedKey {
    /// What is kept of this operation, if it publishes a comment with an idempotency key.
    pub fn of(operation: &LoggedOperation) -> Option<Self> {
        let Operation::Publish(row) = &operation.operation else { return None };
        let request = row.idempotency.as_ref()?.request;
        let request = RememberedRequest { request, id: row.path.id(), state: row.state };
        Some(Self { at: operation.at, request })
    }
}

impl KeyHolder {
    /// What the request did, or will do.
    pub fn appended(&self) -> Option<AppendedKey> {
        match self {
            Self::Reserved(operation) => AppendedKey::of(operation),
            Self::Appended(appended) => Some(appended.clone()),
        }
    }
}

/// Comments on their way from the broker to the tables.
#[async_trait]
pub trait Pending: Send + Sync + std::fmt::Debug {
    /// Reserves (member, key) for this [`crate::domain::operation::Operation::Publish`], whose row
    /// has both. While reservations live (24 hours), at most one operation ever holds a key.
    async fn reserve_key(&self, operation: &LoggedOperation) -> Result<Reservation, PendingError>;
    /// What holds a key.
    async fn find_reservation(&self, member: MemberId, key: &str) -> Result<Option<KeyHolder>, PendingError>;
    /// Releases the key of an operation that is known not to be appended.
    async fn release_key(&self, operation: &LoggedOperation) -> Result<(), PendingError>;
    /// Shows an appended comment to every process until its end, for [`MAX_PENDING_TIME`] at most, and then marks its
    /// key as appended, if no other operation holds it: of the operation an [`AppendedKey`] is left.
    async fn put_comment(&self, operation: &LoggedOperation) -> Result<(), PendingError>;
    /// Takes comments that are rows from the pending comments of their authors. One that was changed is gone at once.
    /// One that is only stored stays for [`STORED_COMMENT_TIME`].
    async fn end_comments(&self, comments: &[(CommentId, PendingEnd)]) -> Result<(), PendingError>;
    /// Those of these comments that are pending.
    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, PendingComment>, PendingError>;
    /// Keeps a ranking that could not be stored, for [`MAX_SNAPSHOT_TIME`]: a cursor is about to name it.
    async fn put_snapshot(&self, slot: Slot, snapshot: &Snapshot) -> Result<(), PendingError>;
    /// A ranking that was kept.
    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>, PendingError>;
    /// The newest pending comments of a member, newest first.
    async fn list_member_comments(&self, member: MemberId) -> Result<Vec<CommentId>, PendingError>;
}
