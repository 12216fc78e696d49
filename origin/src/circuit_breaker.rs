//! A circuit breaker: after a server did not answer several times in a row, calls to it fail at once for a
//! while, and then a few of them try again.
//!
//! Knows no calls: an adapter asks before a call and reports how it went. An error that the server itself
//! answered with is an answer. A caller that gives up reports nothing. Promise: what is refused was not sent.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::telemetry::BreakerMetrics;

/// Calls in a row without an answer that open a breaker: one may be chance.
const MAX_FAILURES: u32 = 3;
/// How long nothing is sent then.
pub const BREAKER_OPEN_TIME: Duration = Duration::from_secs(5);
/// After that, one call in so many is sent, beginning with the first, until one was answered or failed.
const PROBE_EVERY: u32 = 10;

#[derive(Debug, Clone, Copy)]
enum BreakerState {
    Closed {
        /// Failures since the last answer.
        failures: u32,
    },
    Open {
        until: Instant,
    },
    HalfOpen {
        /// Calls since it was opened half.
        calls: u32,
    },
}

/// The breaker of one server, or of one part of it.
#[derive(Debug)]
pub struct CircuitBreaker {
    server: String,
    dependency: &'static str,
    /// A mutex that is held to change the state, never across an await.
    state: Mutex<BreakerState>,
    metrics: BreakerMetrics,
}

impl CircuitBreaker {
    /// A closed breaker of a dependency (`mysql`, `redis`, `kafka`, `edge`, `turnstile`, `classifier`, `accounts`, `avatars`); `server`
    /// says in the log which of its servers or parts this is.
    pub fn new(dependency: &'static str, server: impl Into<String>) -> Self {
        let metrics = BreakerMetrics::new(dependency);
        Self { server: server.into(), dependency, state: Mutex::new(BreakerState::Closed { failures: 0 }), metrics }
    }

    /// Whether the call may be sent. The caller reports how it went.
    pub fn try_call(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let may_call = match &mut *state {
            BreakerState::Closed { .. } => true,
            BreakerState::Open { until } if now < *until => false,
            BreakerState::Open { .. } => {
                *state = BreakerState::HalfOpen { calls: 1 };
                true
            }
            BreakerState::HalfOpen { calls } => {
                *calls = calls.wrapping_add(1);
                *calls % PROBE_EVERY == 1
            }
        };
        drop(state);
        if !may_call {
            self.metrics.count_refusal();
        }
        may_call
    }

    /// Whether every call is refused now.
    pub fn is_open(&self, now: Instant) -> bool {
        matches!(*self.state.lock(), BreakerState::Open { until } if now < until)
    }

    /// The server answered.
    pub fn record_success(&self) {
        let mut state = self.state.lock();
        match *state {
            BreakerState::Closed { failures: 0 } => {}
            BreakerState::Closed { .. } => *state = BreakerState::Closed { failures: 0 },
            BreakerState::HalfOpen { .. } => {
                *state = BreakerState::Closed { failures: 0 };
                drop(state);
                self.metrics.count_open(-1.0);
                let (dependency, server) = (self.dependency, &self.server);
                tracing::info!(dependency, server, "Calling {dependency} {server} again");
            }
            // The answer to a call from before.
            BreakerState::Open { .. } => {}
        }
    }

    /// The server did not answer.
    pub fn record_failure(&self, now: Instant) {
        let mut state = self.state.lock();
        match &mut *state {
            BreakerState::Closed { failures } if *failures + 1 < MAX_FAILURES => *failures += 1,
            BreakerState::Closed { .. } => {
                *state = BreakerState::Open { until: now + BREAKER_OPEN_TIME };
                drop(state);
                self.metrics.count_open(1.0);
                let (dependency, server, open_s) = (self.dependency, &self.server, BREAKER_OPEN_TIME.as_secs());
                tracing::warn!(
                    dependency,
                    server,
                    open_s,
                    "Not calling {dependency} {server} for {open_s} s: it did not answer {MAX_FAILURES} times in a row"
                );
            }
            BreakerState::HalfOpen { .. } => *state = BreakerState::Open { until: now + BREAKER_OPEN_TIME },
            BreakerState::Open { .. } => {}
        }
    }
}

impl Drop for CircuitBreaker {
    fn drop(&mut self) {
        if !matches!(self.state.get_mut(), BreakerState::Closed { .. }) {
            self.metrics.count_open(-1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open_breaker(now: Instant) -> CircuitBreaker {
        let breaker = CircuitBreaker::new("test", "breaker");
        for _ in 0..MAX_FAILURES {
            assert!(breaker.try_call(now));
            breaker.record_failure(now);
        }
        breaker
    }

    #[test]
    fn answers_between_failures_keep_it_closed() {
        let (breaker, now) = (CircuitBreaker::new("test", "breaker"), Instant::now());
        for _ in 0..10 {
            for _ in 1..MAX_FAILURES {
                breaker.record_failure(now);
            }
            breaker.record_success();
            assert!(breaker.try_call(now));
        }
    }

    #[test]
    fn failures_in_a_row_open_it_and_an_answer_closes_it() {
        let now = Instant::now();
        let breaker = open_breaker(now);
        breaker.record_success();
        assert!(breaker.is_open(now) && !breaker.is_open(now + BREAKER_OPEN_TIME));
        assert!(!breaker.try_call(now), "the late answer to a call from before closes nothing");
        assert!(!breaker.try_call(now + BREAKER_OPEN_TIME - Duration::from_millis(1)));
        assert!(breaker.try_call(now + BREAKER_OPEN_TIME));
        breaker.record_success();
        assert!((0..100).all(|_| breaker.try_call(now)));
    }

    #[test]
    fn half_open_lets_one_call_in_ten_through_until_one_fails() {
        let now = Instant::now();
        let (breaker, half_open) = (open_breaker(now), now + BREAKER_OPEN_TIME);
        let sent: Vec<u32> = (0..100).filter(|_| breaker.try_call(half_open)).collect();
        assert_eq!(sent, (0..100).step_by(10).collect::<Vec<_>>());
        breaker.record_failure(half_open);
        assert!(!breaker.try_call(half_open + BREAKER_OPEN_TIME - Duration::from_millis(1)));
        assert!(breaker.try_call(half_open + BREAKER_OPEN_TIME));
    }
}
