//! Reads the erased members into memory, again and again.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::outage_log::OutageLog;
use crate::ports::store::Tables;
use crate::state::erased_members::ErasedMembers;

/// How often the tables are read.
pub(super) const ERASURE_READ_INTERVAL: Duration = Duration::from_millis(500);

/// Reads until the state is dropped.
pub async fn run(erased: Weak<ErasedMembers>, tables: Arc<dyn Tables>) {
    let mut tick = tokio::time::interval(ERASURE_READ_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let outage = OutageLog::default();
    loop {
        tick.tick().await;
        let Some(erased) = erased.upgrade() else { return };
        match erased.follow(&*tables).await {
            Ok(()) => outage.end(|| tracing::info!("Read the erased members again")),
            Err(error) => outage.begin(|| {
                let retry_ms = ERASURE_READ_INTERVAL.as_millis() as u64;
                tracing::warn!(retry_ms, %error, "Could not read the erased members; retrying every {retry_ms} ms");
            }),
        }
    }
}
