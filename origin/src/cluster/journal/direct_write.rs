//! Operations that are written into the tables at once: decisions and edits, subjects, snapshots, the
//! dictionary, names.

use std::time::Duration;

use gailou_shared::id::{CommentId, Slot};
use gailou_shared::walk::Snapshot;
use tokio::time::{Instant, sleep, timeout_at};

use crate::cluster::journal::{ClusterJournal, RETRY_DELAY, WRITE_TIMEOUT, persist_until, unknown};
use crate::domain::operation::{LoggedOperation, OperationOutcome};
use crate::ports::journal::JournalError;

/// How long a reader waits until a ranking is stored.
const SNAPSHOT_WRITE_TIMEOUT: Duration = Duration::from_millis(500);

impl ClusterJournal {
    /// Changes a comment. Waits for the row of a pending comment.
    pub(super) async fn change(
        &self,
        id: CommentId,
        logged: LoggedOperation,
    ) -> Result<OperationOutcome, JournalError> {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let mut had_row = false;
        loop {
            let outcome = self.write_one(&logged, deadline).await?;
            self.visibility.invalidate(id).await;
            // A row that was there before cannot be changed so.
            if had_row || !matches!(outcome, OperationOutcome::NoComment) {
                return Ok(outcome);
            }
            had_row = self.tables.read_comments(&[id]).await.map_err(unknown)?.contains_key(&id);
            if had_row {
                continue;
            }
            if !self.comments.read_comments(&[id]).await?.contains_key(&id) {
                return Ok(outcome);
            }
            if Instant::now() >= deadline {
                return Err(JournalError::NotStoredYet);
            }
            sleep(RETRY_DELAY).await;
        }
    }

    /// Overwrites a comment, together with those of other callers. A comment without a row is
    /// [`OperationOutcome::NoComment`] at once: who erases comes again.
    pub(super) async fn overwrite(
        &self,
        id: CommentId,
        logged: LoggedOperation,
    ) -> Result<OperationOutcome, JournalError> {
        let outcome = self.bulk.write(logged).await?;
        self.visibility.invalidate(id).await;
        Ok(outcome)
    }

    /// Stores a ranking that a cursor is about to name. Where the tables take no writes, Redis keeps it.
    pub(super) async fn store_snapshot(
        &self,
        slot: Slot,
        snapshot: &Snapshot,
        logged: &LoggedOperation,
    ) -> Result<OperationOutcome, JournalError> {
        let deadline = Instant::now() + SNAPSHOT_WRITE_TIMEOUT;
        let written = timeout_at(deadline, self.write_one(logged, deadline)).await;
        let refused = match written {
            Ok(Ok(outcome)) => return Ok(outcome),
            Ok(Err(error)) => error,
            Err(_) => JournalError::Unknown("the tables took no ranking in time".into()),
        };
        match self.pending.put_snapshot(slot, snapshot).await {
            Ok(()) => Ok(OperationOutcome::Done),
            Err(error) => {
                tracing::debug!(slot = slot.get(), %error, "Could not keep a ranking that could not be stored");
                Err(refused)
            }
        }
    }

    /// Writes one operation into the tables.
    pub(super) async fn write_one(
        &self,
        logged: &LoggedOperation,
        deadline: Instant,
    ) -> Result<OperationOutcome, JournalError> {
        let batch = std::slice::from_ref(logged);
        let persisted = persist_until(&*self.tables, &self.listeners, batch, deadline).await?;
        persisted.outcomes.into_iter().next().ok_or_else(|| JournalError::Unknown("no outcome".into()))
    }
}
