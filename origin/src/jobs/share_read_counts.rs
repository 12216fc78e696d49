//! Adds what this process counted to the sums of all processes, and declares the popular subjects.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::ports::popularity::Popularity;
use crate::state::read_counters::{MAX_POPULAR_SUBJECTS, ReadCounters, select_popular};

/// How often the counts are added.
const REPORT_INTERVAL: Duration = Duration::from_secs(2);

/// After how long a network counts again.
const NETWORK_MEMORY: Duration = Duration::from_secs(60);

/// Adds the counts every `REPORT_INTERVAL`, without end. With `declared` (reads a minute, seconds of
/// freshness) it also declares which subjects are popular, because another process pushes them.
pub async fn run(counters: Arc<ReadCounters>, popularity: Arc<dyn Popularity>, declared: Option<(u32, u8)>) {
    let mut tick = interval(REPORT_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut popular_before = vec![];
    let mut forgotten_at = Instant::now();
    loop {
        tick.tick().await;
        if let Err(error) = popularity.add_reads(&counters.take_reads()).await {
            tracing::debug!(%error, "Could not add the read counts of this process");
        }
        if forgotten_at.elapsed() >= NETWORK_MEMORY {
            counters.forget_networks();
            forgotten_at = Instant::now();
        }
        let Some((per_minute, fresh_for)) = declared else { continue };
        // While the sums are unknown, no subject is popular: then readers see new comments soonest.
        let most_read = popularity.most_read(MAX_POPULAR_SUBJECTS).await;
        popular_before = most_read.map_or(vec![], |most_read| select_popular(most_read, &popular_before, per_minute));
        counters.declare_popular(&popular_before, fresh_for);
    }
}
