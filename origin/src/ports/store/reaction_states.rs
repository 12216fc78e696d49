//! The port to what the tables know of pairs of a member and a comment.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};

use crate::domain::reaction_state::ReactionState;
use crate::ports::store::Result;

/// Reads reaction states.
#[async_trait]
pub trait ReactionStateReader: Send + Sync + Debug {
    /// The states of these pairs, in their order. Each state is of one moment.
    async fn read_reaction_states(&self, pairs: &[(CommentId, MemberId)]) -> Result<Vec<ReactionState>>;
}
