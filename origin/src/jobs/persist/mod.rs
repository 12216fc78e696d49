//! From the broker into the tables: one loop per topic, over free functions.
//!
//! A batch is written, then counters and caches are invalidated, then its offsets are committed.
//! Promise: an offset is committed only when the tables or the dead letters have its record; a
//! database that does not answer is waited for as long as it takes and delays its own slots alone; a
//! record that fails by itself, while its database is healthy, becomes a dead letter after three
//! tries and the others go on.

mod lag;
pub(crate) mod position_check;
pub(crate) mod queue;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use gailou_shared::id::{CommentId, SLOT_COUNT, Slot};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::domain::codec::operation::decode;
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::positions::OperationStream;
use crate::jobs::persist::lag::LagMeter;
use crate::jobs::persist::position_check::{CheckedSlots, PositionCheck, check_positions};
use crate::jobs::persist::queue::{Batch, QueuedRecord, RecordQueue};
use crate::jobs::persist::write::{WriteOutcome, dead_letter_unreadable, write};
use crate::outage_log::OutageLog;
use crate::ports::broker::{Broker, BrokerError, Consumer, Record, Topic};
use crate::ports::journal::CommitListeners;
use crate::ports::store::SlotTables;
use crate::state::erased_members::ErasedMembers;
use crate::telemetry::Collector;

/// How long the loops may go on writing what they have taken, after the stop. The rest is not
/// committed, and another process reads it.
const PERSIST_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);

/// What the loops need.
#[derive(Debug)]
pub struct PersistJob {
    pub broker: Arc<dyn Broker>,
    pub tables: Arc<dyn SlotTables>,
    pub clock: Clock,
    /// What they wrote before they were erased is stored without its content.
    pub erased_members: Arc<ErasedMembers>,
    pub settings: PersistSettings,
    pub listeners: CommitListeners,
    pub metrics: Arc<PersistMetrics>,
}

/// How records wait for each other.
#[derive(Debug, Clone, Copy)]
pub struct PersistSettings {
    /// Records of one transaction, at most.
    pub batch: usize,
    /// How long a comment waits for others to be written with it.
    pub comments_wait: Duration,
    /// How long a reaction waits for others to be written with it.
    pub reactions_wait: Duration,
}

/// What the loops of this process have done.
#[derive(Debug, Default)]
pub struct PersistMetrics {
    pub comments: TopicCounts,
    pub reactions: TopicCounts,
}

/// The metrics of one topic.
#[derive(Debug, Default)]
pub struct TopicCounts {
    /// Records stored, replays included.
    pub stored: AtomicU64,
    /// Replays among them: records that had been stored before.
    pub replayed: AtomicU64,
    pub batches: AtomicU64,
    /// Batches that were not known to be stored and were retried.
    pub retries: AtomicU64,
    pub dead_letters: AtomicU64,
    /// Records taken from the broker and not stored yet.
    pub waiting: AtomicU64,
    /// Records in this process's partitions that are not committed, as of the last few seconds.
    pub lag: AtomicU64,
}

/// One of the counts of a topic.
type ReadCount = fn(&TopicCounts) -> &AtomicU64;

impl Collector for PersistMetrics {
    fn collect(&self) {
        let topics = [("comments", &self.comments), ("reactions", &self.reactions)];
        let counters: [(_, _, ReadCount); 5] = [
            ("gailou_persist_stored_total", "Records written to the tables.", |counts| &counts.stored),
            (
                "gailou_persist_replayed_total",
                "Records that were read again and changed nothing: they had been written before.",
                |counts| &counts.replayed,
            ),
            ("gailou_persist_batches_total", "Batches written.", |counts| &counts.batches),
            ("gailou_persist_retries_total", "Batches retried.", |counts| &counts.retries),
            ("gailou_dead_letters_total", "Records that could not be stored.", |counts| &counts.dead_letters),
        ];
        for (name, help, count) in counters {
            describe_counter!(name, help);
            for (topic, counts) in topics {
                counter!(name, "topic" => topic).absolute(count(counts).load(Ordering::Relaxed));
            }
        }
        let gauges: [(_, _, ReadCount); 2] = [
            ("gailou_persist_waiting_records", "Records taken from the broker and not stored yet.", |counts| {
                &counts.waiting
            }),
            ("gailou_broker_lag_records", "Records in this process's partitions that are not committed.", |counts| {
                &counts.lag
            }),
        ];
        for (name, help, count) in gauges {
            describe_gauge!(name, help);
            for (topic, counts) in topics {
                gauge!(name, "topic" => topic).set(count(counts).load(Ordering::Relaxed) as f64);
            }
        }
    }
}

