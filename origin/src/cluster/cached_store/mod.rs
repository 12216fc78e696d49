//! The store of a cluster: caches, counters and pending comments over the tables.
//!
//! A read goes through three levels: this process (hot values, for a quarter of a second), the shared
//! cache, the tables. A miss costs one query, however many callers wait for it. What is answered:
//!
//! - a comment with its current counts, including reactions that are not in the tables yet; and a young
//!   comment that has no row yet;
//! - an old value rather than nothing while the tables do not answer;
//! - the same, whatever vanishes from the cache at whatever moment.
//!
//! The shared cache does not hold: rankings (each reaction moves them, and a process keeps the snapshot
//! that it made for seconds), subtrees and siblings (there are as many as comments and cursors; their
//! comments are what costs), histories (of one member, read by few), and what only commands read.
//!
//! Writes do not pass here; [`CachedStore`] learns what they changed as a
//! [`crate::ports::journal::CommitListener`].

mod cached_kinds;
mod cached_lists;
mod hot_keys;
mod invalidation;
mod local_cache;
mod metrics;
mod overlay;
mod read_through;
mod rebuild_request;
mod single_flight;
mod store_ports;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::cluster::batched_reads::BatchedReads;
use crate::cluster::cached_store::cached_kinds::{CachedComments, CachedKind, CachedSubjects, CachedTopReplies};
use crate::cluster::cached_store::cached_lists::CachedLists;
pub(crate) use crate::cluster::cached_store::cached_lists::cached_list;
use crate::cluster::cached_store::invalidation::InvalidationQueue;
use crate::cluster::cached_store::local_cache::LocalVersions;
pub use crate::cluster::cached_store::metrics::{CacheMetrics, HitCounts};
use crate::cluster::cached_store::read_through::{Lookup, ReadThrough};
pub use crate::cluster::cached_store::rebuild_request::RebuildRequest;
use crate::cluster::catch_up::CatchUp;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::domain::row::{SubjectRow, SubjectRules};
use crate::ports::broker::Producer;
use crate::ports::cache::Cache;
use crate::ports::counters::Counters;
use crate::ports::pending::Pending;
use crate::ports::store::{CacheSource, Result, Store, StoreError};

/// A request for at most so many ids waits for a comment that has no row yet, and fails when the tables
/// do not answer and one of its ids is not remembered. Pages request more ids and leave such ones out.
const MAX_IDS_TO_WAIT_FOR: usize = 4;

/// What a [`CachedStore`] is built over.
#[derive(Debug, Clone)]
pub struct CachedStoreDeps {
    pub tables: Arc<dyn CacheSource>,
    pub cache: Arc<dyn Cache>,
    pub counters: Arc<dyn Counters>,
    pub pending: Arc<dyn Pending>,
    pub recovery: Arc<CounterRecovery>,
    /// Says whether a comment without a row may get one.
    pub catch_up: Arc<dyn CatchUp>,
    /// Gets the requests to load lists into the cache.
    pub producer: Arc<dyn Producer>,
    pub clock: Clock,
}

/// The store of a cluster.
pub struct CachedStore {
    tables: Arc<dyn CacheSource>,
    cache: Arc<dyn Cache>,
    counters: Arc<dyn Counters>,
    pending: Arc<dyn Pending>,
    recovery: Arc<CounterRecovery>,
    catch_up: Arc<dyn CatchUp>,
    clock: Clock,
    subjects: ReadThrough<CachedSubjects>,
    /// What writes ask for is read past the shared cache: where they are to many subjects, it has few of these, and for
    /// one that is busy the process remembers the answer.
    subject_rules: BatchedReads<SubjectKey, SubjectRules>,
    subjects_of_comments: BatchedReads<CommentId, Option<(SubjectKey, SubjectRules)>>,
    comments: ReadThrough<CachedComments>,
    top_replies: ReadThrough<CachedTopReplies>,
    lists: CachedLists,
    local_versions: Arc<LocalVersions>,
    /// Slots whose counters could not be recovered, and when that failed last.
    unrecovered: moka::sync::Cache<Slot, Instant>,
    invalidation_queue: Arc<InvalidationQueue>,
    metrics: Arc<CacheMetrics>,
}

