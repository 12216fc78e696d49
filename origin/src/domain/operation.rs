//! What can be written, and what a written batch did.
//!
//! Pure data. An operation contains everything that its rows need: [`crate::service`] decided before
//! whether it is allowed.

use gailou_shared::id::{AuditId, CommentId, MemberId, Slot, SubjectKey, WebhookId};
use gailou_shared::path::Mode;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{Author, CommentState, MemberRef, Reaction, ReviewReason, SubjectState};
use gailou_shared::word_filter::Term;

use crate::domain::audit::AuditEntry;
use crate::domain::event::EventKind;
use crate::domain::member_standing::{MemberStanding, StandingPatch, member_slot};
use crate::domain::name_digest::NameDigest;

use crate::domain::review::{Decision, NewReport, SeenComment};
use crate::domain::row::{NewCommentRow, StoredSettingChanges};
use crate::domain::webhook::WebhookRow;

/// A command to the tables.
#[derive(Debug, Clone)]
pub enum Operation {
    Publish(Box<NewCommentRow>),
    React {
        id: CommentId,
        member: MemberId,
        change: ReactionChange,
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
    /// Stores a snapshot of a list in this slot, or extends its life.
    Snapshot {
        slot: Slot,
        snapshot: Snapshot,
    },
    /// Gives a moderator those of these comments of one slot that are in the review queue and that no other moderator
    /// has, until this moment (Unix milliseconds).
    LeaseReviews {
        slot: Slot,
        ids: Vec<CommentId>,
        holder: MemberRef,
        until: u64,
    },
    /// Replaces the dictionary of the word filter. Where another version than the expected one is stored, nothing
    /// changes, and the outcome is [`OperationOutcome::Conflict`].
    Dictionary {
        terms: Vec<Term>,
        expected_version: Option<u64>,
        audit: Option<AuditEntry>,
    },
    /// Stores what admins have changed of the settings. Where the stored changes are not those of the version before,
    /// nothing changes, and the outcome is [`OperationOutcome::Conflict`].
    Settings {
        stored: StoredSettingChanges,
        audit: Box<AuditEntry>,
    },
    /// Makes or removes a webhook. Where there is no room for it, nothing changes, and the outcome is
    /// [`OperationOutcome::Conflict`].
    Webhook {
        change: WebhookChange,
        audit: Box<AuditEntry>,
    },
    /// Records in the audit log that comments were imported.
    Import {
        audit: Box<AuditEntry>,
    },
    /// Records that members have names with these digests. Nothing is recorded of erased members.
    MemberNames(Vec<(NameDigest, MemberId)>),
    /// Deletes expired rows.
    DeleteExpired,
    /// Deletes some of the earlier texts of comments that were replaced before this moment (Unix
    /// milliseconds).
    DeleteEditHistory {
        before: u64,
    },
    /// Changes what moderators say of a member. The transaction says in the entry what was before and after, and its
    /// verb.
    Standing {
        member: MemberId,
        patch: Box<StandingPatch>,
        audit: AuditEntry,
    },
    /// A step in the erasure of a member, beside the changes of single comments. The entry is written with the first
    /// one, where another than the member asks for it.
    Erasure {
        member: MemberId,
        step: ErasureStep,
        audit: Option<AuditEntry>,
    },
    /// A step in the merge of a guest into a member, beside the changes of single comments.
    Merge {
        guest: MemberId,
        step: MergeStep,
    },
}

impl Operation {
    /// The slot of the rows that it writes; the first one where they are of no slot.
    pub fn slot(&self) -> Slot {
        match self {
            Self::Publish(new) => new.path.id().slot(),
            Self::React { id, .. } | Self::Change { id, .. } => id.slot(),
            Self::Subject { key, .. } => key.slot(),
            Self::Snapshot { slot, .. } | Self::LeaseReviews { slot, .. } => *slot,
            Self::Standing { member, .. } => member_slot(*member),
            Self::Dictionary { .. }
            | Self::Settings { .. }
            | Self::Webhook { .. }
            | Self::Import { .. }
            | Self::MemberNames(_)
            | Self::DeleteExpired
            | Self::DeleteEditHistory { .. }
            | Self::Erasure { .. }
            | Self::Merge { .. } => Slot::FIRST,
        }
    }
}

/// A change of the webhooks.
#[derive(Debug, Clone)]
pub enum WebhookChange {
    Add(Box<WebhookRow>),
    /// With its deliveries.
    Remove(WebhookId),
}

/// A step in the erasure of a member. Each may be repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErasureStep {
    /// Remembers that the member is erased.
    Begin,
    /// Overwrites their last known name, and what is said of them.
    Name,
    /// Remembers that nothing is left of them.
    Finish,
}

/// A step in the merge of a guest into a member. Each may be repeated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeStep {
    /// Remembers which member the guest has become, and how what they wrote is signed from now on. A guest who is
    /// another member already stays so: [`OperationOutcome::Conflict`].
    Begin(Box<Author>),
    /// Removes from the guest's history what is not the guest's any more.
    History,
    /// Remembers that nothing is left of the guest.
    Finish,
}

