//! One kind of value through all levels: this process, the shared cache, the tables.
//!
//! A call costs one round trip to the cache for each slot. Values that are missing there cost one query
//! and one more round trip for each slot. The round trips of several slots run concurrently.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures_util::future::join_all;
use gailou_shared::id::Slot;
use tokio::time::Instant;

use crate::cluster::cached_store::cached_kinds::CachedKind;
use crate::cluster::cached_store::hot_keys::HotKeys;
use crate::cluster::cached_store::local_cache::{LocalCache, LocalVersions};
use crate::cluster::cached_store::metrics::CacheMetrics;
use crate::cluster::cached_store::single_flight::SingleFlight;
use crate::ports::cache::{Cache, CachePut, CacheStamp};
use crate::ports::store::{Result, Store, StoreError};

/// What was found, and why the tables were not read for the rest.
pub(super) struct Lookup<K: CachedKind> {
    pub(super) found: HashMap<K::Id, K::Value>,
    pub(super) failed: Option<StoreError>,
}

/// The levels of one kind.
pub(super) struct ReadThrough<K: CachedKind> {
    tables: Arc<dyn Store>,
    cache: Arc<dyn Cache>,
    local_versions: Arc<LocalVersions>,
    metrics: Arc<CacheMetrics>,
    local: LocalCache<K::Id, K::Value>,
    hot_keys: HotKeys<K::Id>,
    flights: SingleFlight<K::Id, K::Value>,
}

/// A value of the shared cache, with the stamp to replace it.
struct CacheEntry<K: CachedKind> {
    id: K::Id,
    value: Option<K::Value>,
    is_fresh: bool,
    stamp: Option<CacheStamp>,
}

impl<K: CachedKind> ReadThrough<K> {
    pub(super) fn new(
        tables: Arc<dyn Store>,
        cache: Arc<dyn Cache>,
        local_versions: Arc<LocalVersions>,
        metrics: Arc<CacheMetrics>,
    ) -> Self {
        let (local, hot_keys, flights) = (LocalCache::new(), HotKeys::new(), SingleFlight::new());
        Self { tables, cache, local_versions, metrics, local, hot_keys, flights }
    }

    /// Removes a value that must not be served any more from this process.
    pub(super) fn evict(&self, id: &K::Id) {
        self.local.evict(id);
    }

    fn last_change(&self, id: &K::Id) -> u64 {
        let last_change = self.local_versions.last_change(&K::key(id));
        if K::DEPENDS_ON_PARENT { last_change.max(self.local_versions.last_takedown(K::slot(id))) } else { last_change }
    }

    /// The values of these ids. While the tables do not answer, those that are remembered.
    pub(super) async fn get(&self, ids: &[K::Id]) -> Lookup<K> {
        let is_hot = self.hot_keys.count_reads(ids.iter());
        self.look_up(ids.iter().cloned().zip(is_hot).collect()).await
    }

    /// Loads the values of these ids into the shared cache. Does not count as a read.
    pub(super) async fn warm(&self, ids: &[K::Id]) -> Lookup<K> {
        self.look_up(ids.iter().map(|id| (id.clone(), false)).collect()).await
    }

