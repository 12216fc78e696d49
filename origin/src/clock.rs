//! The clock, as a parameter.

use std::sync::Arc;

/// Where the time comes from. Tests move it.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> u64 + Send + Sync>);

impl Clock {
    /// The system's time.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    pub fn system() -> Self {
        Self(Arc::new(|| {
            let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            since.map_or(0, |d| d.as_millis() as u64)
        }))
    }

    /// A clock that shows what `now` says, in Unix milliseconds.
    pub fn from_fn(now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Unix milliseconds.
    pub fn now(&self) -> u64 {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({})", self.now())
    }
}