/// A member's change to their reaction to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReactionChange {
    Put(Reaction),
    /// Removes this reaction, if it is the current one.
    Take(Reaction),
}

impl ReactionChange {
    /// The reaction after this change to the reaction `before`.
    pub fn fold(self, before: Option<Reaction>) -> Option<Reaction> {
        match self {
            Self::Put(reaction) => Some(reaction),
            Self::Take(reaction) => before.filter(|b| *b != reaction),
        }
    }
}

/// A change to one comment.
#[derive(Debug, Clone)]
pub enum CommentChange {
    /// Replaces the text and its HTML, while the comment is published; else nothing changes, and the
    /// outcome is [`OperationOutcome::NoComment`]. A comment that was edited `max_edits` times stays as it is
    /// ([`OperationOutcome::TooManyEdits`]); 0 is no bound. `original_text` is the text as written, where the
    /// filter masked part of it. `state` is `Published` or `Review`: such an edit waits for a moderator, for these
    /// reasons, while readers see the former text. Mentions stay.
    Edit {
        content: String,
        html: String,
        original_text: Option<String>,
        state: CommentState,
        reasons: Vec<ReviewReason>,
        max_edits: u64,
    },
    /// Publishes, hides, rejects, deletes or restores; ends what waits for a decision about it. To hide one that is deleted
    /// is [`OperationOutcome::Conflict`].
    State(CommentState),
    /// Publishes a held or rejected comment, with the edit that waits, and ends what was reported of it. Of one that
    /// is hidden or deleted, the outcome is [`OperationOutcome::Conflict`].
    Approve,
    /// Drops the edit that waits; without one, rejects the comment. Of one that is deleted, the outcome is
    /// [`OperationOutcome::Conflict`].
    Reject,
    /// Makes another change while the comment is as a moderator has seen it; else the outcome is
    /// [`OperationOutcome::Conflict`].
    IfSeen { seen: SeenComment, change: Box<CommentChange> },
    /// Records a reader's report, once for each reader, of a comment that readers see.
    Report(Box<NewReport>),
    /// Undoes what this entry of the audit log is about, unless anything has changed the comment since
    /// ([`OperationOutcome::Conflict`]).
    Undo(AuditId),
    /// Pins, or unpins: `None`.
    Pin(Option<PinnedBy>),
    /// Marks as featured, or takes the mark. Of a comment that is deleted, the outcome is [`OperationOutcome::Conflict`].
    Feature(bool),
    /// Deletes the comment and overwrites what its author wrote and who they are. Nothing changes it again.
    Erase,
    /// Removes the pictures of a deleted comment, whose files are about to be deleted. Of a comment that is not deleted
    /// (any more), the outcome is [`OperationOutcome::Conflict`].
    DropMedia,
    /// Removes an erased member from it: their name from its mentions and from where it answers them, and their
    /// report. `is_shown`: readers may have seen the name.
    Forget { member: MemberId, is_shown: bool },
    /// Gives it another author, while it is of the member `from`; else nothing changes.
    Transfer { from: MemberId, to: Box<Author> },
    /// Names another member instead of `from`: in its mentions, and where it answers them.
    Rename { from: MemberId, to: MemberRef },
}

impl CommentChange {
    /// Whether what moderators decided before it can be undone as if it had not been.
    pub(crate) fn keeps_decisions(&self) -> bool {
        matches!(self, Self::Transfer { .. } | Self::Rename { .. } | Self::Forget { .. })
    }

