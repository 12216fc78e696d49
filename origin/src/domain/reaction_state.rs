//! What the tables know of one member's reaction to one comment.

use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;

use crate::domain::operation::{LoggedOperation, Operation};

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

/// A reaction that is among the dead letters. The tables have it from the moment in which its position is skipped
/// until its pair changes: a letter that they do not have any more must not be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeadReaction {
    pub id: CommentId,
    pub member: MemberId,
    /// Where it became a dead letter first.
    pub position: u64,
}

impl DeadReaction {
    /// What an operation leaves behind that becomes a dead letter; `None` for one that was a dead letter before,
    /// and for everything but reactions from the broker.
    pub fn of(logged: &LoggedOperation) -> Option<Self> {
        match (&logged.operation, logged.position, logged.died_at) {
            (Operation::React { id, member, .. }, Some(position), None) => {
                Some(Self { id: *id, member: *member, position })
            }
            _ => None,
        }
    }
}
