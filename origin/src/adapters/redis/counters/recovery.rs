//! The recovery of lost slots, see [`CounterSlots`].

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::Slot;

use crate::adapters::redis::counters::{
    BEGIN_RECOVERY_SCRIPT, CLAIM_RECOVERY_SCRIPT, FINISH_RECOVERY_SCRIPT, IS_OPEN_SCRIPT, MAX_BATCH,
    RELEASE_RECOVERY_SCRIPT, RedisCounters,
};
use crate::ports::counters::{CounterSlots, CountersError, Recovery};

/// How long a recovery may take.
const RECOVERY_TTL: Duration = Duration::from_secs(10);

#[async_trait]
impl CounterSlots for RedisCounters {
    async fn find_lost_slots(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError> {
        let slots_of_a_call = if self.connection.is_single_server() { MAX_BATCH } else { 1 };
        let open = slots.chunks(slots_of_a_call).map(|slots| async {
            let markers: Vec<_> = slots.iter().map(|slot| self.keys.of(*slot).marker()).collect();
            self.run::<Vec<bool>>(&IS_OPEN_SCRIPT.call(&markers)).await
        });
        let open = try_join_all(open).await?.into_iter().flatten();
        Ok(slots.iter().zip(open).filter(|(_, is_open)| !is_open).map(|(slot, _)| *slot).collect())
    }

    async fn claim_recovery(&self, first: Slot, holder: &str, lease: Duration) -> Result<bool, CountersError> {
        let keys = [self.keys.of(first).recovery_claim()];
        self.run(CLAIM_RECOVERY_SCRIPT.call(&keys).arg(holder).arg(lease.as_millis() as u64)).await
    }

    async fn is_recovery_claimed(&self, first: Slot) -> Result<bool, CountersError> {
        let key = self.keys.of(first).recovery_claim();
        let exists = ::redis::cmd("EXISTS").arg(&key).to_owned();
        Ok(self.connection.query("counters.is_recovery_claimed", &key, &exists).await?)
    }

    async fn release_recovery(&self, first: Slot, holder: &str) -> Result<(), CountersError> {
        let keys = [self.keys.of(first).recovery_claim()];
        self.run(RELEASE_RECOVERY_SCRIPT.call(&keys).arg(holder)).await
    }

    async fn begin_recovery(&self, slots: &[Slot]) -> Result<Recovery, CountersError> {
        let token = format!("{:032x}", rand::random::<u128>());
        let begun = slots.iter().map(|slot| async {
            let keys = [self.keys.of(*slot).recovery_token(&token)];
            self.run::<()>(BEGIN_RECOVERY_SCRIPT.call(&keys).arg(RECOVERY_TTL.as_secs())).await
        });
        try_join_all(begun).await?;
        Ok(Recovery { slots: slots.to_vec(), token })
    }

    async fn finish_recovery(&self, recovery: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError> {
        let opened = recovery.slots.iter().map(|slot| async {
            let Some(reached) = reached.get(slot) else { return Ok(false) };
            let of = self.keys.of(*slot);
            let keys = [of.recovery_token(&recovery.token), of.marker(), of.index()];
            self.run::<bool>(FINISH_RECOVERY_SCRIPT.call(&keys).arg(reached)).await
        });
        let opened = try_join_all(opened).await?;
        if opened.contains(&false) { Err(CountersError::Lost) } else { Ok(()) }
    }
}
