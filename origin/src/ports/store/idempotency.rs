//! The port that answers a repeated `POST`: what its idempotency key did, and the text it stored.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};

use crate::domain::row::RememberedRequest;
use crate::ports::store::Result;

/// Reads what an earlier request with the same key did.
#[async_trait]
pub trait IdempotencyReader: Send + Sync + Debug {
    /// The request that used a member's idempotency key on this subject, if it was used after
    /// `since` (Unix milliseconds).
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>>;
    /// The text of a comment before its first edit; `None` when it was never edited.
    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>>;
}
