//! Loads the dictionary again when another process has replaced it.

use std::sync::Weak;
use std::time::Duration;

use crate::state::AppState;

/// How often the stored version is compared with the one in force.
const POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Polls until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let mut tick = tokio::time::interval(POLL_INTERVAL);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        let in_force = state.dictionary().version();
        match state.tables.read_dictionary_version().await {
            Ok(version) if version == in_force => {}
            Ok(version) => {
                if let Err(error) = state.reload_dictionary().await {
                    let error = format!("{error:#}");
                    tracing::warn!(
                        version,
                        in_force,
                        error,
                        "Could not load dictionary {version}; {in_force} stays in force"
                    );
                }
            }
            Err(error) => {
                tracing::warn!(in_force, %error, "Could not read the dictionary's version; {in_force} stays in force");
            }
        }
        state.rate_limits.forget_idle();
    }
}
