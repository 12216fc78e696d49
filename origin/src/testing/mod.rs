//! Doubles, fixtures and contracts of the unit tests. Compiled for tests only.

pub(crate) mod contract;
#[cfg(feature = "cluster")]
pub(crate) mod counting_listener;
#[cfg(feature = "cluster")]
pub(crate) mod faults;
#[cfg(feature = "cluster")]
pub(crate) mod fixtures;
#[cfg(feature = "cluster")]
pub(crate) mod manual_clock;
#[cfg(feature = "cluster")]
pub(crate) mod memory_broker;
#[cfg(feature = "cluster")]
pub(crate) mod memory_cache;
#[cfg(feature = "cluster")]
pub(crate) mod memory_pending;
#[cfg(feature = "cluster")]
pub(crate) mod memory_store;
#[cfg(feature = "cluster")]
pub(crate) mod redis_server;
#[cfg(feature = "cluster")]
pub(crate) mod scripted_counters;
#[cfg(feature = "cluster")]
pub(crate) mod test_bed;
