//! The ports that compare rows that are made from others with those, and make them again.
//!
//! A repair holds the lock that writers take for a few rows at a time, never for a whole subject.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
#[cfg(feature = "cluster")]
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::path::Path;

use crate::domain::reconcile::{ComparedChunk, FoundDifference, RankWalk, ReconcileScope};
use crate::ports::store::Result;

/// Compares and repairs the counters of subjects, the ranks of comments, and the review queue. Of what is repaired in a slot that
/// moves, nothing is changed, and the call fails.
#[async_trait]
pub trait Reconciler: Send + Sync + Debug {
    /// The first `count` subjects after one in the slots of a scope, also those outside its sample, in an order of
    /// the adapter's own that does not change.
    async fn list_subjects_after(
        &self,
        scope: ReconcileScope,
        after: Option<&SubjectKey>,
        count: usize,
    ) -> Result<Vec<SubjectKey>>;
    /// Compares the counters of one subject, at one moment.
    async fn reconcile_counters(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<FoundDifference>>;
    /// Whether the ranks are made with the configured weights. Until they are, keys differ.
    async fn is_ranked(&self) -> Result<bool>;
    /// Compares the ranks of the comments of a subject after a path: those that are missing or wrong.
    async fn reconcile_ranks(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>>;
    /// Compares the review queue with the comments of a subject after a path.
    async fn reconcile_reviews(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>>;
    /// Finds ranks that no comment has, in the slots of a scope, from the begin or from where a walk goes on.
    async fn reconcile_rank_rows(
        &self,
        scope: ReconcileScope,
        walk: Option<RankWalk>,
        repair: bool,
    ) -> Result<ComparedChunk<RankWalk>>;
}

/// Compares and repairs what the databases of a cluster owe each other: the histories of members. Embedded, a
/// history is the comments themselves.
#[cfg(feature = "cluster")]
#[async_trait]
pub trait HistoryReconciler: Send + Sync + Debug {
    /// Finds comments of a subject after a path that are in no history and that no outbox owes.
    async fn reconcile_histories(
        &self,
        subject: &SubjectKey,
        after: Option<&Path>,
        repair: bool,
    ) -> Result<ComparedChunk<Path>>;
    /// Finds rows of the histories of a slot's members that name no comment.
    async fn reconcile_history_rows(
        &self,
        slot: Slot,
        after: Option<(MemberId, CommentId)>,
        repair: bool,
    ) -> Result<ComparedChunk<(MemberId, CommentId)>>;
    /// Finds rows of outboxes that have waited for minutes although their recipients answer, and delivers them.
    /// Of erased members nothing but the history is delivered.
    async fn reconcile_outboxes(
        &self,
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
        repair: bool,
    ) -> Result<Vec<FoundDifference>>;
}
