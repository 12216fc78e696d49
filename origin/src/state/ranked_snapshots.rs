//! Which ranked snapshot a first page begins with.
//!
//! A snapshot is stored only when a walk goes on beyond its first page, and the larger it is the
//! longer it is used: 3 ms an id, so at most 2.7 kB a second are stored for a list and a sort.

use std::sync::Arc;

use gailou_shared::cursor::{CursorList, SnapshotId};
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use moka::sync::Cache;

/// Milliseconds a snapshot is used for each id it holds: 3 s for a thousand.
const USE_MS_PER_ID: u64 = 3;
/// A snapshot that goes on being the same is stored again after this, in milliseconds, so that it
/// is kept as long as the newest cursor needs it.
const KEEP_MS: u64 = 3_600_000;

#[derive(Debug, Clone)]
struct Last {
    snapshot: Arc<Snapshot>,
    /// The subject's version when it was made: the epoch of the pages that begin with it.
    version: u64,
    made_at: u64,
    stored_at: u64,
}

/// Snapshots kept in memory for walks that go on: about 25 kB each.
const KEPT: u64 = 400;

/// The last stored snapshot of each list, and those that walks have named lately.
#[derive(Debug)]
pub struct RankedSnapshots {
    last: Cache<(CursorList, Sort), Last>,
    /// With the moment each was read: what is named by its content never changes, it only ends.
    named: Cache<SnapshotId, (u64, Arc<Snapshot>)>,
}

impl RankedSnapshots {
    pub fn new() -> Self {
        Self { last: Cache::new(2_000), named: Cache::new(KEPT) }
    }

    /// A stored snapshot by its name, read by `read` when it is not in memory.
    ///
    /// # Errors
    /// The reader's.
    pub async fn named<E>(
        &self,
        id: SnapshotId,
        now: u64,
        read: impl Future<Output = Result<Option<Snapshot>, E>>,
    ) -> Result<Option<Arc<Snapshot>>, E> {
        if let Some((read_at, snapshot)) = self.named.get(&id)
            && now.saturating_sub(read_at) < KEEP_MS
        {
            return Ok(Some(snapshot));
        }
        let found = read.await?.map(Arc::new);
        if let Some(snapshot) = &found {
            self.named.insert(id, (now, snapshot.clone()));
        }
        Ok(found)
    }

    /// The snapshot in use at `now`, if it is young enough, with the subject's version it shows.
    pub fn current(&self, list: CursorList, sort: Sort, now: u64) -> Option<(Arc<Snapshot>, u64)> {
        let last = self.last.get(&(list, sort))?;
        let young = now.saturating_sub(last.made_at) < last.snapshot.ids().len() as u64 * USE_MS_PER_ID;
        young.then_some((last.snapshot, last.version))
    }

    /// Whether this snapshot has to be stored before a cursor may name it.
    pub fn needs_storing(&self, list: CursorList, sort: Sort, snapshot: &Snapshot, now: u64) -> bool {
        self.last
            .get(&(list, sort))
            .is_none_or(|l| l.snapshot.id() != snapshot.id() || now.saturating_sub(l.stored_at) > KEEP_MS)
    }

    /// Notes that `snapshot`, which shows `version`, is in use from `now` on, and whether it was
    /// stored just now.
    pub fn put(&self, list: CursorList, sort: Sort, snapshot: Arc<Snapshot>, version: u64, now: u64, stored: bool) {
        let before = self.last.get(&(list, sort)).map_or(now, |l| l.stored_at);
        let stored_at = if stored { now } else { before };
        self.last.insert((list, sort), Last { snapshot, version, made_at: now, stored_at });
    }
}

impl Default for RankedSnapshots {
    fn default() -> Self {
        Self::new()
    }
}
