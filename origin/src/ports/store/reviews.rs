//! The port to the review queue and to reports.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::{Report, ReviewKind};

use crate::domain::network_digest::NetworkDigest;
use crate::domain::review::{QueueCounts, QueuePosition, QueuedReview};
use crate::ports::store::Result;

/// Reads what waits for moderators.
#[async_trait]
pub trait ReviewReader: Send + Sync + Debug {
    /// The items of a part of the queue, or of both, after a position, in their order. The cost does not grow with the
    /// queue.
    async fn list_queue(
        &self,
        kind: Option<ReviewKind>,
        after: Option<QueuePosition>,
        count: usize,
    ) -> Result<Vec<QueuedReview>>;
    /// How many comments are in each part of the queue.
    async fn count_queue(&self) -> Result<QueueCounts>;
    /// The items of these comments; a comment without one is left out.
    async fn read_reviews(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, QueuedReview>>;
    /// The texts of these comments as they were typed, where the filter masked part of them.
    async fn read_original_texts(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, String>>;
    /// The reports of a comment, the newest first.
    async fn list_reports(&self, id: CommentId, count: usize) -> Result<Vec<Report>>;
    /// Where a comment was posted from; `None` where it is not known, or not any more.
    async fn read_author_network(&self, id: CommentId) -> Result<Option<NetworkDigest>>;
    /// Whether readers see a comment of this member that a moderator has approved, among the newest ones.
    async fn has_approved(&self, author: MemberId) -> Result<bool>;
    /// A member's reports, by the ids of the comments.
    async fn list_reports_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<(CommentId, Report)>>;
}
