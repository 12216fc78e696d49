//! The port to what belongs to a member: history, held comments, reactions, names.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;

use crate::ports::store::Result;

/// Reads by member.
#[async_trait]
pub trait MemberReader: Send + Sync + Debug {
    /// A member's visible comments below an id, newest first.
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>>;
    /// A member's comments that no other reader sees, newest first: held for review, or visible to
    /// their author only.
    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>>;
    /// A member's reactions to these comments; comments without one are left out.
    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>>;
    /// The last known names of members.
    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>>;
}
