//! A set of slots: which of them a database has, or a page shows.
//!
//! As JSON it is a list of ranges `[first, last]` in ascending order: a database of a new installation has one.

use alloc::vec::Vec;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::id::{SLOT_COUNT, Slot};

/// Bits of one word.
const WORD_BITS: u16 = u64::BITS as u16;
/// Words of a set: one bit for each slot.
const SET_WORDS: usize = (SLOT_COUNT / WORD_BITS) as usize;

/// A set of slots, of 128 bytes.
///
/// ```
/// use gailou_shared::id::Slot;
/// use gailou_shared::slot_set::SlotSet;
/// let set: SlotSet = [3, 4, 900].into_iter().filter_map(Slot::new).collect();
/// assert!(set.contains(Slot::new(900).unwrap()) && !set.contains(Slot::FIRST));
/// assert_eq!(serde_json::to_string(&set).unwrap(), "[[3,4],[900,900]]");
/// assert_eq!(serde_json::from_str::<SlotSet>("[[3,4],[900,900]]").unwrap(), set);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SlotSet([u64; SET_WORDS]);

impl SlotSet {
    /// The set of all slots.
    #[must_use]
    pub const fn all() -> Self {
        Self([u64::MAX; SET_WORDS])
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: Slot) {
        if let Some(word) = self.0.get_mut(usize::from(slot.get() / WORD_BITS)) {
            *word |= 1 << (slot.get() % WORD_BITS);
        }
    }

    /// Whether a slot is in it.
    #[must_use]
    pub fn contains(&self, slot: Slot) -> bool {
        self.0.get(usize::from(slot.get() / WORD_BITS)).is_some_and(|word| word >> (slot.get() % WORD_BITS) & 1 == 1)
    }

    /// Whether no slot is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether every slot of it is in `other`.
    #[must_use]
    pub fn is_within(&self, other: &Self) -> bool {
        self.without(other).is_empty()
    }

    /// The slots of either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    /// Its slots that are not in `other`.
    #[must_use]
    pub fn without(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    /// Its slots, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Slot> {
        (0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| self.contains(*slot))
    }

    fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        let mut words = self.0;
        words.iter_mut().zip(other.0).for_each(|(word, other)| *word = combine(*word, other));
        Self(words)
    }
}

impl FromIterator<Slot> for SlotSet {
    fn from_iter<I: IntoIterator<Item = Slot>>(slots: I) -> Self {
        let mut set = Self::default();
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

impl Serialize for SlotSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut ranges: Vec<(u16, u16)> = Vec::new();
        for slot in self.iter().map(Slot::get) {
            match ranges.last_mut() {
                Some((_, last)) if *last + 1 == slot => *last = slot,
                _ => ranges.push((slot, slot)),
            }
        }
        ranges.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SlotSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut set = Self::default();
        let mut next = 0;
        for (first, last) in Vec::<(u16, u16)>::deserialize(deserializer)? {
            if first < next || last < first || last >= SLOT_COUNT {
                return Err(D::Error::custom("ranges of slots ascend and end before the number of slots"));
            }
            (first..=last).filter_map(Slot::new).for_each(|slot| set.insert(slot));
            next = last + 1;
        }
        Ok(set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_ascend_and_name_slots_that_exist() {
        let check = |json: &str, good: bool| assert_eq!(serde_json::from_str::<SlotSet>(json).is_ok(), good, "{json}");
        check("[]", true);
        check("[[0,1023]]", true);
        check("[[0,1],[2,2]]", true);
        check("[[0,1],[1,2]]", false);
        check("[[5,4]]", false);
        check("[[0,1024]]", false);
        check("[[-1,4]]", false);
        check("[3]", false);
    }

    proptest! {
        #[test]
        fn set_is_what_it_was_made_of(a in prop::collection::btree_set(0..SLOT_COUNT, 0..40), b in prop::collection::btree_set(0..SLOT_COUNT, 0..40)) {
            let set = |numbers: &alloc::collections::BTreeSet<u16>| numbers.iter().copied().filter_map(Slot::new).collect::<SlotSet>();
            let (sa, sb) = (set(&a), set(&b));
            prop_assert_eq!(sa.iter().map(Slot::get).collect::<alloc::collections::BTreeSet<_>>(), a.clone());
            prop_assert_eq!(sa.union(&sb), set(&(&a | &b)));
            prop_assert_eq!(sa.without(&sb), set(&(&a - &b)));
            prop_assert_eq!(sa.is_within(&sb), a.is_subset(&b));
            prop_assert!(sa.is_within(&SlotSet::all()));
            prop_assert_eq!(serde_json::from_str::<SlotSet>(&serde_json::to_string(&sa).unwrap()).unwrap(), sa);
        }
    }
}
