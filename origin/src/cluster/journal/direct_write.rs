//! Operations that are written into the tables at once: decisions and edits, subjects, snapshots, the
//! dictionary, names.

use std::time::Duration;

use gailou_shared::id::CommentId;
use tokio::time::{Instant, sleep};

use crate::cluster::journal::{ClusterJournal, RETRY_DELAY, WRITE_TIMEOUT, persist_until};
use crate::domain::operation::{LoggedOperation, OperationOutcome};
use crate::ports::journal::JournalError;

/// Comments are pending for a minute. An older one has a row, or does not exist.
const MAX_PENDING_AGE: Duration = Duration::from_secs(60);

impl ClusterJournal {
    /// Changes a comment. Waits for the row of a pending comment.
    pub(super) async fn change(
        &self,
        id: CommentId,
        logged: LoggedOperation,
    ) -> Result<OperationOutcome, JournalError> {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        loop {
            let outcome = self.write_one(&logged, deadline).await?;
            self.visibility.invalidate(id).await;
            if !matches!(outcome, OperationOutcome::NoComment) || !self.may_be_pending(id).await {
                return Ok(outcome);
            }
            if Instant::now() >= deadline {
                return Err(JournalError::Unknown("the comment has no row yet".into()));
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

    /// Whether a comment without a row may get one soon, or may just have got one.
    async fn may_be_pending(&self, id: CommentId) -> bool {
        let age_ms = self.clock.now().saturating_sub(id.created_ms());
        // While the pending comments do not answer, it may be one of them.
        u128::from(age_ms) <= MAX_PENDING_AGE.as_millis()
            && self.pending.read_comments(&[id]).await.map_or(true, |found| found.contains_key(&id))
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
