//! The port to the node numbers of a cluster: a process that issues comment ids leases one.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::ports::store::Result;

/// Leases node numbers.
#[async_trait]
pub trait NodeLeases: Send + Sync + Debug {
    /// Leases a free node number for `ttl_ms`, or renews the number that `holder` has. `None` when
    /// all numbers are taken. The importer's own number is never leased.
    async fn lease_node(&self, holder: &str, ttl_ms: u64) -> Result<Option<u64>>;
    /// Returns the number of `holder`.
    async fn release_node(&self, holder: &str) -> Result<()>;
}
