//! The port to the node numbers of a cluster: a process that issues comment ids leases one.
//!
//! Each database leases numbers of its own, so a database that is away takes no others with it.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use crate::ports::store::Result;

/// How long a node number is leased.
pub const NODE_LEASE: Duration = Duration::from_secs(10);

/// A leased node number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeasedNode {
    pub node: u64,
    /// The database that leases it.
    pub database: usize,
    /// Who took it.
    pub holder: String,
    /// The last millisecond that former holders may have used, in Unix milliseconds.
    pub after_ms: u64,
    /// When the lease expires by the database's clock: as last confirmed, and as renewals with an unknown
    /// outcome may have set it. A renewal by anybody else, such as a copy of this process, is noticed by it.
    pub expiries: Vec<u64>,
}

/// Leases node numbers.
#[async_trait]
pub trait NodeLeases: Send + Sync + Debug {
    /// Takes a free node number of a database for `ttl_ms`, for ids up to the millisecond `last_ms`, or `ttl_ms`
    /// beyond those of former holders where that is later. `None` when none is free: a number that was not given
    /// back is free one `ttl_ms` after it expired. The importer's own number is never leased.
    async fn take_node(&self, database: usize, holder: &str, ttl_ms: u64, last_ms: u64) -> Result<Option<LeasedNode>>;
    /// Renews a lease for `ttl_ms`, for ids up to the millisecond `last_ms`. False when it is lost.
    async fn renew_node(&self, leased: &mut LeasedNode, ttl_ms: u64, last_ms: u64) -> Result<bool>;
    /// Gives a number back, which was used up to the millisecond `last_ms`.
    async fn release_node(&self, leased: &LeasedNode, last_ms: u64) -> Result<()>;
}
