//! Doubles, fixtures and contracts of the unit tests. Compiled for tests only.

pub(crate) mod contract;
pub(crate) mod counting_listener;
pub(crate) mod faults;
pub(crate) mod fixtures;
pub(crate) mod fold_tables;
pub(crate) mod manual_clock;
#[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "used by the tests of a cluster"))]
pub(crate) mod memory_broker;
#[cfg(feature = "cluster")]
pub(crate) mod memory_cache;
#[cfg(feature = "cluster")]
pub(crate) mod memory_pending;
#[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "used by the tests of a cluster"))]
pub(crate) mod memory_store;
#[cfg(feature = "cluster")]
pub(crate) mod redis_server;
#[cfg(feature = "cluster")]
pub(crate) mod scripted_counters;
#[cfg(feature = "cluster")]
mod simulation;
#[cfg(feature = "cluster")]
pub(crate) mod test_bed;
