//! From the log into the tables: one loop a topic, over free functions.
//!
//! A batch is written, then counters and caches are told, then the broker. Promise: an event is
//! committed only when the tables have it, or the dead letters; a database that is away is waited
//! for as long as it takes and holds up its own slots alone; an event that fails by itself, with
//! its database healthy, is buried after three tries and the others go on.

pub(crate) mod queue;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context as _;
use gailou_shared::id::{CommentId, SLOT_COUNT, Slot};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::domain::codec::operation::decode;
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::positions::OperationStream;
use crate::jobs::persist::queue::{Flight, Queue, QueuedRecord};
use crate::jobs::persist::write::{Landed, bury_unreadable, verify, write};
use crate::ports::broker::{Broker, BrokerError, Consumer, Record, Topic};
pub use crate::ports::journal::CommitListener;
use crate::ports::store::SlotTables;
use crate::telemetry::Collector;

/// How long what was taken may still be written after the loops are told to stop. What is left is
/// not committed, and another process reads it.
const LAST: Duration = Duration::from_secs(10);
/// How often the lag is asked for.
const MEASURE: Duration = Duration::from_secs(5);

/// What the loops need.
#[derive(Debug)]
pub struct PersistJob {
    pub log: Arc<dyn Broker>,
    pub tables: Arc<dyn SlotTables>,
    pub clock: Clock,
    pub settings: Settings,
    pub committed: Arc<dyn CommitListener>,
    pub figures: Arc<PersistMetrics>,
}

#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Events written in one transaction at most.
    pub batch: usize,
    /// How long a comment waits for others to be written with.
    pub comments: Duration,
    /// How long a reaction waits for others to be written with.
    pub reactions: Duration,
}

/// What the loops have done in this process.
#[derive(Debug, Default)]
pub struct PersistMetrics {
    pub comments: TopicCounts,
    pub reactions: TopicCounts,
}

/// The figures of one topic.
#[derive(Debug, Default)]
pub struct TopicCounts {
    /// Events stored, and how many of them had been before.
    pub stored: AtomicU64,
    pub seen: AtomicU64,
    pub batches: AtomicU64,
    /// Batches that were not known to be stored and tried again.
    pub retries: AtomicU64,
    /// Messages put among the dead letters.
    pub buried: AtomicU64,
    /// Events that were taken and are not stored now.
    pub waiting: AtomicU64,
    /// Messages in this process's partitions that are not stored, as of the last few seconds.
    pub lag: AtomicU64,
}

/// One of the counts of a topic.
type ReadCount = fn(&TopicCounts) -> &AtomicU64;

