//! Waits until everything that was acknowledged is in the tables and every cache was invalidated.
//!
//! An embedded origin has written a row before it acknowledges. A cluster has appended to the broker,
//! and the row follows a moment later. A test that reads a list after a write waits here for that
//! moment, so that one contract is tested on both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou::ports::broker::{Broker, Topic};

use crate::{POLL_INTERVAL, POLL_TIMEOUT};

/// Compares the end of each partition with the offset that the jobs have committed.
pub struct PersistBarrier {
    broker: Arc<dyn Broker>,
    /// How many writes were answered.
    answered_writes: AtomicU64,
    /// How many of them are known to be in the tables.
    persisted_writes: AtomicU64,
}

impl fmt::Debug for PersistBarrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PersistBarrier").field("answered_writes", &self.answered_writes).finish_non_exhaustive()
    }
}

impl PersistBarrier {
    pub fn new(broker: Arc<dyn Broker>) -> Self {
        // The first wait also covers what an earlier origin on the same broker has written.
        Self { broker, answered_writes: AtomicU64::new(1), persisted_writes: AtomicU64::new(0) }
    }

    /// Counts a write that was answered.
    pub(crate) fn note_write(&self) {
        self.answered_writes.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until every answered write is persisted; returns at once when none is open.
    pub(crate) async fn wait(&self) {
        let answered = self.answered_writes.load(Ordering::SeqCst);
        if self.persisted_writes.load(Ordering::SeqCst) < answered {
            self.wait_within(POLL_TIMEOUT).await.unwrap_or_else(|problem| panic!("{problem}"));
            self.persisted_writes.fetch_max(answered, Ordering::SeqCst);
        }
    }

    /// Waits until the jobs have committed everything that is in the broker at the moment of the call.
    ///
    /// # Errors
    /// After `timeout`: which partitions are behind, and how far.
    pub async fn wait_within(&self, timeout: Duration) -> Result<(), String> {
        let partitions = |topic| (0..self.broker.partition_count()).map(move |partition| (topic, partition));
        let all = [Topic::Comments, Topic::Reactions].into_iter().flat_map(partitions);
        let waits = join_all(all.map(|(topic, partition)| self.wait_for_partition(topic, partition, timeout))).await;
        let behind: Vec<String> = waits.into_iter().filter_map(Result::err).collect();
        if behind.is_empty() { Ok(()) } else { Err(behind.join("; ")) }
    }

    async fn wait_for_partition(&self, topic: Topic, partition: u32, timeout: Duration) -> Result<(), String> {
        let started = Instant::now();
        let mut end = None;
        loop {
            // An error is polled again: a test may have restarted the broker.
            let state = match end {
                None => self
                    .broker
                    .end_offset(topic, partition)
                    .await
                    .map(|last| end = Some(last))
                    .map(|()| "has an end".into()),
                Some(end) => match self.broker.committed_offset(topic, partition).await {
                    // An empty partition has no commit, and its end is zero.
                    Ok(committed) if committed >= end => return Ok(()),
                    Ok(committed) => Ok(format!("is committed up to {committed} of {end}")),
                    Err(error) => Err(error),
                },
            };
            if started.elapsed() > timeout {
                let state = state.unwrap_or_else(|error| error.to_string());
                return Err(format!("{}[{partition}] {state} after {timeout:?}", topic.name()));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
