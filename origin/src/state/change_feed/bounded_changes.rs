//! The newest changes, at most so many.
//!
//! When there are more, the subject with the most changed comments stands for them: its pages of an earlier
//! version are void, and those of other subjects stay. Only where no subject has two, the oldest changes
//! are dropped, and pages made before that are void. Of a database that has gone back everything is void that was
//! made before, so no change of that time is kept. No clock here.

use std::collections::{BTreeMap, HashMap, HashSet};

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::{ChangedComment, VoidSubject};

use super::CLOCK_SKEW_MS;
use crate::domain::operation::CHANGE_FEED_RETENTION_MS;

/// The share of the bound that is left free when subjects take the place of comments, as a divisor: the next
/// search for subjects is a tenth of the bound away.
const FREED_SHARE: usize = 10;

/// Changed comments by the time each change became known, and subjects that stand for some.
#[derive(Debug)]
pub(super) struct BoundedChanges {
    /// Most comments and subjects together.
    max: usize,
    by_time: BTreeMap<(u64, CommentId), KnownChange>,
    /// The time of each comment.
    times: HashMap<CommentId, u64>,
    /// By their tags.
    void_subjects: HashMap<u64, VoidedSubject>,
    /// The time of the newest change that was dropped.
    dropped: Option<u64>,
    /// When databases went back, and their slots.
    rewound: BTreeMap<u64, SlotSet>,
}

#[derive(Debug, Clone, Copy)]
struct KnownChange {
    subject: u64,
    version: u64,
}

/// What a subject stands for.
#[derive(Debug, Clone, Copy)]
struct VoidedSubject {
    slot: Slot,
    /// The largest version of its changes.
    before: u64,
    /// The time the last of them became known.
    known: u64,
}

impl VoidedSubject {
    fn new(slot: Slot) -> Self {
        Self { slot, before: 0, known: 0 }
    }
}

impl BoundedChanges {
    pub(super) fn new(max: usize) -> Self {
        Self {
            max,
            by_time: BTreeMap::new(),
            times: HashMap::new(),
            void_subjects: HashMap::new(),
            dropped: None,
            rewound: BTreeMap::new(),
        }
    }

    /// Adds a change that became known at `known`.
    pub(super) fn add(&mut self, subject: &SubjectKey, id: CommentId, version: u64, known: u64) {
        let tag = subject.tag();
        if let Some(voided) = self.void_subjects.get_mut(&tag).filter(|voided| voided.before >= version) {
            voided.known = voided.known.max(known);
            return;
        }
        if let Some(before) = self.times.get(&id) {
            let key = (*before, id);
            if self.by_time.get(&key).is_some_and(|before| before.version >= version) {
                return;
            }
            self.by_time.remove(&key);
        }
        self.times.insert(id, known);
        self.by_time.insert((known, id), KnownChange { subject: tag, version });
    }

    /// Adds a change of a subject with all its comments.
    pub(super) fn add_subject(&mut self, subject: &SubjectKey, version: u64, known: u64) {
        let voided = self.void_subjects.entry(subject.tag()).or_insert_with(|| VoidedSubject::new(subject.slot()));
        voided.before = voided.before.max(version);
        voided.known = voided.known.max(known);
    }

    /// Everything of these slots that was made before this time is void: their database has gone back.
    pub(super) fn void_before(&mut self, slots: &SlotSet, time: u64) {
        self.by_time.retain(|(_, id), _| !slots.contains(id.slot()));
        self.times.retain(|id, _| !slots.contains(id.slot()));
        self.void_subjects.retain(|_, voided| !slots.contains(voided.slot));
        let rewound = self.rewound.entry(time).or_default();
        *rewound = rewound.union(slots);
    }

