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

pub mod ports;
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
pub mod word_filter;
pub mod writes;

pub mod event_stream;

pub mod forward;
pub mod response;

#[cfg(target_arch = "wasm32")]
mod cloudflare;

#[cfg(test)]
mod testing;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gailou_shared::member_keys::MemberKeys;

pub use routes::{handle, router};

/// What the operator decides.
#[derive(Clone, Default)]
pub struct EdgeConfig {
    /// Signs forwarded requests. Without it the origin does not trust the client address, and no push
    /// is accepted.
    pub edge_secret: Option<Vec<u8>>,
    /// The secret before the current one; pushes may still be signed with it during a rotation.
    pub edge_secret_previous: Option<Vec<u8>>,
    /// Verifies members' tokens here; without it only the origin does.
    pub member_keys: Option<MemberKeys>,
    /// The audience that tokens must name.
    pub audience: String,
}

impl fmt::Debug for EdgeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EdgeConfig")
            .field("edge_secret", &self.edge_secret.as_ref().map(|_| "…"))
            .field("edge_secret_previous", &self.edge_secret_previous.as_ref().map(|_| "…"))
            .field("member_keys", &self.member_keys)
            .field("audience", &self.audience)
            .finish()
    }
}

/// The memory of one isolate: what it keeps between requests. All of it may vanish at any time.
#[derive(Debug)]
pub struct Isolate {
    config: EdgeConfig,
    pages: Mutex<lru::WeightedLru<Arc<cached_page::CachedPage>>>,
    cooldowns: page_service::Cooldowns,
    change_feed: change_feed::ChangeFeedReplica,
    origin_health: forward::OriginHealth,
    word_filter: word_filter::WordFilterCache,
    event_streams: event_stream::EventStreams,
    body_budget: body_budget::BodyBudget,
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
            event_streams: event_stream::EventStreams::default(),
            body_budget: body_budget::BodyBudget::default(),
            request_ids: response::RequestIds::new(seed),
        }
    }

    /// The id of a request: the client's own when it is well-formed, else a new one.
    #[must_use]
    pub fn request_id(&self, sent: Option<&str>) -> response::RequestId {
        self.request_ids.accept(sent)
    }
}

/// Locks `mutex` even if a panic poisoned it: everything behind these locks is a cache.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
