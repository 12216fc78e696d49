//! What can be written, and what a written batch did.
//!
//! Pure data. An operation carries everything about it: whatever can refuse it was decided before.

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::Mode;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{CommentState, Reaction, SubjectState};
use gailou_shared::word_filter::Term;

use crate::domain::row::NewCommentRow;

/// Something to write.
#[derive(Debug, Clone)]
pub enum Operation {
    Publish(Box<NewCommentRow>),
    React {
        id: CommentId,
        member: MemberId,
        react: ReactionChange,
    },
    Change {
        id: CommentId,
        change: CommentChange,
        audit: Option<AuditEntry>,
    },
    Subject {
        key: SubjectKey,
        patch: SubjectPatch,
        audit: Option<AuditEntry>,
    },
    /// Keeps a snapshot of a list in this slot, or keeps it longer.
    Snapshot {
        slot: Slot,
        snapshot: Snapshot,
    },
    /// Replaces the dictionary.
    Words(Vec<Term>),
    /// Forgets what has outlived its time.
    Sweep,
}

/// What a member does to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReactionChange {
    Put(Reaction),
    /// Takes back this reaction, if it is the one there.
    Take(Reaction),
}

impl ReactionChange {
    /// What a member thinks after this, who thought `before`.
    pub fn fold(self, before: Option<Reaction>) -> Option<Reaction> {
        match self {
            Self::Put(reaction) => Some(reaction),
            Self::Take(reaction) => before.filter(|b| *b != reaction),
        }
    }
}

/// A change to one comment by somebody who may make it.
#[derive(Debug, Clone)]
pub enum CommentChange {
    /// The new text and its HTML, the text as written where it was masked, and the mentions kept.
    Edit {
        content: String,
        html: String,
        written: Option<String>,
        state: CommentState,
    },
    /// Publishes, hides, rejects, deletes or restores.
    State(CommentState),
    /// Pins (as the owner or as a moderator) or unpins.
    Pin(Option<PinnedBy>),
    Feature(bool),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinnedBy {
    Owner,
    Moderator,
}

/// What an admin or the host says of a subject; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct SubjectPatch {
    pub title: Option<Option<String>>,
    pub url: Option<Option<String>>,
    pub owner_id: Option<Option<MemberId>>,
    pub state: Option<SubjectState>,
    pub mode: Option<Mode>,
}

/// A line of the audit.
#[derive(Debug, Clone)]
pub struct AuditEntry {
    pub actor: MemberId,
    pub action: &'static str,
    pub reason: Option<String>,
}

/// What has become of an [`Event`].
#[derive(Debug, Clone)]
pub enum OperationOutcome {
    /// Stored, with the floor it was given.
    Published {
        floor: Option<u64>,
    },
    /// The same request was carried out before: the comment it made, and the state it was given.
    Replayed {
        id: CommentId,
        state: CommentState,
    },
    /// The idempotency key belongs to another request.
    Mismatch,
    /// An imported comment that is already here.
    Present {
        id: CommentId,
    },
    Reacted {
        likes: u64,
        dislikes: u64,
        reaction: Option<Reaction>,
    },
    /// The comment is not there, or can be seen no more. A reaction with a position is kept all the
    /// same, and counted when its comment comes.
    NoComment,
    /// The event's position was applied before.
    Seen,
    Done,
}

/// An event with the moment it was accepted (Unix milliseconds).
#[derive(Debug, Clone)]
pub struct LoggedOperation {
    pub at: u64,
    /// Where it stands in the log of its slot. What has a position was decided before it was
    /// appended: it is applied when its slot has not come so far yet, and never refused.
    pub position: Option<u64>,
    pub operation: Operation,
}

impl LoggedOperation {
    /// An event that comes from no log.
    pub fn new(at: u64, event: Operation) -> Self {
        Self { at, position: None, operation: event }
    }
}

/// What a batch did.
#[derive(Debug, Default)]
pub struct PersistedBatch {
    /// One an event, in their order.
    pub outcomes: Vec<OperationOutcome>,
    /// Subjects that look different now, with their new versions.
    pub changed: Vec<(SubjectKey, u64)>,
    /// Comments whose rows are different now, and those of events that were seen: whoever applied
    /// them may have died before it told of them.
    pub touched: Vec<TouchedComment>,
}

/// A comment as a batch left it.
#[derive(Debug, Clone)]
pub struct TouchedComment {
    pub id: CommentId,
    pub subject: SubjectKey,
    /// The subject's version now.
    pub version: u64,
    pub root: CommentId,
    /// What it answers; `None` also where that is neither in the batch nor on its path.
    pub parent: Option<CommentId>,
    pub floor: Option<u64>,
    /// Whether it stood in lists before the batch, and does now.
    pub was_listed: bool,
    pub listed: bool,
    /// Whether every reader may see it now.
    pub visible: bool,
    /// Whether what it shows besides counts was changed or taken away from readers: an edit, a
    /// deletion, a rejection. The change feed has a row of it.
    pub takedown: bool,
    pub likes: u64,
    pub dislikes: u64,
    /// See [`Row::reacted`].
    pub reacted: u64,
}

/// How long rows of the change feed are kept, in milliseconds: an hour longer than the oldest page
/// that is still served anywhere.
pub const CHANGE_FEED_RETENTION_MS: u64 = 25 * 3_600_000;

/// A row of the change feed: a comment that readers saw is edited, gone, or back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRow {
    /// Grows in its database; a row with a smaller number may be committed later.
    pub seq: u64,
    pub at: u64,
    pub subject: SubjectKey,
    /// The subject's version with the change.
    pub version: u64,
    pub id: CommentId,
}
