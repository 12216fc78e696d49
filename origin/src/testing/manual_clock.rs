//! A clock that stands still.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::clock::Clock;

/// Always shows the same time.
#[derive(Debug, Clone)]
pub(crate) struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock at this time, in Unix milliseconds.
    pub(crate) fn at(now_ms: u64) -> Self {
        Self(Arc::new(AtomicU64::new(now_ms)))
    }

    /// The clock as the product takes it.
    pub(crate) fn clock(&self) -> Clock {
        let now = self.0.clone();
        Clock::from_fn(move || now.load(Ordering::SeqCst))
    }
}
