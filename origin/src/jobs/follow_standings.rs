//! Reads what moderators say of members into memory, again and again.

use std::sync::Weak;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::outage_log::OutageLog;
use crate::state::AppState;

/// How often a database is read for what has changed.
const STANDING_READ_INTERVAL: Duration = Duration::from_secs(1);
/// How often everything is read.
const STANDING_RELOAD_INTERVAL: Duration = Duration::from_secs(600);

/// Follows one database until the state is dropped.
pub async fn run(state: Weak<AppState>, database: usize) {
    let outage = OutageLog::default();
    let mut tick = tokio::time::interval(STANDING_READ_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        match state.standings.follow(&*state.tables, database, state.now()).await {
            Ok(()) => outage.end(|| tracing::info!(database, "Read of database {database} who is muted again")),
            Err(error) => outage.begin(|| {
                let retry_ms = STANDING_READ_INTERVAL.as_millis() as u64;
                tracing::warn!(database, retry_ms, %error, "Could not read of database {database} who is muted; retrying every {retry_ms} ms");
            }),
        }
    }
}

/// Reads everything from time to time, until the state is dropped.
pub async fn reload(state: Weak<AppState>) {
    loop {
        tokio::time::sleep(STANDING_RELOAD_INTERVAL).await;
        let Some(state) = state.upgrade() else { return };
        if let Err(error) = state.standings.reload(&*state.tables, state.now()).await {
            tracing::debug!(%error, "Could not read again who is muted");
        }
    }
}
