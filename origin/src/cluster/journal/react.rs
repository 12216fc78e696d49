//! Reacting: read what the member thinks, append the reaction, then fold it into the counters for the answer.
//!
//! What the tables cannot say is refused before the append: a reaction in the broker that the counters lack would be
//! missing in the answers to later ones until the tables hold it.

use std::time::Duration;

use gailou_shared::id::{CommentId, MemberId};
use tokio::time::{Instant, sleep_until};

use crate::cluster::journal::{ClusterJournal, WRITE_TIMEOUT, unknown};
use crate::domain::operation::{LoggedOperation, OperationOutcome, ReactionChange};
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::ReactionCounts;
use crate::ports::broker::Topic;
use crate::ports::counters::{CountersError, FoldRequest, FoldedReaction};
use crate::ports::journal::JournalError;

/// How often the tables are read for a reaction that the counters cannot answer.
const STATE_POLL_INTERVAL: Duration = Duration::from_millis(100);
/// How often one reaction is folded, each time with a newer state.
const MAX_FOLD_ATTEMPTS: u32 = 3;

impl ClusterJournal {
    pub(super) async fn react(
        &self,
        id: CommentId,
        member: MemberId,
        change: ReactionChange,
        logged: LoggedOperation,
    ) -> Result<OperationOutcome, JournalError> {
        let state = self.reaction_states.query_state((id, member))?.await?;
        let is_visible = match state.visible {
            Some(is_visible) => is_visible,
            // Without a row, the pending comments say it.
            None => self.visibility.is_visible(id).await?,
        };
        if !is_visible {
            return Ok(OperationOutcome::NoComment);
        }
        let offset = self.append_record(Topic::Reactions, id.slot(), &logged).await?;
        let request = FoldRequest { id, member, change, offset, state };
        let FoldedReaction { counts: ReactionCounts { likes, dislikes }, reaction } = self.fold(request).await?;
        Ok(OperationOutcome::Reacted { likes, dislikes, reaction })
    }

    /// Folds an appended reaction. From here on nothing is refused; the outcome may be unknown.
    async fn fold(&self, mut request: FoldRequest) -> Result<FoldedReaction, JournalError> {
        let deadline = Instant::now() + WRITE_TIMEOUT;
        let id = request.id;
        let mut is_recovered = false;
        for _ in 0..MAX_FOLD_ATTEMPTS {
            match self.counters.fold(request.clone()).await {
                Ok(folded) => return Ok(folded),
                Err(CountersError::StaleState) => {}
                Err(CountersError::Lost) if !is_recovered => {
                    is_recovered = true;
                    if let Err(error) = self.recovery.recover_slots(&[id.slot()]).await {
                        let slot = id.slot().get();
                        tracing::warn!(%id, slot, %error, "Could not recover the counters of slot {slot}; answering a reaction to {id} from its row");
                        return self.answer_from_row(&request, deadline).await;
                    }
                }
                Err(CountersError::Lost) => return Err(unknown(CountersError::Lost)),
                Err(error @ CountersError::Unavailable(_)) => {
                    tracing::warn!(%id, %error, "Could not fold a reaction to {id}; answering it from its row");
                    return self.answer_from_row(&request, deadline).await;
                }
            }
            let state = self.reaction_states.query_state((id, request.member)).map_err(unknown)?;
            request.state = state.await.map_err(unknown)?;
        }
        Err(unknown(CountersError::StaleState))
    }

    /// Waits until the tables hold a reaction, and answers as they do.
    async fn answer_from_row(&self, request: &FoldRequest, deadline: Instant) -> Result<FoldedReaction, JournalError> {
        loop {
            let next_poll = Instant::now() + STATE_POLL_INTERVAL;
            let state = self.reaction_states.query_state((request.id, request.member)).map_err(unknown)?;
            let ReactionState { position, likes, dislikes, reaction, .. } = state.await.map_err(unknown)?;
            if position > request.offset {
                return Ok(FoldedReaction { counts: ReactionCounts { likes, dislikes }, reaction });
            }
            if next_poll > deadline {
                return Err(JournalError::Unknown("the reaction is in the broker and not in the rows yet".into()));
            }
            sleep_until(next_poll).await;
        }
    }
}
