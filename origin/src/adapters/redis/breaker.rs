//! Breakers: after a server did not answer, who asks next is told so at once, and one caller at a
//! time tries again.
//!
//! In a cluster each range of hash slots has its own, so that a dead node stops its own keys alone.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::adapters::redis::PATIENCE;

/// How long nothing is sent after a failure.
const REST: Duration = Duration::from_millis(500);
/// Hash slots that share a breaker in a cluster. Nodes hold long ranges of slots.
const RANGE: u16 = 256;
const SLOTS: u16 = 16_384;

#[derive(Debug)]
pub(super) struct Breakers(Vec<Breaker>);

impl Breakers {
    /// One server.
    pub(super) fn one() -> Self {
        Self(vec![Breaker::default()])
    }

    /// The nodes of a cluster.
    pub(super) fn by_slot() -> Self {
        Self((0..SLOTS / RANGE).map(|_| Breaker::default()).collect())
    }

    pub(super) fn of(&self, key: &str) -> &Breaker {
        let at = if self.0.len() == 1 { 0 } else { usize::from(hash_slot(key) / RANGE) };
        &self.0[at]
    }
}

/// Closed (`None`), or open until a moment; then one caller may try, and has [`PATIENCE`] to tell.
#[derive(Debug, Default)]
pub(super) struct Breaker(Mutex<Option<Instant>>);

impl Breaker {
    /// Whether the caller may send something. It must then tell how it went, or another caller may
    /// try when its time is over.
    pub(super) fn admits(&self, now: Instant) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *open {
            None => true,
            Some(until) if now < *until => false,
            Some(until) => {
                *until = now + PATIENCE;
                true
            }
        }
    }

    pub(super) fn works(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub(super) fn fails(&self, now: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(now + REST);
    }
}

/// The hash slot of a key as Redis Cluster computes it: CRC-16/XMODEM of its hash tag.
fn hash_slot(key: &str) -> u16 {
    let tag = key.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|(tag, _)| tag);
    let hashed = tag.filter(|tag| !tag.is_empty()).unwrap_or(key);
    let crc = hashed.bytes().fold(0u16, |crc, byte| {
        (0..8)
            .fold(crc ^ (u16::from(byte) << 8), |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
    });
    crc % SLOTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_slots_are_those_of_redis_cluster() {
        use ::redis::cluster_routing::Slot;
        for key in ["", "a", "{gailou:7}:open", "{gailou:m:12}:own", "x{}y{z}", "{open", "}{a}"] {
            assert_eq!(Slot::new(hash_slot(key)), Some(Slot::for_key(key)), "{key}");
        }
    }

    #[test]
    fn after_a_failure_one_caller_at_a_time_tries() {
        let (breaker, now) = (Breaker::default(), Instant::now());
        assert!(breaker.admits(now) && breaker.admits(now));
        breaker.fails(now);
        assert!(!breaker.admits(now));
        let rested = now + REST;
        assert!(breaker.admits(rested));
        assert!(!breaker.admits(rested), "one try at a time");
        assert!(breaker.admits(rested + PATIENCE), "the one that tried never told");
        breaker.works();
        assert!(breaker.admits(rested) && breaker.admits(rested));
    }

    #[test]
    fn a_dead_node_stops_its_own_keys_alone() {
        let (breakers, now) = (Breakers::by_slot(), Instant::now());
        breakers.of("{a}").fails(now);
        assert!(!breakers.of("{a}:more").admits(now) && breakers.of("{b}").admits(now));
    }
}
