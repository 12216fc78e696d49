//! What a cluster builds over the ports: the cached store, the journal, and the recovery of counters.
//!
//! Names no driver.

pub mod cached_store;
pub mod counter_recovery;
pub mod journal;
pub mod reconcile;
pub mod settle;
