//! The port to erased members, and to the rows that name them.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};

use crate::domain::erasure::ErasedMember;
use crate::ports::store::Result;

/// Reads who is erased, and where they are named.
#[async_trait]
pub trait ErasureReader: Send + Sync + Debug {
    /// The first `count` erased members after one, in the order of their erasures.
    async fn list_erased(&self, after: Option<ErasedMember>, count: usize) -> Result<Vec<ErasedMember>>;
    /// The same from a copy, while [`ErasureReader::list_erased`] fails: it has every finished erasure.
    async fn list_erased_copy(&self, after: Option<ErasedMember>, count: usize) -> Result<Vec<ErasedMember>> {
        self.list_erased(after, count).await
    }
    /// Erased members of whom something may be left, oldest erasure first.
    async fn list_unfinished_erasures(&self, count: usize) -> Result<Vec<ErasedMember>>;
    /// Those of these comments that have a row and are not overwritten. Reads no texts.
    async fn list_not_erased(&self, ids: &[CommentId]) -> Result<Vec<CommentId>>;
    /// The first `count` comments above an id that mentioned a member when they were written.
    async fn list_mentioning(&self, member: MemberId, above: Option<CommentId>, count: usize)
    -> Result<Vec<CommentId>>;
    /// The first `count` direct answers above an id to a comment, whatever their state.
    async fn list_answers(&self, parent: CommentId, above: Option<CommentId>, count: usize) -> Result<Vec<CommentId>>;
}
