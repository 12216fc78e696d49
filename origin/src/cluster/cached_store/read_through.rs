//! One kind of value through all levels: this process, the shared cache, the tables.
//!
//! A call is one round trip to the cache for each slot, and for what is not there one query and one
//! more round trip that puts it; the slots' go out together.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::limits;
use tokio::time::Instant;

use crate::cluster::cached_store::hot_keys::HotKeys;
use crate::cluster::cached_store::local_cache::{LocalCache, LocalVersions};
use crate::cluster::cached_store::metrics::CacheMetrics;
use crate::cluster::cached_store::single_flight::SingleFlight;
use crate::domain::codec::row;
use crate::domain::row::{CommentRow, SubjectRow};
use crate::ports::cache::{Cache, Key, Put, Stamp};
use crate::ports::store::{Result, Store, StoreError};

/// A kind of value.
#[async_trait]
pub(super) trait CachedKind: Send + Sync + 'static {
    type Id: Hash + Eq + Clone + Send + Sync + 'static;
    type Value: Clone + Send + Sync + 'static;

    fn key(id: &Self::Id) -> Key;
    fn slot(id: &Self::Id) -> Slot;
    fn encode(value: &Self::Value) -> Vec<u8>;
    fn decode(id: &Self::Id, bytes: &[u8]) -> Option<Self::Value>;
    /// The subject's version it was read at; 0 where it is not known.
    fn version(value: &Self::Value) -> u64;
    /// Whether a takedown in its slot voids it.
    const ANSWERS: bool = false;
    /// Whether this value may be kept under this id.
    fn keeps(_: &Self::Id, _: &Self::Value) -> bool {
        true
    }
    async fn load(tables: &dyn Store, ids: &[Self::Id]) -> Result<HashMap<Self::Id, Self::Value>>;
}

/// Subjects; those nobody has written to are kept as such.
pub(super) struct Subjects;

#[async_trait]
impl CachedKind for Subjects {
    type Id = SubjectKey;
    type Value = Option<SubjectRow>;

    fn key(id: &SubjectKey) -> Key {
        Key::Subject(id.clone())
    }

    fn slot(id: &SubjectKey) -> Slot {
        id.slot()
    }

    fn encode(subject: &Option<SubjectRow>) -> Vec<u8> {
        row::subject(subject.as_ref())
    }

    fn decode(id: &SubjectKey, bytes: &[u8]) -> Option<Option<SubjectRow>> {
        row::subject_of(id, bytes)
    }

    fn version(subject: &Option<SubjectRow>) -> u64 {
        subject.as_ref().map_or(0, |row| row.version)
    }

    async fn load(tables: &dyn Store, ids: &[SubjectKey]) -> Result<HashMap<SubjectKey, Option<SubjectRow>>> {
        Ok(ids.iter().cloned().zip(tables.read_subjects(ids).await?).collect())
    }
}

/// Comments with their contents. What does not exist is not kept.
pub(super) struct Comments;

#[async_trait]
impl CachedKind for Comments {
    type Id = CommentId;
    type Value = Arc<CommentRow>;

    fn key(id: &CommentId) -> Key {
        Key::Comment(*id)
    }

    fn slot(id: &CommentId) -> Slot {
        id.slot()
    }

    fn encode(row: &Arc<CommentRow>) -> Vec<u8> {
        row::row(row)
    }

    fn decode(_: &CommentId, bytes: &[u8]) -> Option<Arc<CommentRow>> {
        row::row_of(bytes).map(Arc::new)
    }

    fn version(row: &Arc<CommentRow>) -> u64 {
        row.version
    }

    const ANSWERS: bool = true;

    /// Under another id than its own nobody would void it.
    fn keeps(id: &CommentId, row: &Arc<CommentRow>) -> bool {
        row.id() == *id
    }

    async fn load(tables: &dyn Store, ids: &[CommentId]) -> Result<HashMap<CommentId, Arc<CommentRow>>> {
        Ok(tables.read_comments(ids).await?.into_iter().map(|(id, row)| (id, Arc::new(row))).collect())
    }
}

/// The first replies of roots. The tables do not say at which version they were read.
pub(super) struct TopReplies;

#[async_trait]
impl CachedKind for TopReplies {
    type Id = CommentId;
    type Value = Vec<CommentId>;

    fn key(root: &CommentId) -> Key {
        Key::TopReplies(*root)
    }

    fn slot(root: &CommentId) -> Slot {
        root.slot()
    }

    fn encode(replies: &Vec<CommentId>) -> Vec<u8> {
        row::ids(replies)
    }

    fn decode(_: &CommentId, bytes: &[u8]) -> Option<Vec<CommentId>> {
        row::ids_of(bytes)
    }

    fn version(_: &Vec<CommentId>) -> u64 {
        0
    }

    async fn load(tables: &dyn Store, roots: &[CommentId]) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        let mut top = tables.list_top_replies(roots, limits::TOP_REPLIES).await?;
        Ok(roots.iter().map(|root| (*root, top.remove(root).unwrap_or_default())).collect())
    }
}

/// What was found, and why not all of it was looked for in the tables.
pub(super) struct Got<K: CachedKind> {
    pub(super) found: HashMap<K::Id, K::Value>,
    pub(super) failed: Option<StoreError>,
}

/// The levels of a kind.
pub(super) struct ReadThrough<K: CachedKind> {
    tables: Arc<dyn Store>,
    cache: Arc<dyn Cache>,
    marks: Arc<LocalVersions>,
    figures: Arc<CacheMetrics>,
    local: LocalCache<K::Id, K::Value>,
    pub(super) hot: HotKeys<K::Id>,
    flights: SingleFlight<K::Id, K::Value>,
}

