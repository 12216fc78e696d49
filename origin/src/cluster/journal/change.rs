//! What is written into the tables at once: decisions and edits, subjects, snapshots, words.

use std::time::Duration;

use gailou_shared::id::CommentId;
use tokio::time::{Instant, sleep};

use crate::cluster::journal::{ClusterJournal, PATIENCE, POLL, may_pass};
use crate::domain::operation::{LoggedOperation, OperationOutcome};
use crate::ports::journal::JournalError;

/// A comment older than this is a row, or none: what is pending lives for a minute.
const YOUNG: Duration = Duration::from_secs(60);

impl ClusterJournal {
    /// A change to a comment; one that is accepted and no row yet is waited for.
    pub(super) async fn change(
        &self,
        id: CommentId,
        stamped: LoggedOperation,
    ) -> Result<OperationOutcome, JournalError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let outcome = self.persist(&stamped, until).await?;
            self.faces.forget(id).await;
            if !matches!(outcome, OperationOutcome::NoComment) || !self.is_coming(id).await {
                return Ok(outcome);
            }
            if Instant::now() >= until {
                return Err(JournalError::Unknown("the comment is no row yet".into()));
            }
            sleep(POLL).await;
        }
    }

    /// Whether a comment that the tables did not know will be a row soon, or has just become one.
    async fn is_coming(&self, id: CommentId) -> bool {
        let age = self.clock.now().saturating_sub(id.created_ms());
        // Where nobody can say, it may be.
        u128::from(age) <= YOUNG.as_millis()
            && self.pending.comments(&[id]).await.map_or(true, |found| found.contains_key(&id))
    }

    /// Writes one event, as often as it takes until then.
    pub(super) async fn persist(
        &self,
        stamped: &LoggedOperation,
        until: Instant,
    ) -> Result<OperationOutcome, JournalError> {
        let batch = std::slice::from_ref(stamped);
        loop {
            match self.tables.persist(batch).await {
                Ok(persisted) => {
                    self.committed.on_commit(batch, &persisted).await;
                    let outcome = persisted.outcomes.into_iter().next();
                    return outcome.ok_or_else(|| JournalError::Unknown("no outcome".into()));
                }
                Err(error) if may_pass(&error) && Instant::now() < until => sleep(POLL).await,
                Err(error) if may_pass(&error) => return Err(JournalError::Unknown(error.to_string())),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
