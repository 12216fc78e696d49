//! Allocation of comment ids from the clock, a node number and a sequence.
//!
//! A node number may be leased: an expired lease issues no id, also in a process that slept. Not here:
//! the renewal of leases.

use std::time::Instant;

use gailou_shared::id::{CommentId, SEQUENCE_COUNT, Slot};
use parking_lot::Mutex;

/// The right to use a node number.
#[derive(Debug, Clone, Copy)]
pub struct NodeLease {
    pub node: u64,
    /// When it expires, by the monotonic clock; `None`: never.
    pub until: Option<Instant>,
}

#[derive(Debug)]
struct GeneratorState {
    lease: Option<NodeLease>,
    /// The last millisecond used, and how many ids were issued for it.
    last_ms: u64,
    issued: u64,
}

/// Issues growing ids, also when the clock steps back.
#[derive(Debug)]
pub struct IdGenerator(Mutex<GeneratorState>);

impl IdGenerator {
    /// Issues ids later than `last_ms` (Unix milliseconds), under this lease.
    pub fn new(lease: Option<NodeLease>, last_ms: u64) -> Self {
        Self(Mutex::new(GeneratorState { lease, last_ms, issued: SEQUENCE_COUNT }))
    }

    /// Replaces the lease.
    pub fn renew(&self, lease: NodeLease) {
        self.0.lock().lease = Some(lease);
    }

    /// The next id in a slot at `now` (Unix milliseconds); `None` without a valid lease. While the clock
    /// stands still or steps back, ids continue from the last millisecond used: 64 for each, then the
    /// following millisecond.
    pub fn next(&self, slot: Slot, now: u64) -> Option<CommentId> {
        let mut state = self.0.lock();
        let lease = state.lease.filter(|lease| lease.until.is_none_or(|until| Instant::now() < until))?;
        (state.last_ms, state.issued) = match (state.last_ms, state.issued) {
            (last_ms, _) if now > last_ms => (now, 1),
            (last_ms, issued) if issued >= SEQUENCE_COUNT => (last_ms + 1, 1),
            (last_ms, issued) => (last_ms, issued + 1),
        };
        Some(CommentId::from_parts(state.last_ms, slot, lease.node, state.issued - 1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const ENDLESS_LEASE: NodeLease = NodeLease { node: 0, until: None };

    #[test]
    fn ids_grow_when_the_clock_steps_back_and_sequences_overflow() {
        let ids = IdGenerator::new(Some(ENDLESS_LEASE), 1_700_000_000_500);
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
    fn expired_lease_issues_no_id() {
        let now = Instant::now();
        let ids = IdGenerator::new(None, 0);
        assert!(ids.next(Slot::FIRST, 1).is_none());
        ids.renew(NodeLease { node: 3, until: Some(now) });
        assert!(ids.next(Slot::FIRST, 1).is_none());
        ids.renew(NodeLease { node: 3, until: Some(now + Duration::from_secs(60)) });
        assert!(ids.next(Slot::FIRST, 1).is_some());
    }
}
