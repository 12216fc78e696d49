//! Deletes what has expired: snapshots, idempotency keys, rows of the change feed, old texts, refused texts,
//! deliveries to webhooks, idle rate limits.

use std::sync::Weak;
use std::time::Duration;

use gailou_shared::limits::REFUSED_TEXT_RETENTION_MS;

use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::webhook::DELIVERY_RETENTION_MS;
use crate::outage_log::OutageLog;
use crate::ports::journal::JournalError;
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
        match sweep(&state).await {
            Ok(()) => outage.end(|| tracing::info!("The sweep is appended again")),
            Err(error) => outage.begin(|| {
                let retry_s = SWEEP_INTERVAL.as_secs();
                tracing::warn!(operation = "sweep", retry_s, %error, "Could not append the sweep; retrying every {retry_s} s");
            }),
        }
        state.rate_limits.forget_idle();
    }
}

/// Deletes every row that has expired, in operations that are small enough for others to come in between.
///
/// # Errors
/// The journal's, or the store's.
pub async fn sweep(state: &AppState) -> Result<(), JournalError> {
    state.journal.append(Operation::DeleteExpired).await?;
    let before = state.now().saturating_sub(state.config.retention.edit_history_ms());
    while let OperationOutcome::Unfinished = state.journal.append(Operation::DeleteEditHistory { before }).await? {}
    let before = state.now().saturating_sub(REFUSED_TEXT_RETENTION_MS);
    state.tables.delete_refused_before(before).await?;
    state.tables.trim_deliveries(state.now().saturating_sub(DELIVERY_RETENTION_MS)).await?;
    Ok(())
}