impl PersistJob {
    fn counts(&self, stream: OperationStream) -> &TopicCounts {
        match stream {
            OperationStream::Comments => &self.metrics.comments,
            OperationStream::Reactions => &self.metrics.reactions,
        }
    }

    fn batch_wait(&self, stream: OperationStream) -> Duration {
        match stream {
            OperationStream::Comments => self.settings.comments_wait,
            OperationStream::Reactions => self.settings.reactions_wait,
        }
    }
}

const fn topic(stream: OperationStream) -> Topic {
    match stream {
        OperationStream::Comments => Topic::Comments,
        OperationStream::Reactions => Topic::Reactions,
    }
}

/// Writes records into the tables until `stop` is cancelled; then it writes and commits what it has
/// taken, and leaves the consumer groups.
///
/// # Errors
/// When going on would lose records: a topic was recreated under the tables, or the broker cannot be
/// read any more. The process must end.
pub async fn run(job: Arc<PersistJob>, stop: CancellationToken) -> anyhow::Result<()> {
    let comments = consume(job.clone(), OperationStream::Comments, stop.clone());
    let reactions = consume(job, OperationStream::Reactions, stop);
    tokio::try_join!(comments, reactions)?;
    Ok(())
}

/// The loop of one topic.
async fn consume(job: Arc<PersistJob>, stream: OperationStream, stop: CancellationToken) -> anyhow::Result<()> {
    let name = topic(stream).name();
    let mut consumer = job.broker.subscribe(topic(stream)).with_context(|| format!("reading {name}"))?;
    let mut state = ConsumeLoop {
        queue: RecordQueue::new(job.settings.batch),
        tasks: JoinSet::new(),
        checked: Arc::default(),
        outages: HashMap::new(),
        job,
        stream,
    };
    let (mut lag, commit_outage) = (LagMeter::default(), OutageLog::default());
    let mut drain_until = None;
    loop {
        state.start_batches();
        let ConsumeLoop { queue, tasks, job, .. } = &mut state;
        if drain_until.is_some() && queue.is_empty() && tasks.is_empty() {
            break;
        }
        let (batch, wait, retry_at) = (job.settings.batch, job.batch_wait(stream), queue.next_retry_at(Instant::now()));
        let reading = drain_until.is_none();
        tokio::select! {
            biased;
            Some(finished) = tasks.join_next() => {
                state.finish(finished.context("a task of the persist job panicked")??);
                commit(&mut *consumer, &mut state.queue, name, &commit_outage).await;
            }
            () = stop.cancelled(), if reading => drain_until = Some(Instant::now() + PERSIST_DRAIN_TIMEOUT),
            () = sleep_until(drain_until.unwrap_or_else(Instant::now)), if !reading => {
                let records = state.queue.len();
                tracing::warn!(topic = name, records, "Stopped before {records} records of {name} were stored; another process reads them");
                break;
            }
            () = sleep_until(retry_at.unwrap_or_else(Instant::now)), if retry_at.is_some() => {}
            records = consumer.poll_batch(batch, wait), if reading => {
                let records = records.with_context(|| format!("reading {name}"))?;
                state.follow_assignments(&mut *consumer);
                records.into_iter().for_each(|record| state.take(record));
            }
        }
        consumer.set_paused(&state.queue.partitions_to_pause());
        let waiting = state.queue.len() as u64;
        state.job.counts(stream).waiting.store(waiting, Ordering::Relaxed);
        lag.measure(&state.job, stream, state.queue.partitions());
    }
    commit(&mut *consumer, &mut state.queue, name, &commit_outage).await;
    consumer.close().await;
    tracing::info!(topic = name, "Stopped reading {name}");
    Ok(())
}

async fn commit(consumer: &mut dyn Consumer, queue: &mut RecordQueue, topic: &str, outage: &OutageLog) {
    let offsets = queue.committable();
    if offsets.is_empty() {
        return;
    }
    match consumer.commit_offsets(&offsets).await {
        Ok(()) => outage.end(|| tracing::info!(topic, "Committed offsets of {topic} again")),
        // The positions in the tables decide; a record that is read again changes nothing.
        Err(error) => outage.begin(|| {
            tracing::warn!(topic, %error, "Could not commit offsets of {topic}; its records may be read again");
        }),
    }
}

/// The state of one topic's loop.
struct ConsumeLoop {
    job: Arc<PersistJob>,
    stream: OperationStream,
    queue: RecordQueue,
    tasks: JoinSet<anyhow::Result<Finished>>,
    checked: Arc<CheckedSlots>,
    /// By database.
    outages: HashMap<usize, OutageLog>,
}

