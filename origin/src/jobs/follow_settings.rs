//! Puts settings in force that an admin has changed at another process.

use std::sync::Weak;
use std::time::Duration;

use crate::outage_log::OutageLog;
use crate::state::AppState;

/// How often the stored changes are compared with those in force: well below the five seconds that are promised.
const SETTINGS_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Polls until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let outage = OutageLog::default();
    let mut tick = tokio::time::interval(SETTINGS_POLL_INTERVAL);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        let loaded = state.reload_settings().await;
        let version = state.settings().version;
        match loaded {
            Ok(has_changed) => {
                outage.end(|| tracing::info!(version, "Read the settings again: version {version} is in force"));
                if has_changed {
                    tracing::info!(version, "Version {version} of the settings is in force");
                }
            }
            Err(error) => outage.begin(|| {
                let error = format!("{error:#}");
                tracing::warn!(version, error, "Could not load the settings; version {version} stays in force");
            }),
        }
    }
}
