//! Bounds the bytes of large bodies that an isolate holds at a time: the platform kills an isolate
//! that uses too much memory, and with it every answer and stream in flight.
//!
//! The platform gives no signal when a client disconnects, so a reservation expires after 60 s.

use std::sync::Mutex;

use crate::lock;

/// Most bytes of large bodies held at a time; each body is held a second time while it is sent on.
const MAX_HELD_BYTES: usize = 24 << 20;
/// How long a reservation counts when it is never released, in milliseconds.
const RESERVATION_TIMEOUT_MS: u64 = 60_000;

/// The large bodies that one isolate is reading.
#[derive(Debug, Default)]
pub struct BodyBudget(Mutex<Reservations>);

#[derive(Debug, Default)]
struct Reservations {
    last_number: u64,
    open: Vec<BodyReservation>,
}

#[derive(Debug)]
struct BodyReservation {
    number: u64,
    bytes: usize,
    since_ms: u64,
}

impl BodyBudget {
    /// Reserves room for a body of `bytes`; `None` when there is no room. The number releases it.
    #[must_use]
    pub fn reserve(&self, bytes: usize, now_ms: u64) -> Option<u64> {
        let mut reservations = lock(&self.0);
        reservations.open.retain(|open| now_ms.saturating_sub(open.since_ms) < RESERVATION_TIMEOUT_MS);
        let held: usize = reservations.open.iter().map(|open| open.bytes).sum();
        if held.saturating_add(bytes) > MAX_HELD_BYTES {
            return None;
        }
        reservations.last_number += 1;
        let number = reservations.last_number;
        reservations.open.push(BodyReservation { number, bytes, since_ms: now_ms });
        Some(number)
    }

    /// Releases the reservation with this number.
    pub fn release(&self, number: u64) {
        lock(&self.0).open.retain(|open| open.number != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_budget_refuses_until_a_reservation_is_released_or_expires() {
        let budget = BodyBudget::default();
        let first = budget.reserve(8 << 20, 0).unwrap();
        assert!(budget.reserve(16 << 20, 1).is_some());
        assert_eq!(budget.reserve(1, 2), None);
        budget.release(first);
        assert!(budget.reserve(8 << 20, 3).is_some());
        assert_eq!(budget.reserve(1, RESERVATION_TIMEOUT_MS), None);
        assert!(budget.reserve(1, RESERVATION_TIMEOUT_MS + 1).is_some(), "one of them was never released");
    }
}
