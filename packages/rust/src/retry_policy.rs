//! Repeats what failed for a reason that passes. What such a reason is, the error says.

use std::time::Duration;

use backon::{ExponentialBuilder, Retryable as _};

use crate::client_error::ClientError;

/// How often and how patiently a call is repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Attempts after the first one; 4 by default.
    pub max_retries: usize,
    /// The wait before the first of them; the others double it, and each is longer by a random part of itself, so that
    /// clients do not return at the same moment. By default a second: 15 to 30 s in all, unless the server asks for more.
    pub first_wait: Duration,
    /// Where the server asks for a longer wait, the call is not repeated; a minute by default.
    pub max_wait: Duration,
    /// How long an attempt waits for its whole answer; 20 s by default.
    pub attempt_timeout: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            max_retries: 4,
            first_wait: Duration::from_secs(1),
            max_wait: Duration::from_secs(60),
            attempt_timeout: Duration::from_secs(20),
        }
    }
}

impl RetryPolicy {
    /// Runs `attempt`, which must be safe to repeat, until it succeeds, fails with what does not pass, or has no retry left.
    pub(crate) async fn run<T, F: Future<Output = Result<T, ClientError>>>(
        &self,
        attempt: impl FnMut() -> F,
    ) -> Result<T, ClientError> {
        let waits = ExponentialBuilder::default()
            .with_min_delay(self.first_wait)
            .with_max_delay(self.max_wait)
            .with_max_times(self.max_retries)
            .with_jitter();
        attempt
            .retry(waits)
            .when(|error| error.asked_wait().is_some())
            .adjust(|error, wait| self.wait_after(error, wait?))
            .await
    }

    /// The wait before the next attempt; `None` where it is too long.
    fn wait_after(&self, error: &ClientError, backoff: Duration) -> Option<Duration> {
        let asked = error.asked_wait().filter(|asked| *asked <= self.max_wait)?;
        Some(asked.max(backoff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_is_what_the_server_asks_or_longer() {
        let policy = RetryPolicy::default();
        let check = |asked: u64, expected: Option<u64>| {
            let error = ClientError::refused(503, b"", Duration::from_secs(asked));
            let wait = policy.wait_after(&error, Duration::from_secs(2));
            assert_eq!(wait.map(|wait| wait.as_secs()), expected, "{asked}");
        };
        check(0, Some(2));
        check(7, Some(7));
        check(60, Some(60));
        check(61, None);
    }
}
