//! How many keys each level of the cached store answered.

use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{counter, describe_counter};

use crate::cluster::cached_store::CachedStore;
use crate::telemetry::Collector;

/// Keys (a subject, a comment, a page of floors) answered by each level since the start.
#[derive(Debug, Default)]
pub struct CacheMetrics {
    local: AtomicU64,
    redis: AtomicU64,
    mysql: AtomicU64,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitCounts {
    pub local: u64,
    pub redis: u64,
    pub mysql: u64,
}

impl CacheMetrics {
    pub(super) fn count_local(&self, keys: usize) {
        self.local.fetch_add(keys as u64, Ordering::Relaxed);
    }

    pub(super) fn count_redis(&self, keys: usize) {
        self.redis.fetch_add(keys as u64, Ordering::Relaxed);
    }

    pub(super) fn count_mysql(&self, keys: usize) {
        self.mysql.fetch_add(keys as u64, Ordering::Relaxed);
    }

    pub fn hit_counts(&self) -> HitCounts {
        HitCounts {
            local: self.local.load(Ordering::Relaxed),
            redis: self.redis.load(Ordering::Relaxed),
            mysql: self.mysql.load(Ordering::Relaxed),
        }
    }
}

impl Collector for CachedStore {
    fn collect(&self) {
        describe_counter!("gailou_cache_keys_total", "Keys answered by each level.");
        let hits = self.metrics().hit_counts();
        for (level, keys) in [("local", hits.local), ("redis", hits.redis), ("mysql", hits.mysql)] {
            counter!("gailou_cache_keys_total", "level" => level).absolute(keys);
        }
    }
}
