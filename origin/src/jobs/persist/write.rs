//! Writes one batch into the tables, and turns a record that no table accepts into a dead letter.

use std::sync::atomic::Ordering;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use gailou_shared::id::Slot;
use gailou_shared::walk::Snapshot;
use tokio::time::sleep;
use tracing::Instrument as _;

use crate::domain::checkpoint::CheckpointAdvance;
use crate::domain::codec::operation;
use crate::domain::markdown;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::domain::reaction_state::DeadReaction;
use crate::jobs::persist::PersistJob;
use crate::jobs::persist::queue::QueuedRecord;
use crate::jobs::persist::refusals::MAX_REFUSALS;
use crate::outage_log::OutageLog;
use crate::ports::broker::{Record, Topic};
use crate::ports::failure::Failure;
use crate::ports::store::StoreError;
use crate::telemetry::trace;

/// How often a record is tried alone before it becomes a dead letter.
const MAX_TRIES_ALONE: u32 = 3;
/// Between two of these tries: longer than a short failure of the database.
const RETRY_ALONE_INTERVAL: Duration = Duration::from_millis(100);
/// Between two attempts to write a dead letter; jitter adds up to as much again.
const DEAD_LETTER_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What became of a batch.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// Every record is in the tables or among the dead letters, and the checkpoints are stored.
    Stored,
    /// The batch is not known to be stored, because of `error`. `refused`: the database answers, and at
    /// least one of the records cannot be stored. `is_moving`: a slot is on its way to another database.
    Retry { refused: bool, is_moving: bool, error: Failure },
    /// Nothing was written: the database has gone back, or a slot came to it. Its partitions begin again.
    BeginAgain,
}

/// Writes the batch of one database, with its checkpoints, and notifies the listener.
pub(crate) async fn write(
    job: &PersistJob,
    stream: OperationStream,
    database: usize,
    records: &[QueuedRecord],
    checkpoints: &[CheckpointAdvance],
) -> WriteOutcome {
    let is_fenced = |queued: &QueuedRecord| checkpoints.iter().any(|of| of.partition == queued.record.partition);
    if !records.iter().all(is_fenced) {
        // A slot has come to a database that has not answered yet.
        let error = format!("the checkpoints of database {database} are not known yet");
        return retry(job, stream, error.into(), false);
    }
    let mut batch: Vec<LoggedOperation> = records.iter().map(|queued| queued.operation.clone()).collect();
    batch.iter_mut().for_each(|logged| job.erased_members.redact_operation(&mut logged.operation));
    let batch = render_comments(batch).await;
    let parents = records.iter().filter_map(|queued| queued.record.trace_parent.as_deref());
    let spans = trace::batch_spans(records.len(), parents);
    let written = write_traced(job, stream, database, (records, &batch), checkpoints);
    written.instrument(spans.batch.clone()).await
}

/// Writes a batch within its span.
async fn write_traced(
    job: &PersistJob,
    stream: OperationStream,
    database: usize,
    (records, batch): (&[QueuedRecord], &[LoggedOperation]),
    checkpoints: &[CheckpointAdvance],
) -> WriteOutcome {
    let mut tries = 0;
    loop {
        let error = match job.tables.persist_from(stream, batch, database, checkpoints).await {
            Ok(persisted) => {
                job.listeners.notify(batch, &persisted).await;
                log_outdated(batch, &persisted);
                let replayed =
                    persisted.outcomes.iter().filter(|outcome| matches!(outcome, OperationOutcome::Seen)).count();
                let counts = job.counts(stream);
                counts.stored.fetch_add(records.len() as u64, Ordering::Relaxed);
                counts.replayed.fetch_add(replayed as u64, Ordering::Relaxed);
                counts.batches.fetch_add(1, Ordering::Relaxed);
                return WriteOutcome::Stored;
            }
            Err(StoreError::CheckpointChanged) => return WriteOutcome::BeginAgain,
            Err(error) => error,
        };
        if matches!(error, StoreError::Moved) {
            job.counts(stream).retries.fetch_add(1, Ordering::Relaxed);
            return WriteOutcome::Retry { refused: false, is_moving: true, error: Failure::of_driver(error) };
        }
        let refused = matches!(error, StoreError::Database(_) | StoreError::Damaged(_));
        let [queued] = records else { return retry(job, stream, Failure::of_driver(error), refused) };
        if !refused {
            return retry(job, stream, Failure::of_driver(error), false);
        }
        if let Err(error) = probe_writes(job, queued.slot).await {
            return retry(job, stream, Failure::of_driver(error), false);
        }
        // The record is alone, and its database accepts other writes: the record is the cause.
        tries += 1;
        if tries >= MAX_TRIES_ALONE {
            if matches!(error, StoreError::Database(_)) && !may_be_poison(job, stream, database, &error) {
                return retry(job, stream, Failure::of_driver(error), true);
            }
            return give_up(job, stream, queued, &error, database, checkpoints).await;
        }
        sleep(RETRY_ALONE_INTERVAL).await;
    }
}

