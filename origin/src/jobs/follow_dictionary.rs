//! Loads the dictionary again when another process has replaced it.

use std::sync::Weak;
use std::time::Duration;

use crate::outage_log::OutageLog;
use crate::state::AppState;

/// How often the stored version is compared with the one in force.
const DICTIONARY_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Polls until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let (read_outage, load_outage) = (OutageLog::default(), OutageLog::default());
    let mut tick = tokio::time::interval(DICTIONARY_POLL_INTERVAL);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        let in_force = state.dictionary().version();
        match state.tables.read_dictionary_version().await {
            Ok(version) => {
                read_outage.end(|| tracing::info!(version, "Read the dictionary's version again: {version}"));
                let loaded = if version == in_force { Ok(()) } else { state.reload_dictionary().await };
                match loaded {
                    Ok(()) => load_outage.end(|| tracing::info!(version, "Dictionary {version} is in force")),
                    Err(error) => load_outage.begin(|| {
                        let error = format!("{error:#}");
                        tracing::warn!(
                            version,
                            in_force,
                            error,
                            "Could not load dictionary {version}; {in_force} stays in force"
                        );
                    }),
                }
            }
            Err(error) => read_outage.begin(|| {
                tracing::warn!(in_force, %error, "Could not read the dictionary's version; {in_force} stays in force");
            }),
        }
        state.rate_limits.forget_idle();
    }
}