impl fmt::Debug for CachedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CachedStore").field("tables", &self.tables).field("cache", &self.cache).finish_non_exhaustive()
    }
}

impl CachedStore {
    pub fn new(deps: CachedStoreDeps) -> Self {
        let CachedStoreDeps { tables, cache, counters, pending, recovery, catch_up, producer, clock } = deps;
        let (versions, metrics) = (Arc::new(LocalVersions::new()), Arc::new(CacheMetrics::default()));
        Self {
            subject_rules: batch_subject_rules(tables.clone()),
            subjects_of_comments: batch_subjects_of_comments(tables.clone()),
            subjects: ReadThrough::new(tables.clone(), cache.clone(), versions.clone(), metrics.clone()),
            comments: ReadThrough::new(tables.clone(), cache.clone(), versions.clone(), metrics.clone()),
            top_replies: ReadThrough::new(tables.clone(), cache.clone(), versions.clone(), metrics.clone()),
            lists: CachedLists::new(tables.clone(), cache.clone(), producer, versions.clone(), metrics.clone()),
            unrecovered: moka::sync::Cache::builder().build(),
            invalidation_queue: Arc::new(InvalidationQueue::new(cache.clone(), pending.clone())),
            tables,
            cache,
            counters,
            pending,
            recovery,
            catch_up,
            clock,
            local_versions: versions,
            metrics,
        }
    }

    /// How many keys each level answered.
    pub fn metrics(&self) -> &CacheMetrics {
        &self.metrics
    }

    /// The tables under the caches.
    pub(crate) fn tables(&self) -> &dyn Store {
        &*self.tables
    }

    /// The shared cache.
    pub(crate) fn cache(&self) -> &dyn Cache {
        &*self.cache
    }

    /// Puts a subject into the shared cache. Does not count as a read.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub(crate) async fn warm_subject(&self, subject: &SubjectKey) -> Result<()> {
        self.subjects.warm(std::slice::from_ref(subject)).await.failed.map_or(Ok(()), Err)
    }

    /// Puts comments into the shared cache, and the first replies of those that are roots. Returns how
    /// many comments these are. Does not count as a read.
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

    async fn read_subject_rows(&self, keys: &[SubjectKey]) -> Result<HashMap<SubjectKey, Option<SubjectRow>>> {
        let lookup = self.subjects.get(keys).await;
        match lookup.failed {
            // A subject that is not remembered may have comments.
            Some(error) if !keys.iter().all(|key| lookup.found.contains_key(key)) => Err(error),
            _ => Ok(lookup.found),
        }
    }
}

fn batch_subject_rules(tables: Arc<dyn CacheSource>) -> BatchedReads<SubjectKey, SubjectRules> {
    BatchedReads::start(tables.count_databases(), move |keys: Vec<SubjectKey>| {
        let tables = tables.clone();
        async move { tables.read_subject_rules(&keys).await }
    })
}

fn batch_subjects_of_comments(
    tables: Arc<dyn CacheSource>,
) -> BatchedReads<CommentId, Option<(SubjectKey, SubjectRules)>> {
    BatchedReads::start(tables.count_databases(), move |ids: Vec<CommentId>| {
        let tables = tables.clone();
        async move {
            let found = tables.read_subjects_of(&ids).await?;
            Ok(ids.iter().map(|id| found.get(id).cloned()).collect())
        }
    })
}

/// What was found, if it is enough for an answer.
fn accept_partial<K: CachedKind>(requested: &[K::Id], lookup: Lookup<K>) -> Result<HashMap<K::Id, K::Value>> {
    let is_complete = || requested.iter().all(|id| lookup.found.contains_key(id));
    match lookup.failed {
        Some(error) if matches!(error, StoreError::Damaged(_)) => Err(error),
        Some(error) if lookup.found.is_empty() || (requested.len() <= MAX_IDS_TO_WAIT_FOR && !is_complete()) => {
            Err(error)
        }
        Some(error) => {
            tracing::debug!(%error, "Serving the values that are remembered, because the tables do not answer");
            Ok(lookup.found)
        }
        None => Ok(lookup.found),
    }
}
