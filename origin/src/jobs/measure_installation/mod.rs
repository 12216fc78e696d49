//! Measures what nothing else reads: the review queue, the age of the last backup, and the room for the data.

use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;

use metrics::{describe_gauge, gauge};
use parking_lot::Mutex;

use crate::clock::Clock;
use crate::domain::review::QueueCounts;
use crate::ports::store::{ReviewReader, StoredSettings};
use crate::state::AppState;
use crate::telemetry::Collector;

/// How often the tables are asked.
const MEASURE_INTERVAL: Duration = Duration::from_secs(10);

/// What was measured last.
#[derive(Debug)]
pub struct InstallationMetrics {
    /// The data directory; `None` in a cluster.
    data: Option<PathBuf>,
    /// A mutex that is held for one value, never across an await.
    measured: Mutex<Measured>,
}

/// What the tables said; `None` where they have not said it yet.
#[derive(Debug, Default, Clone, Copy)]
struct Measured {
    queue: Option<QueueCounts>,
    backup_age_ms: Option<u64>,
}

/// Measures until the state is dropped.
pub async fn run(state: Weak<AppState>, metrics: Arc<InstallationMetrics>) {
    let mut tick = tokio::time::interval(MEASURE_INTERVAL);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        metrics.measure(&*state.tables, &state.clock).await;
    }
}

impl InstallationMetrics {
    pub fn new(data: Option<PathBuf>) -> Self {
        Self { data, measured: Mutex::default() }
    }

    /// Asks the tables. What they do not answer is not exported until they do.
    pub async fn measure(&self, tables: &(impl ReviewReader + StoredSettings + ?Sized), clock: &Clock) {
        let queue = tables.count_queue().await.ok();
        let made_at = tables.read_backup_time().await.ok().flatten();
        let backup_age_ms = made_at.map(|made_at| clock.now().saturating_sub(made_at));
        *self.measured.lock() = Measured { queue, backup_age_ms };
    }
}

impl Collector for InstallationMetrics {
    fn collect(&self) {
        let Measured { queue, backup_age_ms } = *self.measured.lock();
        if let Some(QueueCounts { held, reported }) = queue {
            describe_gauge!("gailou_review_queue_comments", "Comments that wait for moderators, by part of the queue.");
            gauge!("gailou_review_queue_comments", "part" => "held").set(held as f64);
            gauge!("gailou_review_queue_comments", "part" => "reported").set(reported as f64);
        }
        if let Some(age_ms) = backup_age_ms {
            describe_gauge!("gailou_backup_age_seconds", "How long ago the last backup was made.");
            gauge!("gailou_backup_age_seconds").set(age_ms as f64 / 1_000.0);
        }
        if let Some(disk) = self.data.as_ref().and_then(|data| rustix::fs::statvfs(data).ok()) {
            describe_gauge!("gailou_data_free_bytes", "Room that is left in the file system of the data directory.");
            gauge!("gailou_data_free_bytes").set(disk.f_bavail.saturating_mul(disk.f_frsize) as f64);
            describe_gauge!("gailou_data_size_bytes", "The size of that file system.");
            gauge!("gailou_data_size_bytes").set(disk.f_blocks.saturating_mul(disk.f_frsize) as f64);
        }
    }
}

#[cfg(test)]
mod tests;
