//! Rows of the tables in the product's own types: subjects, comments, new comments, exports.
//!
//! Pure data. Not here: how a database stores them (`super::columns`).

use std::collections::{BTreeMap, HashMap};

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::{Mode, Path};
use gailou_shared::rank::HotWeights;
use gailou_shared::wire::{Author, CommentFlag, CommentState, MemberRef, ReviewReason, SubjectState, Visibility};
use gailou_shared::word_filter::Term;

use crate::domain::columns::FLAG_HELD_EDIT;
use crate::domain::media::MediaRef;
use crate::domain::network_digest::NetworkDigest;

/// A subject's row.
#[derive(Debug, Clone)]
pub struct SubjectRow {
    pub key: SubjectKey,
    pub title: Option<String>,
    pub url: Option<String>,
    pub owner_id: Option<MemberId>,
    pub state: SubjectState,
    /// Its own mode, where it is not its type's.
    pub mode: Option<Mode>,
    /// Grows with every transaction that changes anything a reader of the subject can see.
    pub version: u64,
    pub roots: u64,
    pub comments: u64,
    /// Pinned and visible, last pinned first.
    pub pinned: Vec<CommentId>,
}

impl SubjectRow {
    /// A subject without any comment.
    pub fn empty(key: SubjectKey) -> Self {
        let state = SubjectState::Open;
        Self {
            key,
            title: None,
            url: None,
            owner_id: None,
            state,
            mode: None,
            version: 0,
            roots: 0,
            comments: 0,
            pinned: vec![],
        }
    }
}

/// Whether a subject takes comments, and its own mode: what each write asks of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubjectRules {
    pub state: SubjectState,
    pub mode: Option<Mode>,
}

impl SubjectRules {
    /// Those of a row; without one, what is so then.
    pub fn of(row: Option<&SubjectRow>) -> Self {
        row.map_or_else(Self::default, |row| Self { state: row.state, mode: row.mode })
    }
}

/// A comment's row with its content.
#[derive(Debug, Clone)]
pub struct CommentRow {
    pub subject: SubjectKey,
    /// The subject's version when the comment was read, by the same statement; 0 for a comment that is
    /// in no table yet.
    pub version: u64,
    /// The subject's own mode, where it is not its type's.
    pub mode: Option<Mode>,
    pub path: Path,
    /// The comment it answers. In a flat list that is not on its path.
    pub parent_id: Option<CommentId>,
    pub reply_to: Option<MemberRef>,
    /// Whether the comment it answers is no longer visible.
    pub parent_gone: bool,
    pub floor: Option<u64>,
    pub state: CommentState,
    pub visibility: Visibility,
    pub flags: Vec<CommentFlag>,
    pub author: Author,
    pub likes: u64,
    pub dislikes: u64,
    /// The offset after the last reaction in these counts; 0 without a broker.
    pub reactions_offset: u64,
    /// Visible descendants.
    pub replies: u64,
    pub created_at: u64,
    pub edited_at: Option<u64>,
    pub content: String,
    pub html: String,
    pub mentions: Vec<MemberRef>,
    /// At most [`gailou_shared::limits::MAX_COMMENT_MEDIA`].
    pub media: Vec<MediaRef>,
}

impl CommentRow {
    pub fn id(&self) -> CommentId {
        self.path.id()
    }

    /// Whether every reader may see it.
    pub fn is_visible(&self) -> bool {
        is_visible(self.state, self.visibility)
    }

    /// Whether lists contain it: it is visible, or a tombstone with visible descendants.
    pub fn is_listed(&self) -> bool {
        self.is_visible() || (self.floor.is_some() && self.replies > 0)
    }
}

/// Whether every reader may see a comment with these columns.
pub fn is_visible(state: CommentState, visibility: Visibility) -> bool {
    state == CommentState::Published && visibility == Visibility::Everyone
}

/// Whether a comment with these columns, or an edit of it, is shown to its author alone.
pub fn is_pending(state: CommentState, visibility: Visibility, flags: i64) -> bool {
    let for_author = state == CommentState::Published && visibility == Visibility::Author;
    state == CommentState::Review || for_author || flags & FLAG_HELD_EDIT != 0
}

/// How many members like and dislike a comment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReactionCounts {
    pub likes: u64,
    pub dislikes: u64,
}

/// A part of a list to read: `count` floors beyond one (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FloorRange {
    pub ascending: bool,
    pub beyond: Option<u64>,
    pub count: usize,
}

