//! One batch into the tables, and what is done with an event that no table takes.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::bail;
use gailou_shared::id::Slot;
use gailou_shared::walk::Snapshot;
use tokio::time::sleep;

use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::domain::positions::OperationStream;
use crate::jobs::persist::queue::QueuedRecord;
use crate::jobs::persist::{Checked, PersistJob, topic};
use crate::ports::broker::{BrokerError, Record};
use crate::ports::store::StoreError;

/// How often an event is tried alone before it is given up.
const TRIES: u32 = 3;
/// Between two of these tries: a hiccup is over by then.
const BETWEEN: Duration = Duration::from_millis(100);
/// Between two attempts at the dead letters.
const BURYING: Duration = Duration::from_millis(500);

/// What has become of a batch.
#[derive(Debug)]
pub(crate) enum Landed {
    /// Nothing is to be done with it any more.
    Stored,
    /// It is not known to be stored. When it was refused, by a database that answers, at least one
    /// of its events cannot be stored.
    Again { refused: bool },
}

/// Writes a batch of one database and tells of it.
///
/// # Errors
/// When nothing of this topic may be written any more.
pub(crate) async fn write(
    job: &PersistJob,
    stream: OperationStream,
    events: &[QueuedRecord],
    checked: &Checked,
) -> anyhow::Result<Landed> {
    let partitions: BTreeSet<u32> = events.iter().map(|event| event.message.partition).collect();
    for partition in partitions {
        let slots = events.iter().filter(|e| e.message.partition == partition).map(|e| e.slot).collect();
        match verify(job, stream, partition, &slots, checked).await {
            Ok(verdict) => verdict?,
            Err(error) => return Ok(again(job, stream, &error, false)),
        }
    }
    let batch: Vec<LoggedOperation> = events.iter().map(|event| event.stamped.clone()).collect();
    let mut tries = 0;
    loop {
        let error = match job.tables.persist(&batch).await {
            Ok(persisted) => {
                job.committed.on_commit(&batch, &persisted).await;
                let seen =
                    persisted.outcomes.iter().filter(|outcome| matches!(outcome, OperationOutcome::Seen)).count();
                let counts = job.counts(stream);
                counts.stored.fetch_add(events.len() as u64, Ordering::Relaxed);
                counts.seen.fetch_add(seen as u64, Ordering::Relaxed);
                counts.batches.fetch_add(1, Ordering::Relaxed);
                return Ok(Landed::Stored);
            }
            Err(error) => error,
        };
        let refused = matches!(error, StoreError::Database(_) | StoreError::Damaged(_));
        let [event] = events else { return Ok(again(job, stream, &error, refused)) };
        if !refused || !takes_writes(job, event.slot).await {
            return Ok(again(job, stream, &error, false));
        }
        // It is alone, and its database takes other things: it is the event's own fault.
        tries += 1;
        if tries >= TRIES {
            return Ok(give_up(job, stream, event, &error).await);
        }
        sleep(BETWEEN).await;
    }
}

/// Whether the database of a slot takes writes: one that is full or read-only refuses everything,
/// and no event is to blame. Written is an empty ranking, which is swept with the others.
async fn takes_writes(job: &PersistJob, slot: Slot) -> bool {
    let probe = Operation::Snapshot { slot, snapshot: Snapshot::rank(Vec::new()) };
    match job.tables.persist(&[LoggedOperation::new(job.clock.now(), probe)]).await {
        Ok(_) => true,
        Err(error) => {
            tracing::warn!(slot = slot.get(), %error, "the database takes no writes");
            false
        }
    }
}

fn again(job: &PersistJob, stream: OperationStream, error: &dyn std::fmt::Display, refused: bool) -> Landed {
    tracing::warn!(topic = topic(stream).name(), %error, "a batch is not stored yet");
    job.counts(stream).retries.fetch_add(1, Ordering::Relaxed);
    Landed::Again { refused }
}

/// Puts an event that cannot be stored among the dead letters, then passes over it.
async fn give_up(job: &PersistJob, stream: OperationStream, event: &QueuedRecord, error: &StoreError) -> Landed {
    let Record { partition, offset, .. } = event.message;
    let buried = job.log.dead_letter(&event.message, &error.to_string(), job.clock.now()).await;
    if let Err(error) = buried {
        return again(job, stream, &error, false);
    }
    if let Err(error) = job.tables.skip_position(stream, event.slot, offset).await {
        return again(job, stream, &error, false);
    }
    tracing::error!(topic = topic(stream).name(), partition, offset, %error, "an event is among the dead letters");
    job.counts(stream).buried.fetch_add(1, Ordering::Relaxed);
    Landed::Stored
}

/// Puts a message that is no event among the dead letters, as often as it takes. It has no slot, so
/// there is nothing to pass over.
pub(crate) async fn bury_unreadable(job: &PersistJob, stream: OperationStream, message: &Record, error: &str) {
    while let Err(error) = job.log.dead_letter(message, error, job.clock.now()).await {
        tracing::warn!(topic = topic(stream).name(), %error, "a dead letter is not written yet");
        sleep(BURYING).await;
    }
    let Record { partition, offset, .. } = *message;
    tracing::error!(topic = topic(stream).name(), partition, offset, error, "a message is among the dead letters");
    job.counts(stream).buried.fetch_add(1, Ordering::Relaxed);
}

/// Why positions could not be compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unknown {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Log(#[from] BrokerError),
}

/// Compares the positions of slots with the end of their partition, once an assignment.
///
/// A partition that ends before a stored position was recreated: its events would be taken for
/// replays and lost. The inner error says so.
pub(crate) async fn verify(
    job: &PersistJob,
    stream: OperationStream,
    partition: u32,
    slots: &BTreeSet<Slot>,
    checked: &Checked,
) -> Result<anyhow::Result<()>, Unknown> {
    let missing = checked.missing(partition, slots);
    if missing.is_empty() {
        return Ok(Ok(()));
    }
    let positions = job.tables.read_positions(stream, &missing).await?;
    let Some((slot, position)) = positions.into_iter().max_by_key(|(_, position)| *position) else { return Ok(Ok(())) };
    // Asked for after the positions: it only grows.
    let end = job.log.end(topic(stream), partition).await?;
    if end < position {
        return Ok(recreated(topic(stream).name(), partition, end, slot, position));
    }
    checked.add(partition, &missing);
    Ok(Ok(()))
}

fn recreated(topic: &str, partition: u32, end: u64, slot: Slot, position: u64) -> anyhow::Result<()> {
    bail!(
        "partition {partition} of the topic {topic} ends at {end}, but the tables have stored slot {} up to \
         {position}: the topic was recreated or is another cluster's, and what is written to it would be taken \
         for a replay",
        slot.get()
    )
}
