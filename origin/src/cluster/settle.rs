//! Settles the counters after a commit: the reactions of the batch are in the tables now.
//!
//! Every comment of the batch is settled. That includes one whose counts did not move, and one whose batch
//! was applied before by a process that died: its pending operations end here.

use std::collections::BTreeMap;

use gailou_shared::id::{CommentId, MemberId};

use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::domain::row::ReactionCounts;
use crate::ports::counters::{CountBase, Counters, CountersError, PersistedOperation, PersistedReaction};
use crate::ports::store::{ReactionStateReader, StoreError};

/// Why the counters were not settled. A later call settles what is missing.
#[derive(Debug, thiserror::Error)]
pub enum SettleError {
    #[error(transparent)]
    Counters(#[from] CountersError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The operations of a batch on each comment.
type OperationsByComment = BTreeMap<CommentId, Vec<PersistedOperation>>;

/// Settles the reactions of a batch that the tables hold. Other operations are ignored.
///
/// # Errors
/// When the counters or the tables do not answer.
pub async fn settle_batch(
    counters: &dyn Counters,
    tables: &dyn ReactionStateReader,
    batch: &[LoggedOperation],
    persisted: &PersistedBatch,
) -> Result<(), SettleError> {
    let mut comments = OperationsByComment::new();
    for (index, logged) in batch.iter().enumerate() {
        // A dead letter that is not applied is not in the rows. Of one that was seen before it is not known.
        let is_outdated = match persisted.outcomes.get(index) {
            Some(OperationOutcome::Outdated) => true,
            Some(OperationOutcome::Seen) => logged.died_at.is_some(),
            _ => false,
        };
        if is_outdated {
            continue;
        }
        if let (Operation::React { id, member, change }, Some(position)) = (&logged.operation, logged.position) {
            comments.entry(*id).or_default().push(PersistedOperation {
                offset: position,
                member: *member,
                change: *change,
            });
        }
    }
    if comments.is_empty() {
        return Ok(());
    }
    let mut settled = Vec::with_capacity(comments.len());
    for touched in &persisted.touched {
        // A row without the last operation is worth less than the slot's position, which is read below.
        let has_all = |operations: &Vec<PersistedOperation>| {
            operations.iter().all(|operation| operation.offset < touched.reactions_offset)
        };
        if comments.get(&touched.id).is_some_and(has_all) {
            let counts = ReactionCounts { likes: touched.likes, dislikes: touched.dislikes };
            let base = CountBase { id: touched.id, counts, offset: touched.reactions_offset };
            let operations = comments.remove(&touched.id).unwrap_or_default();
            settled.push(PersistedReaction { base, operations });
        }
    }
    settled.extend(read_settled(tables, comments).await?);
    let unsettled = counters.settle(&settled).await?;
    if !unsettled.is_empty() {
        let unsettled = unsettled.into_iter().map(|id| (id, Vec::new())).collect();
        counters.settle(&read_settled(tables, unsettled).await?).await?;
    }
    Ok(())
}

/// The counts of comments at the positions of their slots.
async fn read_settled(
    tables: &dyn ReactionStateReader,
    comments: OperationsByComment,
) -> Result<Vec<PersistedReaction>, StoreError> {
    if comments.is_empty() {
        return Ok(vec![]);
    }
    // Only the counts of the states are used, so any member will do.
    let any_member = MemberId::new(1).map_err(StoreError::damaged)?;
    let pairs: Vec<_> = comments.keys().map(|id| (*id, any_member)).collect();
    let states = tables.read_reaction_states(&pairs).await?;
    let settled = comments.into_iter().zip(states).map(|((id, operations), state)| {
        let counts = ReactionCounts { likes: state.likes, dislikes: state.dislikes };
        PersistedReaction { base: CountBase { id, counts, offset: state.position }, operations }
    });
    Ok(settled.collect())
}
