//! Publishing: a key is reserved, the comment appended, then shown to every origin.

use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use tokio::time::{Instant, sleep};

use crate::cluster::journal::{ClusterJournal, PATIENCE, POLL};
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::domain::row::{NewCommentRow, RememberedRequest};
use crate::ports::broker::Topic;
use crate::ports::journal::JournalError;
use crate::ports::pending::Reserved;

/// Between two looks at a row that must be there soon.
const SOON: Duration = Duration::from_millis(20);

/// The row of a `Publish`.
fn row_of(stamped: &LoggedOperation) -> Option<&NewCommentRow> {
    match &stamped.operation {
        Operation::Publish(row) => Some(row),
        _ => None,
    }
}

impl ClusterJournal {
    pub(super) async fn publish(&self, stamped: LoggedOperation) -> Result<OperationOutcome, JournalError> {
        let Some(row) = row_of(&stamped) else { return Ok(OperationOutcome::NoComment) };
        let published = OperationOutcome::Published { floor: None };
        let Some((key, request)) = &row.idempotency else {
            self.appended(&stamped).await?;
            return Ok(published);
        };
        let sure = match self.pending.reserve(&stamped).await {
            Ok(Reserved::Before { event, appended }) => return self.again(&event, request, appended).await,
            Ok(Reserved::Now { sure }) => sure,
            Err(error) => {
                // The row's unique key is the last backstop.
                tracing::warn!(%error, "a key is not reserved");
                false
            }
        };
        if !sure {
            let done = match self.remembered(&row.subject, row, key).await {
                Ok(done) => done,
                Err(error) => {
                    self.release(&stamped).await;
                    return Err(error);
                }
            };
            if let Some(done) = done {
                self.release(&stamped).await;
                let same = done.request == *request;
                return Ok(if same {
                    OperationOutcome::Replayed { id: done.id, state: done.state }
                } else {
                    OperationOutcome::Mismatch
                });
            }
        }
        match self.appended(&stamped).await {
            Ok(()) => Ok(published),
            Err(error) => {
                // What may have been written keeps its key, so that a retry is the same comment.
                if matches!(error, JournalError::Full | JournalError::Store(_)) {
                    self.release(&stamped).await;
                }
                Err(error)
            }
        }
    }

    /// See [`crate::ports::journal::Journal::resume`].
    pub(super) async fn carry_out(&self, member: MemberId, key: &str) -> Result<(), JournalError> {
        let before = self.pending.reserved(member, key).await.map_err(|e| JournalError::Unknown(e.to_string()))?;
        let Some(row) = before.as_ref().and_then(row_of) else { return Ok(()) };
        let id = row.path.id();
        let stored = self.tables.read_comments(&[id]).await.map_err(|e| JournalError::Unknown(e.to_string()))?;
        match &before {
            Some(before) if !stored.contains_key(&id) => self.appended(before).await,
            _ => Ok(()),
        }
    }

    /// A request whose key belongs to an earlier event: the same one is carried out to its end.
    async fn again(
        &self,
        before: &LoggedOperation,
        request: &[u8; 32],
        appended: bool,
    ) -> Result<OperationOutcome, JournalError> {
        let row = row_of(before).filter(|row| row.idempotency.as_ref().is_some_and(|(_, hash)| hash == request));
        let Some(row) = row else { return Ok(OperationOutcome::Mismatch) };
        if !appended {
            // Appended twice it is still one row: the same id and bytes.
            self.appended(before).await?;
        }
        Ok(OperationOutcome::Replayed { id: row.path.id(), state: row.state })
    }

    /// Appends a comment and waits until every origin can see it.
    async fn appended(&self, stamped: &LoggedOperation) -> Result<(), JournalError> {
        let Some(row) = row_of(stamped) else { return Ok(()) };
        let (id, slot) = (row.path.id(), row.subject.slot());
        let position = self.put(Topic::Comments, slot, stamped).await?;
        let shown = LoggedOperation { position: Some(position), ..stamped.clone() };
        if let Err(error) = self.pending.put(&shown).await {
            tracing::warn!(%id, %error, "a comment is shown when its row is there");
            self.row(id).await?;
        }
        self.faces.forget(id).await;
        Ok(())
    }

    /// Waits until the tables have a comment.
    async fn row(&self, id: CommentId) -> Result<(), JournalError> {
        let until = Instant::now() + PATIENCE;
        loop {
            match self.tables.read_comments(&[id]).await {
                Ok(rows) if rows.contains_key(&id) => return Ok(()),
                Ok(_) | Err(_) if Instant::now() < until => sleep(SOON).await,
                Ok(_) => return Err(JournalError::Unknown("the comment is no row yet".into())),
                Err(error) => return Err(JournalError::Unknown(error.to_string())),
            }
        }
    }

    /// What the rows say of a key. Nothing was written when they do not answer.
    async fn remembered(
        &self,
        subject: &SubjectKey,
        row: &NewCommentRow,
        key: &str,
    ) -> Result<Option<RememberedRequest>, JournalError> {
        let since = self.clock.now().saturating_sub(limits::IDEMPOTENCY_WINDOW_MS);
        let until = Instant::now() + PATIENCE;
        loop {
            match self.tables.find_remembered(subject, row.author.id, key, since).await {
                Err(error) if crate::cluster::journal::may_pass(&error) && Instant::now() < until => sleep(POLL).await,
                answer => return answer.map_err(JournalError::from),
            }
        }
    }

    async fn release(&self, stamped: &LoggedOperation) {
        if let Err(error) = self.pending.release(stamped).await {
            // A retry finds the reservation and appends this very event.
            tracing::warn!(%error, "a key stays reserved");
        }
    }
}
