//! What an isolate knows of the change feed. No IO and no clock of its own here.
//!
//! **Promise.** A change that is known here is forgotten only together with all pages that are older
//! than it.

use std::collections::HashMap;

use gailou_shared::id::CommentId;
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
    /// The latest `now` of the feed pages whose rows are in `rows`: later than `now_ms` when a gap lies
    /// between them.
    seen_ms: u64,
    /// Grows when a page may have become void.
    pub(super) generation: u64,
}

impl KnownChanges {
    /// No changes. A page that was never checked has generation 0.
    pub(super) fn new() -> Self {
        Self { generation: 1, ..Self::default() }
    }

    /// Whether nothing is known at all.
    pub(super) fn is_empty(&self) -> bool {
        self.now_ms == 0
    }

    /// Whether `page` shows a comment that has changed since, or of a subject that is void, or was made
    /// before the time these changes reach back to.
    pub(super) fn voids(&self, page: &CachedPage) -> bool {
        let is_changed = |(id, version): &(u64, u64)| self.rows.get(id).is_some_and(|last| last > version);
        let is_voided = |(tag, version): &(u64, u64)| self.subjects.get(tag).is_some_and(|before| before > version);
        page.made_ms < self.since_ms
            || page.cache_tags.subjects().iter().any(is_voided)
            || page.cache_tags.entries().iter().any(is_changed)
    }

    /// The moment that a day's page must be complete up to, to take the place of these changes, once they are
    /// many.
    pub(super) fn replaceable_from(&self) -> Option<u64> {
        (self.len() > MAX_KNOWN_CHANGES).then_some(self.seen_ms)
    }

    fn len(&self) -> usize {
        self.rows.len() + self.subjects.len()
    }

    /// Whether a feed page that reaches back to `since_ms` leaves no gap.
    pub(super) fn connects_to(&self, since_ms: u64) -> bool {
        self.now_ms >= since_ms
    }

    /// Applies a tail, and the day's page that was fetched to connect it or to start over. If other requests have closed
    /// the gap meanwhile, the day's page is not needed any more.
    pub(super) fn apply(&mut self, day: Option<&StoredFeedPage>, tail: Option<&StoredFeedPage>) {
        let is_connected = tail.is_some_and(|tail| self.connects_to(tail.document.since));
        let is_needed = |day: &&StoredFeedPage| {
            let replaces = self.replaceable_from().is_some_and(|seen_ms| day.document.now >= seen_ms);
            replaces || !is_connected && day.document.now > self.now_ms
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
        if self.connects_to(document.since) {
            self.now_ms = self.now_ms.max(document.now);
            self.as_of_ms = self.as_of_ms.max(page.as_of_ms());
        }
        if self.len() > MAX_CHANGES_WITHOUT_DAY {
            // From here on every page made before this moment is void.
            self.rows.clear();
            self.subjects.clear();
            self.since_ms = self.since_ms.max(self.seen_ms);
        }
        self.generation += u64::from(is_changed);
    }

    /// Starts over with a page of the whole day.
    pub(super) fn restart_from_day(&mut self, day: &StoredFeedPage) {
        if self.seen_ms <= day.document.now {
            // Rows that the day does not contain void only pages that are older than the day.
            self.rows.clear();
            self.subjects.clear();
            self.since_ms = day.document.since;
        } else {
            self.since_ms = self.since_ms.max(day.document.since);
        }
        self.now_ms = day.document.since;
        self.as_of_ms = 0;
        self.generation += 1;
        self.merge(day);
    }

    /// All changes as a day's page; `None` when they are too many for one, or do not reach back a day.
    pub(super) fn to_day_page(&self, words: u64) -> Option<StoredFeedPage> {
        if self.len() > ChangeFeedPage::MAX_ROWS || self.since_ms + DAY_REACH_MS > self.now_ms {
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
