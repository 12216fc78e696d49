//! The port to the counters: likes as they are with what is not in the tables yet.
//!
//! A view over rows and log, never the truth: a comment's counts at a position of its slot's log,
//! and the pairs (member and comment) whose operations from there on are not persisted yet. It is
//! bounded by the lag, not by the number of likes, and everything in it may vanish.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;

use crate::domain::operation::ReactionChange;
use crate::domain::reaction_state::ReactionState;

/// Why the counters did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CountersError {
    /// They could not be reached, or not in time. Whether a fold landed is not known.
    #[error("the counters cannot be reached: {0}")]
    Unavailable(String),
    /// The slot's counters were lost: they must be opened again ([`Counters::reopen`]) before
    /// anything is said of them.
    #[error("the counters were lost")]
    Lost,
    /// The fold's standing is older than what the counters know: it must be read again.
    #[error("the standing is too old")]
    Behind,
}

/// One operation, where it stands in the log, and what the tables said before it was folded.
#[derive(Debug, Clone)]
pub struct Fold {
    pub id: CommentId,
    pub member: MemberId,
    pub react: ReactionChange,
    /// Its offset in the log: its version.
    pub version: u64,
    pub standing: ReactionState,
}

/// Likes, dislikes and what the member thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Folded {
    pub likes: u64,
    pub dislikes: u64,
    pub reaction: Option<Reaction>,
}

/// What a row says of a comment's counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Base {
    pub id: CommentId,
    pub likes: u64,
    pub dislikes: u64,
    /// A position of the log at which these were the counts: the one after the last reaction that
    /// moved them, or any later one that the slot had reached when the row was read.
    pub reacted: u64,
}

/// What the tables hold of a comment after a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedReaction {
    pub base: Base,
    /// The batch's operations on it: offset, member, what was done. With them the view knows also of
    /// those that were appended and never folded, because their server died in between.
    pub operations: Vec<(u64, MemberId, ReactionChange)>,
}

/// A right to open a slot's counters again, see [`Counters::begin`].
#[derive(Debug, Clone)]
pub struct Recovery {
    pub slots: Vec<Slot>,
    pub token: String,
}

#[async_trait]
pub trait Counters: Send + Sync + std::fmt::Debug {
    /// Folds an operation into its comment's view; membership and counts move together.
    ///
    /// A view that is not there is made from `standing`, one that is behind it is brought up to it.
    /// Operations are folded by their versions, whatever the order they come in; one that the view's
    /// base holds already changes nothing. Folding the same again changes nothing.
    ///
    /// # Errors
    /// [`CountersError::Behind`] when the standing does not say what the member thinks at the view's
    /// base, or was read before the slot was opened: read it again and fold again.
    async fn fold(&self, fold: Fold) -> Result<Folded, CountersError>;
    /// Likes and dislikes of comments, where the view knows more than the row. A view that is behind
    /// its row is brought up to it.
    async fn counts(&self, rows: &[Base]) -> Result<HashMap<CommentId, (u64, u64)>, CountersError>;
    /// What a member's operations that are not persisted yet make of these comments; ids without
    /// any are left out.
    async fn reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError>;
    /// The tables hold these counts: every operation before `reacted` is in them and is dropped here.
    /// What comes late, again, or of something older changes nothing.
    ///
    /// The answer names a few comments of the same slots with operations older than that, of which
    /// nobody told: their rows should be told too ([`tell`] does).
    async fn persisted(&self, rows: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError>;
    /// Which of these slots were lost (or never opened).
    async fn lost(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError>;
    /// Begins to open lost slots. Between this and [`Counters::reopen`] the caller waits until the
    /// tables hold everything that was in the log after this call.
    async fn begin(&self, slots: &[Slot]) -> Result<Recovery, CountersError>;
    /// Opens the slots, whose rows have reached these positions: standings older than that are not
    /// believed, and views older than that are dropped. [`CountersError::Lost`] when the counters were
    /// lost again meanwhile, or ten seconds have passed.
    async fn reopen(&self, opening: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError>;
    /// The whole view of a comment, for the reconciler: its base and what it shows now.
    async fn view(&self, id: CommentId) -> Result<Option<(Base, (u64, u64))>, CountersError>;
    /// Forgets a comment's view. Where operations are pending in it the slot is lost with it: it can
    /// be opened again when they are in the tables.
    async fn forget(&self, id: CommentId) -> Result<(), CountersError>;
}
