//! A clock that tests move.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock::Clock;

/// Shows the same time until it is advanced. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock at this time, in Unix milliseconds.
    pub(crate) fn at(now_ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now_ms)))
    }

    pub(crate) fn advance(&self, by: Duration) {
        self.0.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }

    /// Shows another time, which may be an earlier one.
    pub(crate) fn set(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }

    /// The clock as the product takes it.
    pub(crate) fn clock(&self) -> Clock {
        let now = self.0.clone();
        Clock::from_fn(move || now.load(Ordering::SeqCst))
    }
}
