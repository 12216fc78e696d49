//! From the broker into the tables: one loop per topic, over free functions.
//!
//! A batch is written with the checkpoints of its database, then counters and caches are invalidated, then
//! offsets are committed. A partition is read from the least checkpoint on, so what a database has lost is
//! stored again. Promise: an offset is committed only when the tables or the dead letters have its record and
//! every database has a checkpoint beyond it; a database that does not answer is waited for as long as it
//! takes and delays its own slots alone; a
//! record that fails by itself, while its database is healthy, becomes a dead letter after three
//! tries and the others go on.

mod consume_loop;
mod lag;
mod persist_metrics;
pub(crate) mod queue;
mod refusals;
mod start;
#[cfg(test)]
mod tests;
pub(crate) mod write;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::Context as _;
pub use persist_metrics::{PersistMetrics, TopicCounts};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::broker_identity;
use crate::clock::Clock;
use crate::domain::broker_state::BrokerState;
use crate::domain::positions::OperationStream;
use crate::jobs::pass_rewinds::RewindPasser;
use crate::jobs::persist::consume_loop::ConsumeLoop;
use crate::jobs::persist::lag::LagMeter;
use crate::jobs::persist::queue::RecordQueue;
use crate::jobs::persist::start::StartError;
use crate::outage_log::OutageLog;
use crate::ports::broker::{Broker, Consumer, Topic};
use crate::ports::journal::CommitListeners;
use crate::ports::store::SlotTables;
use crate::state::erased_members::ErasedMembers;

/// How long the loops may go on writing what they have taken, after the stop. The rest is not
/// committed, and another process reads it.
const PERSIST_DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two attempts to find out whether the broker is the installation's, and whether it is stopped.
const STATE_RETRY_INTERVAL: Duration = Duration::from_millis(500);
/// How often checkpoints are stored that have advanced without a batch.
const CHECKPOINT_INTERVAL: Duration = Duration::from_millis(250);
/// The context of an error.
const TASK_PANICKED_TEXT: &str = "a task of the persist job panicked";

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
    pub rewinds: Arc<RewindPasser>,
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

/// Writes records into the tables until `stop` is cancelled; then it writes and commits what it has
/// taken, and leaves the consumer groups.
///
/// # Errors
/// When going on would lose records: the broker is of another cluster, a topic was recreated under the tables, or the
/// broker cannot be read any more. The process must end.
pub async fn run(job: Arc<PersistJob>, stop: CancellationToken) -> anyhow::Result<()> {
    let Some(state) = stop.run_until_cancelled(read_broker_state(&job)).await else { return Ok(()) };
    job.broker.follow(&state);
    if let Some(reason) = &state.stopped {
        anyhow::bail!("the broker is stopped: {reason}; see `gailou broker accept`");
    }
    let done = consume_all(job.clone(), stop).await;
    if let Err(error) = &done
        && error.downcast_ref::<StartError>().is_some()
    {
        // What was decided since this job began stays: it may be the answer to what the job has found.
        broker_identity::stop_broker(&*job.tables, &state.stop(format!("{error:#}"))).await;
    }
    done
}

/// What the installation has decided of its broker, as soon as the broker and a database answer.
async fn read_broker_state(job: &PersistJob) -> BrokerState {
    loop {
        match compare_and_read(job).await {
            Ok(state) => return state,
            Err(error) => tracing::debug!(%error, "Could not read whether the broker is stopped"),
        }
        sleep(STATE_RETRY_INTERVAL).await;
    }
}

async fn compare_and_read(job: &PersistJob) -> anyhow::Result<BrokerState> {
    let other = broker_identity::check(&*job.broker, &*job.tables).await?;
    let state = job.tables.read_broker_state().await?;
    // Also where it could not be stored that the broker is stopped.
    Ok(BrokerState { stopped: state.stopped.or(other), ..state })
}

async fn consume_all(job: Arc<PersistJob>, stop: CancellationToken) -> anyhow::Result<()> {
    let comments = consume(job.clone(), OperationStream::Comments, stop.clone());
    let reactions = consume(job, OperationStream::Reactions, stop);
    tokio::try_join!(comments, reactions)?;
    Ok(())
}

/// The loop of one topic.
async fn consume(job: Arc<PersistJob>, stream: OperationStream, stop: CancellationToken) -> anyhow::Result<()> {
    let name = Topic::of(stream).name();
    let mut consumer = job.broker.subscribe(Topic::of(stream)).with_context(|| format!("reading {name}"))?;
    let mut state = ConsumeLoop::new(job, stream);
    let (mut lag, commit_outage) = (LagMeter::default(), OutageLog::default());
    let mut checkpoint_tick = interval(CHECKPOINT_INTERVAL);
    checkpoint_tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut drain_until = None;
    loop {
        if drain_until.is_none() {
            state.follow_assignments(&mut *consumer);
        }
        state.start_batches();
        let ConsumeLoop { queue, tasks, starts, advances, job, .. } = &mut state;
        if drain_until.is_some() && queue.is_empty() && tasks.is_empty() {
            break;
        }
        let (batch, wait, retry_at) = (job.settings.batch, job.batch_wait(stream), queue.next_retry_at(Instant::now()));
        let reading = drain_until.is_none();
        tokio::select! {
            biased;
            Some(finished) = tasks.join_next() => {
                state.finish(finished.context(TASK_PANICKED_TEXT)?);
                commit(&mut *consumer, &mut state.queue, name, &commit_outage).await;
            }
            Some(advanced) = advances.join_next() => {
                state.finish_advance(advanced.context(TASK_PANICKED_TEXT)?);
                commit(&mut *consumer, &mut state.queue, name, &commit_outage).await;
            }
            Some(found) = starts.join_next(), if reading => match found {
                Ok((partition, assignment, found)) => {
                    let found = found.with_context(|| format!("reading {name}"))?;
                    state.start_partition(&mut *consumer, partition, assignment, found).await;
                }
                Err(error) if error.is_cancelled() => {}
                Err(error) => return Err(error).context(TASK_PANICKED_TEXT),
            },
            () = stop.cancelled(), if reading => drain_until = Some(Instant::now() + PERSIST_DRAIN_TIMEOUT),
            () = sleep_until(drain_until.unwrap_or_else(Instant::now)), if !reading => {
                let records = state.queue.len();
                tracing::warn!(topic = name, records, "Stopped before {records} records of {name} were stored; another process reads them");
                break;
            }
            _ = checkpoint_tick.tick(), if reading => state.advance_checkpoints(),
            () = sleep_until(retry_at.unwrap_or_else(Instant::now)), if retry_at.is_some() => {}
            records = consumer.poll_batch(batch, wait), if reading => {
                let records = records.with_context(|| format!("reading {name}"))?;
                state.follow_assignments(&mut *consumer);
                records.into_iter().for_each(|record| state.take(record));
            }
        }
        state.leave_out();
        consumer.set_paused(&state.queue.partitions_to_pause());
        let waiting = state.queue.len() as u64;
        state.job.counts(stream).waiting.store(waiting, Ordering::Relaxed);
        lag.measure(&state.job, stream, state.queue.partitions());
    }
    state.store_last_checkpoints().await;
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
