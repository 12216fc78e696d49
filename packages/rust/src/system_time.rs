//! The clock of the machine.

use std::time::{SystemTime, UNIX_EPOCH};

/// Unix seconds.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
pub(crate) fn now_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
