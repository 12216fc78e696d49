//! Which ranked snapshot the first page of a list begins with.
//!
//! A snapshot is stored only when a reader continues beyond the first page. The larger it is, the
//! longer it is used: 3 ms per id, so at most 2.7 kB a second are stored per list and sort.

use std::sync::Arc;

use gailou_shared::cursor::{CursorList, SnapshotId};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use moka::sync::Cache;

/// How long a snapshot is used, in milliseconds per id: 3 s for a thousand ids.
const USE_PER_ID_MS: u64 = 3;
/// After how long an unchanged snapshot is stored again, in milliseconds, so that it lives as long as
/// the newest cursor needs it.
const SNAPSHOT_TTL_MS: u64 = 3_600_000;

#[derive(Debug, Clone)]
struct CurrentSnapshot {
    snapshot: Arc<Snapshot>,
    /// The subject's version when it was made: the epoch of the pages that begin with it.
    version: u64,
    made_at: u64,
    stored_at: u64,
}

/// Lists and sorts whose current snapshot is kept in memory.
const MAX_LISTS_IN_MEMORY: u64 = 2_000;
/// A snapshot that cursors begin to name.
#[derive(Debug)]
pub struct UsedSnapshot {
    pub snapshot: Arc<Snapshot>,
    /// The version of the subject that it was made from.
    pub version: u64,
    /// Whether it was stored just now.
    pub is_stored_now: bool,
}

/// Snapshots kept in memory for continued walks: about 25 kB each.
const MAX_SNAPSHOTS_IN_MEMORY: u64 = 400;

/// The current snapshot of each list, and the snapshots that cursors have named lately.
#[derive(Debug)]
pub struct RankedSnapshots {
    last: Cache<(CursorList, Sort), CurrentSnapshot>,
    /// With the time each was read. A snapshot is named by its content, so it never changes.
    named: Cache<SnapshotId, (u64, Arc<Snapshot>)>,
}

impl RankedSnapshots {
    pub fn new() -> Self {
        Self { last: Cache::new(MAX_LISTS_IN_MEMORY), named: Cache::new(MAX_SNAPSHOTS_IN_MEMORY) }
    }

    /// A stored snapshot by its id, loaded by `read` when it is not in memory.
    ///
    /// # Errors
    /// Those of `read`.
    pub async fn named<E>(
        &self,
        id: SnapshotId,
        now: u64,
        read: impl Future<Output = Result<Option<Snapshot>, E>>,
    ) -> Result<Option<Arc<Snapshot>>, E> {
        if let Some((read_at, snapshot)) = self.named.get(&id)
            && now.saturating_sub(read_at) < SNAPSHOT_TTL_MS
        {
            return Ok(Some(snapshot));
        }
        let found = read.await?.map(Arc::new);
        if let Some(snapshot) = &found {
            self.named.insert(id, (now, snapshot.clone()));
        }
        Ok(found)
    }

    /// The snapshot in use at `now` (Unix milliseconds), with the version of the subject it was made from.
    pub fn current(&self, list: CursorList, sort: Sort, now: u64) -> Option<(Arc<Snapshot>, u64)> {
        let last = self.last.get(&(list, sort))?;
        let young = now.saturating_sub(last.made_at) < last.snapshot.ids().len() as u64 * USE_PER_ID_MS;
        young.then_some((last.snapshot, last.version))
    }

    /// The snapshot that was used last, however long ago, as long as cursors may name it for another hour.
    pub fn last(&self, list: CursorList, sort: Sort, now: u64) -> Option<(Arc<Snapshot>, u64)> {
        let last = self.last.get(&(list, sort))?;
        let is_alive = now < last.stored_at + limits::SNAPSHOT_LIFETIME_MS - SNAPSHOT_TTL_MS;
        is_alive.then_some((last.snapshot, last.version))
    }

    /// Whether this snapshot has to be stored before a cursor may name it.
    pub fn needs_storing(&self, list: CursorList, sort: Sort, snapshot: &Snapshot, now: u64) -> bool {
        self.last
            .get(&(list, sort))
            .is_none_or(|l| l.snapshot.id() != snapshot.id() || now.saturating_sub(l.stored_at) > SNAPSHOT_TTL_MS)
    }

    /// Uses a snapshot for a list from `now` on.
    pub fn put(&self, list: CursorList, sort: Sort, used: UsedSnapshot, now: u64) {
        let UsedSnapshot { snapshot, version, is_stored_now } = used;
        let before = self.last.get(&(list, sort)).map_or(now, |last| last.stored_at);
        let stored_at = if is_stored_now { now } else { before };
        self.last.insert((list, sort), CurrentSnapshot { snapshot, version, made_at: now, stored_at });
    }
}

impl Default for RankedSnapshots {
    fn default() -> Self {
        Self::new()
    }
}
