//! The port to the log: what is appended here is not lost any more.

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::ports::store::StoreError;

/// Why an event was not taken, or not known to be taken.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    /// Too many events are waiting. Nothing was written.
    #[error("too many writes are waiting")]
    Full,
    /// The journal has stopped. Whether the event was written is not known.
    #[error("the journal has stopped")]
    Closed,
    /// What must take it did not answer in time. Whether the event was or will be written is not
    /// known.
    #[error("the outcome is unknown: {0}")]
    Unknown(String),
    /// The event alone cannot be stored. Nothing of it was written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes events in order. `Ok` means that the event survives the death of this process.
#[async_trait]
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// Appends an event and waits until it is safe. Events of concurrent callers are written
    /// together; those of one caller keep their order.
    async fn append(&self, event: Operation) -> Result<OperationOutcome, JournalError>;
    /// Carries a request with this idempotency key to its end whose outcome was unknown: it may have
    /// been appended, and must not appear after its repetition was refused. Nothing is done when
    /// there was none, or its outcome is known.
    async fn resume(&self, member: MemberId, key: &str) -> Result<(), JournalError>;
    /// Takes nothing more and waits until everything taken is safe.
    async fn close(&self);
}

/// Who wants to know what a transaction behind the log has changed: counters and caches.
///
/// Told after the commit, before the broker is; what is not told, because the process died, they
/// find out by versions and positions.
#[async_trait]
pub trait CommitListener: Send + Sync + std::fmt::Debug {
    /// What was written, and what it did. Bounded in time: the next events of these slots wait.
    async fn on_commit(&self, batch: &[LoggedOperation], persisted: &PersistedBatch);
}
