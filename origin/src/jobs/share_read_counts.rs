//! Adds what this process counted to the sums of all processes, and declares the hot subjects.

use std::sync::Arc;

use tokio::time::{MissedTickBehavior, interval};

use crate::ports::popularity::{EVERY, HOT, Popularity, ReadCounters, hot};

/// Adds the counts every [`EVERY`], without end. With `declared` (reads a minute, seconds of
/// freshness) it also declares which subjects are hot, because another process pushes them.
pub async fn run(counters: Arc<ReadCounters>, popularity: Arc<dyn Popularity>, declared: Option<(u32, u8)>) {
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut hot_before = vec![];
    loop {
        tick.tick().await;
        if let Err(error) = popularity.add(&counters.take()).await {
            tracing::debug!(%error, "Could not add the read counts of this process");
        }
        let Some((per_minute, fresh_for)) = declared else { continue };
        // While the sums are unknown, no subject is hot: then readers see new comments soonest.
        hot_before =
            popularity.most_read(HOT).await.map_or(vec![], |most_read| hot(most_read, &hot_before, per_minute));
        counters.declare(&hot_before, fresh_for);
    }
}
