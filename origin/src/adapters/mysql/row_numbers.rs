//! The numbers of subject rows, and the slots of members: computed from keys by a hash.

use gailou_shared::id::{SLOT_COUNT, Slot, SubjectKey};
use sha2::{Digest, Sha256};

pub(super) use crate::domain::member_standing::member_slot;

/// The bits of a subject's number below those of its slot.
pub(super) const SUBJECT_SLOT_SHIFT: u32 = 53;

/// The number of a subject's row. It is negative, so that it never equals a comment's id; its highest
/// bits are the slot, so that the subjects of a slot are one range; the rest is a hash of type and key.
/// The key in the row must be compared, since another key may have the same hash.
pub(super) fn subject_number(key: &SubjectKey) -> i64 {
    let hash = hash(&[b"gailou subject row\0", key.kind().as_bytes(), b"\0", key.key().as_bytes()]);
    first_subject(key.slot()) | (hash >> 11) as i64
}

/// The smallest number that a subject of this slot can have.
pub(super) const fn first_subject(slot: Slot) -> i64 {
    i64::MIN | ((slot.get() as i64) << SUBJECT_SLOT_SHIFT)
}

/// The largest number that a subject of this slot can have.
pub(super) const fn last_subject(slot: Slot) -> i64 {
    first_subject(slot) | ((1 << SUBJECT_SLOT_SHIFT) - 1)
}

/// The slot of a subject's number.
pub(super) fn subject_slot(number: i64) -> Slot {
    to_slot((number >> SUBJECT_SLOT_SHIFT) as u64)
}

fn to_slot(number: u64) -> Slot {
    Slot::new((number % u64::from(SLOT_COUNT)) as u16).unwrap_or(Slot::FIRST)
}

/// 64 bits of SHA-256 over the parts.
fn hash(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    hasher.finalize().iter().take(8).fold(0, |n, b| n << 8 | u64::from(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_of_a_slot_are_one_range() {
        for slot in [0, 1, 511, SLOT_COUNT - 1].into_iter().filter_map(Slot::new) {
            assert_eq!((subject_slot(first_subject(slot)), subject_slot(last_subject(slot))), (slot, slot));
            let next = Slot::new(slot.get() + 1).map_or(0, first_subject);
            assert_eq!(last_subject(slot), next - 1);
        }
    }
}
