//! Doubles and fixtures of the unit tests. Compiled for tests alone.

pub(crate) mod cached_store;
pub(crate) mod contract;
pub(crate) mod doubles;
pub(crate) mod memory_broker;
#[cfg(feature = "cluster")]
pub(crate) mod memory_cache;
pub(crate) mod memory_tables;
pub(crate) mod redis_server;
