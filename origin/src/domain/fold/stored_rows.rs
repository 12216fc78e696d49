//! Rows as a fold reads them: only the columns that it depends on or changes.

use gailou_shared::id::{AuditId, CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, Visibility};

use crate::domain::row::{IdempotencyKey, NewCommentRow, is_pending, is_visible};

/// How an adapter's tables are laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TableLayout {
    /// One database without a broker: an idempotency key is unique in all of it, and no comment has a
    /// second id.
    Embedded,
    /// Slots behind a broker: an idempotency key is stored beside its comment and unique in its slot, and
    /// a repeated request may have appended a second id.
    #[cfg(any(test, feature = "cluster"))]
    Sharded,
}

/// A subject's row.
#[derive(Debug, Clone)]
pub(crate) struct StoredSubject {
    pub number: i64,
    pub key: SubjectKey,
    pub version: u64,
    pub floors: u64,
    pub roots: u64,
    pub comments: u64,
}

/// A comment's row.
#[derive(Debug, Clone)]
pub(crate) struct StoredComment {
    /// The number of its subject's row.
    pub subject: i64,
    pub author: MemberId,
    pub row: FoldedRow,
}

/// The columns of a comment that a fold changes, and those that the changes depend on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct FoldedRow {
    pub path: Path,
    pub created_at: u64,
    pub floor: Option<u64>,
    /// The last floor assigned below it.
    pub floors: u64,
    pub state: CommentState,
    pub visibility: Visibility,
    pub flags: i64,
    pub pinned_at: Option<u64>,
    pub edited_at: Option<u64>,
    /// How often it was edited.
    pub edits: u64,
    pub counts: EngagementCounts,
    pub reactions_offset: u64,
    pub author_level: u8,
    /// The entry of the audit log about its last change; `None` where that was none of a moderator's.
    pub last_audit: Option<AuditId>,
}

impl FoldedRow {
    pub(crate) fn is_visible(&self) -> bool {
        is_visible(self.state, self.visibility)
    }

    pub(crate) fn is_pending(&self) -> bool {
        is_pending(self.state, self.visibility, self.flags)
    }

    pub(crate) fn is_listed(&self) -> bool {
        self.is_visible() || (self.floor.is_some() && self.counts.replies > 0)
    }
}

/// What an idempotency key stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StoredIdempotencyKey {
    pub request: [u8; 32],
    pub id: CommentId,
    pub state: CommentState,
    pub created_at: u64,
}

impl StoredIdempotencyKey {
    /// Whether the key has not expired at this moment.
    pub(super) fn is_valid_at(&self, at: u64) -> bool {
        self.created_at > at.saturating_sub(limits::IDEMPOTENCY_WINDOW_MS)
    }
}

/// A member's idempotency key, in the slot where it is unique ([`TableLayout::Embedded`]: always the
/// first).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ScopedIdempotencyKey<'b> {
    pub slot: Slot,
    pub member: MemberId,
    pub key: &'b str,
}

impl TableLayout {
    /// Whether an id may be the second id of another comment.
    pub(super) fn has_aliases(self) -> bool {
        self != Self::Embedded
    }

    /// The key of a new comment, and the hash of its request.
    pub(super) fn scoped_idempotency_key<'b>(
        self,
        new: &'b NewCommentRow,
    ) -> Option<(ScopedIdempotencyKey<'b>, &'b [u8; 32])> {
        let IdempotencyKey { key, request } = new.idempotency.as_ref()?;
        let slot = if self == Self::Embedded { Slot::FIRST } else { new.path.id().slot() };
        Some((ScopedIdempotencyKey { slot, member: new.author.id, key }, request))
    }
}
