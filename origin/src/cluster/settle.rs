//! After a commit: what the counters are told of a batch of reactions.
//!
//! Every comment of the batch is told, also one whose counts did not move, and one whose batch was
//! applied before by somebody who then died: what is pending of it ends here.

use std::collections::BTreeMap;

use gailou_shared::id::{CommentId, MemberId};

use crate::domain::operation::{LoggedOperation, Operation, PersistedBatch, ReactionChange};
use crate::ports::counters::{Base, Counters, CountersError, PersistedReaction};
use crate::ports::store::{ReactionStateReader, StoreError};

/// Why the counters were not told. They do not need it: what is missing they learn later.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    #[error(transparent)]
    Counters(#[from] CountersError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Tells the counters of a batch that the tables hold; events other than reactions are passed over.
///
/// # Errors
/// When the counters or the tables do not answer.
pub async fn tell(
    counters: &dyn Counters,
    tables: &dyn ReactionStateReader,
    batch: &[LoggedOperation],
    persisted: &PersistedBatch,
) -> Result<(), TellError> {
    let mut comments = BTreeMap::<CommentId, Vec<(u64, MemberId, ReactionChange)>>::new();
    for stamped in batch {
        if let (Operation::React { id, member, react }, Some(position)) = (&stamped.operation, stamped.position) {
            comments.entry(*id).or_default().push((position, *member, *react));
        }
    }
    if comments.is_empty() {
        return Ok(());
    }
    let mut told = Vec::with_capacity(comments.len());
    for touched in &persisted.touched {
        // A row that does not hold the last of them says less than the slot's position does.
        let holds = |operations: &[(u64, MemberId, ReactionChange)]| operations.iter().all(|o| o.0 < touched.reacted);
        if comments.get(&touched.id).is_some_and(|operations| holds(operations)) {
            let (id, likes, dislikes, reacted) = (touched.id, touched.likes, touched.dislikes, touched.reacted);
            let operations = comments.remove(&id).unwrap_or_default();
            told.push(PersistedReaction { base: Base { id, likes, dislikes, reacted }, operations });
        }
    }
    told.extend(standing(tables, comments).await?);
    let left = counters.persisted(&told).await?;
    if !left.is_empty() {
        let left = left.into_iter().map(|id| (id, Vec::new())).collect();
        counters.persisted(&standing(tables, left).await?).await?;
    }
    Ok(())
}

/// The comments' counts at their slots' positions.
async fn standing(
    tables: &dyn ReactionStateReader,
    comments: BTreeMap<CommentId, Vec<(u64, MemberId, ReactionChange)>>,
) -> Result<Vec<PersistedReaction>, StoreError> {
    if comments.is_empty() {
        return Ok(vec![]);
    }
    // Counts are asked for; whose reaction comes with them does not matter.
    let anybody = MemberId::new(1).map_err(StoreError::damaged)?;
    let pairs: Vec<_> = comments.keys().map(|id| (*id, anybody)).collect();
    let standing = tables.read_reaction_states(&pairs).await?;
    let settled = comments.into_iter().zip(standing).map(|((id, operations), of)| {
        let base = Base { id, likes: of.likes, dislikes: of.dislikes, reacted: of.position };
        PersistedReaction { base, operations }
    });
    Ok(settled.collect())
}
