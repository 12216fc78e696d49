//! Allocation of comment ids: the clock, a node number and a sequence.
//!
//! A node number may be a lease: what has run out issues nothing, also in a process that has slept.
//! Does not renew leases.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use gailou_shared::id::{CommentId, SEQUENCE_COUNT, Slot};

/// The right to a node number.
#[derive(Debug, Clone, Copy)]
pub struct NodeLease {
    pub node: u64,
    /// By the monotonic clock; `None` never ends.
    pub until: Option<Instant>,
}

#[derive(Debug)]
struct State {
    lease: Option<NodeLease>,
    /// The last millisecond used, and how many ids it has given.
    ms: u64,
    given: u64,
}

/// Issues ids that grow, whatever the clock does.
#[derive(Debug)]
pub struct IdGenerator(Mutex<State>);

impl IdGenerator {
    /// Ids later than `last_ms` (Unix milliseconds), under this lease.
    pub fn new(lease: Option<NodeLease>, last_ms: u64) -> Self {
        Self(Mutex::new(State { lease, ms: last_ms, given: SEQUENCE_COUNT }))
    }

    /// Takes another lease, or the same for longer.
    pub fn renew(&self, lease: NodeLease) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).lease = Some(lease);
    }

    /// The next id in a slot at `now` (Unix milliseconds); `None` without a lease. A clock that
    /// stands still or steps back is waited for by counting on: 64 ids a millisecond, then the next
    /// millisecond is used.
    pub fn next(&self, slot: Slot, now: u64) -> Option<CommentId> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let lease = state.lease.filter(|lease| lease.until.is_none_or(|until| Instant::now() < until))?;
        (state.ms, state.given) = match (state.ms, state.given) {
            (ms, _) if now > ms => (now, 1),
            (ms, given) if given >= SEQUENCE_COUNT => (ms + 1, 1),
            (ms, given) => (ms, given + 1),
        };
        Some(CommentId::from_parts(state.ms, slot, lease.node, state.given - 1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const FOR_EVER: NodeLease = NodeLease { node: 0, until: None };

    #[test]
    fn ids_grow_through_steps_back_and_overflow() {
        let ids = IdGenerator::new(Some(FOR_EVER), 1_700_000_000_500);
        let slot = Slot::FIRST;
        let mut last = CommentId::from_parts(1_700_000_000_500, slot, 63, 63);
        for now in [1_700_000_000_000, 1_700_000_001_000, 1_699_000_000_000, 1_700_000_001_001] {
            for _ in 0..200 {
                let id = ids.next(slot, now).unwrap();
                assert!(id > last);
                last = id;
            }
        }
    }

    #[test]
    fn a_lease_that_has_run_out_issues_nothing() {
        let now = Instant::now();
        let ids = IdGenerator::new(None, 0);
        assert!(ids.next(Slot::FIRST, 1).is_none());
        ids.renew(NodeLease { node: 3, until: Some(now) });
        assert!(ids.next(Slot::FIRST, 1).is_none());
        ids.renew(NodeLease { node: 3, until: Some(now + Duration::from_secs(60)) });
        assert!(ids.next(Slot::FIRST, 1).is_some());
    }
}
