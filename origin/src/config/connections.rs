//! The bounds of connections.
//!
//! Counts nothing itself: `http::connections` does. `limits.enabled` does not switch bounds off.

use documented::DocumentedFields;
use serde::{Deserialize, Serialize};

use crate::config::values::within;

/// Files that the program has open beside its connections: databases, logs, sockets of its own.
const RESERVED_DESCRIPTORS: usize = 64;

/// `connections`: how many there may be.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct ConnectionSettings {
    /// Most open connections, from 1 to 1000000. The process's limit of open files lowers it: a quarter of them, at least 64,
    /// stay free for databases and logs.
    #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
    pub max: u32,
    /// Most open connections of one network, an IPv4 /24 or an IPv6 /64, from 1 to 1000000. Loopback and trusted proxies
    /// have no bound of their own.
    #[serde(deserialize_with = "within::<1, 1_000_000, _, _>")]
    pub max_per_network: u32,
}

impl Default for ConnectionSettings {
    fn default() -> Self {
        Self { max: 10_000, max_per_network: 200 }
    }
}

impl ConnectionSettings {
    /// Most connections of a process that may have this many files open.
    #[must_use]
    pub fn max_for(&self, descriptors: u64) -> usize {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        let reserved = (descriptors / 4).max(RESERVED_DESCRIPTORS);
        (self.max as usize).min(descriptors.saturating_sub(reserved)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_lower_the_number_of_connections() {
        let max = |descriptors| ConnectionSettings::default().max_for(descriptors);
        assert_eq!((max(u64::MAX), max(1_024), max(256), max(70), max(10)), (10_000, 768, 192, 6, 1));
    }
}
