//! Circuit breakers: after a server did not answer, calls fail at once, and one caller at a time
//! tries again.
//!
//! In a cluster each range of hash slots has its own breaker, so that a dead node fails the calls for
//! its own keys only.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::redis::cluster_routing::Slot;
use parking_lot::Mutex;

use crate::adapters::redis::REDIS_TIMEOUT;

/// How long nothing is sent after a failure.
const BREAKER_OPEN_TIME: Duration = Duration::from_millis(500);
/// Hash slots that share a breaker in a cluster. Nodes hold long ranges of slots.
const SLOTS_PER_BREAKER: usize = 256;

/// The breakers of one server or of one cluster.
#[derive(Debug)]
pub(super) enum CircuitBreakers {
    Single(CircuitBreaker),
    ByHashSlot(HashMap<Slot, Arc<CircuitBreaker>>),
}

impl CircuitBreakers {
    /// The breaker of one server.
    pub(super) fn single() -> Self {
        Self::Single(CircuitBreaker::default())
    }

    /// The breakers of a cluster.
    pub(super) fn by_hash_slot() -> Self {
        let slots: Vec<Slot> = (0..u16::MAX).map_while(Slot::new).collect();
        let ranges = slots.chunks(SLOTS_PER_BREAKER).flat_map(|range| {
            let breaker = Arc::new(CircuitBreaker::default());
            range.iter().map(move |slot| (*slot, breaker.clone()))
        });
        Self::ByHashSlot(ranges.collect())
    }

    /// The breaker of the server that holds a key.
    pub(super) fn breaker_of(&self, key: &str) -> &CircuitBreaker {
        match self {
            Self::Single(breaker) => breaker,
            Self::ByHashSlot(breakers) => &breakers[&Slot::for_key(key)],
        }
    }
}

/// Closed (`None`), or open until a moment. From then on one caller may try, and has
/// [`REDIS_TIMEOUT`] to report how it went.
#[derive(Debug, Default)]
pub(super) struct CircuitBreaker(Mutex<Option<Instant>>);

impl CircuitBreaker {
    /// Whether the caller may send a command. It must report how the call went; if it does not,
    /// another caller may try after [`REDIS_TIMEOUT`].
    pub(super) fn try_call(&self, now: Instant) -> bool {
        let mut open_until = self.0.lock();
        match &mut *open_until {
            None => true,
            Some(until) if now < *until => false,
            Some(until) => {
                *until = now + REDIS_TIMEOUT;
                true
            }
        }
    }

    pub(super) fn record_success(&self) {
        *self.0.lock() = None;
    }

    pub(super) fn record_failure(&self, now: Instant) {
        *self.0.lock() = Some(now + BREAKER_OPEN_TIME);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hash_slot_has_a_breaker() {
        let breakers = CircuitBreakers::by_hash_slot();
        for key in ["", "a", "{gailou:7}:open", "{gailou:m:12}:own", "x{}y{z}", "{open", "}{a}"] {
            assert!(breakers.breaker_of(key).try_call(Instant::now()), "{key}");
        }
        let CircuitBreakers::ByHashSlot(slots) = breakers else { panic!("a cluster") };
        assert_eq!(slots.len(), 16_384);
    }

    #[test]
    fn open_breaker_admits_one_caller_at_a_time() {
        let (breaker, now) = (CircuitBreaker::default(), Instant::now());
        assert!(breaker.try_call(now) && breaker.try_call(now));
        breaker.record_failure(now);
        assert!(!breaker.try_call(now));
        let reopened = now + BREAKER_OPEN_TIME;
        assert!(breaker.try_call(reopened));
        assert!(!breaker.try_call(reopened), "one caller at a time");
        assert!(breaker.try_call(reopened + REDIS_TIMEOUT), "the first caller never reported");
        breaker.record_success();
        assert!(breaker.try_call(reopened) && breaker.try_call(reopened));
    }

    #[test]
    fn dead_node_fails_only_its_own_keys() {
        let (breakers, now) = (CircuitBreakers::by_hash_slot(), Instant::now());
        breakers.breaker_of("{a}").record_failure(now);
        assert!(!breakers.breaker_of("{a}:more").try_call(now));
        assert!(breakers.breaker_of("{b}").try_call(now));
    }
}
