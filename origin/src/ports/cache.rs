//! The port to the cache that all origins share: values by stamp and version, lists by floor.
//!
//! Everything in here may vanish at any time, and nothing is ever only here. What keeps a slow
//! reader from putting an old value over a newer one, whatever vanishes meanwhile:
//!
//! - Who finds no value gets a **stamp**, which stands in the key until something happens to it. A
//!   value is taken only where that stamp still stands, or in place of one whose version is older
//!   than its own. So what was lost meanwhile (and with it the memory of an invalidation) takes
//!   nothing but from those who asked after the loss.
//! - [`Cache::change`] **raises the least version accepted** and gives a new stamp; it deletes
//!   nothing. Where no key is there it has nothing to do: nobody holds a stamp for it.
//! - A value of a comment also depends on the comment it answers. So it carries its slot's
//!   **generation**, and a takedown in the slot makes a new one.
//!
//! Values are believed for [`FRESH`], also those nobody was told to void, and kept for [`KEPT`]: an
//! old value is better than none while the tables do not answer. [`Pages`] are ready answers in the
//! memory of one process.

use std::collections::HashMap;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, Slot, SubjectKey};

/// How long a value is believed although nobody was told to void it: what a process that died after
/// its commit did not tell is seen after that, at the latest.
pub const FRESH: Duration = Duration::from_secs(60);
/// How long a value is kept for the time when the tables do not answer.
pub const KEPT: Duration = Duration::from_secs(600);
/// How long a stamp of a missing value stands. Whoever loads for longer puts nothing.
pub const CLAIM: Duration = Duration::from_secs(10);
/// Entries of a list that are kept from one of its ends: 250 pages, about half a megabyte.
pub const WINDOW: usize = 5_000;

/// The cache did not answer. Whether a write landed is not known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the cache does not answer: {0}")]
pub struct CacheError(pub String);

pub type Result<T> = std::result::Result<T, CacheError>;

/// What a value is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Key {
    Subject(SubjectKey),
    /// A comment's row with its content.
    Comment(CommentId),
    /// The first replies of a root.
    TopReplies(CommentId),
    Snapshot(SnapshotId),
}

/// What stood in a key when it was asked for. See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    pub(crate) own: u64,
    pub(crate) generation: u64,
}

/// A value as it was found.
#[derive(Debug, Clone)]
pub struct Found {
    pub value: Option<Vec<u8>>,
    /// Whether the value is to be believed. What is not is better than nothing, and no more.
    pub fresh: bool,
    pub stamp: Stamp,
}

/// A value to be put.
#[derive(Debug, Clone)]
pub struct Put {
    pub key: Key,
    /// As it was found before the value was loaded.
    pub stamp: Stamp,
    /// The subject's version the value was read at; 0 where it is not known: then the stamp decides
    /// alone.
    pub version: u64,
    pub value: Vec<u8>,
}

/// A list whose floors are kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ListKey {
    Roots(SubjectKey),
    /// All descendants of a root.
    Replies(CommentId),
}

impl ListKey {
    pub fn slot(&self) -> Slot {
        match self {
            Self::Roots(subject) => subject.slot(),
            Self::Replies(root) => root.slot(),
        }
    }
}

/// What commits changed in one slot.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    pub values: HashMap<Key, Invalidation>,
    pub lists: HashMap<ListKey, HashMap<CommentId, Move>>,
    /// Whether the slot gets a new generation.
    pub takedown: bool,
}

/// Voids what is not newer than this version.
#[derive(Debug, Clone, Copy)]
pub struct Invalidation {
    pub version: u64,
    /// Whether the value must not be shown even when nothing else is left.
    pub gone: bool,
}

/// A comment that appeared in a list, or vanished from it.
#[derive(Debug, Clone, Copy)]
pub struct Move {
    pub floor: u64,
    pub listed: bool,
    /// The subject's version with it. A move that comes after a later one voids what is kept of the
    /// list: in which order they belong is not known there.
    pub version: u64,
}

/// Part of a list that is asked for: `count` floors beyond one (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Range {
    pub ascending: bool,
    pub beyond: Option<u64>,
    pub count: usize,
}

/// Floors and ids in the order asked for. Fewer than asked for is the end of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Floors {
    pub floors: Vec<(u64, CommentId)>,
    /// See [`Found::fresh`].
    pub fresh: bool,
}

/// From which end of a list a part is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// Read by descending floors.
    Newest,
    /// Read by ascending floors.
    Oldest,
}

/// What is loaded of a list: everything listed from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loaded {
    /// 0 where the list begins.
    pub low: u64,
    /// `None` where it has no end: new ones are added.
    pub high: Option<u64>,
    /// How many entries.
    pub entries: usize,
}

/// A right to fill a list, and what is kept of it and fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filling {
    pub(crate) stamp: u64,
    pub newest: Option<Loaded>,
    pub oldest: Option<Loaded>,
}

/// Floors that were loaded: everything listed from `low` to `high`, as in [`Loaded`].
#[derive(Debug, Clone)]
pub struct Part {
    pub end: End,
    pub low: u64,
    pub high: Option<u64>,
    /// The subject's version, read after [`Cache::begin`] and before the floors.
    pub version: u64,
    pub floors: Vec<(u64, CommentId)>,
}

/// The shared cache. A call is one round trip.
#[async_trait]
pub trait Cache: Send + Sync + std::fmt::Debug {
    /// Values of one slot, in the order asked for.
    async fn get(&self, slot: Slot, keys: &[Key]) -> Result<Vec<Found>>;
    /// Puts values of one slot, each of them if its stamp and version allow it.
    async fn put(&self, slot: Slot, values: &[Put]) -> Result<()>;
    /// Tells what was committed. Lists that are not kept stay so.
    async fn change(&self, slot: Slot, changes: &Changes) -> Result<()>;
    /// Floors of a list; `None` where the part asked for is not, or not wholly, kept.
    async fn range(&self, list: &ListKey, range: Range) -> Result<Option<Floors>>;
    /// Begins to fill a list: what is loaded after this may be filled in.
    async fn begin(&self, list: &ListKey) -> Result<Filling>;
    /// Fills a part in, beside what is kept where the two touch, else in its place. False when the
    /// list changed since [`Cache::begin`]: then it has to be loaded again.
    async fn fill(&self, list: &ListKey, filling: &Filling, part: &Part) -> Result<bool>;
    /// Whether nobody did this to the list for `life`; then it is the caller's to do.
    async fn first(&self, list: &ListKey, life: Duration) -> Result<bool>;
}

/// How long things live in an adapter.
#[cfg(feature = "cluster")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lives {
    pub(crate) fresh: Duration,
    pub(crate) kept: Duration,
    pub(crate) claim: Duration,
}

#[cfg(feature = "cluster")]
impl Lives {
    pub(crate) const DEFAULT: Self = Self { fresh: FRESH, kept: KEPT, claim: CLAIM };

    /// How long a value is believed and kept, a tenth more or less, so that what was put together
    /// does not end together. What is named by its content is never wrong.
    pub(crate) fn of(&self, key: &Key) -> (Duration, Duration) {
        let fresh = if matches!(key, Key::Snapshot(_)) { self.kept } else { self.fresh };
        (jitter(fresh), jitter(self.kept))
    }
}

#[cfg(feature = "cluster")]
pub(crate) fn jitter(life: Duration) -> Duration {
    life.mul_f64(rand::random_range(0.9..1.1))
}
