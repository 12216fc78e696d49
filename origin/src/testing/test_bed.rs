//! A process of a cluster over doubles in memory.

use std::sync::Arc;

use crate::cluster::cached_store::{CachedStore, CachedStoreDeps};
use crate::cluster::catch_up::PartitionCatchUp;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::cluster::journal::{ClusterJournal, ClusterJournalDeps};
use crate::ports::journal::CommitListeners;
use crate::testing::counting_listener::CountingListener;
use crate::testing::fixtures::TEST_START_MS;
use crate::testing::manual_clock::ManualClock;
use crate::testing::memory_broker::MemoryBroker;
use crate::testing::memory_cache::MemoryCache;
use crate::testing::memory_pending::MemoryPending;
use crate::testing::memory_store::MemoryStore;
use crate::testing::scripted_counters::ScriptedCounters;

/// The doubles. What is built over them is one process; build it twice for two processes.
pub(crate) struct TestBed {
    pub(crate) broker: MemoryBroker,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) cache: Arc<MemoryCache>,
    pub(crate) counters: Arc<ScriptedCounters>,
    pub(crate) pending: Arc<MemoryPending>,
    pub(crate) listener: Arc<CountingListener>,
    pub(crate) clock: ManualClock,
}

impl TestBed {
    pub(crate) fn new(partitions: u32, databases: usize) -> Self {
        Self {
            broker: MemoryBroker::new(partitions),
            store: MemoryStore::new(databases),
            cache: Arc::new(MemoryCache::new()),
            counters: Arc::default(),
            pending: Arc::default(),
            listener: Arc::default(),
            clock: ManualClock::at(TEST_START_MS),
        }
    }

    pub(crate) fn recovery(&self) -> CounterRecovery {
        CounterRecovery::new(Arc::new(self.broker.clone()), self.store.clone(), self.counters.clone())
    }

    pub(crate) fn cached_store(&self) -> Arc<CachedStore> {
        Arc::new(CachedStore::new(CachedStoreDeps {
            tables: self.store.clone(),
            cache: self.cache.clone(),
            counters: self.counters.clone(),
            pending: self.pending.clone(),
            recovery: Arc::new(self.recovery()),
            catch_up: Arc::new(PartitionCatchUp::new(
                Arc::new(self.broker.clone()),
                self.store.clone(),
                self.clock.clock(),
            )),
            producer: Arc::new(self.broker.clone()),
            clock: self.clock.clock(),
        }))
    }

    pub(crate) fn journal(&self) -> ClusterJournal {
        ClusterJournal::start(ClusterJournalDeps {
            producer: Arc::new(self.broker.clone()),
            tables: self.store.clone(),
            comments: self.cached_store(),
            counters: self.counters.clone(),
            pending: self.pending.clone(),
            recovery: Arc::new(self.recovery()),
            listeners: CommitListeners { shared: vec![self.listener.clone()], local: vec![] },
            clock: self.clock.clock(),
        })
    }
}
