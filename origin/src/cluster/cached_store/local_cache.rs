//! The memory of this process: hot values for a quarter of a second, and for some minutes more, for the
//! time when neither the tables nor the cache answer.
//!
//! A commit that this process is notified of invalidates what it changed at once.

use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::time::Instant;

use crate::ports::cache::{CACHE_RETENTION, CacheChanges};

/// How long a value counts as fresh.
pub(super) const LOCAL_FRESHNESS: Duration = Duration::from_millis(250);
/// Values of one kind. A comment is about 1 kB.
const MAX_LOCAL_VALUES: u64 = 10_000;
/// Buckets of keys that share a version: half a megabyte.
const VERSION_BUCKETS: usize = 65_536;

/// When each key changed last. Versions count the commits that this process was notified of.
pub(super) struct LocalVersions {
    commits: AtomicU64,
    /// By hash. Keys that share a bucket invalidate each other, which only costs a read.
    changed: Box<[AtomicU64]>,
    /// The last takedown in each slot, which changes all comments in it.
    takedowns: Box<[AtomicU64]>,
}

fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl LocalVersions {
    pub(super) fn new() -> Self {
        Self { commits: AtomicU64::new(0), changed: zeros(VERSION_BUCKETS), takedowns: zeros(usize::from(SLOT_COUNT)) }
    }

    /// The version of now: a value that is loaded from now on contains every commit up to it.
    pub(super) fn current(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// The version of the last commit that changed this key.
    pub(super) fn last_change(&self, key: &impl Hash) -> u64 {
        self.changed[self.bucket_of(key)].load(Ordering::SeqCst)
    }

    /// The version of the last takedown in this slot.
    pub(super) fn last_takedown(&self, slot: Slot) -> u64 {
        self.takedowns[usize::from(slot.get())].load(Ordering::SeqCst)
    }

    /// Raises the versions of what was committed in a slot.
    pub(super) fn raise(&self, slot: Slot, changes: &CacheChanges) {
        let commit = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        for key in changes.values.keys() {
            self.changed[self.bucket_of(key)].fetch_max(commit, Ordering::SeqCst);
        }
        for list in changes.lists.keys() {
            self.changed[self.bucket_of(list)].fetch_max(commit, Ordering::SeqCst);
        }
        if changes.takedown {
            self.takedowns[usize::from(slot.get())].fetch_max(commit, Ordering::SeqCst);
        }
    }

    fn bucket_of(&self, key: &impl Hash) -> usize {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(key) as usize % VERSION_BUCKETS
    }
}

#[derive(Clone)]
struct LocalEntry<V> {
    value: V,
    version: u64,
    loaded_at: Instant,
}

/// Hot values of one kind.
pub(super) struct LocalCache<K, V>(moka::sync::Cache<K, LocalEntry<V>>);

impl<K: Hash + Eq + Send + Sync + 'static, V: Clone + Send + Sync + 'static> LocalCache<K, V> {
    pub(super) fn new() -> Self {
        Self(moka::sync::Cache::builder().max_capacity(MAX_LOCAL_VALUES).time_to_live(CACHE_RETENTION).build())
    }

    /// The value, if it is fresh and did not change since the version `last_change`.
    pub(super) fn get_fresh(&self, key: &K, last_change: u64) -> Option<V> {
        let entry = self.0.get(key)?;
        (entry.loaded_at.elapsed() < LOCAL_FRESHNESS && last_change <= entry.version).then_some(entry.value)
    }

    /// The value of whatever age.
    pub(super) fn get_stale(&self, key: &K) -> Option<V> {
        self.0.get(key).filter(|entry| entry.loaded_at.elapsed() < CACHE_RETENTION).map(|entry| entry.value)
    }

    /// Keeps a value that was requested at this version.
    pub(super) fn put(&self, key: K, value: V, version: u64, loaded_at: Instant) {
        self.0.insert(key, LocalEntry { value, version, loaded_at });
    }

    /// Removes a value that must not be served any more.
    pub(super) fn evict(&self, key: &K) {
        self.0.invalidate(key);
    }
}
