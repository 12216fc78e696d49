//! Allocation of comment ids: the clock, a node number and a sequence.

use std::sync::{Mutex, PoisonError};

use gailou_shared::id::{CommentId, SEQUENCES, Slot};

/// Issues ids that grow, whatever the clock does.
#[derive(Debug)]
pub struct Ids {
    node: u64,
    /// The last millisecond used, and how many ids it has given.
    last: Mutex<(u64, u64)>,
}

impl Ids {
    /// Ids of this node, all later than `last_ms` (Unix milliseconds).
    pub fn new(node: u64, last_ms: u64) -> Self {
        Self { node, last: Mutex::new((last_ms, SEQUENCES)) }
    }

    /// The next id in a slot at `now` (Unix milliseconds). A clock that stands still or steps back
    /// is waited for by counting on: 64 ids a millisecond, then the next millisecond is used.
    pub fn next(&self, slot: Slot, now: u64) -> CommentId {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        *last = match *last {
            (ms, _) if now > ms => (now, 1),
            (ms, given) if given >= SEQUENCES => (ms + 1, 1),
            (ms, given) => (ms, given + 1),
        };
        CommentId::from_parts(last.0, slot, self.node, last.1 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_grow_through_steps_back_and_overflow() {
        let ids = Ids::new(0, 1_700_000_000_500);
        let slot = Slot::FIRST;
        let mut last = CommentId::from_parts(1_700_000_000_500, slot, 63, 63);
        for now in [1_700_000_000_000, 1_700_000_001_000, 1_699_000_000_000, 1_700_000_001_001] {
            for _ in 0..200 {
                let id = ids.next(slot, now);
                assert!(id > last);
                last = id;
            }
        }
    }
}
