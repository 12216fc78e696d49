//! Waits until what was written can be read by everybody.
//!
//! Embedded, an acknowledged write is in the tables. In a cluster it is in the log, and in the lists
//! a moment later: whoever reads a list after a write waits here for that moment, so that the same
//! stories are told of both.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou::ports::broker::{Broker, Topic};

use crate::DEADLINE;

/// The log of a site, and how much of it is known to be stored.
pub struct Settle {
    log: Arc<dyn Broker>,
    /// Writes that were answered, and those of them that are known to be in the tables.
    written: AtomicU64,
    settled: AtomicU64,
}

impl fmt::Debug for Settle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Settle")
    }
}

impl Settle {
    pub fn new(log: Arc<dyn Broker>) -> Self {
        // What an earlier site on the same servers wrote is waited for as well.
        Self { log, written: AtomicU64::new(1), settled: AtomicU64::new(0) }
    }

    /// A write was answered.
    pub(crate) fn wrote(&self) {
        self.written.fetch_add(1, Ordering::SeqCst);
    }

    /// Waits until everything that was answered is stored, and everybody was told.
    pub(crate) async fn settle(&self) {
        let written = self.written.load(Ordering::SeqCst);
        if self.settled.load(Ordering::SeqCst) < written {
            self.within(DEADLINE).await.unwrap_or_else(|problem| panic!("{problem}"));
            self.settled.fetch_max(written, Ordering::SeqCst);
        }
    }

    /// Waits until everything that is in the log now is stored, and everybody was told.
    ///
    /// # Errors
    /// When it takes longer than `patience`: what is not stored.
    pub async fn within(&self, patience: Duration) -> Result<(), String> {
        let partitions = |topic| (0..self.log.partitions()).map(move |partition| (topic, partition));
        let all = [Topic::Comments, Topic::Reactions].into_iter().flat_map(partitions);
        let done = join_all(all.map(|(topic, partition)| self.stored(topic, partition, patience))).await;
        let late: Vec<String> = done.into_iter().filter_map(Result::err).collect();
        if late.is_empty() { Ok(()) } else { Err(late.join("; ")) }
    }

    async fn stored(&self, topic: Topic, partition: u32, patience: Duration) -> Result<(), String> {
        let begun = Instant::now();
        let mut end = None;
        loop {
            // The broker may be on its way back.
            let state = match end {
                None => self.log.end(topic, partition).await.map(|last| end = Some(last)).map(|()| "has an end".into()),
                Some(end) => match self.log.committed(topic, partition).await {
                    // Nothing is committed of what is empty.
                    Ok(committed) if committed >= end => return Ok(()),
                    Ok(committed) => Ok(format!("is stored up to {committed} of {end}")),
                    Err(error) => Err(error),
                },
            };
            if begun.elapsed() > patience {
                let state = state.unwrap_or_else(|error| error.to_string());
                return Err(format!("{} {partition} {state} after {patience:?}", topic.name()));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}
