//! Passes over what a database that has gone back has lost, in the background, and once for all that find it: the
//! partitions of a job, and the followers of the change feed.
//!
//! Promise: what is begun is retried until the database has passed, or the process ends; then another process
//! finds it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, describe_counter};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep};

use crate::clock::Clock;
use crate::domain::positions::OperationStream;
use crate::outage_log::OutageLog;
use crate::ports::store::Rewinds;
use crate::telemetry::Collector;

/// For how long a database counts as passed: all partitions find within some seconds that it has gone back.
const SAME_REWIND_WINDOW: Duration = Duration::from_secs(20);
/// Between two attempts.
const PASS_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Which databases are being passed, or were passed lately.
pub struct RewindPasser {
    tables: Arc<dyn Rewinds>,
    clock: Clock,
    /// When each was passed; `None` until then.
    passes: Mutex<HashMap<usize, Option<Instant>>>,
    /// How often a database was found to have gone back, and when each was last.
    found: Mutex<FoundRewinds>,
}

/// What was found of databases that have gone back.
#[derive(Debug, Default)]
struct FoundRewinds {
    count: u64,
    last: HashMap<usize, Instant>,
    /// By database and partition: the committed offset that it was behind.
    committed: HashMap<(usize, OperationStream, u32), u64>,
}

impl fmt::Debug for RewindPasser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RewindPasser").field("passes", &self.passes).finish_non_exhaustive()
    }
}

impl Collector for RewindPasser {
    fn collect(&self) {
        describe_counter!("gailou_database_rewinds_total", "How often a database was found to have gone back.");
        counter!("gailou_database_rewinds_total").absolute(self.count_found());
    }
}

impl RewindPasser {
    pub fn new(tables: Arc<dyn Rewinds>, clock: Clock) -> Arc<Self> {
        Arc::new(Self { tables, clock, passes: Mutex::default(), found: Mutex::default() })
    }

    /// Notes that a database was found to have gone back: histories that others have delivered to it are owed again.
    pub fn note_found(&self, database: usize) {
        let mut found = self.found.lock();
        found.count += 1;
        found.last.insert(database, Instant::now());
    }

    /// Notes that a database is behind the committed offset of a partition, which it stays until the partition is read
    /// again: once.
    pub fn note_behind_committed(&self, database: usize, stream: OperationStream, partition: u32, committed: u64) {
        if self.found.lock().committed.insert((database, stream, partition), committed) != Some(committed) {
            self.note_found(database);
        }
    }

    /// How often a database was found to have gone back.
    pub fn count_found(&self) -> u64 {
        self.found.lock().count
    }

    /// Passes over what a database has lost once more, however lately that was done: its feed has lost rows that it had
    /// a moment ago.
    pub fn pass_again(self: &Arc<Self>, database: usize) {
        self.note_found(database);
        self.passes.lock().retain(|passed, at| *passed != database || at.is_none());
        self.pass(database);
    }

    /// Begins to pass over what a database has lost, unless that is being done or was just done. Returns whether
    /// it is done.
    pub fn pass(self: &Arc<Self>, database: usize) -> bool {
        let mut passes = self.passes.lock();
        match passes.get(&database) {
            Some(None) => return false,
            Some(Some(at)) if at.elapsed() < SAME_REWIND_WINDOW => return true,
            _ => {}
        }
        passes.insert(database, None);
        drop(passes);
        let passer = self.clone();
        tokio::spawn(async move {
            passer.pass_until_done(database).await;
            passer.passes.lock().insert(database, Some(Instant::now()));
        });
        false
    }

    /// Whether a database was found to have gone back, or was passed, just now.
    pub fn was_found(&self, database: usize) -> bool {
        let passed_at = self.passes.lock().get(&database).copied().flatten();
        let found_at = self.found.lock().last.get(&database).copied();
        passed_at.max(found_at).is_some_and(|at| at.elapsed() < SAME_REWIND_WINDOW)
    }

    /// Whether what a database has lost is being passed over.
    pub fn is_passing(&self, database: usize) -> bool {
        matches!(self.passes.lock().get(&database), Some(None))
    }

    async fn pass_until_done(&self, database: usize) {
        let outage = OutageLog::default();
        loop {
            match self.tables.pass_rewind(database, self.clock.now(), Some(SAME_REWIND_WINDOW)).await {
                Ok(true) => break,
                // Another process does it.
                Ok(false) => {}
                Err(error) => outage.begin(|| {
                    let retry_ms = PASS_RETRY_INTERVAL.as_millis() as u64;
                    tracing::warn!(database, retry_ms, %error, "Could not raise the versions of database {database}, which has gone back; retrying every {retry_ms} ms");
                }),
            }
            sleep(PASS_RETRY_INTERVAL).await;
        }
        tracing::warn!(database, "Database {database} has gone back: caches and edges forget what they have of it");
    }
}
