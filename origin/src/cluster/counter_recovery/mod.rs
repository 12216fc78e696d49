//! Recovers lost counters: once the tables hold every acknowledged reaction, counting may continue from
//! the tables. One process recovers the slots of a partition and a database, for all processes.

mod group_recovery;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use backon::{ConstantBuilder, Retryable as _};
use futures_util::future::{join_all, try_join_all};
use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::cluster::counter_recovery::group_recovery::GroupRecovery;
use crate::outage_log::OutageLog;
use crate::ports::broker::{BrokerError, PartitionOffsets};
use crate::ports::counters::{CounterSlots, CountersError};
use crate::ports::failure::Failure;
use crate::ports::store::{SlotTables, StoreError};

/// How long a caller waits. The recovery goes on without it.
const RECOVERY_WAIT_TIMEOUT: Duration = Duration::from_secs(3);
/// How long [`CounterRecovery::recover_all`] waits after a failure; jitter adds up to as much again.
const RECOVERY_RETRY_DELAY: Duration = Duration::from_millis(700);

/// Recovers slots: those of one partition and one database together, so that a database that does not answer
/// keeps the counters of its own slots lost and no others. Concurrent callers wait for the same recovery.
#[derive(Debug)]
pub struct CounterRecovery {
    recovery: Arc<GroupRecovery>,
    /// One for each partition and database, locked during its recovery.
    groups: Vec<Arc<Mutex<LastFailure>>>,
}

/// How the last recovery of a group failed, and when.
type LastFailure = Option<(Instant, CountersError)>;

/// Slots that are recovered together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct SlotGroup {
    partition: u32,
    database: usize,
}

impl CounterRecovery {
    pub fn new(
        offsets: Arc<dyn PartitionOffsets>,
        tables: Arc<dyn SlotTables>,
        counters: Arc<dyn CounterSlots>,
    ) -> Self {
        let groups = offsets.partition_count() as usize * tables.count_databases();
        let groups = (0..groups).map(|_| Arc::default()).collect();
        let holder = format!("{:016x}", rand::random::<u64>());
        Self { recovery: Arc::new(GroupRecovery { offsets, tables, counters, holder }), groups }
    }

    /// Recovers these slots, and all other lost slots of their groups.
    ///
    /// # Errors
    /// [`CountersError::Unavailable`] when the tables have not caught up with the broker in three seconds,
    /// or a server does not answer; [`CountersError::Lost`] when the slots were lost again and again.
    pub async fn recover_slots(&self, slots: &[Slot]) -> Result<(), CountersError> {
        let groups: BTreeSet<_> = slots.iter().map(|slot| self.recovery.group_of(*slot)).collect();
        try_join_all(groups.into_iter().map(|group| self.recover_group(group))).await?;
        Ok(())
    }

    /// Recovers every lost slot, and retries without end.
    pub async fn recover_all(&self) {
        let delays = ConstantBuilder::default().with_delay(RECOVERY_RETRY_DELAY).with_jitter().without_max_times();
        let groups: BTreeSet<_> =
            (0..SLOT_COUNT).filter_map(Slot::new).map(|slot| self.recovery.group_of(slot)).collect();
        let recovered = groups.into_iter().map(async |group| {
            let SlotGroup { partition, database } = group;
            let recovery = (|| self.recover_group(group)).retry(delays);
            let outage = OutageLog::default();
            let recovery = recovery.notify(|error, _| outage.begin(|| {
                tracing::warn!(partition, database, %error, "Could not recover the counters of partition {partition} in database {database}; retrying until it succeeds");
            }));
            // Without a limit of attempts it ends by success only.
            let _ = recovery.await;
            outage.end(|| tracing::info!(partition, database, "Recovered the counters of partition {partition} in database {database}"));
        });
        join_all(recovered).await;
    }

    async fn recover_group(&self, group: SlotGroup) -> Result<(), CountersError> {
        let until = Instant::now() + RECOVERY_WAIT_TIMEOUT;
        let recovered = timeout_at(until, self.join_recovery(group, until)).await;
        recovered.unwrap_or_else(|_| {
            let partition = group.partition;
            let reason = format!("the tables have not caught up with partition {partition} of the reactions");
            Err(CountersError::Unavailable(reason.into()))
        })
    }

    /// Waits for the recovery of a group that is under way, or for a new one.
    async fn join_recovery(&self, group: SlotGroup, until: Instant) -> Result<(), CountersError> {
        let called_at = Instant::now();
        let index = group.partition as usize * self.recovery.tables.count_databases() + group.database;
        let mut last_failure = self.groups[index].clone().lock_owned().await;
        match &*last_failure {
            // A recovery that this caller waited for has failed.
            Some((failed_at, error)) if *failed_at > called_at => return Err(error.clone()),
            _ => {}
        }
        let recovery = self.recovery.clone();
        // A task of its own: no other process recovers the group while this one has claimed it.
        let recovering = tokio::spawn(async move {
            let recovered = recovery.recover(group, until).await;
            *last_failure = recovered.clone().err().map(|error| (Instant::now(), error));
            recovered
        });
        recovering.await.unwrap_or_else(|error| Err(CountersError::Unavailable(Failure::of_driver(error))))
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
