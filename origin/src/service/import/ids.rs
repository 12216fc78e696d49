//! Ids of imported comments: the time they were written, the importer's node, a sequence.
//!
//! Does not query the store: for an id that is taken there, the caller requests the next. Promise: no
//! id is issued twice, none is later than `now`, and comments of one millisecond keep their order while
//! the millisecond has room.

use std::collections::{HashMap, HashSet};

use gailou_shared::id::{CommentId, ID_EPOCH_MS, IMPORT_NODE, SEQUENCE_COUNT, Slot};

/// Issues ids for one run.
#[derive(Debug)]
pub(super) struct ImportIds {
    /// Unix milliseconds.
    now: u64,
    issued: HashSet<CommentId>,
    /// How many ids were tried, by slot and millisecond, where more than one was.
    tried: HashMap<(Slot, u64), u64>,
}

impl ImportIds {
    pub(super) fn new(now: u64) -> Self {
        Self { now: now.max(ID_EPOCH_MS + 1), issued: HashSet::new(), tried: HashMap::new() }
    }

    /// The next id for a comment written at `created_at` (Unix milliseconds, clamped to the times
    /// that ids can have): in that millisecond, then in the ones after it up to now, then in the ones
    /// before it.
    pub(super) fn next_id(&mut self, slot: Slot, created_at: u64) -> CommentId {
        let created = created_at.clamp(ID_EPOCH_MS + 1, self.now);
        let mut tried = self.tried.get(&(slot, created)).copied().unwrap_or(0);
        loop {
            let (step, sequence) = (tried / SEQUENCE_COUNT, tried % SEQUENCE_COUNT);
            tried += 1;
            let ahead = self.now - created;
            let ms = if step <= ahead { created + step } else { created.saturating_sub(step - ahead) };
            let id = CommentId::from_parts(ms, slot, IMPORT_NODE, sequence);
            if self.issued.insert(id) {
                if tried > 1 {
                    self.tried.insert((slot, created), tried);
                }
                return id;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 1_700_000_000_000;

    #[test]
    fn ids_of_a_full_millisecond_are_in_the_next_and_never_later_than_now() {
        let mut ids = ImportIds::new(NOW);
        let slot = Slot::FIRST;
        let first: Vec<CommentId> = (0..130).map(|_| ids.next_id(slot, NOW - 1)).collect();
        assert!(first.iter().take(128).is_sorted());
        assert_eq!(first.iter().map(|id| id.created_ms()).max(), Some(NOW));
        assert_eq!(first.last().map(|id| id.created_ms()), Some(NOW - 2));
        assert_eq!(ids.next_id(slot, NOW + 5).created_ms(), NOW - 1 - 1, "the future is now, and that is full");
        assert_eq!(ids.next_id(slot, 0).created_ms(), ID_EPOCH_MS + 1);
    }

    proptest! {
        #[test]
        fn no_id_is_issued_twice(times in prop::collection::vec(NOW - 3..NOW + 2, 1..600)) {
            let (mut ids, mut seen) = (ImportIds::new(NOW), HashSet::new());
            let slot = Slot::new(7).unwrap();
            for time in times {
                let id = ids.next_id(slot, time);
                prop_assert!(id.created_ms() <= NOW && id.slot() == slot && seen.insert(id));
            }
        }
    }
}
