//! What a cluster builds over the ports: the cached store, the journal, the recovery of counters, and what
//! follows a commit.
//!
//! Names no driver.

pub mod accept_log;
mod batched_reads;
pub mod cached_store;
pub mod catch_up;
pub mod counter_recovery;
pub mod journal;
pub mod publish_revisions;
pub mod reconcile;
#[cfg(feature = "cluster")]
pub mod reshard;
pub mod settle;
