//! The port to the counters: reaction counts, including the reactions that are not in the tables yet.
//!
//! The counters are a view over rows and broker, never the truth. Of a comment they hold its counts
//! at one offset of its slot's reactions, and the pairs (member and comment) whose operations from
//! that offset on are not persisted yet. Their size is bounded by the lag, not by the number of
//! reactions, and everything in them may vanish.
//!
//! The port has one trait for each role: requests use [`Counters`], the recovery of lost slots uses
//! [`CounterSlots`], the reconciler uses [`CounterViews`].

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;

use crate::domain::operation::ReactionChange;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::ReactionCounts;
use crate::ports::failure::Failure;

/// Why the counters did not answer.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CountersError {
    /// The counters could not be reached, or not in time. Whether a fold was applied is not known.
    #[error("the counters cannot be reached: {0}")]
    Unavailable(Failure),
    /// The slot's counters were lost. They must be recovered ([`CounterSlots`]) before they answer.
    #[error("the counters of the slot were lost")]
    Lost,
    /// The reaction state of the request is older than the view. It must be read again.
    #[error("the reaction state is older than the counters")]
    StaleState,
}

/// One reaction to fold, with its offset and what the tables held before it.
#[derive(Debug, Clone)]
pub struct FoldRequest {
    pub id: CommentId,
    pub member: MemberId,
    pub change: ReactionChange,
    /// Its offset in the broker, which is its version.
    pub offset: u64,
    pub state: ReactionState,
}

/// The counts after a fold, and what the member thinks then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoldedReaction {
    pub counts: ReactionCounts,
    pub reaction: Option<Reaction>,
}

/// The counts that a row holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CountBase {
    pub id: CommentId,
    pub counts: ReactionCounts,
    /// An offset at which these were the counts: the one after the last reaction that moved them, or
    /// any later one that the slot had reached when the row was read.
    pub offset: u64,
}

/// What the tables hold of a comment after a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedReaction {
    pub base: CountBase,
    /// The batch's operations on it. They include operations that were appended but never folded,
    /// because the process that appended them died in between.
    pub operations: Vec<PersistedOperation>,
}

/// A reaction of a batch that the tables hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersistedOperation {
    pub offset: u64,
    pub member: MemberId,
    pub change: ReactionChange,
}

/// The view of one comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterView {
    pub base: CountBase,
    /// The base with the pending operations.
    pub current: ReactionCounts,
}

/// The right to recover slots, see [`CounterSlots::begin_recovery`].
#[derive(Debug, Clone)]
pub struct Recovery {
    pub slots: Vec<Slot>,
    pub token: String,
}

/// What requests do with the counters, and what the writer of the tables reports to them.
#[async_trait]
pub trait Counters: Send + Sync + std::fmt::Debug {
    /// Folds an operation into the view of its comment. Membership and counts move together.
    ///
    /// A missing view is created from `state`, and a view older than `state` is brought up to it.
    /// Operations are folded by their offsets, in whatever order they arrive. An operation that the
    /// view's base already contains changes nothing, and folding one twice changes nothing.
    ///
    /// # Errors
    /// [`CountersError::StaleState`] when `state` does not say what the member thinks at the view's
    /// base, or was read before the slot was recovered. Read it again and fold again. Also when the offset is of a
    /// log from before it was accepted: then folding again is of no use.
    async fn fold(&self, request: FoldRequest) -> Result<FoldedReaction, CountersError>;
    /// The counts of those comments of which the view knows more than the row. A view that is older
    /// than its row is brought up to it.
    async fn read_counts(&self, rows: &[CountBase]) -> Result<HashMap<CommentId, ReactionCounts>, CountersError>;
    /// What a member thinks of these comments after the operations that are not persisted yet.
    /// Comments without such operations are left out.
    async fn read_pending_reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError>;
    /// Takes over what the tables hold: every operation before a base's offset is dropped from the
    /// view. A call that is late, repeated or about something older changes nothing.
    ///
    /// The answer names a few comments of the same slots that still have operations older than these,
    /// because their own call never came. They should be settled too, see [`crate::cluster::settle`].
    async fn settle(&self, rows: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError>;
}

/// The recovery of slots whose counters were lost.
#[async_trait]
pub trait CounterSlots: Send + Sync + std::fmt::Debug {
    /// Which of these slots are lost, or were never opened.
    async fn find_lost_slots(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError>;
    /// Claims the recovery of the slots that are recovered together with this one, their first, or prolongs the
    /// holder's own claim; `false` while another holder has it. It ends after `lease`, and with the server that
    /// took it.
    ///
    /// A claim saves queries and protects nothing: a holder may be suspended for longer than its lease, and two
    /// recoveries at once are as harmless as one.
    async fn claim_recovery(&self, first: Slot, holder: &str, lease: Duration) -> Result<bool, CountersError>;
    /// Whether anybody has claimed the recovery of these slots. It is cheaper than a claim, and may still be true
    /// for what is left of a lease that ended with its server.
    async fn is_recovery_claimed(&self, first: Slot) -> Result<bool, CountersError>;
    /// Gives up a claim of this holder.
    async fn release_recovery(&self, first: Slot, holder: &str) -> Result<(), CountersError>;
    /// Begins to recover lost slots. Before [`CounterSlots::finish_recovery`] the caller waits until
    /// the tables hold everything that was in the broker after this call.
    async fn begin_recovery(&self, slots: &[Slot]) -> Result<Recovery, CountersError>;
    /// Opens the slots, whose rows have reached these offsets. From then on older reaction states
    /// are refused, and older views are dropped.
    ///
    /// # Errors
    /// [`CountersError::Lost`] when the counters were lost again meanwhile, or ten seconds have passed.
    async fn finish_recovery(&self, recovery: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError>;
}

/// Single views, for the reconciler.
#[async_trait]
pub trait CounterViews: Send + Sync + std::fmt::Debug {
    /// The view of a comment; `None` when there is none.
    async fn read_view(&self, id: CommentId) -> Result<Option<CounterView>, CountersError>;
    /// Removes the view of a comment. If it has pending operations, its slot becomes lost and can be
    /// recovered once the tables hold them.
    async fn forget_view(&self, id: CommentId) -> Result<(), CountersError>;
}
