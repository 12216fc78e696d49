//! Redis: one server with counters, pending comments and the shared cache. It may be emptied, or go back to an
//! older copy of itself under another name, as a replica that takes over does.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use crate::testing::faults::lock;
use crate::testing::memory_cache::MemoryCache;
use crate::testing::simulation::counters::{CounterKey, CounterSlot};
use crate::testing::simulation::pending::PendingData;
use crate::testing::simulation::world::{Node, Server, Unanswered};

/// What the server holds, without the cache.
#[derive(Debug, Clone, Default)]
pub(super) struct RedisData {
    /// The name of this server's process.
    pub(super) server: u64,
    pub(super) counters: BTreeMap<CounterKey, CounterSlot>,
    pub(super) recoveries: u64,
    pub(super) pending: PendingData,
}

/// The server.
#[derive(Debug)]
pub(super) struct RedisServer {
    data: Mutex<RedisData>,
    pub(super) cache: MemoryCache,
}

impl RedisServer {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self { data: Mutex::default(), cache: MemoryCache::new() })
    }

    /// A copy, as a replica has it.
    pub(super) fn copy(&self) -> RedisData {
        lock(&self.data).clone()
    }

    /// Goes on as another server with this data. What another server has put into the cache is not served, so the
    /// cache is empty.
    pub(super) fn fail_over(&self, copy: RedisData) {
        let mut data = lock(&self.data);
        let (server, recoveries) = (data.server + 1, data.recoveries);
        *data = RedisData { server, recoveries, ..copy };
        self.cache.lose(0, 1);
    }
}

/// Redis as one process reaches it.
pub(super) struct SimulatedRedis {
    pub(super) node: Arc<Node>,
    pub(super) server: Arc<RedisServer>,
}

impl fmt::Debug for SimulatedRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SimulatedRedis")
    }
}

impl SimulatedRedis {
    /// One script.
    pub(super) async fn run<T>(
        &self,
        what: &'static str,
        script: impl FnOnce(&mut RedisData) -> T,
    ) -> Result<T, Unanswered> {
        self.node.call(Server::Redis, what, || script(&mut lock(&self.server.data))).await
    }
}