    /// Forgets what no cached page can be older than, and keeps the bound.
    pub(super) fn forget(&mut self, now: u64) {
        while self.by_time.first_key_value().is_some_and(|((known, _), _)| known + CHANGE_FEED_RETENTION_MS < now) {
            self.drop_oldest_comment();
        }
        self.void_subjects.retain(|_, voided| voided.known + CHANGE_FEED_RETENTION_MS >= now);
        self.rewound.retain(|time, _| time + CHANGE_FEED_RETENTION_MS >= now);
        if self.len() > self.max {
            self.void_largest_subjects();
        }
        while self.len() > self.max {
            self.drop_oldest();
        }
    }

    /// The time since which the changes are complete, without those of [`Self::rewound_since`] that lack more.
    pub(super) fn complete_since(&self, moment: u64) -> u64 {
        self.dropped.map_or(moment, |dropped| moment.max(dropped + CLOCK_SKEW_MS))
    }

    /// The slots of databases that have gone back, of which pages are void that were made after `moment`.
    pub(super) fn rewound_since(&self, moment: u64) -> SlotSet {
        let rewound = self.rewound.iter().filter(|(time, _)| *time + CLOCK_SKEW_MS > moment);
        rewound.fold(SlotSet::default(), |all, (_, slots)| all.union(slots))
    }

    /// The time since which the changes are complete, and those since `moment`.
    pub(super) fn since(&self, moment: u64) -> (u64, Vec<ChangedComment>, Vec<VoidSubject>) {
        let rewound = self.rewound.last_key_value().map_or(0, |(time, _)| *time + CLOCK_SKEW_MS);
        let since = self.complete_since(moment).max(rewound);
        let is_recent = |known: u64| known + CLOCK_SKEW_MS >= moment;
        let newest_first = self.by_time.iter().rev().take_while(|((known, _), _)| is_recent(*known));
        let comments = newest_first.map(|(&(_, id), change)| ChangedComment { id, version: change.version });
        let subjects = self.void_subjects.iter().filter(|(_, voided)| is_recent(voided.known));
        let subjects = subjects.map(|(&tag, voided)| VoidSubject { tag, before: voided.before });
        (since, comments.collect(), subjects.collect())
    }

    fn len(&self) -> usize {
        self.by_time.len() + self.void_subjects.len()
    }

    /// Lets the subjects with the most changed comments stand for them, until a tenth of the bound is free
    /// or none has two.
    fn void_largest_subjects(&mut self) {
        let mut counts = HashMap::<u64, usize>::new();
        for change in self.by_time.values() {
            *counts.entry(change.subject).or_default() += 1;
        }
        let mut largest: Vec<_> = counts.into_iter().filter(|(_, count)| *count > 1).collect();
        largest.sort_unstable_by_key(|(tag, count)| (std::cmp::Reverse(*count), *tag));
        let mut chosen = HashSet::new();
        let (mut len, target) = (self.len(), self.max - self.max / FREED_SHARE);
        for (tag, count) in largest {
            if len <= target {
                break;
            }
            len = len + usize::from(!self.void_subjects.contains_key(&tag)) - count;
            chosen.insert(tag);
        }
        let Self { by_time, times, void_subjects, .. } = self;
        by_time.retain(|(known, id), change| {
            if !chosen.contains(&change.subject) {
                return true;
            }
            let voided = void_subjects.entry(change.subject).or_insert_with(|| VoidedSubject::new(id.slot()));
            voided.before = voided.before.max(change.version);
            voided.known = voided.known.max(*known);
            times.remove(id);
            false
        });
    }

    fn drop_oldest_comment(&mut self) -> Option<u64> {
        let ((known, id), _) = self.by_time.pop_first()?;
        self.times.remove(&id);
        Some(known)
    }

    /// Drops the oldest comment or subject; pages made before are void from here on.
    fn drop_oldest(&mut self) {
        let comment = self.by_time.first_key_value().map(|((known, _), _)| *known);
        let subject = self.void_subjects.iter().map(|(tag, voided)| (voided.known, *tag)).min();
        let known = match subject {
            Some((known, tag)) if comment.is_none_or(|comment| known < comment) => {
                self.void_subjects.remove(&tag);
                Some(known)
            }
            _ => self.drop_oldest_comment(),
        };
        self.dropped = self.dropped.max(known);
    }
}
