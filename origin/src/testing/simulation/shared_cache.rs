//! The shared cache as one process reaches it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::FutureExt as _;
use gailou_shared::id::{Slot, SubjectKey};

use crate::domain::row::FloorRange;
use crate::ports::cache::{
    Cache, CacheChanges, CacheError, CacheKey, CachePut, CachedFloors, CachedList, CachedValue, ListFilling, ListPart,
    Result,
};
use crate::testing::memory_cache::MemoryCache;
use crate::testing::simulation::redis_double::SimulatedRedis;
use crate::testing::simulation::world::{Server, Unanswered};

/// The cache as one process reaches it.
#[derive(Debug, Clone)]
pub(super) struct SimulatedCache(pub(super) Arc<SimulatedRedis>);

impl From<Unanswered> for CacheError {
    fn from(_: Unanswered) -> Self {
        Self("no answer".into())
    }
}

impl SimulatedCache {
    /// One script. The double in memory answers at once.
    async fn run<T, F: Future<Output = Result<T>>>(
        &self,
        what: &'static str,
        script: impl FnOnce(Arc<SimulatedRedis>) -> F,
    ) -> Result<T> {
        let answer = || script(self.0.clone()).now_or_never();
        self.0.node.call(Server::Redis, what, answer).await?.unwrap_or_else(|| Err(CacheError("it waits".into())))
    }
}

fn cache(redis: &SimulatedRedis) -> &MemoryCache {
    &redis.server.cache
}

#[async_trait]
impl Cache for SimulatedCache {
    async fn get_values(&self, slot: Slot, keys: &[CacheKey]) -> Result<Vec<CachedValue>> {
        self.run("get_values", |redis| async move { cache(&redis).get_values(slot, keys).await }).await
    }

    async fn put_values(&self, slot: Slot, values: &[CachePut]) -> Result<()> {
        self.run("put_values", |redis| async move { cache(&redis).put_values(slot, values).await }).await
    }

    async fn apply_changes(&self, slot: Slot, changes: &CacheChanges) -> Result<()> {
        self.run("apply_changes", |redis| async move { cache(&redis).apply_changes(slot, changes).await }).await
    }

    async fn read_floors(
        &self,
        subject: Option<&SubjectKey>,
        list: &CachedList,
        range: FloorRange,
    ) -> Result<Option<CachedFloors>> {
        let read = |redis: Arc<SimulatedRedis>| async move { cache(&redis).read_floors(subject, list, range).await };
        self.run("read_floors", read).await
    }

    async fn begin_fill(&self, list: &CachedList) -> Result<ListFilling> {
        self.run("begin_fill", |redis| async move { cache(&redis).begin_fill(list).await }).await
    }

    async fn fill_part(&self, list: &CachedList, filling: &ListFilling, part: &ListPart) -> Result<bool> {
        self.run("fill_part", |redis| async move { cache(&redis).fill_part(list, filling, part).await }).await
    }

    async fn forget_slot(&self, slot: Slot) -> Result<()> {
        self.run("forget_slot", |redis| async move { cache(&redis).forget_slot(slot).await }).await
    }

    async fn claim_rebuild(&self, list: &CachedList, lease: Duration) -> Result<bool> {
        self.run("claim_rebuild", |redis| async move { cache(&redis).claim_rebuild(list, lease).await }).await
    }
}
