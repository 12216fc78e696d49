//! The port to everything of one member, for the export of it.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;

use crate::domain::row::OtherTexts;
use crate::ports::store::Result;

/// Reads what a member has written and done. Lists are in the order of ids, and go on above one.
#[async_trait]
pub trait MemberDataReader: Send + Sync + Debug {
    /// A member's comments, whatever their state.
    async fn list_comments_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>>;
    /// A member's reactions, by the ids of the comments.
    async fn list_reactions_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<(CommentId, Reaction)>>;
    /// The texts of a comment that readers do not see: the earlier ones, and the one as it was typed.
    async fn read_other_texts(&self, id: CommentId) -> Result<OtherTexts>;
}
