//! The port to the tables: what is asked of them and what is written to them.
//!
//! A store answers from rows and never from a cache. It refuses nothing for business reasons:
//! those are decided before ([`crate::service`]). Writes reach it in batches, through the journal.

mod columns;
mod fold;
#[cfg(feature = "cluster")]
pub mod layered;
#[cfg(feature = "cluster")]
pub mod mysql;
pub mod reconcile;
mod shards;
pub mod sqlite;

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::{Mode, Path};
use gailou_shared::rank::{Sort, Weights};
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::{Author, Flag, Named, Reaction, State, SubjectState, Visibility};
use gailou_shared::words::Term;

pub use shards::{Shards, Standing, Stream};

/// Why a store could not answer. Nothing in here is the reader's fault.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// The database answered with an error, or could not be reached.
    #[error("the database failed: {0}")]
    Database(String),
    /// A row that breaks the store's own rules.
    #[error("a row is damaged: {0}")]
    Damaged(String),
    /// The database could not be reached, did not answer in time, or gave up on a lock. Nothing is
    /// wrong with what was asked: asking again may succeed. Whether a write landed is not known.
    #[error("the database cannot be reached: {0}")]
    Unavailable(String),
    /// The slot lives in another database now, or is on its way there: ask again.
    #[error("the slot is moving")]
    Moved,
}

pub type Result<T> = std::result::Result<T, StoreError>;

/// Weights by subject type; a type that is not there has the default ones.
pub type WeightsByType = HashMap<String, Weights>;

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
    /// Grows by every transaction that changes anything a reader can see here.
    pub version: u64,
    pub roots: u64,
    pub comments: u64,
    /// Pinned and visible, last pinned first.
    pub pinned: Vec<CommentId>,
}

impl SubjectRow {
    /// A subject nobody has written to.
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

/// A comment's row with its content.
#[derive(Debug, Clone)]
pub struct Row {
    pub subject: SubjectKey,
    /// The subject's version in the moment this was read, in the same statement; 0 of what is in no
    /// table yet.
    pub version: u64,
    /// The subject's own mode, where it is not its type's.
    pub mode: Option<Mode>,
    pub path: Path,
    /// The comment it answers. Not always on its path: in a flat list it is not.
    pub parent_id: Option<CommentId>,
    pub reply_to: Option<Named>,
    /// Whether the comment it answers can be seen no more.
    pub parent_gone: bool,
    pub floor: Option<u64>,
    pub state: State,
    pub visibility: Visibility,
    pub flags: Vec<Flag>,
    pub author: Author,
    pub likes: u64,
    pub dislikes: u64,
    /// The log's position after the last reaction to it that is in these counts; 0 without a log.
    pub reacted: u64,
    /// Visible descendants.
    pub replies: u64,
    pub created_at: u64,
    pub edited_at: Option<u64>,
    pub content: String,
    pub html: String,
    pub mentions: Vec<Named>,
}

impl Row {
    pub fn id(&self) -> CommentId {
        self.path.id()
    }

    /// Whether every reader may see it.
    pub fn visible(&self) -> bool {
        self.state == State::Published && self.visibility == Visibility::Everyone
    }

    /// Whether it stands in lists: visible, or a tombstone that holds up visible descendants.
    pub fn listed(&self) -> bool {
        self.visible() || (self.floor.is_some() && self.replies > 0)
    }
}

/// A list of comments that can be walked.
#[derive(Debug, Clone)]
pub enum ListOf {
    /// The roots of a subject.
    Roots(SubjectKey),
    /// All descendants of the comment at this path.
    Under(Path),
}

impl ListOf {
    /// The slot of its subject.
    pub fn slot(&self) -> Slot {
        match self {
            Self::Roots(subject) => subject.slot(),
            Self::Under(path) => path.root_id().slot(),
        }
    }
}

/// A comment to be written: everything about it is decided.
#[derive(Debug, Clone)]
pub struct NewRow {
    pub subject: SubjectKey,
    pub path: Path,
    pub parent_id: Option<CommentId>,
    pub reply_to: Option<Named>,
    pub state: State,
    pub visibility: Visibility,
    pub author: Author,
    pub created_at: u64,
    pub content: String,
    pub html: String,
    /// The text as written, where the filter masked part of it.
    pub written: Option<String>,
    pub mentions: Vec<Named>,
    /// Key and request hash of a `POST` that must not be carried out twice.
    pub idempotency: Option<(String, [u8; 32])>,
    pub imported: Option<Imported>,
}

/// What only an imported comment has.
#[derive(Debug, Clone)]
pub struct Imported {
    /// The comment's id where it came from, unique in its subject.
    pub source: String,
    pub likes: u64,
    pub dislikes: u64,
    pub edited_at: Option<u64>,
    pub pinned: bool,
}

/// What a member does to a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum React {
    Put(Reaction),
    /// Takes back this reaction, if it is the one there.
    Take(Reaction),
}

