//! The port to the cache that all processes share: values with a stamp and a version, and the floors
//! of lists.
//!
//! Everything in here may vanish at any time, and nothing is only here. A slow reader must not put an
//! old value over a newer one, whatever vanishes in between. Three rules ensure that:
//!
//! - A reader that finds no value gets a **stamp**, which stays in the key until something happens to
//!   it. A value is accepted only if the stamp is still there, or if the value in the key has an
//!   older version. It is never accepted if it is older than what is there, or than its invalidation: such
//!   rows are read from a database that their slot has left. So after a loss (which also loses
//!   invalidations) the cache accepts values only from readers that asked after the loss.
//! - [`Cache::apply_changes`] **raises the least version accepted** and sets a new stamp; it deletes
//!   nothing. A missing key needs no change: no reader holds a stamp for it.
//! - A comment's value also depends on its parent. So it contains the **generation** of its slot, and
//!   a takedown in the slot starts a new generation.
//!
//! A server that goes back, or a replica that takes over, may lack invalidations: what was put in front of
//! them is not answered with, and what was loaded in front of it is not accepted.
//!
//! Values count as fresh for [`CACHE_FRESHNESS`], even if an invalidation was lost, and are kept for
//! [`CACHE_RETENTION`]: an old value is better than none while the tables do not answer. Ready
//! answers in the memory of one process are elsewhere ([`crate::state::page_cache`]).

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, Slot, SubjectKey};

use crate::domain::row::FloorRange;
use crate::ports::failure::Failure;

/// How long a value counts as fresh. If a process dies between its commit and the invalidation,
/// readers see the change after this time at the latest.
pub const CACHE_FRESHNESS: Duration = Duration::from_secs(60);
/// How long a value is kept for the time when the tables do not answer.
pub const CACHE_RETENTION: Duration = Duration::from_secs(600);
/// How long the stamp of a missing value lives. A reader that loads for longer puts nothing.
pub const STAMP_LIFETIME: Duration = Duration::from_secs(10);
/// Entries of a list that are kept from one of its ends: 250 pages, about half a megabyte.
pub const MAX_WINDOW_ENTRIES: usize = 5_000;

/// The cache did not answer. Whether a write was applied is not known.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the cache does not answer: {0}")]
pub struct CacheError(pub Failure);

pub type Result<T> = std::result::Result<T, CacheError>;

/// What a value is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum CacheKey {
    Subject(SubjectKey),
    /// A comment's row with its content.
    Comment(CommentId),
    /// The first replies of a root.
    TopReplies(CommentId),
    Snapshot(SnapshotId),
}

/// What was in a key when it was read. See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheStamp {
    pub(crate) own: u64,
    pub(crate) generation: u64,
}

/// A value as it was found.
#[derive(Debug, Clone)]
pub struct CachedValue {
    pub value: Option<Vec<u8>>,
    /// Whether the value may be served. A value that is not fresh is only better than no answer.
    pub is_fresh: bool,
    pub stamp: CacheStamp,
}

/// A value to put.
#[derive(Debug, Clone)]
pub struct CachePut {
    pub key: CacheKey,
    /// The stamp that was found before the value was loaded.
    pub stamp: CacheStamp,
    /// The subject's version that the value was read at; 0 if it is not known, then the stamp alone
    /// decides.
    pub version: u64,
    pub value: Vec<u8>,
}

/// A list whose floors are cached.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CachedList {
    Roots(SubjectKey),
    /// All descendants of a root.
    Replies(CommentId),
}

impl CachedList {
    pub fn slot(&self) -> Slot {
        match self {
            Self::Roots(subject) => subject.slot(),
            Self::Replies(root) => root.slot(),
        }
    }
}

/// What commits changed in one slot.
#[derive(Debug, Clone, Default)]
pub struct CacheChanges {
    pub values: HashMap<CacheKey, Invalidation>,
    pub lists: HashMap<CachedList, HashMap<CommentId, ListMove>>,
    /// The versions of subjects that the commits made; all their moves are in `lists`.
    pub commits: HashMap<SubjectKey, BTreeSet<u64>>,
    /// Whether the slot gets a new generation.
    pub takedown: bool,
}

/// Invalidates a value that is not newer than this version.
#[derive(Debug, Clone, Copy)]
pub struct Invalidation {
    pub version: u64,
    /// Whether the value must not be served even if nothing else is left.
    pub is_gone: bool,
}

