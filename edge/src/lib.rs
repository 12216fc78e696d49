//! The edge: what readers meet first.
//!
//! It serves the public pages from its caches ([`pages`]) as far as the change feed lets them be
//! seen ([`feed`]), takes those of hot subjects from the origin ([`push`]), checks writes for what can be said
//! without a database and sends them on ([`writes`]), and passes the rest through ([`forward`]).
//! It keeps nothing that could be lost, ranks nothing, renders nothing, and is no trust boundary:
//! the origin checks everything again.
//!
//! Everything here but `cf` is plain Rust that runs in native tests; platform types appear in
//! `cf` alone. A panic would fail every request the isolate has in flight, so what can panic is
//! denied. No request waits for another's future: the platform stops requests that do.
#![cfg_attr(
    not(test),
    deny(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic, clippy::string_slice)
)]

pub mod ports;

pub mod key;
pub mod memory;
pub mod page;

pub mod feed;
pub mod pages;
pub mod push;

pub mod bodies;
pub mod limits;
pub mod words;
pub mod writes;

pub mod live;

pub mod answer;
pub mod forward;
pub mod routes;

#[cfg(target_arch = "wasm32")]
mod cf;

use std::sync::Mutex;

use gailou_shared::token::TokenKey;

pub use routes::{entry, router};

/// What the operator decides.
#[derive(Clone, Default)]
pub struct Config {
    /// Signs what is forwarded; without it the origin does not believe the client's address, and
    /// pushes nothing.
    pub edge_secret: Option<Vec<u8>>,
    /// Pushes may still be signed with it, while the secret is being changed.
    pub edge_secret_previous: Option<Vec<u8>>,
    /// Verifies members' tokens here; without it the origin alone does.
    pub token_key: Option<TokenKey>,
    /// The audience tokens must name.
    pub audience: String,
}

impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("edge_secret", &self.edge_secret.as_ref().map(|_| "…"))
            .field("edge_secret_previous", &self.edge_secret_previous.as_ref().map(|_| "…"))
            .field("token_key", &self.token_key)
            .field("audience", &self.audience)
            .finish()
    }
}

/// What one isolate keeps between requests. All of it may vanish at any time.
#[derive(Debug)]
pub struct Edge {
    config: Config,
    memory: Mutex<memory::Bounded<std::sync::Arc<page::Page>>>,
    marks: pages::Marks,
    feed: feed::Feed,
    health: forward::Health,
    words: words::Words,
    live: live::Live,
    bodies: bodies::Bodies,
    ids: answer::Ids,
}

impl Edge {
    /// An isolate without memories. `seed` makes its request ids differ from other isolates', and the
    /// moments at which it tries a failing origin.
    #[must_use]
    pub fn new(config: Config, seed: u64) -> Self {
        Self {
            config,
            memory: Mutex::new(memory::Bounded::new(memory::BYTES, memory::ENTRIES)),
            marks: pages::Marks::default(),
            feed: feed::Feed::new(seed),
            health: forward::Health::new(seed),
            words: words::Words::default(),
            live: live::Live::default(),
            bodies: bodies::Bodies::default(),
            ids: answer::Ids::new(seed),
        }
    }

    /// The id of a request: the one the client sent when it is sane, else a new one.
    #[must_use]
    pub fn request_id(&self, sent: Option<&str>) -> answer::RequestId {
        self.ids.accept(sent)
    }
}

/// A lock that a panic elsewhere cannot take away: what it guards is a cache.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
