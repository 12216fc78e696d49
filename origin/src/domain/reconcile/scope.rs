//! Which part of an installation is compared.

use gailou_shared::id::{Slot, SubjectKey};

/// The milliseconds of a day.
const DAY_MS: u64 = 86_400_000;

/// A range of slots, and a sample of the subjects in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconcileScope {
    first: u16,
    last: u16,
    sample: ReconcileSample,
}

/// One of so many subjects, and one of so many slots for what belongs to no subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconcileSample {
    of: u64,
    part: u64,
}

impl ReconcileSample {
    /// Everything.
    pub const ALL: Self = Self { of: 1, part: 0 };

    /// One of `of`, another one each day: `of` days contain everything.
    pub fn of_day(of: u64, now_ms: u64) -> Self {
        let of = of.max(1);
        Self { of, part: now_ms / DAY_MS % of }
    }

    fn contains(self, number: u64) -> bool {
        number % self.of == self.part
    }
}

impl ReconcileScope {
    /// A sample of what is in the slots from `first` to `last`.
    pub fn new(first: Slot, last: Slot, sample: ReconcileSample) -> Self {
        Self { first: first.get(), last: last.get(), sample }
    }

    /// The slots from one on, in ascending order, with subjects that are not in the sample.
    pub fn slots_from(self, first: Slot) -> impl Iterator<Item = Slot> {
        (self.first.max(first.get())..=self.last).filter_map(Slot::new)
    }

    /// The slots of which everything that belongs to no subject is compared, in ascending order.
    pub fn sampled_slots(self) -> impl Iterator<Item = Slot> {
        (self.first..=self.last).filter_map(Slot::new).filter(move |slot| self.sample.contains(slot.get().into()))
    }

    /// Whether subjects of this slot are compared.
    pub fn contains_subjects_of(self, slot: Slot) -> bool {
        (self.first..=self.last).contains(&slot.get())
    }

    /// Whether what belongs to no subject is compared in this slot.
    pub fn contains_slot(self, slot: Slot) -> bool {
        self.contains_subjects_of(slot) && self.sample.contains(slot.get().into())
    }

    /// Whether a subject is compared.
    pub fn contains_subject(self, key: &SubjectKey) -> bool {
        self.contains_subjects_of(key.slot()) && self.sample.contains(key.tag())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_as_many_days_contain_every_subject_and_slot_once() {
        let subjects: Vec<SubjectKey> = (0..200).map(|n| SubjectKey::new("video", &n.to_string()).unwrap()).collect();
        let (first, last) = (Slot::new(100).unwrap(), Slot::new(900).unwrap());
        let scopes: Vec<_> =
            (5..12).map(|day| ReconcileScope::new(first, last, ReconcileSample::of_day(7, day * DAY_MS + 3))).collect();
        for subject in &subjects {
            let inside = (100..=900).contains(&subject.slot().get());
            let times = scopes.iter().filter(|scope| scope.contains_subject(subject)).count();
            assert_eq!(times, usize::from(inside), "{subject}");
        }
        let mut slots: Vec<u16> = scopes.iter().flat_map(|s| s.sampled_slots()).map(Slot::get).collect();
        slots.sort_unstable();
        assert_eq!(slots, (100..=900).collect::<Vec<u16>>());
        assert_eq!(scopes[0].slots_from(Slot::new(898).unwrap()).count(), 3);
        let all = ReconcileScope::new(Slot::FIRST, Slot::new(1_023).unwrap(), ReconcileSample::ALL);
        assert!(subjects.iter().all(|subject| all.contains_subject(subject)));
    }
}
