//! Which comments a list has: floors from the cache if they are cached, else from the tables, with a
//! request to the job that loads lists into the cache.
//!
//! Cached are the roots of a subject and all descendants of a root. The replies below another comment are
//! not cached as a list (a new reply does not say to how many such lists it belongs) and are read from
//! the tables by their path.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use tokio::time::Instant;

use crate::cluster::cached_store::local_cache::LocalVersions;
use crate::cluster::cached_store::metrics::CacheMetrics;
use crate::cluster::cached_store::rebuild_request::RebuildRequest;
use crate::cluster::cached_store::single_flight::SingleFlight;
use crate::domain::row::{CommentList, FloorRange};
use crate::ports::broker::{Producer, Topic};
use crate::ports::cache::{Cache, CachedList};
use crate::ports::store::{Listed, Result, Store, StoreError};

/// The least time between two rebuild requests for a list.
const REBUILD_REQUEST_INTERVAL: Duration = Duration::from_secs(5);
/// Lists whose last rebuild request this process remembers.
const MAX_REQUESTS_REMEMBERED: u64 = 100_000;

/// A list, as the key of a query.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ListId {
    Roots(SubjectKey),
    Under(Path),
}

impl From<&CommentList> for ListId {
    fn from(list: &CommentList) -> Self {
        match list {
            CommentList::Roots(subject) => Self::Roots(subject.clone()),
            CommentList::Under(path) => Self::Under(path.clone()),
        }
    }
}

/// The cached list that contains all of this one.
fn enclosing_list(list: &CommentList) -> CachedList {
    match list {
        CommentList::Roots(subject) => CachedList::Roots(subject.clone()),
        CommentList::Under(path) => CachedList::Replies(path.root_id()),
    }
}

/// The cached list that equals this one, if there is one.
pub(crate) fn cached_list(list: &CommentList) -> Option<CachedList> {
    match list {
        CommentList::Under(path) if path.depth() > 1 => None,
        list => Some(enclosing_list(list)),
    }
}

type ListedFloors = Listed<(u64, CommentId)>;
type RankedIds = Arc<Listed<(i64, CommentId)>>;

/// A subject's version in the tables, which a list that is read afterwards contains; 0 where none is asked for, and
/// for a subject without comments.
async fn read_version(tables: &dyn Store, subject: Option<&SubjectKey>) -> Result<u64> {
    let Some(subject) = subject else { return Ok(0) };
    let row = tables.read_subjects(std::slice::from_ref(subject)).await?.pop().flatten();
    Ok(row.map_or(0, |row| row.version))
}

/// Reads lists. The keys of its queries end with whether a version is read too.
pub(super) struct CachedLists {
    tables: Arc<dyn Store>,
    cache: Arc<dyn Cache>,
    producer: Arc<dyn Producer>,
    local_versions: Arc<LocalVersions>,
    metrics: Arc<CacheMetrics>,
    floors: SingleFlight<(ListId, FloorRange, bool), ListedFloors>,
    ranked: SingleFlight<(ListId, Sort, bool), RankedIds>,
    /// When a list was requested last.
    requested: moka::sync::Cache<CachedList, Instant>,
}

impl CachedLists {
    pub(super) fn new(
        tables: Arc<dyn Store>,
        cache: Arc<dyn Cache>,
        producer: Arc<dyn Producer>,
        local_versions: Arc<LocalVersions>,
        metrics: Arc<CacheMetrics>,
    ) -> Self {
        let requested = moka::sync::Cache::builder().max_capacity(MAX_REQUESTS_REMEMBERED).build();
        let (floors, ranked) = (SingleFlight::new(), SingleFlight::new());
        Self { tables, cache, producer, local_versions, metrics, floors, ranked, requested }
    }

    /// See [`crate::ports::store::ThreadReader::list_floors_of`].
    pub(super) async fn list_floors(
        &self,
        subject: Option<&SubjectKey>,
        list: &CommentList,
        range: FloorRange,
    ) -> Result<ListedFloors> {
        let mut stale = None;
        if let Some(key) = cached_list(list) {
            match self.cache.read_floors(subject, &key, range).await {
                Ok(Some(cached)) if cached.is_fresh => {
                    self.metrics.count_redis(1);
                    return Ok(Listed { entries: cached.floors, version: cached.version });
                }
                Ok(cached) => {
                    stale = cached;
                    self.request_rebuild(key, list, range);
                }
                Err(error) => {
                    tracing::debug!(list = ?key, %error, "Reading a list from the tables instead of the cache")
                }
            }
        }
        let key = (ListId::from(list), range, subject.is_some());
        let (requested, of, tables) = (list.clone(), subject.cloned(), self.tables.clone());
        let load = move |keys: Vec<_>| async move {
            let version = read_version(&*tables, of.as_ref()).await?;
            let listed = Listed { entries: tables.list_floors(&requested, range).await?, version };
            Ok(keys.into_iter().map(|key| (key, listed.clone())).collect::<HashMap<_, _>>())
        };
        let last_change = self.local_versions.last_change(&enclosing_list(list));
        match self.floors.fetch(vec![key.clone()], self.local_versions.current(), |_| last_change, load).await {
            Ok((mut found, _)) => {
                self.metrics.count_mysql(1);
                Ok(found.remove(&key).unwrap_or(Listed { entries: vec![], version: 0 }))
            }
            Err(error @ StoreError::Damaged(_)) => Err(error),
            Err(error) => {
                let stale = stale.map(|cached| Listed { entries: cached.floors, version: cached.version });
                stale.ok_or(error)
            }
        }
    }

    /// See [`crate::ports::store::ThreadReader::list_ranked_of`].
    pub(super) async fn list_ranked(
        &self,
        subject: Option<&SubjectKey>,
        list: &CommentList,
        sort: Sort,
    ) -> Result<Listed<(i64, CommentId)>> {
        let key = (ListId::from(list), sort, subject.is_some());
        let (requested, of, tables) = (list.clone(), subject.cloned(), self.tables.clone());
        let load = move |keys: Vec<_>| async move {
            let version = read_version(&*tables, of.as_ref()).await?;
            let ranked = Arc::new(Listed { entries: tables.list_ranked(&requested, sort).await?, version });
            Ok(keys.into_iter().map(|key| (key, ranked.clone())).collect::<HashMap<_, _>>())
        };
        let (version, last_change) =
            (self.local_versions.current(), self.local_versions.last_change(&enclosing_list(list)));
        let (mut found, _) = self.ranked.fetch(vec![key.clone()], version, |_| last_change, load).await?;
        self.metrics.count_mysql(1);
        Ok(found.remove(&key).map_or(Listed { entries: vec![], version: 0 }, Arc::unwrap_or_clone))
    }

    /// Requests that the job loads a list into the cache, unless a process did so lately. Does not wait.
    fn request_rebuild(&self, key: CachedList, list: &CommentList, range: FloorRange) {
        if self.requested.get(&key).is_some_and(|at| at.elapsed() < REBUILD_REQUEST_INTERVAL) {
            return;
        }
        self.requested.insert(key.clone(), Instant::now());
        let request = RebuildRequest { list: list.clone(), range };
        let (cache, producer) = (self.cache.clone(), self.producer.clone());
        tokio::spawn(async move {
            if let Ok(true) = cache.claim_rebuild(&key, REBUILD_REQUEST_INTERVAL).await
                && let Err(error) = producer.append_record(Topic::Rebuild, key.slot(), request.to_bytes()).await
            {
                tracing::debug!(list = ?key, %error, "Could not request the rebuild of a list");
            }
        });
    }
}
