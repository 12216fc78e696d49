//! When the visitors of other systems' widgets have last written, by their network. Such a widget reads its list again
//! as if it had written nothing, and a stale page in memory, which is served while builds are slow, would hide a visitor's
//! own comment from them.
//!
//! In memory alone, of this process.

use std::net::IpAddr;
use std::time::Duration;

/// How long a write is remembered: no page in memory is served for as long.
const REMEMBERED_FOR: Duration = Duration::from_secs(5);
/// Networks that are remembered, 64 bytes each.
const MAX_NETWORKS: u64 = 10_000;

/// See the module.
#[derive(Debug)]
pub struct VisitorWrites(moka::sync::Cache<Option<IpAddr>, u64>);

impl Default for VisitorWrites {
    fn default() -> Self {
        Self(moka::sync::Cache::builder().max_capacity(MAX_NETWORKS).time_to_live(REMEMBERED_FOR).build())
    }
}

impl VisitorWrites {
    /// Remembers that a write of this network was answered at this moment, in Unix milliseconds.
    pub fn note(&self, network: Option<IpAddr>, now_ms: u64) {
        self.0.insert(network, now_ms);
    }

    /// When this network has lately written, in Unix milliseconds. A page that is shown to it is made after that.
    pub fn last_of(&self, network: Option<IpAddr>) -> Option<u64> {
        self.0.get(&network)
    }
}
