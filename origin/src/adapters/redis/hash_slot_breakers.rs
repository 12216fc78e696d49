//! The circuit breakers of one Redis server, or of a cluster: there each range of hash slots has its own, so
//! that a dead node fails the calls for its own keys only.

use std::collections::HashMap;
use std::sync::Arc;

use ::redis::cluster_routing::Slot;

use crate::circuit_breaker::CircuitBreaker;

/// Hash slots that share a breaker in a cluster. Nodes hold long ranges of slots.
const SLOTS_PER_BREAKER: usize = 256;

/// The breakers of one server or of one cluster.
#[derive(Debug)]
pub(super) enum RedisBreakers {
    Single(CircuitBreaker),
    ByHashSlot(HashMap<Slot, Arc<CircuitBreaker>>),
}

impl RedisBreakers {
    /// The breaker of one server.
    pub(super) fn single() -> Self {
        Self::Single(CircuitBreaker::new("redis", "server"))
    }

    /// The breakers of a cluster.
    pub(super) fn by_hash_slot() -> Self {
        let slots: Vec<Slot> = (0..u16::MAX).map_while(Slot::new).collect();
        let ranges = slots.chunks(SLOTS_PER_BREAKER).enumerate().flat_map(|(number, range)| {
            let first = number * SLOTS_PER_BREAKER;
            let breaker = CircuitBreaker::new("redis", format!("hash slots from {first}"));
            let breaker = Arc::new(breaker);
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

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn every_hash_slot_has_a_breaker() {
        let breakers = RedisBreakers::by_hash_slot();
        for key in ["", "a", "{gailou:7}:open", "{gailou:m:12}:own", "x{}y{z}", "{open", "}{a}"] {
            assert!(breakers.breaker_of(key).try_call(Instant::now()), "{key}");
        }
        let RedisBreakers::ByHashSlot(slots) = breakers else { panic!("a cluster") };
        assert_eq!(slots.len(), 16_384);
    }

    #[test]
    fn dead_node_fails_only_its_own_keys() {
        let (breakers, now) = (RedisBreakers::by_hash_slot(), Instant::now());
        while breakers.breaker_of("{a}").try_call(now) {
            breakers.breaker_of("{a}").record_failure(now);
        }
        assert!(!breakers.breaker_of("{a}:more").try_call(now));
        assert!(breakers.breaker_of("{b}").try_call(now));
    }
}
