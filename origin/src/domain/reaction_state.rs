//! What the tables know of one member's reaction to one comment, at one moment.

use gailou_shared::wire::Reaction;

/// The state of a pair of a member and a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReactionState {
    /// The slot's next position in the stream of reactions: everything before it is in here.
    pub position: u64,
    pub reaction: Option<Reaction>,
    /// Whether every reader may see the comment; `None` where no comment has a row under this id.
    pub visible: Option<bool>,
    pub likes: u64,
    pub dislikes: u64,
    /// See [`super::row::CommentRow::reactions_offset`].
    pub reactions_offset: u64,
}