/// A comment that appeared in a list, or vanished from it.
#[derive(Debug, Clone, Copy)]
pub struct ListMove {
    pub floor: u64,
    pub is_listed: bool,
    /// The subject's version after it. A move that arrives after a later one drops the cached part
    /// of the list, because the cache does not know their order.
    pub version: u64,
}

/// Floors and ids in the order of the request. Fewer than requested is the end of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedFloors {
    pub floors: Vec<(u64, CommentId)>,
    /// See [`CachedValue::is_fresh`].
    pub is_fresh: bool,
    /// The floors contain every commit of the subject up to this version, and perhaps later ones.
    pub version: u64,
}

/// The end of a list that a cached part begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListEnd {
    /// Read by descending floors.
    Newest,
    /// Read by ascending floors.
    Oldest,
}

/// The part of a list that is cached: everything listed from `low` to `high`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadedWindow {
    /// 0 at the beginning of the list.
    pub low: u64,
    /// `None` if the part is open: new entries are added to it.
    pub high: Option<u64>,
    pub entries: usize,
}

/// The right to fill a list, and the parts of it that are cached and fresh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListFilling {
    /// Names the server's memory of what changed since.
    pub(crate) era: u64,
    pub(crate) stamp: u64,
    pub newest: Option<LoadedWindow>,
    pub oldest: Option<LoadedWindow>,
}

/// Floors that were loaded: everything listed from `low` to `high`, as in [`LoadedWindow`].
#[derive(Debug, Clone)]
pub struct ListPart {
    pub end: ListEnd,
    pub low: u64,
    pub high: Option<u64>,
    /// The subject's version, read after [`Cache::begin_fill`] and before the floors.
    pub version: u64,
    pub floors: Vec<(u64, CommentId)>,
}

/// The shared cache. A call is one round trip.
#[async_trait]
pub trait Cache: Send + Sync + std::fmt::Debug {
    /// The values of one slot, in the order of the keys.
    async fn get_values(&self, slot: Slot, keys: &[CacheKey]) -> Result<Vec<CachedValue>>;
    /// Puts values of one slot, each of them if its stamp and version allow it.
    async fn put_values(&self, slot: Slot, values: &[CachePut]) -> Result<()>;
    /// Applies committed changes to what is cached. Adds nothing that is not cached.
    async fn apply_changes(&self, slot: Slot, changes: &CacheChanges) -> Result<()>;
    /// Floors of a list; `None` unless the whole range is cached. Without its subject, [`CachedFloors::version`] is
    /// that of the filling.
    async fn read_floors(
        &self,
        subject: Option<&SubjectKey>,
        list: &CachedList,
        range: FloorRange,
    ) -> Result<Option<CachedFloors>>;
    /// Begins to fill a list: what is loaded after this call may be filled in.
    async fn begin_fill(&self, list: &CachedList) -> Result<ListFilling>;
    /// Fills a part in. It joins the cached part if the two touch, and replaces it otherwise. False
    /// if the list changed since [`Cache::begin_fill`]: then the part must be loaded again.
    async fn fill_part(&self, list: &CachedList, filling: &ListFilling, part: &ListPart) -> Result<bool>;
    /// Forgets everything of a slot: what was put before is not served, and what was begun before is not put.
    async fn forget_slot(&self, slot: Slot) -> Result<()>;
    /// Claims the rebuild of a list for `lease`. False if another process holds the claim.
    async fn claim_rebuild(&self, list: &CachedList, lease: Duration) -> Result<bool>;
}

/// How long the entries of an adapter live.
#[cfg(feature = "cluster")]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CacheLifetimes {
    pub(crate) freshness: Duration,
    pub(crate) retention: Duration,
    pub(crate) stamp: Duration,
}

#[cfg(feature = "cluster")]
impl CacheLifetimes {
    pub(crate) const DEFAULT: Self =
        Self { freshness: CACHE_FRESHNESS, retention: CACHE_RETENTION, stamp: STAMP_LIFETIME };

    /// How long a value is fresh and kept, with jitter, so that values that were put together do not
    /// expire together. A snapshot is named by its content, so it stays fresh as long as it is kept.
    pub(crate) fn of(&self, key: &CacheKey) -> (Duration, Duration) {
        let freshness = if matches!(key, CacheKey::Snapshot(_)) { self.retention } else { self.freshness };
        (add_jitter(freshness), add_jitter(self.retention))
    }
}

/// The duration, up to a tenth longer or shorter.
#[cfg(feature = "cluster")]
pub(crate) fn add_jitter(duration: Duration) -> Duration {
    duration.mul_f64(rand::random_range(0.9..1.1))
}