impl React {
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
pub enum Change {
    /// The new text and its HTML, the text as written where it was masked, and the mentions kept.
    Edit {
        content: String,
        html: String,
        written: Option<String>,
        state: State,
    },
    /// Publishes, hides, rejects, deletes or restores.
    State(State),
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
pub struct Audit {
    pub actor: MemberId,
    pub action: &'static str,
    pub reason: Option<String>,
}

/// Something to write.
#[derive(Debug, Clone)]
pub enum Event {
    Publish(Box<NewRow>),
    React {
        id: CommentId,
        member: MemberId,
        react: React,
    },
    Change {
        id: CommentId,
        change: Change,
        audit: Option<Audit>,
    },
    Subject {
        key: SubjectKey,
        patch: SubjectPatch,
        audit: Option<Audit>,
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

/// What has become of an [`Event`].
#[derive(Debug, Clone)]
pub enum Outcome {
    /// Stored, with the floor it was given.
    Published {
        floor: Option<u64>,
    },
    /// The same request was carried out before: the comment it made, and the state it was given.
    Replayed {
        id: CommentId,
        state: State,
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
pub struct Stamped {
    pub at: u64,
    /// Where it stands in the log of its slot. What has a position was decided before it was
    /// appended: it is applied when its slot has not come so far yet, and never refused.
    pub position: Option<u64>,
    pub event: Event,
}

impl Stamped {
    /// An event that comes from no log.
    pub fn new(at: u64, event: Event) -> Self {
        Self { at, position: None, event }
    }
}

/// What a request with an idempotency key did.
#[derive(Debug, Clone)]
pub struct Remembered {
    /// The request's hash.
    pub request: [u8; 32],
    /// The comment it made.
    pub id: CommentId,
    /// The state the comment was given.
    pub state: State,
}

/// What a batch did.
#[derive(Debug, Default)]
pub struct Persisted {
    /// One an event, in their order.
    pub outcomes: Vec<Outcome>,
    /// Subjects that look different now, with their new versions.
    pub changed: Vec<(SubjectKey, u64)>,
    /// Comments whose rows are different now, and those of events that were seen: whoever applied
    /// them may have died before it told of them.
    pub touched: Vec<Touched>,
}

/// A comment as a batch left it.
#[derive(Debug, Clone)]
pub struct Touched {
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
pub const FEED_MS: u64 = 25 * 3_600_000;

/// A row of the change feed: a comment that readers saw is edited, gone, or back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Taken {
    /// Grows in its database; a row with a smaller number may be committed later.
    pub seq: u64,
    pub at: u64,
    pub subject: SubjectKey,
    /// The subject's version with the change.
    pub version: u64,
    pub id: CommentId,
}

/// A comment as `export` writes it.
#[derive(Debug, Clone)]
pub struct Exported {
    /// Where the next call goes on: the subject's number and the path.
    pub place: (i64, Vec<u8>),
    /// The comment's id where it was imported from.
    pub source: Option<String>,
    /// The same of the comment it answers and of its root.
    pub parent_source: Option<String>,
    pub root_source: Option<String>,
    pub row: Row,
}

/// The tables. Reads see every batch that was acknowledged before they began.
#[async_trait]
pub trait Store: Send + Sync + std::fmt::Debug {
    /// Subjects in the order asked for; `None` where nobody has written yet.
    async fn subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>>;
    /// The comments that exist, whatever their state.
    async fn comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, Row>>;
    /// Listed comments by floor, beyond a floor (exclusive).
    async fn floors(
        &self,
        list: &ListOf,
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, CommentId)>>;
    /// What a snapshot of the list is made of: at least its best [`gailou_shared::limits::SNAPSHOT_IDS`].
    async fn ranked(&self, list: &ListOf, sort: Sort) -> Result<Vec<(i64, CommentId)>>;
    /// The first listed replies of each root by heat.
    async fn top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>>;
    /// Listed descendants of `top` in path order, after `after`, down to `max_depth`.
    async fn subtree(&self, top: &Path, after: Option<&[u8]>, max_depth: usize, count: usize) -> Result<Vec<Row>>;
    /// Listed comments that answer the same comment, newest first, without it.
    async fn siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>>;
    /// A snapshot of a list in this slot.
    async fn snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>>;
    /// A member's visible comments below an id, newest first.
    async fn history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>>;
    /// A member's comments that are in no list for others: held, or for themselves only.
    async fn pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>>;
    async fn reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>>;
    /// What an idempotency key stands for, if it was used after `since`.
    async fn remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<Remembered>>;
    /// The text of a comment before its first edit; `None` when it was never edited.
    async fn first_text(&self, id: CommentId) -> Result<Option<String>>;
    /// The last known names.
    async fn names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>>;
    /// Version and terms of the dictionary.
    async fn words(&self) -> Result<(u64, Vec<Term>)>;
    /// The dictionary's version alone.
    async fn words_version(&self) -> Result<u64> {
        Ok(self.words().await?.0)
    }
    /// Comments of one subject or of all, subject by subject, threads together, parents first.
    async fn export(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&(i64, Vec<u8>)>,
        count: usize,
    ) -> Result<Vec<Exported>>;
    /// What was imported into a subject under these ids, and native comments under their own.
    async fn sources(&self, subject: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>>;
    /// The largest comment id, so that ids go on after it.
    async fn last_id(&self) -> Result<Option<CommentId>>;
    /// A secret of this installation, made from `fresh` when it has none yet.
    async fn secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>>;
    /// What is damaged in the tables, nothing when all is well. Reads everything.
    async fn check(&self) -> Result<Vec<String>>;
    /// Rows of the change feed of one database (from 0), after `after`, in their order; nothing for
    /// a database that is not there.
    async fn feed(&self, shard: usize, after: u64, count: usize) -> Result<Vec<Taken>>;
    /// Writes a batch in order, one transaction a database; with one database all of it or nothing.
    /// One outcome an event.
    async fn persist(&self, batch: &[Stamped]) -> Result<Persisted>;
}
