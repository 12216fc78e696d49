//! What this process remembers: hot values for a quarter of a second, and for some minutes more for
//! the time when neither the tables nor the cache answer.
//!
//! A commit that this process was told of makes what it changed old at once.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::time::Instant;

use crate::ports::cache::{Changes, KEPT};

/// How long a value is believed.
pub(super) const LIFE: Duration = Duration::from_millis(250);
/// Hot values of a kind. A comment is about 1 kB.
const VALUES: u64 = 10_000;
/// Places for keys: half a megabyte.
const PLACES: usize = 65_536;

/// When keys were last changed, counted in commits this process was told of.
pub(super) struct LocalVersions {
    commits: AtomicU64,
    /// By hash. Keys that share a place make each other old, which costs a read and nothing else.
    changed: Box<[AtomicU64]>,
    /// Slots with a takedown: all comments in them.
    taken: Box<[AtomicU64]>,
    hasher: RandomState,
}

fn zeros(count: usize) -> Box<[AtomicU64]> {
    (0..count).map(|_| AtomicU64::new(0)).collect()
}

impl LocalVersions {
    pub(super) fn new() -> Self {
        Self {
            commits: AtomicU64::new(0),
            changed: zeros(PLACES),
            taken: zeros(usize::from(SLOT_COUNT)),
            hasher: RandomState::new(),
        }
    }

    /// Commits so far: what is loaded from here on shows them.
    pub(super) fn now(&self) -> u64 {
        self.commits.load(Ordering::SeqCst)
    }

    /// The last commit that changed this key.
    pub(super) fn changed(&self, key: &impl Hash) -> u64 {
        self.changed[self.place(key)].load(Ordering::SeqCst)
    }

    /// The last takedown in this slot.
    pub(super) fn taken(&self, slot: Slot) -> u64 {
        self.taken[usize::from(slot.get())].load(Ordering::SeqCst)
    }

    /// Notes what was committed in a slot.
    pub(super) fn note(&self, slot: Slot, changes: &Changes) {
        let commit = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        for key in changes.values.keys() {
            self.changed[self.place(key)].fetch_max(commit, Ordering::SeqCst);
        }
        for list in changes.lists.keys() {
            self.changed[self.place(list)].fetch_max(commit, Ordering::SeqCst);
        }
        if changes.takedown {
            self.taken[usize::from(slot.get())].fetch_max(commit, Ordering::SeqCst);
        }
    }

    fn place(&self, key: &impl Hash) -> usize {
        self.hasher.hash_one(key) as usize % PLACES
    }
}

#[derive(Clone)]
struct Entry<V> {
    value: V,
    mark: u64,
    at: Instant,
}

/// Hot values of one kind.
pub(super) struct LocalCache<K, V>(moka::sync::Cache<K, Entry<V>>);

impl<K: Hash + Eq + Send + Sync + 'static, V: Clone + Send + Sync + 'static> LocalCache<K, V> {
    pub(super) fn new() -> Self {
        Self(moka::sync::Cache::builder().max_capacity(VALUES).time_to_live(KEPT).build())
    }

    /// The value, if it is young and nothing changed it.
    pub(super) fn fresh(&self, key: &K, changed: u64) -> Option<V> {
        let entry = self.0.get(key)?;
        (entry.at.elapsed() < LIFE && changed <= entry.mark).then_some(entry.value)
    }

    /// The value, however old, as long as things are kept.
    pub(super) fn last(&self, key: &K) -> Option<V> {
        self.0.get(key).filter(|entry| entry.at.elapsed() < KEPT).map(|entry| entry.value)
    }

    /// Remembers a value that was asked for at `mark`, and is as old as `at`.
    pub(super) fn put(&self, key: K, value: V, mark: u64, at: Instant) {
        self.0.insert(key, Entry { value, mark, at });
    }

    /// Forgets what must not be shown any more.
    pub(super) fn forget(&self, key: &K) {
        self.0.invalidate(key);
    }
}
