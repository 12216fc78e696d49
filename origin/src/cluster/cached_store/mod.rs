//! The store of a cluster: caches, counters and what is pending, over the tables.
//!
//! Reads go through three levels: this process (hot values, a quarter of a second), the shared cache,
//! the tables; a miss is one query however many wait for it. What is answered:
//!
//! - a comment with its counts as they are with the reactions that are no rows yet, and a comment
//!   that is no row yet, if it is young;
//! - something old rather than nothing while the tables do not answer;
//! - the same whatever vanishes from the cache, at whatever moment.
//!
//! What is not kept in the shared cache, and why: rankings (each like moves them, and a process keeps
//! the snapshot it made for seconds), subtrees and siblings (as many as there are nodes and cursors;
//! their comments are what costs), histories (a member's own, read by few), and everything only
//! commands ask for.
//!
//! Writes do not pass through it; what they changed is told by [`Layered::committed`].

mod hot_keys;
mod invalidation;
mod lists;
mod local_cache;
mod metrics;
mod overlay;
mod read_through;
mod rebuild_request;
mod single_flight;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;
use gailou_shared::wire::Reaction;
use invalidation::InvalidationQueue;
use lists::Lists;
pub(crate) use lists::kept;
use local_cache::LocalVersions;
pub use metrics::{CacheMetrics, HitCounts};
use read_through::{CachedKind, Comments, Got, ReadThrough, Subjects, TopReplies};
pub use rebuild_request::RebuildRequest;

use crate::clock::Clock;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::domain::operation::{LoggedOperation, Operation};
use crate::domain::row::{CommentList, CommentRow, RememberedRequest, SubjectRow};
use crate::ports::broker::Broker;
use crate::ports::cache::{Cache, Key, Put};
use crate::ports::counters::Counters;
use crate::ports::pending::Pending;
use crate::ports::store::{
    CacheSource, CommentReader, IdempotencyReader, MemberReader, Result, Store, StoreError, ThreadReader,
};

/// For so few ids a comment that nobody knows yet is waited for, and while the tables do not answer
/// what is not remembered is an error and not left out. Pages ask for more.
const FEW: usize = 4;

/// The store of a cluster.
pub struct CachedStore {
    tables: Arc<dyn CacheSource>,
    cache: Arc<dyn Cache>,
    counters: Arc<dyn Counters>,
    pending: Arc<dyn Pending>,
    opener: Arc<CounterRecovery>,
    clock: Clock,
    subjects: ReadThrough<Subjects>,
    comments: ReadThrough<Comments>,
    top_replies: ReadThrough<TopReplies>,
    lists: Lists,
    marks: Arc<LocalVersions>,
    /// Slots whose counters could not be opened a moment ago.
    unopened: moka::sync::Cache<Slot, ()>,
    untold: Arc<InvalidationQueue>,
    figures: Arc<CacheMetrics>,
}

impl std::fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Layered").field("tables", &self.tables).field("cache", &self.cache).finish_non_exhaustive()
    }
}

/// What was found, if that is enough to answer with.
fn enough<K: CachedKind>(asked: &[K::Id], got: Got<K>) -> Result<HashMap<K::Id, K::Value>> {
    let whole = || asked.iter().all(|id| got.found.contains_key(id));
    match got.failed {
        Some(error) if matches!(error, StoreError::Damaged(_)) => Err(error),
        Some(error) if got.found.is_empty() || (asked.len() <= FEW && !whole()) => Err(error),
        Some(error) => {
            tracing::debug!(%error, "what is remembered is served");
            Ok(got.found)
        }
        None => Ok(got.found),
    }
}

impl CachedStore {
    pub fn new(
        tables: Arc<dyn CacheSource>,
        cache: Arc<dyn Cache>,
        counters: Arc<dyn Counters>,
        pending: Arc<dyn Pending>,
        opener: Arc<CounterRecovery>,
        log: Arc<dyn Broker>,
        clock: Clock,
    ) -> Self {
        let (marks, figures) = (Arc::new(LocalVersions::new()), Arc::new(CacheMetrics::default()));
        Self {
            subjects: ReadThrough::new(tables.clone(), cache.clone(), marks.clone(), figures.clone()),
            comments: ReadThrough::new(tables.clone(), cache.clone(), marks.clone(), figures.clone()),
            top_replies: ReadThrough::new(tables.clone(), cache.clone(), marks.clone(), figures.clone()),
            lists: Lists::new(tables.clone(), cache.clone(), log, marks.clone(), figures.clone()),
            unopened: moka::sync::Cache::builder().time_to_live(overlay::OPENING).build(),
            untold: Arc::new(InvalidationQueue::new(cache.clone())),
            tables,
            cache,
            counters,
            pending,
            opener,
            clock,
            marks,
            figures,
        }
    }

