//! Redis: the adapters of the shared cache, the counters, the pending comments, the popularity and
//! the revisions, over one connection.
//!
//! Each adapter documents its keys. All of them begin with a hash tag, `{name:slot}` for most, so that
//! in a Redis Cluster all keys of one call are on one node. The names of keys and the formats of
//! values are shared with processes of the previous release.

pub mod cache;
mod connection;
pub mod counters;
mod hash_slot_breakers;
pub mod pending;
pub mod popularity;
pub mod rate_limits;
pub mod revisions;
mod script;
mod server_settings;

pub use connection::{REDIS_TIMEOUT, RedisCallError, RedisConnection, Result};
pub use script::{RedisScript, ScriptCall};
