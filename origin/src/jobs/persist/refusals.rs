//! How many records a database may refuse before the cause is sought in the database.
//!
//! One record that no table accepts is poison. Many of them within a minute are a table that is not what this program
//! believes it to be: none of the others becomes a dead letter then.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use tokio::time::{Duration, Instant};

/// Records of one topic that become dead letters within [`REFUSAL_PERIOD`] because a database refuses them, at most.
pub(super) const MAX_REFUSALS: usize = 10;
/// The time in which they are counted.
const REFUSAL_PERIOD: Duration = Duration::from_secs(60);

/// The refusals of each database.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<HashMap<usize, VecDeque<Instant>>>);

impl Refusals {
    /// Counts a refusal, unless there were too many; whether it was counted.
    pub(super) fn count(&self, database: usize) -> bool {
        let (mut databases, now) = (self.0.lock(), Instant::now());
        let refusals = databases.entry(database).or_default();
        while refusals.front().is_some_and(|at| at.elapsed() >= REFUSAL_PERIOD) {
            refusals.pop_front();
        }
        let is_counted = refusals.len() < MAX_REFUSALS;
        if is_counted {
            refusals.push_back(now);
        }
        is_counted
    }
}