impl Collector for PersistMetrics {
    fn collect(&self) {
        let topics = [("comments", &self.comments), ("reactions", &self.reactions)];
        let counters: [(_, _, ReadCount); 5] = [
            ("gailou_log_stored_total", "Records written to the tables.", |counts| &counts.stored),
            ("gailou_log_seen_total", "Records that had been written before.", |counts| &counts.seen),
            ("gailou_log_batches_total", "Batches written.", |counts| &counts.batches),
            ("gailou_log_retries_total", "Batches retried.", |counts| &counts.retries),
            ("gailou_dead_letters_total", "Records that could not be stored.", |counts| &counts.buried),
        ];
        for (name, help, count) in counters {
            describe_counter!(name, help);
            for (topic, counts) in topics {
                counter!(name, "topic" => topic).absolute(count(counts).load(Ordering::Relaxed));
            }
        }
        let gauges: [(_, _, ReadCount); 2] = [
            ("gailou_log_waiting", "Records taken and not stored yet.", |counts| &counts.waiting),
            ("gailou_log_lag", "Records of this process's partitions that are not stored.", |counts| &counts.lag),
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
    pub(super) fn counts(&self, stream: OperationStream) -> &TopicCounts {
        match stream {
            OperationStream::Comments => &self.figures.comments,
            OperationStream::Reactions => &self.figures.reactions,
        }
    }

    fn patience(&self, stream: OperationStream) -> Duration {
        match stream {
            OperationStream::Comments => self.settings.comments,
            OperationStream::Reactions => self.settings.reactions,
        }
    }
}

pub(super) const fn topic(stream: OperationStream) -> Topic {
    match stream {
        OperationStream::Comments => Topic::Comments,
        OperationStream::Reactions => Topic::Reactions,
    }
}

/// Writes what is in the log into the tables until `stop` is true; then what was taken is written
/// and committed, and the groups are left.
///
/// # Errors
/// When going on would lose events: a topic was recreated under the tables, or reading is not
/// possible any more. The process must end.
pub async fn run(job: Arc<PersistJob>, stop: CancellationToken) -> anyhow::Result<()> {
    let comments = consume(job.clone(), OperationStream::Comments, stop.clone());
    let reactions = consume(job, OperationStream::Reactions, stop);
    tokio::try_join!(comments, reactions)?;
    Ok(())
}

/// One topic's loop.
async fn consume(job: Arc<PersistJob>, stream: OperationStream, stop: CancellationToken) -> anyhow::Result<()> {
    let name = topic(stream).name();
    let mut reader = job.log.consumer(topic(stream)).with_context(|| format!("reading {name}"))?;
    let mut state =
        Loop { queue: Queue::new(job.settings.batch), flights: JoinSet::new(), checked: Arc::default(), job, stream };
    let mut lag = Lag::default();
    let mut until = None;
    loop {
        state.launch();
        let Loop { queue, flights, job, .. } = &mut state;
        if until.is_some() && queue.is_empty() && flights.is_empty() {
            break;
        }
        let (most, patience, due) = (job.settings.batch, job.patience(stream), queue.due(Instant::now()));
        let reads = until.is_none();
        tokio::select! {
            biased;
            Some(landed) = flights.join_next() => {
                state.land(landed.context("a writer died")??);
                commit(&mut *reader, &mut state.queue).await;
            }
            () = stop.cancelled(), if reads => until = Some(Instant::now() + LAST),
            () = sleep_until(until.unwrap_or_else(Instant::now)), if !reads => {
                tracing::warn!(topic = name, events = state.queue.len(), "stopped before everything was stored");
                break;
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
            messages = reader.next(most, patience), if reads => {
                let messages = messages.with_context(|| format!("reading {name}"))?;
                state.moved(&mut *reader);
                messages.into_iter().for_each(|message| state.take(message));
            }
        }
        reader.pause(&state.queue.full());
        let waiting = state.queue.len() as u64;
        state.job.counts(stream).waiting.store(waiting, Ordering::Relaxed);
        lag.measure(&state.job, stream, &state.queue);
    }
    commit(&mut *reader, &mut state.queue).await;
    reader.close().await;
    tracing::info!(topic = name, "stopped");
    Ok(())
}

async fn commit(reader: &mut dyn Consumer, queue: &mut Queue) {
    let offsets = queue.committable();
    if offsets.is_empty() {
        return;
    }
    if let Err(error) = reader.commit(&offsets).await {
        // The tables know better; what is read again changes nothing.
        tracing::warn!(%error, "committing");
    }
}

/// What a loop knows.
struct Loop {
    job: Arc<PersistJob>,
    stream: OperationStream,
    queue: Queue,
    flights: JoinSet<anyhow::Result<Ended>>,
    checked: Arc<Checked>,
}

/// What has ended.
enum Ended {
    Flight(Flight, Landed),
    /// A message that is no event is among the dead letters.
    Buried(Record, u64),
    /// A partition's positions were looked at.
    Looked,
}

impl Loop {
    /// Sends what can be sent.
    fn launch(&mut self) {
        while let Some(flight) = self.queue.pick(Instant::now(), |slot| self.job.tables.database_of(slot)) {
            let (job, stream, checked) = (self.job.clone(), self.stream, self.checked.clone());
            self.flights.spawn(async move {
                let landed = write(&job, stream, &flight.events, &checked).await?;
                Ok(Ended::Flight(flight, landed))
            });
        }
    }

    /// Partitions that came and went.
    fn moved(&mut self, reader: &mut dyn Consumer) {
        for partition in reader.revoked() {
            self.queue.revoke(partition);
            self.checked.forget(partition);
        }
        for partition in reader.assigned() {
            self.queue.assign(partition);
            self.checked.forget(partition);
            let (job, stream, checked) = (self.job.clone(), self.stream, self.checked.clone());
            self.flights.spawn(async move {
                let slots: BTreeSet<Slot> = (0..SLOT_COUNT)
                    .filter_map(Slot::new)
                    .filter(|slot| job.log.partition(*slot) == partition)
                    .collect();
                // When somebody does not answer, each slot is looked at before its first event is written.
                match verify(&job, stream, partition, &slots, &checked).await {
                    Ok(Err(error)) => Err(error),
                    Ok(Ok(())) | Err(_) => Ok(Ended::Looked),
                }
            });
        }
    }

    fn take(&mut self, message: Record) {
        let before = self.queue.assignment(message.partition);
        let assignment = self.queue.take(&message);
        if before.is_some_and(|before| before != assignment) {
            tracing::warn!(partition = message.partition, offset = message.offset, "the partition begins again");
            self.checked.forget(message.partition);
        }
        match self.read(&message) {
            Ok((slot, stamped)) => self.queue.push(QueuedRecord { message, slot, stamped, assignment }),
            Err(error) => {
                let (job, stream) = (self.job.clone(), self.stream);
                self.flights.spawn(async move {
                    bury_unreadable(&job, stream, &message, &error.to_string()).await;
                    Ok(Ended::Buried(message, assignment))
                });
            }
        }
    }

    /// The event of a message, and its slot.
    fn read(&self, message: &Record) -> Result<(Slot, LoggedOperation), BrokerError> {
        let stamped = decode(&message.payload)?;
        let slot = match (&stamped.operation, self.stream) {
            (Operation::Publish(row), OperationStream::Comments) => row.subject.slot(),
            (Operation::React { id, .. }, OperationStream::Reactions) => CommentId::slot(*id),
            _ => return Err(BrokerError::Damaged("the event belongs to another topic".into())),
        };
        let belongs = self.job.log.partition(slot);
        if belongs != message.partition {
            // Its offset is no version of this slot.
            return Err(BrokerError::Damaged(format!("the event belongs to partition {belongs}")));
        }
        Ok((slot, LoggedOperation { position: Some(message.offset), ..stamped }))
    }

    fn land(&mut self, ended: Ended) {
        match ended {
            Ended::Flight(flight, Landed::Stored) => self.queue.landed(flight),
            Ended::Flight(flight, Landed::Again { refused }) => self.queue.failed(flight, refused, Instant::now()),
            Ended::Buried(message, assignment) => self.queue.done(&message, assignment),
            Ended::Looked => {}
        }
    }
}

/// Slots whose positions were compared with the ends of their partitions since those were assigned.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// A std mutex: held for a look-up, never across an await.
    slots: Mutex<HashMap<u32, BTreeSet<Slot>>>,
}

impl Checked {
    fn forget(&self, partition: u32) {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(&partition);
    }

    pub(super) fn missing(&self, partition: u32, slots: &BTreeSet<Slot>) -> Vec<Slot> {
        let known = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&partition);
        slots.iter().filter(|slot| !known.is_some_and(|known| known.contains(slot))).copied().collect()
    }

    pub(super) fn add(&self, partition: u32, slots: &[Slot]) {
        let mut known = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        known.entry(partition).or_default().extend(slots);
    }
}

/// Asks now and then how much is left in the log.
#[derive(Default)]
struct Lag {
    asking: Option<JoinHandle<()>>,
}

impl Lag {
    fn measure(&mut self, job: &Arc<PersistJob>, stream: OperationStream, queue: &Queue) {
        if self.asking.as_ref().is_some_and(|asking| !asking.is_finished()) {
            return;
        }
        let (job, partitions) = (job.clone(), queue.partitions());
        self.asking = Some(tokio::spawn(async move {
            let mut lag = 0;
            for partition in partitions {
                let end = job.log.end(topic(stream), partition).await;
                let done = job.log.committed(topic(stream), partition).await;
                let (Ok(end), Ok(done)) = (end, done) else { return sleep(MEASURE).await };
                lag += end.saturating_sub(done);
            }
            job.counts(stream).lag.store(lag, Ordering::Relaxed);
            sleep(MEASURE).await;
        }));
    }
}

impl Drop for Lag {
    fn drop(&mut self) {
        if let Some(asking) = &self.asking {
            asking.abort();
        }
    }
}
