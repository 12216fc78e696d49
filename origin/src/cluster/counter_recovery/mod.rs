//! Opens lost counters again: once the tables hold everything that was acknowledged, they may be
//! counted on from the tables.

#[cfg(test)]
pub(crate) mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join_all, try_join_all};
use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::domain::positions::OperationStream;
use crate::ports::broker::{Broker, Topic};
use crate::ports::counters::{Counters, CountersError};
use crate::ports::store::SlotPositions;

/// How long the tables may take to catch up with the log while somebody waits.
pub(crate) const CATCH_UP: Duration = Duration::from_secs(3);
/// How often they are asked.
const POLL: Duration = Duration::from_millis(20);
/// Processes remember rows for a quarter of a second. Counters that were opened earlier would let them
/// show rows from before what the lost ones had counted.
const REMEMBERED: Duration = Duration::from_millis(250);
/// How long after a failure [`Opener::open_all`] tries again.
const AGAIN: Duration = Duration::from_secs(1);

/// Opens slots; whoever asks for the same partition meanwhile waits for the same answer.
#[derive(Debug)]
pub struct CounterRecovery {
    log: Arc<dyn Broker>,
    tables: Arc<dyn SlotPositions>,
    counters: Arc<dyn Counters>,
    /// One a partition: held while it is opened, with the last failure and when that was.
    partitions: Vec<Mutex<Option<(Instant, CountersError)>>>,
}

impl CounterRecovery {
    pub fn new(log: Arc<dyn Broker>, tables: Arc<dyn SlotPositions>, counters: Arc<dyn Counters>) -> Self {
        let partitions = (0..log.partitions()).map(|_| Mutex::default()).collect();
        Self { log, tables, counters, partitions }
    }

    /// Opens these slots and all others of their partitions that are lost.
    ///
    /// # Errors
    /// [`CountersError::Unavailable`] when the tables have not caught up with the log in three seconds,
    /// or something does not answer; [`CountersError::Lost`] when they were lost again and again.
    pub async fn open(&self, slots: &[Slot]) -> Result<(), CountersError> {
        let mut partitions: Vec<_> = slots.iter().map(|slot| self.log.partition(*slot)).collect();
        partitions.sort_unstable();
        partitions.dedup();
        try_join_all(partitions.into_iter().map(|partition| self.partition(partition))).await?;
        Ok(())
    }

    /// Opens whatever is lost and tries for as long as it takes.
    pub async fn recover_all(&self) {
        let opened = (0..self.log.partitions()).map(|partition| async move {
            while let Err(error) = self.partition(partition).await {
                tracing::warn!(partition, %error, "the counters cannot be opened yet");
                sleep(AGAIN).await;
            }
        });
        join_all(opened).await;
    }

    async fn partition(&self, partition: u32) -> Result<(), CountersError> {
        let came = Instant::now();
        let mut failed = self.partitions[partition as usize].lock().await;
        match &*failed {
            // Who had it until now found out for us.
            Some((when, error)) if *when > came => return Err(error.clone()),
            _ => {}
        }
        let opened = self.open_lost(partition, came + CATCH_UP).await;
        *failed = opened.clone().err().map(|error| (Instant::now(), error));
        opened
    }

    async fn open_lost(&self, partition: u32, until: Instant) -> Result<(), CountersError> {
        let slots: Vec<_> =
            (0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| self.log.partition(*slot) == partition).collect();
        loop {
            let lost = self.counters.lost(&slots).await?;
            if lost.is_empty() {
                return Ok(());
            }
            let opening = self.counters.begin(&lost).await?;
            // Read after the beginning: what is acknowledged until then is before this end.
            let end = self.log.end(Topic::Reactions, partition).await.map_err(unavailable)?;
            let reached = self.catch_up(partition, &lost, end, until).await?;
            sleep(REMEMBERED).await;
            match self.counters.reopen(&opening, &reached).await {
                Err(CountersError::Lost) if Instant::now() < until => {}
                Ok(()) => {
                    tracing::info!(partition, slots = lost.len(), "counters opened");
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the tables hold what was appended before `end`; the slots' positions then.
    async fn catch_up(
        &self,
        partition: u32,
        slots: &[Slot],
        end: u64,
        until: Instant,
    ) -> Result<HashMap<Slot, u64>, CountersError> {
        loop {
            // The commit is asked for first: the positions are then at least as new.
            let committed = self.log.committed(Topic::Reactions, partition).await.map_err(unavailable)?;
            let reached = self.tables.read_positions(OperationStream::Reactions, slots).await.map_err(unavailable)?;
            let reached: HashMap<_, _> =
                slots.iter().map(|slot| (*slot, reached.get(slot).copied().unwrap_or(0))).collect();
            if committed >= end || reached.values().all(|position| *position >= end) {
                return Ok(reached);
            }
            if Instant::now() >= until {
                return Err(unavailable("the tables have not caught up with the log"));
            }
            sleep(POLL).await;
        }
    }
}

fn unavailable(error: impl std::fmt::Display) -> CountersError {
    CountersError::Unavailable(error.to_string())
}