impl FloorRange {
    /// The newest floors of a list.
    pub const fn newest(count: usize) -> Self {
        Self { ascending: false, beyond: None, count }
    }

    /// The oldest floors of a list.
    pub const fn oldest(count: usize) -> Self {
        Self { ascending: true, beyond: None, count }
    }
}

/// A list of comments that can be paged through.
#[derive(Debug, Clone)]
pub enum CommentList {
    /// The roots of a subject.
    Roots(SubjectKey),
    /// All descendants of the comment at this path.
    Under(Path),
}

impl CommentList {
    /// The slot of its subject.
    pub fn slot(&self) -> Slot {
        match self {
            Self::Roots(subject) => subject.slot(),
            Self::Under(path) => path.root_id().slot(),
        }
    }
}

/// A comment to insert, with everything about it decided.
#[derive(Debug, Clone)]
pub struct NewCommentRow {
    pub subject: SubjectKey,
    pub path: Path,
    pub parent_id: Option<CommentId>,
    pub reply_to: Option<MemberRef>,
    pub state: CommentState,
    pub visibility: Visibility,
    pub author: Author,
    pub created_at: u64,
    pub content: String,
    pub html: String,
    /// The text as written, where the filter masked part of it.
    pub original_text: Option<String>,
    pub mentions: Vec<MemberRef>,
    /// At most [`gailou_shared::limits::MAX_COMMENT_MEDIA`].
    pub media: Vec<MediaRef>,
    /// Why it is held, where its state is `Review`.
    pub reasons: Vec<ReviewReason>,
    /// Of a `POST` that must not be applied twice.
    pub idempotency: Option<IdempotencyKey>,
    pub imported: Option<ImportedFrom>,
    /// Of the network that it was posted from.
    pub network: Option<NetworkDigest>,
}

/// The texts of a comment that readers do not see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherTexts {
    /// The text as it was typed, where the filter masked part of it.
    pub original_text: Option<String>,
    /// Earlier texts, the first one first.
    pub earlier: Vec<EarlierText>,
}

/// A text that an edit replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EarlierText {
    pub content: String,
    /// When it was replaced, Unix milliseconds.
    pub replaced_at: u64,
    /// Whether every reader saw it until then.
    pub was_shown: bool,
}

/// The idempotency key of a request that must not be carried out twice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// The key that its sender chose.
    pub key: String,
    /// Hash over method, path and body.
    pub request: [u8; 32],
}

/// What an imported comment has in addition.
#[derive(Debug, Clone)]
pub struct ImportedFrom {
    /// The comment's id in its former system, unique in its subject.
    pub source: String,
    pub likes: u64,
    pub dislikes: u64,
    pub edited_at: Option<u64>,
    pub pinned: bool,
}

/// Where an export continues: after this path of this subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportCursor {
    /// The number of the subject's row.
    pub subject: i64,
    pub path: Vec<u8>,
}

/// A comment for `gailou export`.
#[derive(Debug, Clone)]
pub struct ExportedComment {
    /// The position of this comment: the next call continues after it.
    pub cursor: ExportCursor,
    /// The comment's id in the system that it was imported from.
    pub source: Option<String>,
    /// The same for the comment it answers, and for its root.
    pub parent_source: Option<String>,
    pub root_source: Option<String>,
    pub row: CommentRow,
}

/// What a request with an idempotency key did.
#[derive(Debug, Clone)]
pub struct RememberedRequest {
    /// The request's hash.
    pub request: [u8; 32],
    /// The comment that it created.
    pub id: CommentId,
    /// The state the comment was given.
    pub state: CommentState,
}

/// The dictionary of the word filter, as it is stored.
#[derive(Debug, Clone)]
pub struct StoredDictionary {
    /// Grows by one with every replacement; 0 before the first.
    pub version: u64,
    pub terms: Vec<Term>,
}

/// What admins have changed of the settings, as it is stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredSettingChanges {
    /// Grows by one with each change; 0 before the first.
    pub version: u64,
    /// An object that has what differs from the configuration, at its place.
    pub changes: serde_json::Map<String, serde_json::Value>,
}

/// Weights by subject type; a type without an entry has the default weights.
pub type WeightsByType = HashMap<String, HotWeights>;

/// The weights as a text that is stored with the ranks that are made with them. A type that has the default
/// weights changes nothing.
pub(crate) fn describe_weights(weights: &WeightsByType) -> String {
    let own: BTreeMap<_, _> = weights.iter().filter(|(_, weights)| **weights != HotWeights::default()).collect();
    format!("{own:?}")
}
