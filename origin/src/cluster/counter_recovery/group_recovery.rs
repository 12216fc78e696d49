//! Recovers one group of slots: one process of all opens them, the others wait until it has.
//!
//! Who opens them holds a claim in Redis. The claim saves queries and decides nothing: while it can be neither
//! taken nor read, every process opens them, and a second recovery changes nothing that the first has done.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::time::{Instant, sleep};

use crate::cluster::counter_recovery::SlotGroup;
use crate::domain::positions::OperationStream;
use crate::ports::broker::{PartitionOffsets, Topic};
use crate::ports::counters::{CounterSlots, CountersError};
use crate::ports::store::SlotTables;

/// When it is first asked again how far the tables or another process are; each further time it is doubled.
const FIRST_POLL_INTERVAL: Duration = Duration::from_millis(25);
pub(super) const MAX_POLL_INTERVAL: Duration = Duration::from_millis(400);
/// Processes keep rows for a quarter of a second. If counters were opened earlier, these rows could show
/// counts from before what the lost counters had counted.
pub(super) const LOCAL_CACHE_DRAIN_TIME: Duration = Duration::from_millis(250);
/// How long the tables may take to catch up with the broker. A recovery may take ten seconds.
const CATCH_UP_TIMEOUT: Duration = Duration::from_secs(8);
/// How long a claim lasts that is not prolonged: five times the longest poll interval. A process that dies or stands
/// still is succeeded after it.
pub(super) const RECOVERY_LEASE: Duration = Duration::from_secs(2);

/// What a recovery asks, and the name of this process among those that recover.
#[derive(Debug)]
pub(super) struct GroupRecovery {
    pub(super) offsets: Arc<dyn PartitionOffsets>,
    pub(super) tables: Arc<dyn SlotTables>,
    pub(super) counters: Arc<dyn CounterSlots>,
    pub(super) holder: String,
}

impl GroupRecovery {
    /// The group of a slot. A slot that moves may be in its former group for a moment.
    pub(super) fn group_of(&self, slot: Slot) -> SlotGroup {
        SlotGroup { partition: self.offsets.partition_of(slot), database: self.tables.database_of(slot) }
    }

    /// Returns when the slots of a group are open, by this process or by another. It waits for others until `until`, and
    /// for the tables as long as it has claimed the group.
    pub(super) async fn recover(&self, group: SlotGroup, until: Instant) -> Result<(), CountersError> {
        let slots = (0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| self.group_of(*slot) == group);
        let slots: Vec<_> = slots.collect();
        let Some(&first) = slots.first() else { return Ok(()) };
        loop {
            if self.counters.find_lost_slots(&slots).await?.is_empty() {
                return Ok(());
            }
            if !self.claim(first).await {
                self.wait_for_holder(group, first, until).await?;
                continue;
            }
            let opened = self.open(group, &slots).await;
            // Others continue at once; without an answer they wait for the end of the lease.
            if let Err(error) = self.counters.release_recovery(first, &self.holder).await {
                tracing::debug!(%error, "Could not give up the claim of a recovery; it ends by itself");
            }
            match opened {
                Ok(true) => return Ok(()),
                Err(error) if !matches!(error, CountersError::Lost) || Instant::now() >= until => return Err(error),
                // The slots were lost again, or another process has taken over.
                _ => {}
            }
        }
    }

    /// Whether this process is the one that opens the slots, or has to because it is not known who is.
    async fn claim(&self, first: Slot) -> bool {
        let claimed = self.counters.claim_recovery(first, &self.holder, RECOVERY_LEASE).await;
        claimed.unwrap_or_else(|error| {
            tracing::debug!(%error, "Could not claim a recovery; recovering without a claim");
            true
        })
    }

    /// Waits until the holder of the claim has opened the slots, has failed or is dead.
    async fn wait_for_holder(&self, group: SlotGroup, first: Slot, until: Instant) -> Result<(), CountersError> {
        let mut poll_interval = FIRST_POLL_INTERVAL;
        loop {
            sleep(poll_interval).await;
            if !self.counters.is_recovery_claimed(first).await.unwrap_or(false) {
                return Ok(());
            }
            if Instant::now() >= until {
                let partition = group.partition;
                let reason = format!("another process still recovers the counters of partition {partition}");
                return Err(CountersError::Unavailable(reason.into()));
            }
            poll_interval = MAX_POLL_INTERVAL.min(2 * poll_interval);
        }
    }

    /// Opens what is lost of these slots; `false` when another process has taken over.
    async fn open(&self, group: SlotGroup, slots: &[Slot]) -> Result<bool, CountersError> {
        // The former holder may have opened them before it gave up its claim.
        let lost = self.counters.find_lost_slots(slots).await?;
        if lost.is_empty() {
            return Ok(true);
        }
        let SlotGroup { partition, database } = group;
        let recovery = self.counters.begin_recovery(&lost).await?;
        // Read after the beginning: every reaction acknowledged until then is before this offset.
        let end = self.offsets.end_offset(Topic::Reactions, partition).await?;
        let Some(reached) = self.catch_up(group, slots[0], &lost, end).await? else { return Ok(false) };
        sleep(LOCAL_CACHE_DRAIN_TIME).await;
        self.counters.finish_recovery(&recovery, &reached).await?;
        let slots = lost.len();
        tracing::info!(
            partition,
            database,
            slots,
            "Recovered the counters of {slots} slots of partition {partition} in database {database}"
        );
        Ok(true)
    }

    /// Waits until the tables hold every record before `end`. Returns the positions of the slots then; `None` when
    /// another process has taken over.
    async fn catch_up(
        &self,
        SlotGroup { partition, database }: SlotGroup,
        first: Slot,
        slots: &[Slot],
        end: u64,
    ) -> Result<Option<HashMap<Slot, u64>>, CountersError> {
        let until = Instant::now() + CATCH_UP_TIMEOUT;
        let mut poll_interval = FIRST_POLL_INTERVAL;
        loop {
            // The applied offset first: the positions are at least as new then.
            let applied = match self.tables.read_applied_offset(database, OperationStream::Reactions, partition).await?
            {
                Some(applied) => applied,
                // No job has begun the partition since there are checkpoints.
                None => self.offsets.committed_offset(Topic::Reactions, partition).await?,
            };
            let positions = self.tables.read_positions(OperationStream::Reactions, slots).await?;
            let position_of = |slot| positions.get(slot).copied().unwrap_or(0);
            let reached: HashMap<_, _> = slots.iter().map(|slot| (*slot, position_of(slot))).collect();
            if applied >= end || reached.values().all(|position| *position >= end) {
                return Ok(Some(reached));
            }
            if Instant::now() >= until {
                let reason = format!("the tables have not caught up with partition {partition} of the reactions");
                return Err(CountersError::Unavailable(reason.into()));
            }
            sleep(poll_interval).await;
            poll_interval = MAX_POLL_INTERVAL.min(2 * poll_interval);
            if !self.claim(first).await {
                return Ok(None);
            }
        }
    }
}