    /// Where answers came from.
    pub fn figures(&self) -> &CacheMetrics {
        &self.figures
    }

    /// The tables under the caches.
    pub(crate) fn tables(&self) -> &dyn Store {
        &*self.tables
    }

    /// The shared cache.
    pub(crate) fn cache(&self) -> &dyn Cache {
        &*self.cache
    }

    /// Puts a subject into the shared cache, without counting that as being asked for.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub(crate) async fn warm_subject(&self, subject: &SubjectKey) -> Result<()> {
        self.subjects.warm(std::slice::from_ref(subject)).await.failed.map_or(Ok(()), Err)
    }

    /// The same for comments, and for the first replies of those that are roots; how many there are
    /// now.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub(crate) async fn warm_comments(&self, ids: &[CommentId]) -> Result<usize> {
        let rows = self.comments.warm(ids).await;
        rows.failed.map_or(Ok(()), Err)?;
        let roots: Vec<_> = rows.found.values().filter(|row| row.path.depth() == 1).map(|row| row.id()).collect();
        let top = self.top_replies.warm(&roots).await;
        top.failed.map_or(Ok(()), Err)?;
        let replies: Vec<_> = top.found.into_values().flatten().collect();
        let replies = self.comments.warm(&replies).await;
        replies.failed.map_or(Ok(rows.found.len() + replies.found.len()), Err)
    }

    async fn subject_rows(&self, keys: &[SubjectKey]) -> Result<HashMap<SubjectKey, Option<SubjectRow>>> {
        let got = self.subjects.get(keys).await;
        match got.failed {
            // One that is not remembered is not one that nobody has written to.
            Some(error) if !keys.iter().all(|key| got.found.contains_key(key)) => Err(error),
            _ => Ok(got.found),
        }
    }
}

#[async_trait]
impl CommentReader for CachedStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        let mut found = self.subject_rows(keys).await?;
        let repeated = |key: &SubjectKey| keys.iter().filter(|k| *k == key).count() > 1;
        let take = |key| if repeated(key) { found.get(key).cloned() } else { found.remove(key) };
        Ok(keys.iter().map(take).map(Option::flatten).collect())
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        self.whole_rows(ids).await
    }
}

#[async_trait]
impl ThreadReader for CachedStore {
    async fn list_floors(
        &self,
        list: &CommentList,
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, CommentId)>> {
        self.lists.floors(list, crate::ports::cache::Range { ascending, beyond, count }).await
    }

    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        self.lists.ranked(list, sort).await
    }

    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        if each != limits::TOP_REPLIES {
            return self.tables.list_top_replies(roots, each).await;
        }
        enough(roots, self.top_replies.get(roots).await)
    }

    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        let mut rows = self.tables.list_subtree(top, after, max_depth, count).await?;
        self.count(rows.iter_mut()).await;
        Ok(rows)
    }

    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        self.tables.list_siblings(path, count).await
    }

    /// What is named by its content never changes; that it ends is for the tables to say.
    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        let key = Key::Snapshot(id);
        let found = self.cache.get(slot, std::slice::from_ref(&key)).await.ok().and_then(|mut found| found.pop());
        let value = found.as_ref().and_then(|found| Snapshot::from_bytes(found.value.as_ref()?));
        if value.as_ref().is_some_and(|snapshot| snapshot.id() == id) {
            self.figures.redis(1);
            return Ok(value);
        }
        let snapshot = self.tables.read_snapshot(slot, id).await?;
        self.figures.mysql(1);
        if let (Some(snapshot), Some(found)) = (&snapshot, found) {
            let put = Put { key, stamp: found.stamp, version: 0, value: snapshot.to_bytes() };
            if let Err(error) = self.cache.put(slot, &[put]).await {
                tracing::debug!(%error, "a snapshot is not put into the cache");
            }
        }
        Ok(snapshot)
    }
}

#[async_trait]
impl MemberReader for CachedStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        self.tables.list_history(member, below, count).await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.own_pending(member, count).await
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        self.own_reactions(member, ids).await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        self.tables.read_names(members).await
    }
}

#[async_trait]
impl IdempotencyReader for CachedStore {
    async fn find_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        match self.pending.reserved(member, key).await {
            Ok(Some(LoggedOperation { at, operation: Operation::Publish(row), .. })) if at > since => {
                if let Some((_, request)) = row.idempotency {
                    return Ok(Some(RememberedRequest { request, id: row.path.id(), state: row.state }));
                }
            }
            Ok(_) => {}
            Err(error) => tracing::debug!(%error, "what is reserved is looked for in the tables"),
        }
        self.tables.find_remembered(subject, member, key, since).await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        self.tables.read_first_text(id).await
    }
}
