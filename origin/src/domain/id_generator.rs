//! Allocation of comment ids from the clock, a node number and a sequence.
//!
//! A node number may be leased. A lease bounds ids twice: by a moment of this machine after which it issues
//! none, also when the machine was suspended in between; and by the last millisecond that an id may carry,
//! which is stored before it is used, so that the next holder of the number can begin after it whatever the
//! clocks say. Not here: the renewal of leases.

use gailou_shared::id::{CommentId, SEQUENCE_COUNT, Slot};
use parking_lot::Mutex;

use crate::boot_clock::BootInstant;

/// The first id of a millisecond has a random sequence below this. Should two processes have one number in
/// spite of the leases, 1 of 32 of their ids in the same millisecond and slot is the same instead of each; and
/// at least 32 ids remain for the millisecond.
const FIRST_SEQUENCE_COUNT: u64 = SEQUENCE_COUNT / 2;

/// The right to use a node number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeLease {
    pub node: u64,
    /// When it expires; `None`: never.
    pub until: Option<BootInstant>,
    /// Ids are later than this, in Unix milliseconds: those until then may have been issued by others.
    pub after_ms: u64,
    /// No id is later than this, in Unix milliseconds.
    pub last_ms: u64,
}

impl NodeLease {
    /// The lease of a process that is the only one.
    pub const fn endless(node: u64) -> Self {
        Self { node, until: None, after_ms: 0, last_ms: u64::MAX }
    }
}

#[derive(Debug)]
struct GeneratorState {
    lease: Option<NodeLease>,
    /// The last millisecond used, and the next sequence in it.
    last_ms: u64,
    next_sequence: u64,
}

/// Issues growing ids, also when the clock steps back or the number changes.
#[derive(Debug)]
pub struct IdGenerator(Mutex<GeneratorState>);

impl IdGenerator {
    /// Issues ids later than `last_ms` (Unix milliseconds), under this lease.
    pub fn new(lease: Option<NodeLease>, last_ms: u64) -> Self {
        let generator = Self(Mutex::new(GeneratorState { lease: None, last_ms, next_sequence: SEQUENCE_COUNT }));
        if let Some(lease) = lease {
            generator.renew(lease);
        }
        generator
    }

    /// Replaces the lease.
    pub fn renew(&self, lease: NodeLease) {
        let mut state = self.0.lock();
        if state.last_ms < lease.after_ms {
            state.last_ms = lease.after_ms;
            state.next_sequence = SEQUENCE_COUNT;
        }
        if state.lease.is_none_or(|former| former.node != lease.node) {
            // A smaller number in the same millisecond would be a smaller id.
            state.next_sequence = SEQUENCE_COUNT;
        }
        state.lease = Some(lease);
    }

    /// Ends the lease: no more ids are issued. The last millisecond used.
    pub fn revoke(&self) -> u64 {
        let mut state = self.0.lock();
        state.lease = None;
        state.last_ms
    }

    /// Whether it may issue ids now.
    pub fn has_lease(&self) -> bool {
        let lease = self.0.lock().lease;
        lease.is_some_and(|lease| lease.until.is_none_or(|until| BootInstant::now() < until))
    }

    /// The last millisecond used.
    pub fn last_ms(&self) -> u64 {
        self.0.lock().last_ms
    }

