//! Deletes what has expired: snapshots, idempotency keys, rows of the change feed, idle rate limits.

use std::sync::Weak;
use std::time::Duration;

use crate::domain::operation::Operation;
use crate::outage_log::OutageLog;
use crate::state::AppState;

/// How often the sweep runs; what expired in between is ignored by its readers.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// Sweeps until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let outage = OutageLog::default();
    let mut tick = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        match state.journal.append(Operation::DeleteExpired).await {
            Ok(_) => outage.end(|| tracing::info!("The sweep is appended again")),
            Err(error) => outage.begin(|| {
                let retry_s = SWEEP_INTERVAL.as_secs();
                tracing::warn!(operation = "sweep", retry_s, %error, "Could not append the sweep; retrying every {retry_s} s");
            }),
        }
        state.rate_limits.forget_idle();
    }
}
