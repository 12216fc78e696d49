//! Writes one batch into the tables, and turns a record that no table accepts into a dead letter.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use gailou_shared::id::Slot;
use gailou_shared::walk::Snapshot;
use tokio::time::sleep;

use crate::domain::markdown;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::domain::positions::OperationStream;
use crate::jobs::persist::position_check::{CheckedSlots, PositionCheck, check_positions};
use crate::jobs::persist::queue::QueuedRecord;
use crate::jobs::persist::{PersistJob, topic};
use crate::outage_log::OutageLog;
use crate::ports::broker::Record;
use crate::ports::failure::Failure;
use crate::ports::store::StoreError;

/// How often a record is tried alone before it becomes a dead letter.
const MAX_TRIES_ALONE: u32 = 3;
/// Between two of these tries: longer than a short failure of the database.
const RETRY_ALONE_INTERVAL: Duration = Duration::from_millis(100);
/// Between two attempts to write a dead letter; jitter adds up to as much again.
const DEAD_LETTER_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// What became of a batch.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// Every record is in the tables or among the dead letters.
    Stored,
    /// The batch is not known to be stored, because of `error`. `refused`: the database answers, and at
    /// least one of the records cannot be stored.
    Retry { refused: bool, error: Failure },
}

/// Writes the batch of one database and notifies the listener.
///
/// # Errors
/// When nothing of this topic may be written any more.
pub(crate) async fn write(
    job: &PersistJob,
    stream: OperationStream,
    records: &[QueuedRecord],
    checked: &CheckedSlots,
) -> anyhow::Result<WriteOutcome> {
    let partitions: BTreeSet<u32> = records.iter().map(|queued| queued.record.partition).collect();
    for partition in partitions {
        let slots = records.iter().filter(|r| r.record.partition == partition).map(|r| r.slot).collect();
        match check_positions(job, stream, partition, &slots, checked).await {
            PositionCheck::Consistent => {}
            PositionCheck::Unknown(error) => return Ok(retry(job, stream, error, false)),
            PositionCheck::Recreated(topic) => return Err(topic.into()),
        }
    }
    let mut batch: Vec<LoggedOperation> = records.iter().map(|queued| queued.operation.clone()).collect();
    batch.iter_mut().for_each(|logged| job.erased_members.redact_operation(&mut logged.operation));
    let batch = render_comments(batch).await;
    let mut tries = 0;
    loop {
        let error = match job.tables.persist(&batch).await {
            Ok(persisted) => {
                job.listeners.notify(&batch, &persisted).await;
                let replayed =
                    persisted.outcomes.iter().filter(|outcome| matches!(outcome, OperationOutcome::Seen)).count();
                let counts = job.counts(stream);
                counts.stored.fetch_add(records.len() as u64, Ordering::Relaxed);
                counts.replayed.fetch_add(replayed as u64, Ordering::Relaxed);
                counts.batches.fetch_add(1, Ordering::Relaxed);
                return Ok(WriteOutcome::Stored);
            }
            Err(error) => error,
        };
        let refused = matches!(error, StoreError::Database(_) | StoreError::Damaged(_));
        let [queued] = records else { return Ok(retry(job, stream, Failure::of_driver(error), refused)) };
        if !refused {
            return Ok(retry(job, stream, Failure::of_driver(error), false));
        }
        if let Err(error) = probe_writes(job, queued.slot).await {
            return Ok(retry(job, stream, Failure::of_driver(error), false));
        }
        // The record is alone, and its database accepts other writes: the record is the cause.
        tries += 1;
        if tries >= MAX_TRIES_ALONE {
            return Ok(give_up(job, stream, queued, &error).await);
        }
        sleep(RETRY_ALONE_INTERVAL).await;
    }
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
    WriteOutcome::Retry { refused, error }
}

/// Turns a record that cannot be stored into a dead letter, then skips its position.
async fn give_up(job: &PersistJob, stream: OperationStream, queued: &QueuedRecord, error: &StoreError) -> WriteOutcome {
    let offset = queued.record.offset;
    if let Err(error) = job.broker.put_dead_letter(&queued.record, &error.to_string(), job.clock.now()).await {
        return retry(job, stream, Failure::of_driver(error), false);
    }
    if let Err(error) = job.tables.skip_position(stream, queued.slot, offset).await {
        return retry(job, stream, Failure::of_driver(error), false);
    }
    count_dead_letter(job, stream, &queued.record, error);
    WriteOutcome::Stored
}

/// Turns a record that cannot be read into a dead letter, retrying without end. The record has no
/// slot, so there is no position to skip.
pub(crate) async fn dead_letter_unreadable(job: &PersistJob, stream: OperationStream, record: &Record, error: &str) {
    let (topic, partition, offset) = (topic(stream).name(), record.partition, record.offset);
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
    let (topic, partition, offset) = (topic(stream).name(), record.partition, record.offset);
    tracing::error!(topic, partition, offset, %error, "The record of {topic}[{partition}] at offset {offset} is a dead letter: see gailou dlq list");
    job.counts(stream).dead_letters.fetch_add(1, Ordering::Relaxed);
}
