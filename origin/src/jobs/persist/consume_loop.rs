//! The state of one topic's loop: which partitions are read from where, which batches are written, which
//! databases do not answer.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, Slot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout_at};

use crate::domain::checkpoint::{CheckpointAdvance, LogSample, LogSamples};
use crate::domain::codec::operation::{decode, is_newer_format};
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::positions::OperationStream;
use crate::jobs::persist::PersistJob;
use crate::jobs::persist::queue::{Batch, QueuedRecord, RecordQueue, Taken};
use crate::jobs::persist::start::{FoundStart, Rewound, StartError, find_start};
use crate::jobs::persist::write::{WriteOutcome, dead_letter_unreadable, write};
use crate::outage_log::OutageLog;
use crate::ports::broker::{BrokerError, Consumer, Record, Topic};
use crate::ports::store::{self, StoreError};

/// How often all checkpoints are stored again, to find a database that has gone back.
const VERIFY_INTERVAL: Duration = Duration::from_secs(5);
/// How long the last checkpoints may take, after the stop.
const LAST_CHECKPOINTS_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a partition is read again whose next record is of a newer version. What is before it is stored
/// meanwhile.
const NEWER_FORMAT_RETRY_INTERVAL: Duration = Duration::from_secs(30);
/// Between two attempts to find where a partition begins.
const START_RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// The state of one topic's loop.
pub(super) struct ConsumeLoop {
    pub(super) job: Arc<PersistJob>,
    stream: OperationStream,
    pub(super) queue: RecordQueue,
    pub(super) tasks: JoinSet<Finished>,
    /// Look for the starts of partitions: partition, assignment, what was found.
    pub(super) starts: JoinSet<(u32, u64, Result<FoundStart, StartError>)>,
    start_of: HashMap<u32, AbortHandle>,
    /// Store checkpoints alone.
    pub(super) advances: JoinSet<CheckpointsWritten>,
    advancing: BTreeSet<usize>,
    verified_at: Option<Instant>,
    /// What was found of databases that went back when the partitions last began.
    rewinds_found: u64,
    /// Of each assigned partition.
    known: HashMap<u32, KnownPartition>,
    /// Partitions that are not read beyond a record of a newer version, and since when.
    halted: BTreeMap<u32, Instant>,
    /// Databases that do not answer.
    away: BTreeSet<usize>,
    /// By database.
    outages: HashMap<usize, OutageLog>,
}

/// What is known of a partition that is read.
#[derive(Default)]
struct KnownPartition {
    /// By database: the slots that came to it; `None` before it has answered.
    moves: Vec<Option<u64>>,
    /// By database: the slots that had come to it when it had last stored what is committed; `None` until then.
    moves_when_committed: Vec<Option<u64>>,
    samples: LogSamples,
    /// An offset before which records were missing when it was last read.
    hole_before: Option<u64>,
}

/// Checkpoints of a database, by partition, and whether they are stored.
pub(super) struct CheckpointsWritten {
    database: usize,
    checkpoints: Vec<(u32, u64)>,
    /// The last assignment when they were sent.
    last_assignment: u64,
    done: store::Result<()>,
}

/// A task that has finished.
pub(super) enum Finished {
    Batch(Batch, WriteOutcome),
    /// A record that could not be read is a dead letter; its assignment.
    DeadLetter(Record, u64),
}

/// The sample of the last record of each partition, and its assignment. A batch has the records slot by slot.
fn last_samples(records: &[QueuedRecord]) -> HashMap<u32, (LogSample, u64)> {
    let mut last: HashMap<u32, &QueuedRecord> = HashMap::new();
    for queued in records {
        let last = last.entry(queued.record.partition).or_insert(queued);
        if last.record.offset < queued.record.offset {
            *last = queued;
        }
    }
    let sample =
        |queued: &QueuedRecord| (LogSample::new(queued.record.offset, &queued.record.payload), queued.assignment);
    last.into_iter().map(|(partition, queued)| (partition, sample(queued))).collect()
}

impl ConsumeLoop {
    pub(super) fn new(job: Arc<PersistJob>, stream: OperationStream) -> Self {
        Self {
            queue: RecordQueue::new(job.settings.batch),
            job,
            stream,
            tasks: JoinSet::new(),
            starts: JoinSet::new(),
            start_of: HashMap::new(),
            advances: JoinSet::new(),
            advancing: BTreeSet::new(),
            verified_at: None,
            rewinds_found: 0,
            known: HashMap::new(),
            halted: BTreeMap::new(),
            away: BTreeSet::new(),
            outages: HashMap::new(),
        }
    }