impl<K: CachedKind> ReadThrough<K> {
    pub(super) fn new(
        tables: Arc<dyn Store>,
        cache: Arc<dyn Cache>,
        marks: Arc<LocalVersions>,
        figures: Arc<CacheMetrics>,
    ) -> Self {
        Self {
            tables,
            cache,
            marks,
            figures,
            local: LocalCache::new(),
            hot: HotKeys::new(),
            flights: SingleFlight::new(),
        }
    }

    /// Must not be shown any more.
    pub(super) fn forget(&self, id: &K::Id) {
        self.local.forget(id);
    }

    fn changed(&self, id: &K::Id) -> u64 {
        let changed = self.marks.changed(&K::key(id));
        if K::ANSWERS { changed.max(self.marks.taken(K::slot(id))) } else { changed }
    }

    /// The values of these ids. Where the tables do not answer, those that are remembered.
    pub(super) async fn get(&self, ids: &[K::Id]) -> Got<K> {
        let hot = self.hot.asked(ids.iter());
        self.find(ids.iter().cloned().zip(hot).collect()).await
    }

    /// The same for nobody who asked: so that they are in the shared cache.
    pub(super) async fn warm(&self, ids: &[K::Id]) -> Got<K> {
        self.find(ids.iter().map(|id| (id.clone(), false)).collect()).await
    }

    /// The values of these ids; those that are hot are remembered here.
    async fn find(&self, hot: HashMap<K::Id, bool>) -> Got<K> {
        let (mark, mut at) = (self.marks.now(), Instant::now());
        let mut found = HashMap::with_capacity(hot.len());
        let mut missing = Vec::new();
        for id in hot.keys() {
            match self.local.fresh(id, self.changed(id)) {
                Some(value) => drop(found.insert(id.clone(), value)),
                None => missing.push(id.clone()),
            }
        }
        self.figures.local(found.len());
        let (mut stale, mut stamps) = (HashMap::new(), HashMap::new());
        let mut fresh = Vec::new();
        for (id, value, is_fresh, stamp) in self.cached(missing).await {
            match value {
                Some(value) if is_fresh => fresh.push((id, value)),
                value => {
                    stale.extend(value.map(|value| (id.clone(), value)));
                    stamps.insert(id, stamp);
                }
            }
        }
        self.figures.redis(fresh.len());
        let mut failed = None;
        if !stamps.is_empty() {
            let asked: Vec<_> = stamps.keys().cloned().collect();
            let load = |ids: Vec<K::Id>| {
                let stamps = ids.iter().filter_map(|id| Some((id.clone(), stamps[id]?))).collect();
                load::<K>(self.tables.clone(), self.cache.clone(), ids, stamps)
            };
            match self.flights.fetch(asked.clone(), mark, |id| self.changed(id), load).await {
                Ok((loaded, begun)) => {
                    at = at.min(begun);
                    self.figures.mysql(loaded.len());
                    fresh.extend(loaded);
                }
                Err(error) => {
                    let mut last = |id: &K::Id| stale.remove(id).or_else(|| self.local.last(id));
                    found.extend(asked.into_iter().filter_map(|id| last(&id).map(|value| (id, value))));
                    failed = Some(error);
                }
            }
        }
        for (id, value) in &fresh {
            if hot.get(id).copied().unwrap_or_default() && K::keeps(id, value) {
                self.local.put(id.clone(), value.clone(), mark, at);
            }
        }
        found.extend(fresh);
        Got { found, failed }
    }

    /// What the cache has of these: value, whether it is fresh, stamp. A cache that does not answer
    /// has nothing and gives no stamps.
    async fn cached(&self, ids: Vec<K::Id>) -> Vec<(K::Id, Option<K::Value>, bool, Option<Stamp>)> {
        let mut by_slot: HashMap<Slot, Vec<K::Id>> = HashMap::new();
        for id in ids {
            by_slot.entry(K::slot(&id)).or_default().push(id);
        }
        let asked = by_slot.into_iter().map(|(slot, ids)| async move {
            let keys: Vec<_> = ids.iter().map(K::key).collect();
            match self.cache.get(slot, &keys).await {
                Ok(found) => ids
                    .into_iter()
                    .zip(found)
                    .map(|(id, found)| {
                        let value = found.value.and_then(|bytes| K::decode(&id, &bytes));
                        (id, value, found.fresh, Some(found.stamp))
                    })
                    .collect(),
                Err(error) => {
                    tracing::debug!(%error, "a read goes past the cache");
                    ids.into_iter().map(|id| (id, None, false, None)).collect::<Vec<_>>()
                }
            }
        });
        join_all(asked).await.into_iter().flatten().collect()
    }
}

/// Asks the tables, and puts what they say where a stamp allows it.
async fn load<K: CachedKind>(
    tables: Arc<dyn Store>,
    cache: Arc<dyn Cache>,
    ids: Vec<K::Id>,
    stamps: HashMap<K::Id, Stamp>,
) -> Result<HashMap<K::Id, K::Value>> {
    let loaded = K::load(&*tables, &ids).await?;
    let mut puts: HashMap<Slot, Vec<Put>> = HashMap::new();
    for (id, value) in loaded.iter().filter(|(id, value)| K::keeps(id, value)) {
        if let Some(stamp) = stamps.get(id) {
            let put = Put { key: K::key(id), stamp: *stamp, version: K::version(value), value: K::encode(value) };
            puts.entry(K::slot(id)).or_default().push(put);
        }
    }
    join_all(puts.iter().map(async |(slot, puts)| {
        if let Err(error) = cache.put(*slot, puts).await {
            tracing::debug!(%error, "a value is not put into the cache");
        }
    }))
    .await;
    Ok(loaded)
}
