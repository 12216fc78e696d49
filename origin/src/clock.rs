//! The clock, as a parameter; and times as people read them.

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

/// Unix milliseconds in the form of RFC 3339, in seconds; empty for a moment outside the calendar.
pub(crate) fn rfc3339(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or(String::new(), |time| time.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339() {
        assert_eq!(rfc3339(1_700_000_000_999), "2023-11-14T22:13:20Z");
        assert_eq!(rfc3339(u64::MAX), "");
    }
}