    /// What the change is as an event; `None` for one that nothing is notified of. `was_waiting`: a moderator was to decide.
    pub(crate) fn event_kind(&self, was_waiting: bool) -> Option<EventKind> {
        let decision = match self {
            Self::IfSeen { change, .. } => return change.event_kind(was_waiting),
            Self::Approve if !was_waiting => return Some(EventKind::Dismissed),
            Self::Undo(_) => return Some(EventKind::Undone),
            Self::Approve => Decision::Approve,
            Self::Reject => Decision::Reject,
            Self::State(CommentState::Hidden) => Decision::Hide,
            Self::State(CommentState::Published) => Decision::Restore,
            Self::State(CommentState::Deleted) => Decision::Delete,
            Self::Feature(true) => Decision::Feature,
            Self::Feature(false) => Decision::Unfeature,
            Self::State(CommentState::Review | CommentState::Rejected)
            | Self::Edit { .. }
            | Self::Report(_)
            | Self::Pin(_)
            | Self::Erase
            | Self::DropMedia
            | Self::Forget { .. }
            | Self::Transfer { .. }
            | Self::Rename { .. } => return None,
        };
        Some(EventKind::Decided(decision))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinnedBy {
    Owner,
    Moderator,
}

/// New values of a subject's fields; `None` leaves a field as it is.
#[derive(Debug, Clone, Default)]
pub struct SubjectPatch {
    pub title: Option<Option<String>>,
    pub url: Option<Option<String>>,
    pub owner_id: Option<Option<MemberId>>,
    pub state: Option<SubjectState>,
    pub mode: Option<Mode>,
    /// Whether a title or an address that the subject has stays.
    pub fills_gaps: bool,
}

/// What an [`Operation`] did.
#[derive(Debug, Clone)]
pub enum OperationOutcome {
    /// Stored, with the floor it was given.
    Published {
        floor: Option<u64>,
    },
    /// The same request was applied before: the comment that it created, and the state it was given.
    Replayed {
        id: CommentId,
        state: CommentState,
    },
    /// The idempotency key belongs to another request.
    Mismatch,
    /// The imported comment exists already.
    Present {
        id: CommentId,
    },
    Reacted {
        likes: u64,
        dislikes: u64,
        reaction: Option<Reaction>,
    },
    /// The comment does not exist or is not visible. A reaction with a position is stored all the same,
    /// and counted when its comment is published.
    NoComment,
    /// The comment was edited as often as it may be.
    TooManyEdits,
    /// What is to be changed is no longer as the change expects it.
    Conflict,
    /// What is said of the member from now on.
    Standing(Box<MemberStanding>),
    /// The comments that the moderator has been given.
    Leased(Vec<CommentId>),
    /// The operation's position was applied before.
    Seen,
    /// A reaction that was among the dead letters, and is not applied: its member has reacted to the comment since,
    /// or it was applied before.
    Outdated,
    /// A part was done: there is more to delete.
    Unfinished,
    Done,
}

/// An operation with the moment it was accepted.
#[derive(Debug, Clone)]
pub struct LoggedOperation {
    /// Unix milliseconds.
    pub at: u64,
    /// Its position in the stream of its slot; `None` without a broker. An operation with a position is never
    /// refused: it was decided before it was appended, and it is applied unless its slot is past it.
    pub position: Option<u64>,
    /// The position where a reaction became a dead letter, for one that is sent again: see [`DeadReaction`].
    ///
    /// [`DeadReaction`]: crate::domain::reaction_state::DeadReaction
    pub died_at: Option<u64>,
    pub operation: Operation,
}

impl LoggedOperation {
    /// An operation that comes from no broker.
    pub fn new(at: u64, operation: Operation) -> Self {
        Self { at, position: None, died_at: None, operation }
    }
}

/// What a batch did.
#[derive(Debug, Default)]
pub struct PersistedBatch {
    /// One outcome an operation, in their order.
    pub outcomes: Vec<OperationOutcome>,
    /// Subjects that readers see differently, each once.
    pub changed: Vec<ChangedSubject>,
    /// Comments whose rows changed, and the comments of operations that were applied before: the
    /// process that applied them may have died before it invalidated the caches.
    pub touched: Vec<TouchedComment>,
}

/// A subject after a batch that changed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSubject {
    pub subject: SubjectKey,
    /// Its version.
    pub version: u64,
    /// Whether the batch made this version. Otherwise it repeats what was applied before.
    pub is_new: bool,
}

/// A comment after a batch.
#[derive(Debug, Clone)]
pub struct TouchedComment {
    pub id: CommentId,
    pub subject: SubjectKey,
    /// The subject's version after the batch.
    pub version: u64,
    pub root: CommentId,
    /// The comment it answers; `None` also where that is neither in the batch nor on its path.
    pub parent: Option<CommentId>,
    pub floor: Option<u64>,
    /// Whether lists contained it before the batch, and contain it after.
    pub was_listed: bool,
    pub listed: bool,
    /// Whether every reader may see it after the batch.
    pub visible: bool,
    /// Whether readers lost something they saw, counts aside: an edit, a deletion, a rejection. The
    /// change feed has a row of it.
    pub takedown: bool,
    pub likes: u64,
    pub dislikes: u64,
    /// See [`crate::domain::row::CommentRow::reactions_offset`].
    pub reactions_offset: u64,
}

/// How long rows of the change feed are kept, in milliseconds: 25 hours, one hour longer than the
/// oldest page that any cache serves.
pub const CHANGE_FEED_RETENTION_MS: u64 = 25 * 3_600_000;

/// A row of the change feed: a comment that readers saw was edited, removed or restored, or a subject with all
/// its comments was hidden.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRow {
    /// Grows within its database; a row with a smaller number may be committed later.
    pub seq: u64,
    pub at: u64,
    pub subject: SubjectKey,
    /// The subject's version that contains the change.
    pub version: u64,
    /// `None` for the subject as a whole.
    pub id: Option<CommentId>,
}

impl ChangeRow {
    /// What the tables have instead of a comment's id for a subject as a whole: no comment has this id.
    pub const WHOLE_SUBJECT: i64 = 0;
    /// The same for a database that has gone back: everything that was made from it before is void.
    pub const REWOUND_DATABASE: i64 = i64::MAX;

    /// Whether the database has gone back before this row.
    pub fn is_rewind(&self) -> bool {
        self.id.is_some_and(|id| id.signed() == Self::REWOUND_DATABASE)
    }
}

/// The least version of a subject, and the least number of a change, after its database was found to have gone back at
/// this time: beyond all that any copy of the database had, as long as they grow by fewer than 4,096 a second. A JSON
/// number is exact up to 2^53, which is 69,000 years.
pub(crate) const fn least_after_rewind(now: u64) -> u64 {
    (now / 1_000) << 12
}