/// Logs the reactions that were among the dead letters, were sent again and are not applied.
fn log_outdated(batch: &[LoggedOperation], persisted: &PersistedBatch) {
    for (logged, outcome) in batch.iter().zip(&persisted.outcomes) {
        if let (OperationOutcome::Outdated, Operation::React { id, member, .. }) = (outcome, &logged.operation) {
            tracing::info!(%id, %member, "The dead letter of a reaction of {member} to {id} is left out: the member has reacted anew");
        }
    }
}

/// Whether a refused record is the cause of its refusal. When a database refuses many, it is not: see [`crate::jobs::persist::refusals`].
fn may_be_poison(job: &PersistJob, stream: OperationStream, database: usize, error: &StoreError) -> bool {
    let (topic, counts) = (Topic::of(stream).name(), job.counts(stream));
    let may_be = counts.refusals.count(database);
    if may_be {
        counts
            .refusal_outage
            .end(|| tracing::info!(topic, database, "Database {database} refuses few records of {topic} again"));
    } else {
        counts.refusal_outage.begin(|| {
            let most = MAX_REFUSALS;
            tracing::error!(topic, database, most, %error, "Database {database} has refused {most} records of {topic} within a minute, and no other becomes a dead letter: their slots wait, look at its tables");
        });
    }
    may_be
}

/// Renders the texts of new comments. The HTML in a record is not believed: who can write to the broker would
/// otherwise put scripts on pages.
async fn render_comments(mut batch: Vec<LoggedOperation>) -> Vec<LoggedOperation> {
    let has_markup = |logged: &LoggedOperation| matches!(&logged.operation, Operation::Publish(row) if !markdown::is_plain(&row.content));
    let takes_long = batch.iter().any(has_markup);
    let render = move || {
        for logged in &mut batch {
            if let Operation::Publish(row) = &mut logged.operation {
                row.html = markdown::html(&row.content);
            }
        }
        batch
    };
    if !takes_long {
        return render();
    }
    match tokio::task::spawn_blocking(render).await {
        Ok(batch) => batch,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// Fails when the database of a slot accepts no writes: one that is full or read-only refuses
/// everything, and no record is the cause. It writes an empty snapshot, which expires like the others.
async fn probe_writes(job: &PersistJob, slot: Slot) -> Result<(), StoreError> {
    let probe = Operation::Snapshot { slot, snapshot: Snapshot::rank(Vec::new()) };
    job.tables.persist(&[LoggedOperation::new(job.clock.now(), probe)]).await.map(drop)
}

fn retry(job: &PersistJob, stream: OperationStream, error: Failure, refused: bool) -> WriteOutcome {
    job.counts(stream).retries.fetch_add(1, Ordering::Relaxed);
    WriteOutcome::Retry { refused, is_moving: false, error }
}

/// Turns a record that cannot be stored into a dead letter, then skips its position.
async fn give_up(
    job: &PersistJob,
    stream: OperationStream,
    queued: &QueuedRecord,
    error: &StoreError,
    database: usize,
    checkpoints: &[CheckpointAdvance],
) -> WriteOutcome {
    // The letter of a reaction says where it died: when it is sent again, the tables know whether it is outdated.
    let dead = DeadReaction::of(&queued.operation);
    let marked = dead.map(|dead| Record {
        payload: operation::encode_dead_reaction(&queued.record.payload, dead.position),
        ..queued.record.clone()
    });
    let letter = marked.as_ref().unwrap_or(&queued.record);
    if let Err(error) = job.broker.put_dead_letter(letter, &error.to_string(), job.clock.now()).await {
        return retry(job, stream, Failure::of_driver(error), false);
    }
    match job.tables.skip_operation(&queued.operation, database, checkpoints).await {
        Ok(()) => {}
        Err(StoreError::CheckpointChanged) => return WriteOutcome::BeginAgain,
        Err(error) => return retry(job, stream, Failure::of_driver(error), false),
    }
    count_dead_letter(job, stream, &queued.record, error);
    WriteOutcome::Stored
}

/// Turns a record that cannot be read into a dead letter, retrying without end. The record has no
/// slot, so there is no position to skip.
pub(crate) async fn dead_letter_unreadable(job: &PersistJob, stream: OperationStream, record: &Record, error: &str) {
    let (topic, partition, offset) = (Topic::of(stream).name(), record.partition, record.offset);
    let delays = ConstantBuilder::default().with_delay(DEAD_LETTER_RETRY_INTERVAL).with_jitter().without_max_times();
    let outage = OutageLog::default();
    let put = (|| job.broker.put_dead_letter(record, error, job.clock.now())).retry(delays);
    let put = put.notify(|error, _| outage.begin(|| {
        tracing::warn!(topic, partition, offset, %error, "Could not write the dead letter of {topic}[{partition}] at offset {offset}; retrying until it is written");
    }));
    // Without a limit of attempts it ends by success only.
    let _ = put.await;
    count_dead_letter(job, stream, record, &error);
}

fn count_dead_letter(job: &PersistJob, stream: OperationStream, record: &Record, error: &dyn std::fmt::Display) {
    let (topic, partition, offset) = (Topic::of(stream).name(), record.partition, record.offset);
    tracing::error!(topic, partition, offset, %error, "The record of {topic}[{partition}] at offset {offset} is a dead letter: see gailou dlq list");
    job.counts(stream).dead_letters.fetch_add(1, Ordering::Relaxed);
}
