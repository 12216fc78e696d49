//! The cluster's journal: comments and reactions go through the log, everything else is written
//! into the tables at once.
//!
//! What can refuse is decided before the append; what was appended and could not be shown or counted
//! in time is answered as unknown, never as refused. Knows ports only. The parts: `publish`,
//! `react`, `change`; `together` groups what concurrent callers ask and write.

mod batching;
mod change;
mod publish;
mod react;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot};
use tokio::sync::RwLock;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::cluster::journal::batching::{Import, ReactionStates};
use crate::cluster::journal::react::VisibilityCache;
use crate::domain::codec::operation::encode;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::ports::broker::{Broker, BrokerError, Topic};
use crate::ports::counters::Counters;
use crate::ports::journal::{CommitListener, Journal, JournalError};
use crate::ports::pending::Pending;
use crate::ports::store::{CommentReader, SlotTables, StoreError};

/// How long somebody waits for what is on its way: the tables to catch up, a slot to arrive. Longer
/// than a batch of reactions takes, shorter than a request may.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often it is looked for.
const POLL: Duration = Duration::from_millis(50);

/// The write pipeline of one server.
#[derive(Debug)]
pub struct ClusterJournal {
    log: Arc<dyn Broker>,
    tables: Arc<dyn SlotTables>,
    counters: Arc<dyn Counters>,
    pending: Arc<dyn Pending>,
    opener: Arc<CounterRecovery>,
    committed: Arc<dyn CommitListener>,
    clock: Clock,
    faces: VisibilityCache,
    standings: ReactionStates,
    import: Import,
    /// Held by everything under way; true once nothing more is taken.
    closed: RwLock<bool>,
}

impl ClusterJournal {
    /// `faces` says whether a comment can be seen: rows, and what is not a row yet.
    #[expect(clippy::too_many_arguments, reason = "each is a port of its own")]
    pub fn new(
        log: Arc<dyn Broker>,
        tables: Arc<dyn SlotTables>,
        faces: Arc<dyn CommentReader>,
        counters: Arc<dyn Counters>,
        pending: Arc<dyn Pending>,
        opener: Arc<CounterRecovery>,
        committed: Arc<dyn CommitListener>,
        clock: Clock,
    ) -> Self {
        Self {
            faces: VisibilityCache::new(faces),
            standings: ReactionStates::start(&tables),
            import: Import::start(tables.clone(), committed.clone()),
            closed: RwLock::new(false),
            log,
            tables,
            counters,
            pending,
            opener,
            committed,
            clock,
        }
    }

    /// Appends to the slot's log; its position.
    async fn put(&self, topic: Topic, slot: Slot, stamped: &LoggedOperation) -> Result<u64, JournalError> {
        let damaged = || StoreError::damaged("an event that does not travel");
        let bytes = encode(stamped).ok_or_else(damaged)?;
        self.log.append(topic, slot, bytes).await.map_err(|error| match error {
            BrokerError::Full => JournalError::Full,
            BrokerError::Unavailable(reason) => JournalError::Unknown(reason),
            BrokerError::Damaged(reason) => StoreError::damaged(reason).into(),
        })
    }
}

#[async_trait]
impl Journal for ClusterJournal {
    async fn append(&self, event: Operation) -> Result<OperationOutcome, JournalError> {
        // Nobody holds it for writing but `close`.
        let open = self.closed.try_read().map_err(|_| JournalError::Closed)?;
        if *open {
            return Err(JournalError::Closed);
        }
        let stamped = LoggedOperation::new(self.clock.now(), event);
        match stamped.operation {
            Operation::Publish(ref row) if row.imported.is_some() => self.import.write(stamped).await,
            Operation::Publish(_) => self.publish(stamped).await,
            Operation::React { id, member, react } => self.react(id, member, react, stamped).await,
            Operation::Change { id, .. } => self.change(id, stamped).await,
            Operation::Subject { .. }
            | Operation::Snapshot { .. }
            | Operation::Dictionary(_)
            | Operation::DeleteExpired => self.persist(&stamped, Instant::now() + PATIENCE).await,
        }
    }

    async fn resume(&self, member: MemberId, key: &str) -> Result<(), JournalError> {
        self.carry_out(member, key).await
    }

    async fn close(&self) {
        *self.closed.write().await = true;
        self.log.close().await;
    }
}

/// A member and a comment.
type Pair = (CommentId, MemberId);

/// Whether the same may succeed when it is asked again.
fn may_pass(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable(_) | StoreError::Moved)
}
