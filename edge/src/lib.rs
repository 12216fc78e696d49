//! The edge: the Cloudflare Worker between readers and the origin.
//!
//! It serves public pages from its caches ([`page_service`]) as far as the change feed allows
//! ([`change_feed`]), stores the pages of popular subjects that the origin pushes ([`push`]), fans out
//! event streams ([`event_stream`]), checks writes as far as that needs no database ([`writes`]), and
//! forwards the rest ([`forward`]). It holds nothing that could be lost, ranks nothing and renders
//! nothing. It is not a trust boundary: the origin checks everything again.
//!
//! Every module except `cloudflare` is plain Rust and runs in native tests; platform types appear in
//! `cloudflare` alone. A panic fails every request the isolate has in flight, so what can panic is
//! denied. No request awaits another request's future: the platform aborts requests that do.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice)
)]

pub mod config;
pub mod ports;
pub mod request_target;
pub mod routes;

pub mod cached_page;
pub mod lru;
pub mod page_key;

pub mod change_feed;
pub mod page_service;
pub mod push;

pub mod body_budget;
pub mod bounded_body;
pub mod rate_limits;
pub mod recent_writers;
pub mod word_filter;
pub mod writes;

pub mod event_stream;

pub mod forward;
pub mod response;

#[cfg(target_arch = "wasm32")]
mod cloudflare;

#[cfg(test)]
mod testing;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use config::EdgeConfig;
pub use routes::{handle, router};

/// The memory of one isolate: what it keeps between requests. All of it may vanish at any time.
#[derive(Debug)]
pub struct Isolate {
    config: EdgeConfig,
    pages: Mutex<lru::WeightedLru<Arc<cached_page::CachedPage>>>,
    cooldowns: page_service::Cooldowns,
    change_feed: change_feed::ChangeFeedReplica,
    origin_health: forward::OriginHealth,
    word_filter: word_filter::WordFilterCache,
    refused_writes: writes::RefusedWrites,
    event_streams: event_stream::EventStreams,
    body_budget: body_budget::BodyBudget,
    recent_writers: recent_writers::RecentWriters,
    request_ids: response::RequestIds,
}

impl Isolate {
    /// An isolate with empty memory. `seed` sets its request ids and its probes of a failing origin
    /// apart from those of other isolates.
    #[must_use]
    pub fn new(config: EdgeConfig, seed: u64) -> Self {
        Self {
            config,
            pages: Mutex::new(lru::WeightedLru::new(lru::MEMORY_BUDGET_BYTES, lru::MAX_MEMORY_PAGES)),
            cooldowns: page_service::Cooldowns::default(),
            change_feed: change_feed::ChangeFeedReplica::new(seed),
            origin_health: forward::OriginHealth::new(seed),
            word_filter: word_filter::WordFilterCache::default(),
            refused_writes: writes::RefusedWrites::default(),
            event_streams: event_stream::EventStreams::default(),
            body_budget: body_budget::BodyBudget::default(),
            recent_writers: recent_writers::RecentWriters::default(),
            request_ids: response::RequestIds::new(seed),
        }
    }

    /// The id of a request: the client's own when it is well-formed, else a new one.
    #[must_use]
    pub fn request_id(&self, sent: Option<&str>) -> response::RequestId {
        self.request_ids.accept(sent, self.config.trace_one_in)
    }
}

/// Locks `mutex` even if a panic poisoned it: everything behind these locks is a cache.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
