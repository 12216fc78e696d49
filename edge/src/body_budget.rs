//! Bounds the bytes of large bodies that an isolate holds at a time: the platform kills an isolate
//! that uses too much memory, and with it every answer and stream in flight. No network of clients can
//! hold all of them.
//!
//! A reservation ends when it is dropped. The platform may also end a request without dropping anything,
//! so a reservation expires after 60 s.

use std::net::IpAddr;
use std::sync::Mutex;

use crate::lock;

/// Most bytes of large bodies held at a time; each body is held a second time while it is sent on.
const MAX_HELD_BYTES: usize = 24 << 20;
/// Most of them held for one network: two of the largest bodies, so that one more is left for others.
const MAX_NETWORK_BYTES: usize = 16 << 20;
/// How long a reservation counts when it is never dropped, in milliseconds.
const RESERVATION_TIMEOUT_MS: u64 = 60_000;

/// The large bodies that one isolate is reading.
#[derive(Debug, Default)]
pub struct BodyBudget(Mutex<BodyReservations>);

#[derive(Debug, Default)]
struct BodyReservations {
    last_number: u64,
    open: Vec<BodyReservation>,
}

#[derive(Debug)]
struct BodyReservation {
    number: u64,
    /// `None` for clients whose address is unknown, which count as one network.
    network: Option<IpAddr>,
    bytes: usize,
    since_ms: u64,
}

/// Room for one body, until this is dropped.
#[derive(Debug)]
pub struct ReservedBody<'a> {
    budget: &'a BodyBudget,
    number: u64,
}

impl BodyBudget {
    /// Reserves room for a body of `bytes` from `network`; `None` when there is no room.
    #[must_use]
    pub fn reserve(&self, network: Option<IpAddr>, bytes: usize, now_ms: u64) -> Option<ReservedBody<'_>> {
        let mut reservations = lock(&self.0);
        reservations.open.retain(|open| now_ms.saturating_sub(open.since_ms) < RESERVATION_TIMEOUT_MS);
        let held = |is_counted: &dyn Fn(&BodyReservation) -> bool| {
            let counted = reservations.open.iter().filter(|open| is_counted(open));
            counted.map(|open| open.bytes).sum::<usize>().saturating_add(bytes)
        };
        if held(&|_| true) > MAX_HELD_BYTES || held(&|open| open.network == network) > MAX_NETWORK_BYTES {
            return None;
        }
        reservations.last_number += 1;
        let number = reservations.last_number;
        reservations.open.push(BodyReservation { number, network, bytes, since_ms: now_ms });
        Some(ReservedBody { budget: self, number })
    }
}

impl Drop for ReservedBody<'_> {
    fn drop(&mut self) {
        lock(&self.budget.0).open.retain(|open| open.number != self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(number: u8) -> Option<IpAddr> {
        Some(IpAddr::from([192, 0, 2, number]))
    }

    #[test]
    fn full_budget_refuses_until_a_reservation_ends_or_expires() {
        let budget = BodyBudget::default();
        let first = budget.reserve(network(1), 8 << 20, 0).unwrap();
        std::mem::forget(budget.reserve(network(2), 16 << 20, 1).unwrap());
        assert!(budget.reserve(network(1), 1, 2).is_none());
        drop(first);
        std::mem::forget(budget.reserve(network(1), 8 << 20, 3).unwrap());
        assert!(budget.reserve(network(1), 1, RESERVATION_TIMEOUT_MS).is_none());
        assert!(budget.reserve(network(1), 1, RESERVATION_TIMEOUT_MS + 1).is_some(), "one of them was never dropped");
    }

    #[test]
    fn one_network_leaves_room_for_others() {
        for greedy in [network(1), None] {
            let budget = BodyBudget::default();
            let held: Vec<_> = (0..9).filter_map(|_| budget.reserve(greedy, 8 << 20, 0)).collect();
            assert_eq!(held.len(), 2, "{greedy:?}");
            assert!(budget.reserve(network(2), 8 << 20, 0).is_some(), "{greedy:?}");
        }
    }
}
