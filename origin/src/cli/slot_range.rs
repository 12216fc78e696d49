//! A range of slots as an argument of commands.

use gailou_shared::id::{SLOT_COUNT, Slot};
use serde::{Deserialize, Serialize};

/// The first and the last of some slots; by default all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SlotRange(u16, u16);

impl Default for SlotRange {
    fn default() -> Self {
        Self(0, SLOT_COUNT - 1)
    }
}

impl SlotRange {
    #[cfg_attr(not(feature = "cluster"), expect(dead_code, reason = "only a cluster has slots to move"))]
    pub(super) fn all(self) -> impl Iterator<Item = Slot> {
        (self.0..=self.1).filter_map(Slot::new)
    }

    pub(super) fn first(self) -> Slot {
        Slot::new(self.0).unwrap_or(Slot::FIRST)
    }

    pub(super) fn last(self) -> Slot {
        Slot::new(self.1).unwrap_or(Slot::FIRST)
    }
}

/// The slots in an argument such as `7` or `0-63`.
pub(super) fn parse_slots(text: &str) -> Result<SlotRange, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.parse().ok().filter(|n| Slot::new(*n).is_some());
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(SlotRange(first, last)),
        _ => Err("must be a slot from 0 to 1023, or a range such as 0-63".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_one_number_or_a_range() {
        assert_eq!(parse_slots("7"), Ok(SlotRange(7, 7)));
        assert_eq!(parse_slots("0-1023"), Ok(SlotRange::default()));
        for wrong in ["", "1024", "5-4", "a", "1-", "-1"] {
            assert!(parse_slots(wrong).is_err(), "{wrong}");
        }
    }
}
