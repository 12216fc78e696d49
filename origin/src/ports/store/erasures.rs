//! The port to the ends of members: who is erased or merged, and the rows that name them.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Author;

use crate::domain::erasure::MemberEnd;
use crate::ports::store::Result;

/// Reads who is erased or merged, and where they are named.
#[async_trait]
pub trait ErasureReader: Send + Sync + Debug {
    /// The first `count` members after one who are erased or merged, in the order in which that was requested.
    async fn list_member_ends(&self, after: Option<MemberEnd>, count: usize) -> Result<Vec<MemberEnd>>;
    /// The same from a copy, while [`ErasureReader::list_member_ends`] fails: it has everyone who is finished.
    async fn list_member_ends_copy(&self, after: Option<MemberEnd>, count: usize) -> Result<Vec<MemberEnd>> {
        self.list_member_ends(after, count).await
    }
    /// Erased or merged members of whom something may be left, oldest first.
    async fn list_unfinished_ends(&self, count: usize) -> Result<Vec<MemberEnd>>;
    /// What a guest has become, as it signs what the guest wrote; `None` for a guest who is one still.
    async fn read_heir(&self, guest: MemberId) -> Result<Option<Author>>;
    /// The guests who have become this member.
    async fn list_merged_guests(&self, member: MemberId) -> Result<Vec<MemberId>>;
    /// Those of these comments that have a row, are this member's, and are not overwritten. Reads no texts.
    async fn list_not_erased(&self, member: MemberId, ids: &[CommentId]) -> Result<Vec<CommentId>>;
    /// The first `count` comments above an id that mentioned a member when they were written.
    async fn list_mentioning(&self, member: MemberId, above: Option<CommentId>, count: usize)
    -> Result<Vec<CommentId>>;
    /// The first `count` direct answers above an id to a comment, whatever their state.
    async fn list_answers(&self, parent: CommentId, above: Option<CommentId>, count: usize) -> Result<Vec<CommentId>>;
}
