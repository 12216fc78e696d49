//! What an isolate knows of the change feed. No IO and no clock of its own here.
//!
//! **Promise.** A change that is known here is forgotten only together with all pages that are older
//! than it.

use std::collections::HashMap;

use gailou_shared::id::CommentId;
use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::{ChangeFeedPage, ChangedComment, VoidSubject};

use super::stored_page::StoredFeedPage;
use crate::cached_page::CachedPage;

/// From how many comments and subjects on an isolate starts over with a day's page, which has fewer: the
/// rows of a whole day's page, and as many again.
pub const MAX_KNOWN_CHANGES: usize = 2 * ChangeFeedPage::MAX_ROWS;
/// Most comments and subjects while no day's page comes. A row takes about 32 bytes, so these take 1.3 MB.
pub(super) const MAX_CHANGES_WITHOUT_DAY: usize = 2 * MAX_KNOWN_CHANGES;
/// How far back a day's page for the global store must reach, in milliseconds: as far as pages are
/// kept.
const DAY_REACH_MS: u64 = 24 * 3_600_000;

/// The changes that an isolate knows. Times are the origin's unless they are said to be the edge's; the
/// two clocks may differ, so times of one are never compared with times of the other.
#[derive(Debug, Default)]
pub(super) struct KnownChanges {
    /// The version of the last change of each comment.
    pub(super) rows: HashMap<u64, u64>,
    /// The version before which each subject that stands for its changed comments is void.
    pub(super) subjects: HashMap<u64, u64>,
    /// `rows` and `subjects` contain everything that was committed from this moment on …
    pub(super) since_ms: u64,
    /// … and before this one.
    pub(super) now_ms: u64,
    /// The same moment as `now_ms` by the edge's clock, or earlier; 0 before the first feed page.
    pub(super) as_of_ms: u64,
    /// Slots of which more is known: a page that shows only their comments is judged by the times of these.
    pub(super) ahead: Option<(SlotSet, Reach)>,
    /// The latest `now` of the feed pages whose rows are in `rows`: later than `now_ms` when a gap lies
    /// between them.
    seen_ms: u64,
    /// The same of [`ChangeFeedPage::latest`].
    seen_latest_ms: u64,
    /// Grows when a page may have become void.
    pub(super) generation: u64,
}

/// The times of [`KnownChanges`], for some slots.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reach {
    pub(super) since_ms: u64,
    pub(super) now_ms: u64,
    pub(super) as_of_ms: u64,
}

impl KnownChanges {
    /// No changes. A page that was never checked has generation 0.
    pub(super) fn new() -> Self {
        Self { generation: 1, ..Self::default() }
    }

    /// Whether nothing is known at all.
    pub(super) fn is_empty(&self) -> bool {
        self.latest_ms() == 0
    }

    /// The latest moment before which everything of some slots is known.
    fn latest_ms(&self) -> u64 {
        self.ahead.map_or(self.now_ms, |(_, reach)| reach.now_ms.max(self.now_ms))
    }

    /// The same by the edge's clock.
    pub(super) fn latest_as_of_ms(&self) -> u64 {
        self.ahead.map_or(self.as_of_ms, |(_, reach)| reach.as_of_ms.max(self.as_of_ms))
    }

    /// What is known of all slots.
    fn reach(&self) -> Reach {
        Reach { since_ms: self.since_ms, now_ms: self.now_ms, as_of_ms: self.as_of_ms }
    }

    /// What is known of these slots.
    fn reach_of(&self, slots: &SlotSet) -> Reach {
        let (all, ahead) = (self.reach(), self.ahead.filter(|(known, _)| slots.is_within(known)));
        match ahead {
            Some((_, ahead)) if ahead.since_ms <= all.now_ms && all.since_ms <= ahead.now_ms => Reach {
                since_ms: ahead.since_ms.min(all.since_ms),
                now_ms: ahead.now_ms.max(all.now_ms),
                as_of_ms: ahead.as_of_ms.max(all.as_of_ms),
            },
            Some((_, ahead)) => ahead,
            None => all,
        }
    }

    /// What is known of the comments that `page` shows.
    pub(super) fn reach_of_page(&self, page: &CachedPage) -> Reach {
        let is_ahead = |slots: &SlotSet| {
            let mut ids = page.cache_tags.entries().iter().map(|(id, _)| CommentId::new(*id));
            ids.all(|id| id.is_ok_and(|id| slots.contains(id.slot())))
        };
        let ahead = self.ahead.filter(|(slots, _)| is_ahead(slots));
        ahead.map_or_else(|| self.reach(), |(slots, _)| self.reach_of(&slots))
    }

    /// Whether `page` shows a comment that has changed since, or of a subject that is void, or was made
    /// before the time these changes reach back to.
    pub(super) fn voids(&self, page: &CachedPage) -> bool {
        let is_changed = |(id, version): &(u64, u64)| self.rows.get(id).is_some_and(|last| last > version);
        let is_voided = |(tag, version): &(u64, u64)| self.subjects.get(tag).is_some_and(|before| before > version);
        page.made_ms < self.reach_of_page(page).since_ms
            || page.cache_tags.subjects().iter().any(is_voided)
            || page.cache_tags.entries().iter().any(is_changed)
    }

    /// The moment that a day's page must be complete up to, to take the place of these changes, once they are
    /// many.
    pub(super) fn replaceable_from(&self) -> Option<u64> {
        (self.len() > MAX_KNOWN_CHANGES).then_some(self.seen_ms)
    }

    /// Whether a day's page may take the place of these changes, which are many.
    pub(super) fn is_replaceable_by(&self, day: &ChangeFeedPage) -> bool {
        self.replaceable_from().is_some_and(|seen_ms| day.now >= seen_ms && day.latest() >= self.seen_latest_ms)
    }