    /// The values of these ids. Those of hot ids are kept in this process.
    async fn look_up(&self, ids: HashMap<K::Id, bool>) -> Lookup<K> {
        let (version, mut loaded_at) = (self.local_versions.current(), Instant::now());
        let mut found = HashMap::with_capacity(ids.len());
        let mut missing = Vec::new();
        for id in ids.keys() {
            match self.local.get_fresh(id, self.last_change(id)) {
                Some(value) => drop(found.insert(id.clone(), value)),
                None => missing.push(id.clone()),
            }
        }
        self.metrics.count_local(found.len());
        let (mut stale, mut stamps) = (HashMap::new(), HashMap::new());
        let mut fresh = Vec::new();
        for CacheEntry { id, value, is_fresh, stamp } in self.read_cache(missing).await {
            match value {
                Some(value) if is_fresh => fresh.push((id, value)),
                value => {
                    stale.extend(value.map(|value| (id.clone(), value)));
                    stamps.insert(id, stamp);
                }
            }
        }
        self.metrics.count_redis(fresh.len());
        let mut failed = None;
        if !stamps.is_empty() {
            let missing: Vec<_> = stamps.keys().cloned().collect();
            let load = |ids: Vec<K::Id>| {
                let stamps = ids.iter().filter_map(|id| Some((id.clone(), stamps[id]?))).collect();
                load_and_put::<K>(self.tables.clone(), self.cache.clone(), ids, stamps)
            };
            match self.flights.fetch(missing.clone(), version, |id| self.last_change(id), load).await {
                Ok((loaded, first_started)) => {
                    loaded_at = loaded_at.min(first_started);
                    self.metrics.count_mysql(loaded.len());
                    fresh.extend(loaded);
                }
                Err(error) => {
                    let mut remembered = |id: &K::Id| stale.remove(id).or_else(|| self.local.get_stale(id));
                    found.extend(missing.into_iter().filter_map(|id| remembered(&id).map(|value| (id, value))));
                    failed = Some(error);
                }
            }
        }
        for (id, value) in &fresh {
            if ids.get(id).copied().unwrap_or_default() && K::may_cache(id, value) {
                self.local.put(id.clone(), value.clone(), version, loaded_at);
            }
        }
        found.extend(fresh);
        Lookup { found, failed }
    }

    /// Reads the shared cache. One that does not answer has no values and gives no stamps.
    async fn read_cache(&self, ids: Vec<K::Id>) -> Vec<CacheEntry<K>> {
        let mut by_slot: BTreeMap<Slot, Vec<K::Id>> = BTreeMap::new();
        for id in ids {
            by_slot.entry(K::slot(&id)).or_default().push(id);
        }
        let entries = by_slot.into_iter().map(|(slot, ids)| async move {
            let keys: Vec<_> = ids.iter().map(K::key).collect();
            match self.cache.get_values(slot, &keys).await {
                Ok(values) => ids
                    .into_iter()
                    .zip(values)
                    .map(|(id, cached)| {
                        let value = cached.value.and_then(|bytes| K::decode(&id, &bytes));
                        CacheEntry { id, value, is_fresh: cached.is_fresh, stamp: Some(cached.stamp) }
                    })
                    .collect(),
                Err(error) => {
                    tracing::debug!(slot = slot.get(), %error, "Reading the tables instead of the cache");
                    let without_value = |id| CacheEntry { id, value: None, is_fresh: false, stamp: None };
                    ids.into_iter().map(without_value).collect::<Vec<_>>()
                }
            }
        });
        join_all(entries).await.into_iter().flatten().collect()
    }
}

/// Loads values from the tables, and puts those that have a stamp into the cache.
async fn load_and_put<K: CachedKind>(
    tables: Arc<dyn Store>,
    cache: Arc<dyn Cache>,
    ids: Vec<K::Id>,
    stamps: HashMap<K::Id, CacheStamp>,
) -> Result<HashMap<K::Id, K::Value>> {
    let loaded = K::load(&*tables, &ids).await?;
    let mut puts: BTreeMap<Slot, Vec<CachePut>> = BTreeMap::new();
    for (id, value) in loaded.iter().filter(|(id, value)| K::may_cache(id, value)) {
        if let Some(stamp) = stamps.get(id) {
            let put = CachePut { key: K::key(id), stamp: *stamp, version: K::version(value), value: K::encode(value) };
            puts.entry(K::slot(id)).or_default().push(put);
        }
    }
    join_all(puts.iter().map(async |(slot, puts)| {
        if let Err(error) = cache.put_values(*slot, puts).await {
            tracing::debug!(slot = slot.get(), %error, "Could not put values into the cache");
        }
    }))
    .await;
    Ok(loaded)
}
