//! The journal of a cluster: comments and reactions go through the broker, everything else is written into
//! the tables at once.
//!
//! What can be refused is refused before the append. What was appended and could not be shown or counted in
//! time is answered as unknown, never as refused. Names ports only. The parts: `publish`, `react` and
//! `change`; `batching` groups the reads and writes of concurrent callers.

mod batching;
mod direct_write;
mod publish;
mod react;
#[cfg(test)]
mod tests;
mod visibility;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use backon::{ConstantBuilder, Retryable as _};
use gailou_shared::id::{CommentId, MemberId, Slot};
use tokio::sync::RwLock;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::cluster::journal::batching::{BulkBatcher, ReactionStateBatcher};
use crate::cluster::journal::visibility::VisibilityCache;
use crate::domain::codec::operation::encode;
use crate::domain::operation::{CommentChange, LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::ports::broker::{BrokerError, Producer, Topic};
use crate::ports::counters::Counters;
use crate::ports::failure::Failure;
use crate::ports::journal::{CommitListeners, Journal, JournalError};
use crate::ports::pending::Pending;
use crate::ports::store::{CommentReader, SlotTables, StoreError};

/// How long an operation waits for others: for the tables to catch up, for a slot to move. Longer than a
/// batch of reactions takes, shorter than the deadline of a request.
const WRITE_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to wait before a read or write of the tables is retried; jitter adds up to as much again.
const RETRY_DELAY: Duration = Duration::from_millis(35);

/// What a [`ClusterJournal`] is built over.
#[derive(Debug, Clone)]
pub struct ClusterJournalDeps {
    pub producer: Arc<dyn Producer>,
    pub tables: Arc<dyn SlotTables>,
    /// Says whether a comment exists and is visible: by its row, or as a pending comment.
    pub comments: Arc<dyn CommentReader>,
    pub counters: Arc<dyn Counters>,
    pub pending: Arc<dyn Pending>,
    pub recovery: Arc<CounterRecovery>,
    pub listeners: CommitListeners,
    pub clock: Clock,
}

/// The write path of one process.
#[derive(Debug)]
pub struct ClusterJournal {
    producer: Arc<dyn Producer>,
    tables: Arc<dyn SlotTables>,
    comments: Arc<dyn CommentReader>,
    counters: Arc<dyn Counters>,
    pending: Arc<dyn Pending>,
    recovery: Arc<CounterRecovery>,
    listeners: CommitListeners,
    clock: Clock,
    visibility: VisibilityCache,
    reaction_states: ReactionStateBatcher,
    bulk: BulkBatcher,
    /// Read-locked by every operation in flight; true once no more are accepted.
    is_closed: RwLock<bool>,
}

impl ClusterJournal {
    /// Starts the tasks that batch reads and bulk writes; they end when the journal is dropped.
    pub fn start(deps: ClusterJournalDeps) -> Self {
        let ClusterJournalDeps { producer, tables, comments, counters, pending, recovery, listeners, clock } = deps;
        Self {
            visibility: VisibilityCache::new(comments.clone()),
            reaction_states: ReactionStateBatcher::start(&tables),
            bulk: BulkBatcher::start(tables.clone(), listeners.clone()),
            is_closed: RwLock::new(false),
            producer,
            tables,
            comments,
            counters,
            pending,
            recovery,
            listeners,
            clock,
        }
    }

    /// Appends an operation to the broker. Returns its offset.
    async fn append_record(&self, topic: Topic, slot: Slot, logged: &LoggedOperation) -> Result<u64, JournalError> {
        let bytes =
            encode(logged).ok_or_else(|| StoreError::damaged("an operation without a format for the broker"))?;
        self.producer.append_record(topic, slot, bytes).await.map_err(|error| match error {
            BrokerError::Full => JournalError::Full,
            BrokerError::NotSent | BrokerError::Stopped(_) => JournalError::NotSent,
            BrokerError::Unavailable(reason) => JournalError::Unknown(reason),
            BrokerError::Damaged(reason) | BrokerError::NotOwned(reason) => StoreError::damaged(reason).into(),
        })
    }
}

#[async_trait]
impl Journal for ClusterJournal {
    async fn append(&self, operation: Operation) -> Result<OperationOutcome, JournalError> {
        // Only `close` locks it for writing.
        let is_closed = self.is_closed.try_read().map_err(|_| JournalError::Closed)?;
        if *is_closed {
            return Err(JournalError::Closed);
        }
        let logged = LoggedOperation::new(self.clock.now(), operation);
        match logged.operation {
            Operation::Publish(ref row) if row.imported.is_some() => self.bulk.write(logged).await,
            Operation::Publish(_) => self.publish(logged).await,
            Operation::React { id, member, change } => self.react(id, member, change, logged).await,
            Operation::Change {
                id,
                change:
                    CommentChange::Erase
                    | CommentChange::Forget { .. }
                    | CommentChange::DropMedia
                    | CommentChange::Transfer { .. }
                    | CommentChange::Rename { .. },
                ..
            } => self.overwrite(id, logged).await,
            Operation::Change { id, .. } => self.change(id, logged).await,
            Operation::Snapshot { slot, ref snapshot } => self.store_snapshot(slot, snapshot, &logged).await,
            Operation::Subject { .. }
            | Operation::LeaseReviews { .. }
            | Operation::Standing { .. }
            | Operation::Dictionary { .. }
            | Operation::Settings { .. }
            | Operation::Webhook { .. }
            | Operation::Import { .. }
            | Operation::MemberNames(_)
            | Operation::DeleteExpired
            | Operation::DeleteEditHistory { .. }
            | Operation::Erasure { .. }
            | Operation::Merge { .. } => self.write_one(&logged, Instant::now() + WRITE_TIMEOUT).await,
        }
    }

    async fn resume(&self, member: MemberId, key: &str) -> Result<(), JournalError> {
        self.resume_publish(member, key).await
    }

    async fn close(&self) {
        *self.is_closed.write().await = true;
        self.producer.close().await;
    }
}

/// A comment and a member.
type CommentAndMember = (CommentId, MemberId);

/// Whether a retry may succeed.
fn is_transient(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_) | StoreError::Busy(_) | StoreError::Moved)
}

/// The delays of retries. They have jitter, so that the callers that waited for one outage do not retry
/// together.
fn retry_delays() -> ConstantBuilder {
    ConstantBuilder::default().with_delay(RETRY_DELAY).with_jitter().without_max_times()
}

/// Writes a batch into the tables and notifies the listeners. Retries transient errors until the deadline:
/// applying an operation twice changes nothing.
async fn persist_until(
    tables: &dyn SlotTables,
    listeners: &CommitListeners,
    batch: &[LoggedOperation],
    deadline: Instant,
) -> Result<PersistedBatch, JournalError> {
    let persisted = (|| tables.persist(batch))
        .retry(retry_delays())
        .when(|error| is_transient(error) && Instant::now() < deadline)
        .await;
    match persisted {
        Ok(persisted) => {
            listeners.notify(batch, &persisted).await;
            Ok(persisted)
        }
        Err(error) if is_transient(&error) => Err(unknown(error)),
        Err(error) => Err(error.into()),
    }
}

/// The outcome is unknown because of `error`.
fn unknown(error: impl std::error::Error + Send + Sync + 'static) -> JournalError {
    JournalError::Unknown(Failure::of_driver(error))
}
