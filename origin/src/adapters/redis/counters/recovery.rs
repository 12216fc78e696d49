//! The recovery of lost slots, see [`CounterSlots`].

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::Slot;

use crate::adapters::redis::counters::{BEGIN_RECOVERY_SCRIPT, FINISH_RECOVERY_SCRIPT, IS_OPEN_SCRIPT, RedisCounters};
use crate::ports::counters::{CounterSlots, CountersError, Recovery};

/// How long a recovery may take.
const RECOVERY_TTL: Duration = Duration::from_secs(10);

#[async_trait]
impl CounterSlots for RedisCounters {
    async fn find_lost_slots(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError> {
        let open = slots.iter().map(|slot| async {
            let call = IS_OPEN_SCRIPT.call(&[self.keys.marker(*slot)]);
            Ok::<_, CountersError>((*slot, self.run::<bool>(&call).await?))
        });
        let open = try_join_all(open).await?.into_iter();
        Ok(open.filter(|(_, is_open)| !is_open).map(|(slot, _)| slot).collect())
    }

    async fn begin_recovery(&self, slots: &[Slot]) -> Result<Recovery, CountersError> {
        let token = format!("{:032x}", rand::random::<u128>());
        let begun = slots.iter().map(|slot| async {
            let keys = [self.keys.recovery_token(*slot, &token)];
            self.run::<()>(BEGIN_RECOVERY_SCRIPT.call(&keys).arg(RECOVERY_TTL.as_secs())).await
        });
        try_join_all(begun).await?;
        Ok(Recovery { slots: slots.to_vec(), token })
    }

    async fn finish_recovery(&self, recovery: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError> {
        let opened = recovery.slots.iter().map(|slot| async {
            let Some(reached) = reached.get(slot) else { return Ok(false) };
            let token = self.keys.recovery_token(*slot, &recovery.token);
            let keys = [token, self.keys.marker(*slot), self.keys.index(*slot)];
            self.run::<bool>(FINISH_RECOVERY_SCRIPT.call(&keys).arg(reached)).await
        });
        let opened = try_join_all(opened).await?;
        if opened.contains(&false) { Err(CountersError::Lost) } else { Ok(()) }
    }
}
