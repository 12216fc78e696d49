//! The port to the journal: an operation that was appended is durable.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::id::MemberId;

use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::ports::failure::Failure;
use crate::ports::store::StoreError;

/// Why an operation was not accepted, or is not known to be accepted.
#[derive(Debug, Clone, thiserror::Error)]
pub enum JournalError {
    /// Too many operations are waiting. Nothing was written.
    #[error("too many writes are waiting")]
    Full,
    /// A server did not answer a moment ago, and is not asked for a while. Nothing was written.
    #[error("a server did not answer a moment ago; nothing was sent to it")]
    NotSent,
    /// The journal has stopped. Whether the operation was written is not known.
    #[error("the journal has stopped")]
    Closed,
    /// A server did not answer in time. Whether the operation was or will be written is not known.
    #[error("the outcome is unknown: {0}")]
    Unknown(Failure),
    /// The comment is accepted and has no row yet, so it cannot be changed. Nothing was written.
    #[error("the comment has no row yet")]
    NotStoredYet,
    /// This operation cannot be stored. Nothing of it was written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Accepts operations in order. `Ok` means that the operation survives the death of this process.
#[async_trait]
pub trait Journal: Send + Sync + std::fmt::Debug {
    /// Appends an operation and waits until it is durable. Operations of concurrent callers are
    /// written together; those of one caller keep their order.
    async fn append(&self, operation: Operation) -> Result<OperationOutcome, JournalError>;
    /// Completes a request with this idempotency key whose outcome was unknown: it may have been
    /// appended, and must not appear after its repetition was refused. Does nothing when there is no
    /// such request, or its outcome is known.
    async fn resume(&self, member: MemberId, key: &str) -> Result<(), JournalError>;
    /// Accepts nothing more and waits until every accepted operation is durable.
    async fn close(&self);
}

/// Is notified after each commit of the tables behind the broker: caches, counters, open pages.
///
/// The call comes after the commit of the tables and before that of the offsets. A listener that
/// misses a call because the process died finds out by versions and offsets.
#[async_trait]
pub trait CommitListener: Send + Sync + std::fmt::Debug {
    /// `batch` was written, and `persisted` is what it did. Bounded in time: the next operations of
    /// these slots wait for it.
    async fn on_commit(&self, batch: &[LoggedOperation], persisted: &PersistedBatch);
}

/// The listeners of one process, in two steps.
#[derive(Debug, Clone, Default)]
pub struct CommitListeners {
    /// State that processes share. These are notified concurrently: each is a round trip.
    pub shared: Vec<Arc<dyn CommitListener>>,
    /// State of this process. These are notified last, so that what they build anew is built from
    /// the new shared state.
    pub local: Vec<Arc<dyn CommitListener>>,
}

impl CommitListeners {
    /// Notifies every listener and waits for all.
    pub async fn notify(&self, batch: &[LoggedOperation], persisted: &PersistedBatch) {
        for step in [&self.shared, &self.local] {
            join_all(step.iter().map(|listener| listener.on_commit(batch, persisted))).await;
        }
    }
}