    /// Starts every batch that can be written now.
    pub(super) fn start_batches(&mut self) {
        while let Some(batch) = self.queue.pick(Instant::now(), |slot| self.job.tables.database_of(slot)) {
            let checkpoints = self.checkpoint_advances(batch.shard, &batch.checkpoints, &batch.records);
            let (job, stream) = (self.job.clone(), self.stream);
            self.tasks.spawn(async move {
                let outcome = write(&job, stream, batch.shard, &batch.records, &checkpoints).await;
                Finished::Batch(batch, outcome)
            });
        }
    }

    /// The checkpoints of a database as they are written with these records.
    fn checkpoint_advances(
        &self,
        database: usize,
        checkpoints: &[(u32, u64)],
        records: &[QueuedRecord],
    ) -> Vec<CheckpointAdvance> {
        let last = last_samples(records);
        let advance = |(partition, next): &(u32, u64)| {
            let known = self.known.get(partition)?;
            let mut samples = known.samples.clone();
            last.get(partition).into_iter().for_each(|(sample, _)| samples.push(*sample));
            Some(CheckpointAdvance {
                partition: *partition,
                known_next: self.queue.stored(*partition).get(database).copied().flatten()?,
                known_moves: known.moves.get(database).copied().flatten()?,
                next: *next,
                applied: self.queue.applied(*partition, database, |slot| self.job.tables.database_of(slot)),
                samples,
            })
        };
        checkpoints.iter().filter_map(advance).collect()
    }

    /// Stores the checkpoints that have advanced without a batch, and asks databases that were away whether they
    /// answer. Now and then all are stored again: a database that has gone back is found without any record.
    pub(super) fn advance_checkpoints(&mut self) {
        let all = self.verified_at.is_none_or(|at| at.elapsed() >= VERIFY_INTERVAL);
        if all {
            self.verified_at = Some(Instant::now());
        }
        let found = self.job.rewinds.count_found();
        if self.rewinds_found < found && self.stream == OperationStream::Comments {
            // Its checkpoint of a partition may be what it was, and histories that were delivered since are lost.
            self.queue.partitions().into_iter().for_each(|partition| self.begin(partition));
        }
        self.rewinds_found = found;
        let due = self.halted.iter().filter(|(_, since)| since.elapsed() >= NEWER_FORMAT_RETRY_INTERVAL);
        for partition in due.map(|(partition, _)| *partition).collect::<Vec<_>>() {
            self.halted.remove(&partition);
            self.begin(partition);
        }
        for database in 0..self.job.tables.count_databases() {
            if self.job.rewinds.is_passing(database) {
                continue;
            }
            let checkpoints = self.queue.checkpoints(database, &[], all, |slot| self.job.tables.database_of(slot));
            let is_due = !checkpoints.is_empty() || !self.queue.partitions_behind(database).is_empty();
            if is_due && self.advancing.insert(database) {
                let advances = self.checkpoint_advances(database, &checkpoints, &[]);
                let (job, stream) = (self.job.clone(), self.stream);
                let last_assignment = self.queue.last_assignment();
                self.advances.spawn(async move {
                    let done = job.tables.advance_checkpoints(database, stream, &advances).await;
                    CheckpointsWritten { database, checkpoints, last_assignment, done }
                });
            }
        }
    }

    pub(super) fn finish_advance(&mut self, written: CheckpointsWritten) {
        let CheckpointsWritten { database, checkpoints, last_assignment, done } = written;
        self.advancing.remove(&database);
        match done {
            Ok(()) => {
                self.queue.mark_checkpoints(database, &checkpoints, last_assignment);
                self.away.remove(&database);
                let behind = self.queue.partitions_behind(database);
                behind.into_iter().for_each(|partition| self.begin(partition));
            }
            Err(StoreError::CheckpointChanged) => {
                let partitions = checkpoints.into_iter().map(|(partition, _)| partition);
                self.begin_refused(partitions.collect(), last_assignment);
            }
            Err(_) => _ = self.away.insert(database),
        }
    }

    /// Stores what was reached, so that the next process begins there.
    pub(super) async fn store_last_checkpoints(&mut self) {
        self.advances.shutdown().await;
        self.advancing.clear();
        self.advance_checkpoints();
        let until = Instant::now() + LAST_CHECKPOINTS_TIMEOUT;
        while let Ok(Some(Ok(CheckpointsWritten { database, checkpoints, last_assignment, done }))) =
            timeout_at(until, self.advances.join_next()).await
        {
            if done.is_ok() {
                self.queue.mark_checkpoints(database, &checkpoints, last_assignment);
            }
        }
    }

