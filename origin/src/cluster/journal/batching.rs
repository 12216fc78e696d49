//! What the journal reads and writes for concurrent callers in common statements.

use std::sync::Arc;

use backon::Retryable as _;
use gailou_shared::id::CommentId;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::cluster::batched_reads::BatchedReads;
use crate::cluster::journal::{CommentAndMember, WRITE_TIMEOUT, persist_until, retry_delays};
use crate::domain::operation::{LoggedOperation, OperationOutcome};
use crate::domain::reaction_state::ReactionState;
use crate::ports::journal::{CommitListeners, JournalError};
use crate::ports::store::{SlotTables, StoreError};

/// Imported and erased comments in one transaction. It keeps other writers of its slots waiting: some tenths of
/// a second.
const MAX_BULK_BATCH: usize = 1_000;
/// Comments that may wait: about half a second of work. One more is refused.
const MAX_QUEUED: usize = 20_000;

type BulkAnswer = oneshot::Sender<Result<OperationOutcome, JournalError>>;

/// Reads reaction states.
#[derive(Debug)]
pub(super) struct ReactionStateBatcher {
    tables: Arc<dyn SlotTables>,
    reads: BatchedReads<CommentAndMember, ReactionState>,
}

impl ReactionStateBatcher {
    pub(super) fn start(tables: &Arc<dyn SlotTables>) -> Self {
        let source = tables.clone();
        let read = move |pairs: Vec<CommentAndMember>| {
            let tables = source.clone();
            async move { read_states(&*tables, &pairs).await }
        };
        Self { tables: tables.clone(), reads: BatchedReads::start(tables.count_databases(), read) }
    }

    /// Queues a query. The returned future waits for its answer.
    ///
    /// # Errors
    /// [`JournalError::Full`] when too many are waiting.
    pub(super) fn query_state(
        &self,
        pair: CommentAndMember,
    ) -> Result<impl Future<Output = Result<ReactionState, StoreError>> + use<>, JournalError> {
        self.reads.query(self.tables.database_of(CommentId::slot(pair.0)), pair).map_err(not_queued)
    }
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err hands it over")]
fn not_queued<T>(error: mpsc::error::TrySendError<T>) -> JournalError {
    match error {
        mpsc::error::TrySendError::Full(_) => JournalError::Full,
        mpsc::error::TrySendError::Closed(_) => JournalError::Closed,
    }
}

/// Reads states, and retries once when a slot is moving to another database.
async fn read_states(tables: &dyn SlotTables, pairs: &[CommentAndMember]) -> Result<Vec<ReactionState>, StoreError> {
    (|| tables.read_reaction_states(pairs))
        .retry(retry_delays().with_max_times(1))
        .when(|error| matches!(error, StoreError::Moved))
        .await
}

/// Writes what comes in thousands (imports, the erasure of members), in the order in which it arrives.
///
/// A transaction costs about as much for one comment as for a hundred, and those of one slot run one after
/// the other, so more of them at a time gain nothing.
#[derive(Debug)]
pub(super) struct BulkBatcher {
    queue: mpsc::Sender<(LoggedOperation, BulkAnswer)>,
}

impl BulkBatcher {
    pub(super) fn start(tables: Arc<dyn SlotTables>, listeners: CommitListeners) -> Self {
        let (queue, operations) = mpsc::channel(MAX_QUEUED);
        tokio::spawn(write_batches(operations, tables, listeners));
        Self { queue }
    }

    /// Writes an operation together with those of other callers. It is queued before this waits.
    pub(super) async fn write(&self, logged: LoggedOperation) -> Result<OperationOutcome, JournalError> {
        let (answer, outcome) = oneshot::channel();
        self.queue.try_send((logged, answer)).map_err(not_queued)?;
        outcome.await.map_err(|_| JournalError::Closed)?
    }
}

async fn write_batches(
    mut operations: mpsc::Receiver<(LoggedOperation, BulkAnswer)>,
    tables: Arc<dyn SlotTables>,
    listeners: CommitListeners,
) {
    let mut received = Vec::with_capacity(MAX_BULK_BATCH);
    while operations.recv_many(&mut received, MAX_BULK_BATCH).await > 0 {
        let (batch, answers): (Vec<LoggedOperation>, Vec<_>) = received.drain(..).unzip();
        let outcomes = write_batch(&*tables, &listeners, &batch).await;
        for (answer, outcome) in answers.into_iter().zip(outcomes) {
            let _ = answer.send(outcome);
        }
    }
}

/// Writes a batch. If it is refused, each operation is written alone, so that only an invalid one fails.
async fn write_batch(
    tables: &dyn SlotTables,
    listeners: &CommitListeners,
    batch: &[LoggedOperation],
) -> Vec<Result<OperationOutcome, JournalError>> {
    let write = async |batch| {
        let persisted = persist_until(tables, listeners, batch, Instant::now() + WRITE_TIMEOUT).await?;
        Ok(persisted.outcomes)
    };
    match write(batch).await {
        Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
        Err(JournalError::Store(_)) if batch.len() > 1 => {
            let mut outcomes = Vec::with_capacity(batch.len());
            for operation in batch.chunks(1) {
                match write(operation).await {
                    Ok(written) => outcomes.extend(written.into_iter().map(Ok)),
                    Err(error) => outcomes.push(Err(error)),
                }
            }
            outcomes
        }
        Err(error) => batch.iter().map(|_| Err(error.clone())).collect(),
    }
}
