//! Whether writes are stored, as the answers of the journal say.
//!
//! Asks nothing by itself: without a write it does not notice that writes are possible again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use gailou_shared::id::MemberId;
use metrics::{describe_gauge, gauge};

use crate::domain::operation::{Operation, OperationOutcome};
use crate::ports::journal::{Journal, JournalError};
use crate::ports::store::StoreError;
use crate::telemetry::Collector;

/// Writes in a row that were not stored: one may be refused for what it is.
const MAX_FAILED_WRITES: u32 = 3;

/// The state of the writes of this process.
#[derive(Debug, Default)]
pub struct WriteHealth {
    failed_in_a_row: AtomicU32,
}

impl WriteHealth {
    /// Whether the last writes were not stored. It stays so until one is.
    pub fn is_failing(&self) -> bool {
        self.failed_in_a_row.load(Ordering::Relaxed) >= MAX_FAILED_WRITES
    }

    fn note(&self, answer: &Result<OperationOutcome, JournalError>) {
        match answer {
            Ok(_) => self.failed_in_a_row.store(0, Ordering::Relaxed),
            Err(error) if says_that_nothing_is_stored(error) => {
                self.failed_in_a_row.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {}
        }
    }
}

/// Whether any other write would have failed too. A full queue is an overload, which has its own metric.
fn says_that_nothing_is_stored(error: &JournalError) -> bool {
    match error {
        JournalError::NotSent | JournalError::Closed | JournalError::Unknown(_) => true,
        JournalError::Store(error) => matches!(error, StoreError::Database(_) | StoreError::Unavailable(_)),
        JournalError::Full | JournalError::NotStoredYet => false,
    }
}

impl Collector for WriteHealth {
    fn collect(&self) {
        describe_gauge!("gailou_writes_failing", "Whether the last writes were not stored.");
        gauge!("gailou_writes_failing").set(f64::from(u8::from(self.is_failing())));
    }
}

/// A journal whose answers are noted.
#[derive(Debug)]
pub struct WatchedJournal {
    pub journal: Arc<dyn Journal>,
    pub health: Arc<WriteHealth>,
}

#[async_trait]
impl Journal for WatchedJournal {
    async fn append(&self, operation: Operation) -> Result<OperationOutcome, JournalError> {
        let answer = self.journal.append(operation).await;
        self.health.note(&answer);
        answer
    }

    async fn resume(&self, member: MemberId, key: &str) -> Result<(), JournalError> {
        self.journal.resume(member, key).await
    }

    async fn close(&self) {
        self.journal.close().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::render;

    #[test]
    fn third_failure_in_a_row_stays_until_a_write_is_stored() {
        let (health, full_disk) = (WriteHealth::default(), || JournalError::from(StoreError::Database("full".into())));
        let is_metric = |line: &&str| line.starts_with("gailou_writes_failing ");
        let metric = || render(|| health.collect()).lines().find(is_metric).map(str::to_owned);
        for answer in [Err(full_disk()), Err(JournalError::Full), Err(full_disk()), Err(JournalError::NotStoredYet)] {
            health.note(&answer);
            assert_eq!(metric().unwrap(), "gailou_writes_failing 0");
        }
        health.note(&Err(JournalError::NotSent));
        health.note(&Err(JournalError::Full));
        assert_eq!(metric().unwrap(), "gailou_writes_failing 1");
        health.note(&Ok(OperationOutcome::Done));
        assert_eq!(metric().unwrap(), "gailou_writes_failing 0");
    }
}