    fn len(&self) -> usize {
        self.rows.len() + self.subjects.len()
    }

    /// Whether a feed page leaves no gap.
    pub(super) fn connects_to(&self, document: &ChangeFeedPage) -> bool {
        let ahead = document.ahead.as_ref();
        self.now_ms >= document.since && ahead.is_none_or(|ahead| self.reach_of(&ahead.slots).now_ms >= ahead.since)
    }

    /// Applies a tail, and the day's page that was fetched to connect it or to start over. If other requests have closed
    /// the gap meanwhile, the day's page is not needed any more.
    pub(super) fn apply(&mut self, day: Option<&StoredFeedPage>, tail: Option<&StoredFeedPage>) {
        let is_connected = tail.is_some_and(|tail| self.connects_to(&tail.document));
        let is_needed = |day: &&StoredFeedPage| {
            let is_later = day.document.now > self.now_ms || day.document.latest() > self.latest_ms();
            self.is_replaceable_by(&day.document) || !is_connected && is_later
        };
        if let Some(day) = day.filter(is_needed) {
            self.restart_from_day(day);
        }
        if let Some(tail) = tail {
            self.merge(tail);
        }
    }

    /// Adds the rows of a feed page, which are true in any case. The changes become younger only when no
    /// gap lies between the two.
    pub(super) fn merge(&mut self, page: &StoredFeedPage) {
        let document = &page.document;
        self.seen_ms = self.seen_ms.max(document.now);
        self.seen_latest_ms = self.seen_latest_ms.max(document.latest());
        let mut is_changed = false;
        let mut raise = |versions: &mut HashMap<u64, u64>, number: u64, version: u64| {
            let last = versions.entry(number).or_insert(0);
            if *last < version {
                *last = version;
                is_changed = true;
            }
        };
        for row in &document.rows {
            raise(&mut self.rows, row.id.get(), row.version);
        }
        for subject in &document.subjects {
            raise(&mut self.subjects, subject.tag, subject.before);
        }
        let ahead = self.merge_ahead(page);
        let since = |ahead: Option<(SlotSet, Reach)>| ahead.map(|(slots, reach)| (slots, reach.since_ms));
        is_changed |= since(self.ahead) != since(ahead);
        if self.now_ms >= document.since {
            self.now_ms = self.now_ms.max(document.now);
            self.as_of_ms = self.as_of_ms.max(page.as_of_ms());
        }
        self.ahead = ahead;
        if self.len() > MAX_CHANGES_WITHOUT_DAY {
            // From here on every page made before this moment is void.
            self.rows.clear();
            self.subjects.clear();
            self.since_ms = self.since_ms.max(self.seen_latest_ms);
            self.ahead = None;
        }
        self.generation += u64::from(is_changed);
    }

    /// The slots ahead after a feed page, whose times grow only when no gap lies between the two.
    fn merge_ahead(&self, page: &StoredFeedPage) -> Option<(SlotSet, Reach)> {
        let document = &page.document;
        let Some(ahead) = &document.ahead else {
            let (slots, reach) = self.ahead.filter(|_| self.now_ms >= document.since)?;
            let now_ms = reach.now_ms.max(document.now);
            let reach = Reach { now_ms, as_of_ms: reach.as_of_ms.max(page.as_of_ms()), ..reach };
            // More is known of them, until all slots have come as far and reach back as far.
            let is_more = reach.since_ms < self.since_ms || now_ms > document.now.max(self.now_ms);
            return is_more.then_some((slots, reach));
        };
        let known = self.reach_of(&ahead.slots);
        let as_of_ms = page.asked_ms.saturating_sub(ahead.behind).max(known.as_of_ms);
        let reach = Reach { now_ms: known.now_ms.max(ahead.now), as_of_ms, ..known };
        (known.now_ms >= ahead.since).then_some((ahead.slots, reach))
    }

    /// Starts over with a page of the whole day.
    pub(super) fn restart_from_day(&mut self, day: &StoredFeedPage) {
        let is_later = self.seen_ms <= day.document.now && self.seen_latest_ms <= day.document.latest();
        let former = |known_ms: u64| if is_later { 0 } else { known_ms };
        self.ahead = day.document.ahead.as_ref().map(|ahead| {
            let since_ms = ahead.since.max(former(self.reach_of(&ahead.slots).since_ms));
            (ahead.slots, Reach { since_ms, now_ms: ahead.since, as_of_ms: 0 })
        });
        self.since_ms = day.document.since.max(former(self.since_ms));
        if is_later {
            // Rows that the day does not contain void only pages that are older than the day.
            self.rows.clear();
            self.subjects.clear();
        }
        self.now_ms = day.document.since;
        self.as_of_ms = 0;
        self.generation += 1;
        self.merge(day);
    }

    /// All changes as a day's page; `None` when they are too many for one, do not reach back a day, or reach
    /// further for some slots.
    pub(super) fn to_day_page(&self, words: u64) -> Option<StoredFeedPage> {
        let is_short = self.since_ms + DAY_REACH_MS > self.now_ms;
        if self.len() > ChangeFeedPage::MAX_ROWS || is_short || self.ahead.is_some() {
            return None;
        }
        let rows = self.rows.iter();
        let rows =
            rows.filter_map(|(id, version)| Some(ChangedComment { id: CommentId::new(*id).ok()?, version: *version }));
        let subjects = self.subjects.iter().map(|(&tag, &before)| VoidSubject { tag, before }).collect();
        let document = ChangeFeedPage::new(self.now_ms, self.since_ms, 0, words, rows.collect());
        let document = document.with_subjects(subjects);
        Some(StoredFeedPage { asked_ms: self.as_of_ms, document })
    }
}
