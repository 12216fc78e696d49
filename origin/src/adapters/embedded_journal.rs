//! The embedded journal: `append` is the group-committed `persist`, on one writer thread.
//!
//! There is no broker and nothing is pending: what is acknowledged is in the tables.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::clock::Clock;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch, WebhookChange};
use crate::ports::journal::{Journal, JournalError};
use crate::ports::store::BatchWriter;
use crate::telemetry::{measure_bounded, trace};

/// Operations in one transaction. Beyond a thousand, sharing the cost of a commit gains little.
const MAX_BATCH_OPERATIONS: usize = 1_000;
/// Operations that may be queued: about half a second of work. One more is refused.
const MAX_QUEUED_OPERATIONS: usize = 20_000;
/// How long a caller waits for its operation to be on disk: longer than any queue, so only a disk that
/// hangs takes longer.
const APPEND_TIMEOUT: Duration = Duration::from_secs(5);

/// The outcome of an operation, with the operation: its caller drops it, where that one still waits. A thread that frees
/// what another one has allocated waits for that one's arena in the allocator, and all wait for the writer.
type AppendAnswer = oneshot::Sender<(Result<OperationOutcome, JournalError>, LoggedOperation)>;

/// An operation that waits for the writer.
#[derive(Debug)]
struct QueuedOperation {
    logged: LoggedOperation,
    answer: AppendAnswer,
    /// The trace that it belongs to.
    trace_parent: Option<String>,
}

/// Called after each commit with what it did.
pub type OnCommit = Box<dyn Fn(&PersistedBatch) + Send>;

/// A writer thread and the queue in front of it.
#[derive(Debug)]
pub struct EmbeddedJournal {
    clock: Clock,
    queue: Mutex<Option<mpsc::Sender<QueuedOperation>>>,
    stopped: tokio::sync::Mutex<Option<oneshot::Receiver<()>>>,
}

impl EmbeddedJournal {
    /// Starts the writer thread.
    ///
    /// # Errors
    /// When the system cannot start a thread.
    pub fn start(store: Arc<dyn BatchWriter>, clock: Clock, on_commit: OnCommit) -> std::io::Result<Self> {
        let (queue, operations) = mpsc::channel(MAX_QUEUED_OPERATIONS);
        let (done, stopped) = oneshot::channel();
        std::thread::Builder::new().name("writer".into()).spawn(move || {
            write_batches(operations, &*store, &on_commit);
            let _ = done.send(());
        })?;
        Ok(Self { clock, queue: Mutex::new(Some(queue)), stopped: tokio::sync::Mutex::new(Some(stopped)) })
    }
}

#[async_trait]
impl Journal for EmbeddedJournal {
    async fn append(&self, operation: Operation) -> Result<OperationOutcome, JournalError> {
        let (answer, outcome) = oneshot::channel();
        let logged = LoggedOperation::new(self.clock.now(), operation);
        let queued = QueuedOperation { logged, answer, trace_parent: trace::current_parent() };
        {
            // A mutex that is held for one push, never across an await.
            let queue = self.queue.lock();
            let queue = queue.as_ref().ok_or(JournalError::Closed)?;
            queue.try_send(queued).map_err(|e| match e {
                mpsc::error::TrySendError::Full(_) => JournalError::Full,
                mpsc::error::TrySendError::Closed(_) => JournalError::Closed,
            })?;
        }
        let outcome = async { outcome.await.map_err(|_| JournalError::Closed).and_then(|(outcome, _)| outcome) };
        let outcome = measure_bounded("journal", "append", APPEND_TIMEOUT, outcome).await;
        outcome.map_err(|_| JournalError::Unknown("the disk did not answer in time".into())).flatten()
    }

    async fn resume(&self, _: MemberId, _: &str) -> Result<(), JournalError> {
        // Every accepted operation is written before a later one is answered.
        Ok(())
    }

    async fn close(&self) {
        self.queue.lock().take();
        if let Some(stopped) = self.stopped.lock().await.take() {
            let _ = stopped.await;
        }
    }
}

/// Writes queued operations in batches and answers them, until the queue is closed and empty.
fn write_batches(mut operations: mpsc::Receiver<QueuedOperation>, store: &dyn BatchWriter, on_commit: &OnCommit) {
    let (mut batch, mut answers) = (Vec::with_capacity(MAX_BATCH_OPERATIONS), Vec::with_capacity(MAX_BATCH_OPERATIONS));
    let mut parents = Vec::new();
    while let Some(first) = operations.blocking_recv() {
        let mut next = Some(first);
        while let Some(QueuedOperation { logged, answer, trace_parent }) = next {
            batch.push(logged);
            answers.push(answer);
            parents.extend(trace_parent);
            next = if batch.len() < MAX_BATCH_OPERATIONS { operations.try_recv().ok() } else { None };
        }
        let spans = trace::batch_spans(batch.len(), parents.iter().map(String::as_str));
        let _writing = spans.batch.enter();
        let outcomes = write_batch(store, &batch, on_commit);
        for ((answer, logged), outcome) in answers.drain(..).zip(batch.drain(..)).zip(outcomes) {
            // The caller may have been cancelled; the operation is stored all the same.
            let _ = answer.send((outcome, logged));
        }
        parents.clear();
    }
}

/// What an operation is, for a log line: its ids, never its text.
fn describe(operation: &Operation) -> String {
    match operation {
        Operation::Publish(row) => format!("comment {}", row.path.id()),
        Operation::React { id, .. } => format!("a reaction to comment {id}"),
        Operation::Change { id, .. } => format!("a change of comment {id}"),
        Operation::Subject { key, .. } => format!("a change of subject {key}"),
        Operation::Snapshot { slot, .. } => format!("a snapshot in slot {}", slot.get()),
        Operation::LeaseReviews { ids, .. } => format!("a lease of {} comments", ids.len()),
        Operation::Dictionary { terms, .. } => format!("a dictionary of {} terms", terms.len()),
        Operation::Settings { stored, .. } => format!("version {} of the settings", stored.version),
        Operation::Webhook { change: WebhookChange::Add(row), .. } => format!("webhook {}", row.id),
        Operation::Webhook { change: WebhookChange::Remove(id), .. } => format!("the removal of webhook {id}"),
        Operation::Import { audit } => format!("the audit of import {}", audit.id),
        Operation::MemberNames(names) => format!("the names of {} members", names.len()),
        Operation::DeleteExpired => "the deletion of expired rows".to_owned(),
        Operation::Standing { member, .. } => format!("what is said of member {member}"),
        Operation::Erasure { member, .. } => format!("the erasure of member {member}"),
        Operation::Merge { guest, .. } => format!("the merge of guest {guest}"),
        Operation::DeleteEditHistory { .. } => "the deletion of old texts".to_owned(),
    }
}

/// Writes a batch. If it fails, each operation is written alone, so that only an invalid one fails.
fn write_batch(
    store: &dyn BatchWriter,
    batch: &[LoggedOperation],
    on_commit: &OnCommit,
) -> Vec<Result<OperationOutcome, JournalError>> {
    // Blocking is the purpose of the writer thread.
    match futures_executor::block_on(store.persist(batch)) {
        Ok(persisted) => {
            on_commit(&persisted);
            persisted.outcomes.into_iter().map(Ok).collect()
        }
        Err(error) if batch.len() == 1 => {
            let operation = describe(&batch[0].operation);
            tracing::error!(operation, %error, "Could not store {operation}; its request fails");
            vec![Err(error.into())]
        }
        Err(_) => batch.iter().flat_map(|logged| write_batch(store, std::slice::from_ref(logged), on_commit)).collect(),
    }
}