    /// Leaves out the records of databases that do not answer where they fill a partition, unless none does.
    pub(super) fn leave_out(&mut self) {
        if self.away.len() < self.job.tables.count_databases() {
            self.queue.leave_out(&self.away, |slot| self.job.tables.database_of(slot));
        }
    }

    /// Follows the partitions that the broker assigned and revoked.
    pub(super) fn follow_assignments(&mut self, consumer: &mut dyn Consumer) {
        for partition in consumer.take_revoked() {
            self.queue.revoke(partition);
            self.known.remove(&partition);
            self.halted.remove(&partition);
            if let Some(start) = self.start_of.remove(&partition) {
                start.abort();
            }
        }
        consumer.take_assigned().into_iter().for_each(|partition| self.begin(partition));
    }

    /// Begins partitions again whose checkpoints a database has refused, unless they were begun again since.
    fn begin_refused(&mut self, partitions: Vec<u32>, last_assignment: u64) {
        for partition in partitions {
            if self.queue.assignment(partition).is_some_and(|assignment| assignment <= last_assignment) {
                self.begin(partition);
            }
        }
    }

    /// Begins a partition, for the first time or again.
    fn begin(&mut self, partition: u32) {
        self.begin_after(partition, Duration::ZERO);
    }

    fn begin_after(&mut self, partition: u32, delay: Duration) {
        let mut seen = self.queue.seen(partition);
        if let Some(known) = self.known.get_mut(&partition) {
            known.moves_when_committed.resize(known.moves.len(), None);
            for (database, moves) in known.moves.iter().enumerate() {
                if self.queue.is_committed_stored(partition, database) {
                    known.moves_when_committed[database] = *moves;
                }
            }
            (seen.moves, seen.moves_when_committed) = (known.moves.clone(), known.moves_when_committed.clone());
        }
        let assignment = self.queue.assign(partition);
        let (job, stream) = (self.job.clone(), self.stream);
        let start = self.starts.spawn(async move {
            let outage = OutageLog::default();
            sleep(delay).await;
            loop {
                match find_start(&job, stream, partition, &seen).await {
                    Err(StartError::NoAnswer(error)) => {
                        let (topic, retry_ms) = (Topic::of(stream).name(), START_RETRY_INTERVAL.as_millis() as u64);
                        outage.begin(|| {
                            tracing::warn!(topic, partition, retry_ms, %error, "Could not find the start of {topic}[{partition}]; retrying every {retry_ms} ms");
                        });
                        sleep(START_RETRY_INTERVAL).await;
                    }
                    found => return (partition, assignment, found),
                }
            }
        });
        if let Some(former) = self.start_of.insert(partition, start) {
            former.abort();
        }
    }

    pub(super) async fn start_partition(
        &mut self,
        consumer: &mut dyn Consumer,
        partition: u32,
        assignment: u64,
        found: FoundStart,
    ) {
        if self.queue.assignment(partition) != Some(assignment) {
            return;
        }
        let (topic, offset) = (Topic::of(self.stream).name(), found.start.offset);
        for Rewound { database, next, before } in found.rewound {
            tracing::warn!(
                topic,
                partition,
                database,
                next,
                before,
                "Database {database} has gone back: it has applied {topic}[{partition}] up to {next} instead of {before}; what follows is read again"
            );
        }
        if let Err(error) = consumer.start_at(partition, offset).await {
            tracing::info!(topic, partition, offset, %error, "Could not begin {topic}[{partition}] at {offset}; retrying");
            self.begin_after(partition, START_RETRY_INTERVAL);
            return;
        }
        let known = self.known.entry(partition).or_default();
        (known.moves, known.samples) = (found.moves, found.samples);
        self.queue.start(partition, found.start);
        tracing::info!(topic, partition, offset, "Reading {topic}[{partition}] from {offset}");
    }

