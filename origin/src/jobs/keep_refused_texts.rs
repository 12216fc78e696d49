//! Writes refused texts into the tables, off the way of answers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::time::timeout;

use crate::outage_log::OutageLog;
use crate::ports::store;
use crate::state::AppState;
use crate::state::refused_texts::{RefusedOutcome, RefusedTextQueue};

/// How often the loop looks whether the state is dropped.
const REFUSED_WAIT: Duration = Duration::from_secs(1);

/// Writes until the state is dropped.
pub async fn run(state: Weak<AppState>, queue: Arc<RefusedTextQueue>) {
    let outage = OutageLog::default();
    loop {
        // A text that was pushed while this was writing is found without a notification.
        let _ = timeout(REFUSED_WAIT, queue.wait()).await;
        let Some(state) = state.upgrade() else { return };
        while let Some(text) = queue.pop() {
            let id = text.id;
            let outcome = if state.erased_members.contains(text.author.id) {
                continue;
            } else {
                state.tables.keep_refused(&text).await
            };
            count(&outcome);
            match outcome {
                Ok(_) => outage.end(|| tracing::info!(refused = %id, "Refused texts are kept again")),
                Err(error) => outage.begin(|| {
                    tracing::warn!(refused = %id, %error, "Could not keep refused text {id}; it is dropped, and so are those that follow until the tables answer");
                }),
            }
        }
    }
}

fn count(outcome: &store::Result<bool>) {
    match outcome {
        Ok(true) => RefusedOutcome::Kept.count(),
        Ok(false) => RefusedOutcome::Bounded.count(),
        Err(_) => RefusedOutcome::Failed.count(),
    }
}
