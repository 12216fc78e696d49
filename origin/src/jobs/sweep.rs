//! Deletes what has expired: snapshots, idempotency keys, rows of the change feed, idle rate limits.

use std::sync::Weak;
use std::time::Duration;

use crate::domain::operation::Operation;
use crate::state::AppState;

/// How often the sweep runs; what expired in between is ignored by its readers.
const SWEEP_INTERVAL: Duration = Duration::from_secs(600);

/// Sweeps until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let mut tick = tokio::time::interval(SWEEP_INTERVAL);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        if let Err(error) = state.journal.append(Operation::DeleteExpired).await {
            let retry_s = SWEEP_INTERVAL.as_secs();
            tracing::warn!(operation = "sweep", retry_s, %error, "Could not append the sweep; the next one is in {retry_s} s");
        }
        state.rate_limits.forget_idle();
    }
}
