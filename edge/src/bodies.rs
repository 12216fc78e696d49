//! How much of large bodies an isolate holds at a time: the platform ends one that holds too much,
//! and with it every answer and stream it has in flight.
//!
//! Who goes away in the middle tells nobody, so a place ends by itself after a minute.

use std::sync::Mutex;

use crate::lock;

/// Bytes of large bodies held at a time; each is held once more while it is sent on.
const MOST_BYTES: usize = 24 << 20;
/// How long a body may take, in milliseconds.
const LONGEST_MS: u64 = 60_000;

/// The large bodies under way in one isolate.
#[derive(Debug, Default)]
pub struct Bodies(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    count: u64,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    number: u64,
    bytes: usize,
    since_ms: u64,
}

impl Bodies {
    /// A place for a body of so many bytes; `None` when there is no room.
    #[must_use]
    pub fn begin(&self, bytes: usize, now_ms: u64) -> Option<u64> {
        let mut held = lock(&self.0);
        held.places.retain(|place| now_ms.saturating_sub(place.since_ms) < LONGEST_MS);
        let all: usize = held.places.iter().map(|place| place.bytes).sum();
        if all.saturating_add(bytes) > MOST_BYTES {
            return None;
        }
        held.count += 1;
        let number = held.count;
        held.places.push(Place { number, bytes, since_ms: now_ms });
        Some(number)
    }

    /// Gives a place back.
    pub fn end(&self, number: u64) {
        lock(&self.0).places.retain(|place| place.number != number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_some_and_none_is_taken_for_good() {
        let bodies = Bodies::default();
        let first = bodies.begin(8 << 20, 0).unwrap();
        assert!(bodies.begin(16 << 20, 1).is_some());
        assert_eq!(bodies.begin(1, 2), None);
        bodies.end(first);
        assert!(bodies.begin(8 << 20, 3).is_some());
        assert_eq!(bodies.begin(1, LONGEST_MS), None);
        assert!(bodies.begin(1, LONGEST_MS + 1).is_some(), "one of them was never given back");
    }
}
