//! What a cluster builds over the ports: the cached store, the journal, the recovery of counters, and what
//! follows a commit.
//!
//! Names no driver.

pub mod cached_store;
pub mod counter_recovery;
pub mod journal;
pub mod publish_revisions;
pub mod reconcile;
pub mod settle;
