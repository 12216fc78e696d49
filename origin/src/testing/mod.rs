//! Doubles and fixtures of the unit tests. Compiled for tests alone.

#[cfg(feature = "cluster")]
pub(crate) mod cached_store;
pub(crate) mod contract;
pub(crate) mod doubles;
#[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "the tests of a cluster use the rest"))]
pub(crate) mod memory_broker;
#[cfg(feature = "cluster")]
pub(crate) mod memory_cache;
#[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "the tests of a cluster use the rest"))]
pub(crate) mod memory_tables;
#[cfg(feature = "cluster")]
pub(crate) mod redis_server;
