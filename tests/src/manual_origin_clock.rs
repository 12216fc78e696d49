//! A clock of an origin that shows the same time until a test moves it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gailou::clock::Clock;

/// Shared by the origins of one test: they all see the same time, which stands still between two
/// calls of [`ManualOriginClock::advance`].
#[derive(Debug, Clone)]
pub(crate) struct ManualOriginClock {
    now_ms: Arc<AtomicU64>,
}

impl ManualOriginClock {
    /// A clock that starts at the system's time, so that tokens are valid and ids of two runs on the
    /// same servers do not collide.
    pub(crate) fn start() -> Self {
        Self { now_ms: Arc::new(AtomicU64::new(Clock::system().now())) }
    }

    /// Moves the clock forward.
    pub(crate) fn advance(&self, by: Duration) {
        self.now_ms.fetch_add(by.as_millis() as u64, Ordering::SeqCst);
    }

    /// The clock as an origin takes it.
    pub(crate) fn clock(&self) -> Clock {
        let now_ms = self.now_ms.clone();
        Clock::from_fn(move || now_ms.load(Ordering::SeqCst))
    }
}
