//! The ends of members: who is erased, and which guests have become members; and what is removed from the rows that
//! an erased member wrote, and from those that name them.
//!
//! Pure: who is erased or merged is decided elsewhere. An erased comment stays as a tombstone: its place, its id and
//! the number of its author remain, so that threads and counts stay as they are.

use gailou_shared::id::MemberId;
use gailou_shared::wire::CommentState;

use crate::domain::row::{CommentRow, NewCommentRow};

/// The end of a member: their tokens are refused from then on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct MemberEnd {
    /// When it was requested, Unix milliseconds.
    pub at: u64,
    pub member: MemberId,
    /// The member that a guest has become; `None`: they are erased.
    pub heir: Option<MemberId>,
}

impl CommentRow {
    /// Removes what the author wrote, and who they are.
    pub fn erase(&mut self) {
        self.state = CommentState::Deleted;
        self.flags.clear();
        self.edited_at = None;
        self.author.name.clear();
        self.author.avatar = None;
        self.author.level = 0;
        self.author.role = None;
        self.content.clear();
        self.html.clear();
        self.mentions.clear();
        self.media.clear();
    }

    /// Whether nothing is left to erase.
    pub fn is_erased(&self) -> bool {
        self.state == CommentState::Deleted
            && self.author.name.is_empty()
            && self.content.is_empty()
            && self.html.is_empty()
            && self.mentions.is_empty()
            && self.media.is_empty()
    }

    /// Whether it names a member: as the one it answers, or in its mentions.
    pub fn names(&self, member: MemberId) -> bool {
        self.mentions.iter().any(|mention| mention.id == member)
            || self.reply_to.as_ref().is_some_and(|answered| answered.id == member && !answered.name.is_empty())
    }
}

impl NewCommentRow {
    /// Removes what the author wrote, and who they are.
    pub(crate) fn erase(&mut self) {
        self.state = CommentState::Deleted;
        self.author.name.clear();
        self.author.avatar = None;
        self.author.level = 0;
        self.author.role = None;
        self.content.clear();
        self.html.clear();
        self.original_text = None;
        self.mentions.clear();
        self.media.clear();
        self.reasons.clear();
        self.network = None;
    }

    /// Whether its author was erased before it was stored. No comment is posted as a deleted one.
    pub(crate) fn is_erased(&self) -> bool {
        self.state == CommentState::Deleted && self.imported.is_none()
    }
}