    /// The next id in a slot at `now` (Unix milliseconds); `None` without a valid lease. While the clock
    /// stands still, steps back or is ahead of the lease, ids continue from the last millisecond used: 32 to 64
    /// for each, then the following millisecond.
    pub fn next(&self, slot: Slot, now: u64) -> Option<CommentId> {
        let mut state = self.0.lock();
        let lease = state.lease.filter(|lease| lease.until.is_none_or(|until| BootInstant::now() < until))?;
        let is_new = now > state.last_ms && now <= lease.last_ms;
        let is_full = state.next_sequence >= SEQUENCE_COUNT;
        if is_new || is_full {
            let next_ms = if is_new { now } else { state.last_ms + 1 };
            if next_ms > lease.last_ms {
                return None;
            }
            (state.last_ms, state.next_sequence) = (next_ms, rand::random::<u64>() % FIRST_SEQUENCE_COUNT);
        }
        state.next_sequence += 1;
        Some(CommentId::from_parts(state.last_ms, slot, lease.node, state.next_sequence - 1))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::time::Duration;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    fn sequence(id: CommentId) -> u64 {
        id.get() % SEQUENCE_COUNT
    }

    #[test]
    fn ids_grow_when_the_clock_steps_back_and_sequences_overflow() {
        let ids = IdGenerator::new(Some(NodeLease::endless(0)), NOW + 500);
        let slot = Slot::FIRST;
        let mut last = CommentId::from_parts(NOW + 500, slot, 63, 63);
        for now in [NOW, NOW + 1_000, 1_699_000_000_000, NOW + 1_001] {
            for _ in 0..200 {
                let id = ids.next(slot, now).unwrap();
                assert!(id > last);
                last = id;
            }
        }
    }

    #[test]
    fn ids_grow_when_the_number_changes() {
        let ids = IdGenerator::new(Some(NodeLease::endless(9)), 0);
        let before = ids.next(Slot::FIRST, NOW).unwrap();
        ids.renew(NodeLease::endless(3));
        assert!(ids.next(Slot::FIRST, NOW).unwrap() > before);
    }

    #[test]
    fn expired_lease_issues_no_id() {
        let now = BootInstant::now();
        let until = |until| NodeLease { until: Some(until), ..NodeLease::endless(3) };
        let ids = IdGenerator::new(None, 0);
        assert!(ids.next(Slot::FIRST, 1).is_none());
        ids.renew(until(now));
        assert!(ids.next(Slot::FIRST, 1).is_none());
        ids.renew(until(now + Duration::from_secs(60)));
        assert!(ids.next(Slot::FIRST, 1).is_some());
        ids.revoke();
        assert!(ids.next(Slot::FIRST, 2).is_none());
    }

    #[test]
    fn heir_with_a_clock_behind_begins_after_the_former_holder() {
        let ids = IdGenerator::new(None, 0);
        ids.renew(NodeLease { after_ms: NOW + 5_000, last_ms: NOW + 10_000, ..NodeLease::endless(3) });
        assert_eq!(ids.next(Slot::FIRST, NOW).unwrap().created_ms(), NOW + 5_001);
        assert_eq!(ids.revoke(), NOW + 5_001);
    }

    #[test]
    fn no_id_is_later_than_the_lease_says() {
        let ids = IdGenerator::new(Some(NodeLease { last_ms: NOW + 1, ..NodeLease::endless(3) }), NOW - 1);
        ids.next(Slot::FIRST, NOW).unwrap();
        // A clock that has stepped forward ends nothing as long as there are ids.
        let mut last_ms = 0;
        while let Some(id) = ids.next(Slot::FIRST, NOW + 3_600_000) {
            last_ms = id.created_ms();
        }
        assert_eq!(last_ms, NOW + 1);
        assert!(ids.next(Slot::FIRST, NOW + 1).is_none());
        ids.renew(NodeLease { last_ms: NOW + 3_600_000, ..NodeLease::endless(3) });
        assert_eq!(ids.next(Slot::FIRST, NOW + 3_600_000).unwrap().created_ms(), NOW + 3_600_000);
    }

    #[test]
    fn first_sequence_of_a_millisecond_is_random() {
        let ids = IdGenerator::new(Some(NodeLease::endless(0)), 0);
        let first: BTreeSet<u64> = (1..=1_000).map(|ms| sequence(ids.next(Slot::FIRST, NOW + ms).unwrap())).collect();
        assert!(first.len() > 16 && first.iter().all(|sequence| *sequence < FIRST_SEQUENCE_COUNT), "{first:?}");
    }
}
