//! Publishing: reserve the idempotency key, append the comment, show it to every process.

use std::time::Duration;

use backon::Retryable as _;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use tokio::time::{Instant, sleep};

use crate::cluster::journal::{ClusterJournal, WRITE_TIMEOUT, is_transient, retry_delays, unknown};
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::domain::row::{IdempotencyKey, NewCommentRow, RememberedRequest};
use crate::ports::broker::Topic;
use crate::ports::journal::JournalError;
use crate::ports::pending::{AppendedKey, KeyHolder, Reservation};

/// How often the tables are read for a row that must be there soon.
const ROW_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The row of a `Publish`.
fn row_of(logged: &LoggedOperation) -> Option<&NewCommentRow> {
    match &logged.operation {
        Operation::Publish(row) => Some(row),
        _ => None,
    }
}

impl ClusterJournal {
    pub(super) async fn publish(&self, logged: LoggedOperation) -> Result<OperationOutcome, JournalError> {
        let Some(row) = row_of(&logged) else { return Ok(OperationOutcome::NoComment) };
        let published = OperationOutcome::Published { floor: None };
        let Some(IdempotencyKey { key, request }) = &row.idempotency else {
            self.append_and_show(&logged).await?;
            return Ok(published);
        };
        let is_certain = match self.pending.reserve_key(&logged).await {
            Ok(Reservation::Existing(holder)) => match self.replay(holder, request).await? {
                Some(outcome) => return Ok(outcome),
                None => false,
            },
            Ok(Reservation::New { is_certain }) => is_certain,
            Err(error) => {
                // The unique key of the rows still refuses a second comment.
                let member = row.author.id;
                tracing::warn!(%member, %error, "Could not reserve an idempotency key of {member}; reading the rows");
                false
            }
        };
        if !is_certain {
            let remembered = match self.find_remembered(&row.subject, row, key).await {
                Ok(remembered) => remembered,
                Err(error) => {
                    self.release_key(&logged).await;
                    return Err(error);
                }
            };
            if let Some(remembered) = remembered {
                self.release_key(&logged).await;
                let RememberedRequest { id, state, .. } = remembered;
                let is_same = remembered.request == *request;
                return Ok(if is_same { OperationOutcome::Replayed { id, state } } else { OperationOutcome::Mismatch });
            }
        }
        match self.append_and_show(&logged).await {
            Ok(()) => Ok(published),
            Err(error) => {
                // A comment that may have been appended keeps its key, so that a retry is the same comment.
                if matches!(error, JournalError::Full | JournalError::NotSent | JournalError::Store(_)) {
                    self.release_key(&logged).await;
                }
                Err(error)
            }
        }
    }

    /// See [`crate::ports::journal::Journal::resume`].
    pub(super) async fn resume_publish(&self, member: MemberId, key: &str) -> Result<(), JournalError> {
        // What is appended will be a row by itself.
        let Some(KeyHolder::Reserved(before)) = self.pending.find_reservation(member, key).await.map_err(unknown)?
        else {
            return Ok(());
        };
        let Some(id) = row_of(&before).map(|row| row.path.id()) else { return Ok(()) };
        let stored = self.tables.read_comments(&[id]).await.map_err(unknown)?;
        if stored.contains_key(&id) { Ok(()) } else { self.append_and_show(&before).await }
    }

    /// Answers a request whose key belongs to an earlier one. The same request is completed. `None` when it left
    /// nothing: the broker has lost the comment, and the request is carried out anew.
    async fn replay(&self, holder: KeyHolder, request: &[u8; 32]) -> Result<Option<OperationOutcome>, JournalError> {
        let before = holder.appended().filter(|before| before.request.request == *request);
        let Some(AppendedKey { request: RememberedRequest { id, state, .. }, .. }) = before else {
            return Ok(Some(OperationOutcome::Mismatch));
        };
        match holder {
            // Appended twice it is still one row, with the same id and content.
            KeyHolder::Reserved(operation) => self.append_and_show(&operation).await?,
            KeyHolder::Appended(_) => {
                // An error says that it may be in the broker and nowhere else.
                let found = self.comments.read_comments(&[id]).await;
                if found.is_ok_and(|found| !found.contains_key(&id)) {
                    tracing::warn!(%id, "Comment {id} was appended and is nowhere: the broker has lost it; publishing it anew");
                    return Ok(None);
                }
            }
        }
        Ok(Some(OperationOutcome::Replayed { id, state }))
    }

    /// Appends a comment and waits until every process can show it.
    async fn append_and_show(&self, logged: &LoggedOperation) -> Result<(), JournalError> {
        let Some(row) = row_of(logged) else { return Ok(()) };
        let (id, slot) = (row.path.id(), row.subject.slot());
        let position = self.append_record(Topic::Comments, slot, logged).await?;
        let appended = LoggedOperation { position: Some(position), ..logged.clone() };
        if let Err(error) = self.pending.put_comment(&appended).await {
            tracing::warn!(%id, %error, "Could not show comment {id} as pending; it appears with its row");
            self.wait_for_row(id).await?;
        }
        self.visibility.invalidate(id).await;
        Ok(())
    }

    /// Waits until the tables have a comment.
    async fn wait_for_row(&self, id: CommentId) -> Result<(), JournalError> {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        loop {
            match self.tables.read_comments(&[id]).await {
                Ok(rows) if rows.contains_key(&id) => return Ok(()),
                Ok(_) | Err(_) if Instant::now() < deadline => sleep(ROW_POLL_INTERVAL).await,
                Ok(_) => return Err(JournalError::Unknown("the comment has no row yet".into())),
                Err(error) => return Err(unknown(error)),
            }
        }
    }

    /// The request that the rows remember for a key. If they do not answer, nothing was written.
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        row: &NewCommentRow,
        key: &str,
    ) -> Result<Option<RememberedRequest>, JournalError> {
        let since = self.clock.now().saturating_sub(limits::IDEMPOTENCY_WINDOW_MS);
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let remembered = (|| self.tables.find_remembered(subject, row.author.id, key, since))
            .retry(retry_delays())
            .when(|error| is_transient(error) && Instant::now() < deadline);
        Ok(remembered.await?)
    }

    async fn release_key(&self, logged: &LoggedOperation) {
        if let Err(error) = self.pending.release_key(logged).await
            && let Some(row) = row_of(logged)
        {
            // A retry finds the reservation and appends this very operation.
            let id = row.path.id();
            tracing::warn!(%id, %error, "Could not release the idempotency key of comment {id}");
        }
    }
}