/// A task that has finished.
enum Finished {
    Batch(Batch, WriteOutcome),
    /// A record that could not be read is a dead letter; its assignment.
    DeadLetter(Record, u64),
    PositionCheck,
}

impl ConsumeLoop {
    /// Starts every batch that can be written now.
    fn start_batches(&mut self) {
        while let Some(batch) = self.queue.pick(Instant::now(), |slot| self.job.tables.database_of(slot)) {
            let (job, stream, checked) = (self.job.clone(), self.stream, self.checked.clone());
            self.tasks.spawn(async move {
                let outcome = write(&job, stream, &batch.records, &checked).await?;
                Ok(Finished::Batch(batch, outcome))
            });
        }
    }

    /// Follows the partitions that the broker assigned and revoked.
    fn follow_assignments(&mut self, consumer: &mut dyn Consumer) {
        for partition in consumer.take_revoked() {
            self.queue.revoke(partition);
            self.checked.forget(partition);
        }
        for partition in consumer.take_assigned() {
            self.queue.assign(partition);
            self.checked.forget(partition);
            let (job, stream, checked) = (self.job.clone(), self.stream, self.checked.clone());
            self.tasks.spawn(async move {
                let slots: BTreeSet<Slot> = (0..SLOT_COUNT)
                    .filter_map(Slot::new)
                    .filter(|slot| job.broker.partition_of(*slot) == partition)
                    .collect();
                // Without an answer, each slot is checked before its first record is written.
                match check_positions(&job, stream, partition, &slots, &checked).await {
                    PositionCheck::Recreated(topic) => Err(topic.into()),
                    PositionCheck::Consistent | PositionCheck::Unknown(_) => Ok(Finished::PositionCheck),
                }
            });
        }
    }

    fn take(&mut self, record: Record) {
        let before = self.queue.assignment(record.partition);
        let assignment = self.queue.take(&record);
        if before.is_some_and(|before| before != assignment) {
            let (topic, partition, offset) = (topic(self.stream).name(), record.partition, record.offset);
            tracing::warn!(topic, partition, offset, "{topic}[{partition}] begins again at offset {offset}");
            self.checked.forget(partition);
        }
        match self.decode(&record) {
            Ok((slot, operation)) => self.queue.push(QueuedRecord { record, slot, operation, assignment }),
            Err(error) => {
                let (job, stream) = (self.job.clone(), self.stream);
                self.tasks.spawn(async move {
                    dead_letter_unreadable(&job, stream, &record, &error.to_string()).await;
                    Ok(Finished::DeadLetter(record, assignment))
                });
            }
        }
    }

    /// The operation of a record, and its slot.
    fn decode(&self, record: &Record) -> Result<(Slot, LoggedOperation), BrokerError> {
        let logged = decode(&record.payload)?;
        let slot = match (&logged.operation, self.stream) {
            (Operation::Publish(row), OperationStream::Comments) => row.subject.slot(),
            (Operation::React { id, .. }, OperationStream::Reactions) => CommentId::slot(*id),
            _ => return Err(BrokerError::Damaged("the operation belongs to another topic".into())),
        };
        let partition = self.job.broker.partition_of(slot);
        if partition != record.partition {
            // The offset of another partition is not a position of this slot.
            return Err(BrokerError::Damaged(format!("the operation belongs to partition {partition}").into()));
        }
        Ok((slot, LoggedOperation { position: Some(record.offset), ..logged }))
    }

    fn finish(&mut self, finished: Finished) {
        match finished {
            Finished::Batch(batch, outcome) => {
                self.log_outage(&batch, &outcome);
                match outcome {
                    WriteOutcome::Stored => self.queue.mark_stored(batch),
                    WriteOutcome::Retry { refused, .. } => self.queue.return_failed(batch, refused, Instant::now()),
                }
            }
            Finished::DeadLetter(record, assignment) => self.queue.mark_done(&record, assignment),
            Finished::PositionCheck => {}
        }
    }

    /// Logs when a database ceases and when it begins again to store batches.
    fn log_outage(&mut self, batch: &Batch, outcome: &WriteOutcome) {
        let (topic, database) = (topic(self.stream).name(), batch.shard);
        let outage = self.outages.entry(database).or_default();
        match outcome {
            WriteOutcome::Stored => {
                outage.end(|| tracing::info!(topic, database, "Database {database} stores records of {topic} again"));
            }
            WriteOutcome::Retry { error, .. } => outage.begin(|| {
                tracing::warn!(
                    topic,
                    database,
                    %error,
                    "Could not store records of {topic} in database {database}; retrying until they are stored"
                );
            }),
        }
    }
}
