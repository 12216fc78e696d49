//! The port to what the tables know of reactions among the dead letters.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::reaction_state::DeadReaction;
use crate::ports::store::Result;

/// Finds reactions that must not be applied any more.
#[async_trait]
pub trait DeadReactions: Send + Sync + Debug {
    /// Whether the pair has changed since this reaction became a dead letter. While the tables have not reached its
    /// position it is not.
    async fn is_outdated(&self, dead: DeadReaction) -> Result<bool>;
}