    pub(super) fn take(&mut self, record: Record) {
        if self.halted.contains_key(&record.partition) {
            return;
        }
        if self.halt_at_newer_format(&record) {
            return;
        }
        let decoded = self.decode(&record);
        let slot = decoded.as_ref().ok().map(|(slot, _)| *slot);
        let mut taken = self.queue.take(&record, slot, |slot| self.job.tables.database_of(slot));
        if let Taken::Unexpected { expected } = taken {
            let (topic, partition, offset) = (Topic::of(self.stream).name(), record.partition, record.offset);
            let known = self.known.entry(partition).or_default();
            if offset < expected || known.hole_before != Some(offset) {
                known.hole_before = Some(offset);
                tracing::warn!(
                    topic,
                    partition,
                    offset,
                    expected,
                    "{topic}[{partition}] continues at offset {offset} instead of {expected}; reading it again"
                );
                self.begin(partition);
                return;
            }
            // It was read again, and the log still reaches back before the hole: there are no records in it.
            self.queue.pass_hole(partition, offset);
            if self.halt_at_newer_format(&record) {
                return;
            }
            taken = self.queue.take(&record, slot, |slot| self.job.tables.database_of(slot));
        }
        let Taken::Open(assignment) = taken else { return };
        match decoded {
            Ok((slot, operation)) => self.queue.push(QueuedRecord { record, slot, operation, assignment }),
            Err(error) => {
                let (job, stream) = (self.job.clone(), self.stream);
                self.tasks.spawn(async move {
                    dead_letter_unreadable(&job, stream, &record, &error.to_string()).await;
                    Finished::DeadLetter(record, assignment)
                });
            }
        }
    }

    /// Halts the partition if its next record is of a newer version. What this version cannot read is no dead
    /// letter: a job of the newer version stores it.
    fn halt_at_newer_format(&mut self, record: &Record) -> bool {
        if !is_newer_format(&record.payload) || !self.queue.is_next(record) {
            return false;
        }
        let (topic, partition, offset) = (Topic::of(self.stream).name(), record.partition, record.offset);
        let retry_ms = NEWER_FORMAT_RETRY_INTERVAL.as_millis() as u64;
        tracing::error!(
            topic,
            partition,
            offset,
            retry_ms,
            "The record of {topic}[{partition}] at offset {offset} is of a newer version of gailou, and nothing behind it is stored: update this job; reading it again every {retry_ms} ms"
        );
        self.halted.insert(partition, Instant::now());
        true
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

    pub(super) fn finish(&mut self, finished: Finished) {
        match finished {
            Finished::Batch(batch, outcome) => {
                self.log_outage(&batch, &outcome);
                let is_refused = matches!(outcome, WriteOutcome::BeginAgain);
                let overtaken = if is_refused { BTreeSet::new() } else { self.queue.begun_since(&batch) };
                match outcome {
                    WriteOutcome::Stored => {
                        self.away.remove(&batch.shard);
                        self.take_samples(&batch);
                        self.queue.mark_stored(batch);
                    }
                    WriteOutcome::Retry { refused, is_moving, .. } => {
                        if !refused && !is_moving {
                            self.away.insert(batch.shard);
                        }
                        self.queue.return_failed(batch, refused, Instant::now());
                    }
                    WriteOutcome::BeginAgain => {
                        let partitions = batch.checkpoints.iter().map(|(partition, _)| *partition);
                        self.begin_refused(partitions.collect(), batch.last_assignment);
                        self.queue.return_failed(batch, true, Instant::now());
                    }
                }
                // What they were compared with may have changed after that.
                overtaken.into_iter().for_each(|partition| self.begin(partition));
            }
            Finished::DeadLetter(record, assignment) => {
                self.take_sample(record.partition, LogSample::new(record.offset, &record.payload), assignment);
                self.queue.mark_done(&record, assignment);
            }
        }
    }

    /// Remembers the last record of each partition in a batch.
    fn take_samples(&mut self, batch: &Batch) {
        for (partition, (sample, assignment)) in last_samples(&batch.records) {
            self.take_sample(partition, sample, assignment);
        }
    }

    fn take_sample(&mut self, partition: u32, sample: LogSample, assignment: u64) {
        if self.queue.assignment(partition) == Some(assignment)
            && let Some(known) = self.known.get_mut(&partition)
        {
            known.samples.push(sample);
        }
    }

    /// Logs when a database ceases and when it begins again to store batches.
    fn log_outage(&mut self, batch: &Batch, outcome: &WriteOutcome) {
        let (topic, database) = (Topic::of(self.stream).name(), batch.shard);
        let outage = self.outages.entry(database).or_default();
        match outcome {
            WriteOutcome::Stored => {
                outage.end(|| tracing::info!(topic, database, "Database {database} stores records of {topic} again"));
            }
            WriteOutcome::BeginAgain => {}
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
