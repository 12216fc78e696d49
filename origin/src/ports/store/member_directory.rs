//! The port to members and to what they have written, as moderators and friends read it.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};

use crate::domain::member_standing::{KnownMember, MemberSummary};
use crate::ports::store::Result;

/// Finds members, and comments by their authors. Members have written, or something is said of them.
#[async_trait]
pub trait MemberDirectory: Send + Sync + Debug {
    /// The first `count` members above an id.
    async fn list_members(&self, above: Option<MemberId>, count: usize) -> Result<Vec<KnownMember>>;
    /// The first `count` members whose name keys begin so, after one of them: in the order of name keys and ids.
    async fn list_members_named(
        &self,
        prefix: &[u8],
        after: Option<(Vec<u8>, MemberId)>,
        count: usize,
    ) -> Result<Vec<KnownMember>>;
    /// One member.
    async fn read_member(&self, member: MemberId) -> Result<Option<KnownMember>>;
    /// What a member has written, by their newest comments.
    async fn summarize_member(&self, member: MemberId) -> Result<MemberSummary>;
    /// The reported ones among the comments that [`MemberDirectory::summarize_member`] counts, newest first.
    async fn list_reported_of(&self, member: MemberId) -> Result<Vec<CommentId>>;
    /// The comments of these authors in a subject that every reader sees, below an id, newest first. Costs a look into
    /// an index for each author and for each comment of theirs, at most `count` of one author.
    async fn list_by_authors(
        &self,
        subject: &SubjectKey,
        authors: &[MemberId],
        below: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>>;
}
