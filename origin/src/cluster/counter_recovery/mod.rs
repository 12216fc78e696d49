//! Recovers lost counters: once the tables hold every acknowledged reaction, counting may continue from
//! the tables.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use futures_util::future::{join_all, try_join_all};
use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};

use crate::domain::positions::OperationStream;
use crate::outage_log::OutageLog;
use crate::ports::broker::{BrokerError, PartitionOffsets, Topic};
use crate::ports::counters::{CounterSlots, CountersError};
use crate::ports::failure::Failure;
use crate::ports::store::{SlotPositions, StoreError};

/// How long the tables may take to catch up with the broker while a caller waits.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(3);
/// How often their positions are read meanwhile.
const CATCH_UP_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Processes keep rows for a quarter of a second. If counters were opened earlier, these rows could show
/// counts from before what the lost counters had counted.
const LOCAL_CACHE_DRAIN_TIME: Duration = Duration::from_millis(250);
/// How long [`CounterRecovery::recover_all`] waits after a failure; jitter adds up to as much again.
const RECOVERY_RETRY_DELAY: Duration = Duration::from_millis(700);

/// Recovers slots. Concurrent callers with the same partition wait for the same recovery.
#[derive(Debug)]
pub struct CounterRecovery {
    offsets: Arc<dyn PartitionOffsets>,
    tables: Arc<dyn SlotPositions>,
    counters: Arc<dyn CounterSlots>,
    /// One for each partition: locked during its recovery, with the last failure and its time.
    partitions: Vec<Mutex<Option<(Instant, CountersError)>>>,
}

impl CounterRecovery {
    pub fn new(
        offsets: Arc<dyn PartitionOffsets>,
        tables: Arc<dyn SlotPositions>,
        counters: Arc<dyn CounterSlots>,
    ) -> Self {
        let partitions = (0..offsets.partition_count()).map(|_| Mutex::default()).collect();
        Self { offsets, tables, counters, partitions }
    }

    /// Recovers these slots, and all other lost slots of their partitions.
    ///
    /// # Errors
    /// [`CountersError::Unavailable`] when the tables have not caught up with the broker in three seconds,
    /// or a server does not answer; [`CountersError::Lost`] when the slots were lost again and again.
    pub async fn recover_slots(&self, slots: &[Slot]) -> Result<(), CountersError> {
        let mut partitions: Vec<_> = slots.iter().map(|slot| self.offsets.partition_of(*slot)).collect();
        partitions.sort_unstable();
        partitions.dedup();
        try_join_all(partitions.into_iter().map(|partition| self.recover_partition(partition))).await?;
        Ok(())
    }

    /// Recovers every lost slot, and retries without end.
    pub async fn recover_all(&self) {
        let delays = ConstantBuilder::default().with_delay(RECOVERY_RETRY_DELAY).with_jitter().without_max_times();
        let recovered = (0..self.offsets.partition_count()).map(async |partition| {
            let recovery = (|| self.recover_partition(partition)).retry(delays);
            let outage = OutageLog::default();
            let recovery = recovery.notify(|error, _| outage.begin(|| {
                tracing::warn!(partition, %error, "Could not recover the counters of partition {partition}; retrying until it succeeds");
            }));
            // Without a limit of attempts it ends by success only.
            let _ = recovery.await;
            outage.end(|| tracing::info!(partition, "Recovered the counters of partition {partition}"));
        });
        join_all(recovered).await;
    }

    async fn recover_partition(&self, partition: u32) -> Result<(), CountersError> {
        let called_at = Instant::now();
        let mut last_failure = self.partitions[partition as usize].lock().await;
        match &*last_failure {
            // A recovery that this caller waited for has failed.
            Some((failed_at, error)) if *failed_at > called_at => return Err(error.clone()),
            _ => {}
        }
        let recovered = self.recover_lost_slots(partition, called_at + CATCH_UP_TIMEOUT).await;
        *last_failure = recovered.clone().err().map(|error| (Instant::now(), error));
        recovered
    }

    async fn recover_lost_slots(&self, partition: u32, until: Instant) -> Result<(), CountersError> {
        let slots = (0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| self.offsets.partition_of(*slot) == partition);
        let slots: Vec<_> = slots.collect();
        loop {
            let lost = self.counters.find_lost_slots(&slots).await?;
            if lost.is_empty() {
                return Ok(());
            }
            let recovery = self.counters.begin_recovery(&lost).await?;
            // Read after the beginning: every reaction acknowledged until then is before this offset.
            let end = self.offsets.end_offset(Topic::Reactions, partition).await?;
            let reached = self.catch_up(partition, &lost, end, until).await?;
            sleep(LOCAL_CACHE_DRAIN_TIME).await;
            match self.counters.finish_recovery(&recovery, &reached).await {
                Err(CountersError::Lost) if Instant::now() < until => {}
                Ok(()) => {
                    let slots = lost.len();
                    tracing::info!(
                        partition,
                        slots,
                        "Recovered the counters of {slots} slots of partition {partition}"
                    );
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Waits until the tables hold every record before `end`. Returns the positions of the slots then.
    async fn catch_up(
        &self,
        partition: u32,
        slots: &[Slot],
        end: u64,
        until: Instant,
    ) -> Result<HashMap<Slot, u64>, CountersError> {
        loop {
            // The committed offset first: the positions are at least as new then.
            let committed = self.offsets.committed_offset(Topic::Reactions, partition).await?;
            let positions = self.tables.read_positions(OperationStream::Reactions, slots).await?;
            let position_of = |slot| positions.get(slot).copied().unwrap_or(0);
            let reached: HashMap<_, _> = slots.iter().map(|slot| (*slot, position_of(slot))).collect();
            if committed >= end || reached.values().all(|position| *position >= end) {
                return Ok(reached);
            }
            if Instant::now() >= until {
                let reason = format!("the tables have not caught up with partition {partition} of the reactions");
                return Err(CountersError::Unavailable(reason.into()));
            }
            sleep(CATCH_UP_POLL_INTERVAL).await;
        }
    }
}

impl From<BrokerError> for CountersError {
    fn from(error: BrokerError) -> Self {
        Self::Unavailable(Failure::of_driver(error))
    }
}

impl From<StoreError> for CountersError {
    fn from(error: StoreError) -> Self {
        Self::Unavailable(Failure::of_driver(error))
    }
}
