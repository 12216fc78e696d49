//! How far the change feed of one database is known.
//!
//! A row gets its number when it is written and becomes visible when it is committed, so a smaller
//! number may appear after a larger one. A missing number is waited for; until then everything after
//! it is read again. A number that is still missing then is a hole: it is asked for by itself for an hour, because a
//! database that stood still may commit it even later.
//!
//! A database that has gone back gives the numbers of the time that it has lost again. So the last known row is read
//! again with those after it: where it, or a later known one, is missing or another one, the feed is not the one that
//! was read. No clock here, and no query.

use std::collections::BTreeMap;

use gailou_shared::id::CommentId;

use crate::domain::operation::{CHANGE_FEED_RETENTION_MS, ChangeRow};

/// How long a missing number may still be committed, in milliseconds.
pub const LATE_COMMIT_MS: u64 = 15_000;
/// How long a hole is asked for, in milliseconds.
const HOLE_LIFETIME_MS: u64 = 3_600_000;
/// Holes of one database that are asked for; older ones are forgotten. A rollback leaves one for each of its rows.
const MAX_HOLES: usize = 200;
/// How long after its acceptance a row that exists at the start may have been committed, in
/// milliseconds: the jobs may have lagged. The commit time of later rows is known.
pub const MAX_BROKER_DELAY_MS: u64 = 600_000;
/// Rows of one query of the feed.
pub const MAX_CHANGE_ROWS_PER_QUERY: usize = 1_000;

/// The known numbers of one database.
#[derive(Debug, Default)]
pub struct FeedProgress {
    /// Every number up to this one is known, or a hole, or lost. Its row is known, unless it is 0.
    settled: u64,
    settled_row: Option<KnownRow>,
    /// Missing numbers that were passed, with the time until which they are asked for.
    holes: BTreeMap<u64, u64>,
    /// Known numbers beyond a gap, with the time they became known.
    ahead: BTreeMap<u64, (u64, KnownRow)>,
}

/// What a known row differs by from another one that has its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct KnownRow {
    at: u64,
    version: u64,
    id: Option<CommentId>,
}

impl KnownRow {
    fn new(row: &ChangeRow) -> Self {
        Self { at: row.at, version: row.version, id: row.id }
    }
}

impl FeedProgress {
    /// The last number up to which nothing is waited for.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// The number after which the feed has to be read again: the last settled row is read with what follows.
    pub fn read_after(&self) -> u64 {
        self.settled.saturating_sub(1)
    }

    /// Whether the database has gone back: of what it has after the number `after`, these are the first rows, or all
    /// (`is_all`), and a known one is missing or another one.
    pub fn is_contradicted(&self, after: u64, rows: &[ChangeRow], is_all: bool, now: u64) -> bool {
        let last = if is_all { u64::MAX } else { rows.last().map_or(after, |row| row.seq) };
        let settled = self.settled_row.map(|row| (self.settled, row));
        let ahead = self.ahead.iter().map(|(seq, (_, row))| (*seq, *row));
        let mut known = settled.into_iter().chain(ahead).filter(|(seq, _)| after < *seq && *seq <= last);
        known.any(|(seq, known)| match rows.binary_search_by_key(&seq, |row| row.seq) {
            Ok(found) => rows.get(found).is_none_or(|row| KnownRow::new(row) != known),
            // Old rows are deleted, by the clock of a job, which may be hours ahead.
            Err(_) => now < known.at + CHANGE_FEED_RETENTION_MS / 2,
        })
    }

    /// Whether the row of this number was added, or is too late.
    pub fn is_known(&self, seq: u64) -> bool {
        (seq <= self.settled && !self.holes.contains_key(&seq)) || self.ahead.contains_key(&seq)
    }

    /// The holes to ask for at `now`.
    pub fn holes(&mut self, now: u64) -> Vec<u64> {
        self.holes.retain(|_, until| now < *until);
        self.holes.keys().copied().collect()
    }

    /// Adds a row that became known at `known_at`, in Unix milliseconds.
    pub fn add(&mut self, row: &ChangeRow, known_at: u64) {
        if !self.is_known(row.seq) && self.holes.remove(&row.seq).is_none() {
            self.ahead.insert(row.seq, (known_at, KnownRow::new(row)));
        }
    }

    /// Settles what has no gap before it, or a gap that has been waited for long enough at `now`.
    pub fn settle(&mut self, now: u64) {
        while let Some((&seq, &(known_at, row))) = self.ahead.first_key_value() {
            if seq != self.settled + 1 && now < known_at + LATE_COMMIT_MS {
                return;
            }
            self.add_holes(seq, now);
            (self.settled, self.settled_row) = (seq, Some(row));
            self.ahead.pop_first();
        }
    }

    /// Remembers the newest missing numbers before `seq`. Those before the first row were deleted.
    fn add_holes(&mut self, seq: u64, now: u64) {
        if self.settled > 0 {
            let missing = (self.settled + 1..seq).rev().take(MAX_HOLES);
            self.holes.extend(missing.map(|missing| (missing, now + HOLE_LIFETIME_MS)));
        }
        while self.holes.len() > MAX_HOLES {
            self.holes.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    fn row(seq: u64) -> ChangeRow {
        let subject = gailou_shared::id::SubjectKey::new("article", "1").unwrap();
        ChangeRow { seq, at: NOW, subject, version: seq, id: CommentId::new(seq).ok() }
    }

    #[test]
    fn gap_is_waited_for() {
        let mut progress = FeedProgress::default();
        for seq in [1, 2, 4] {
            progress.add(&row(seq), NOW);
        }
        progress.settle(NOW);
        assert_eq!(progress.settled(), 2);
        assert!(progress.is_known(4) && !progress.is_known(3), "number 3 may still be committed");
        progress.settle(NOW + LATE_COMMIT_MS - 1);
        assert_eq!(progress.settled(), 2);
        progress.settle(NOW + LATE_COMMIT_MS);
        assert_eq!(progress.settled(), 4);
        assert!(progress.is_known(4) && !progress.is_known(3));
    }

    #[test]
    fn hole_is_asked_for_until_it_is_closed_or_an_hour_old() {
        let mut progress = FeedProgress::default();
        for seq in [7, 9, 11] {
            progress.add(&row(seq), NOW);
        }
        progress.settle(NOW + LATE_COMMIT_MS);
        assert_eq!(
            (progress.settled(), progress.holes(NOW + LATE_COMMIT_MS)),
            (11, vec![8, 10]),
            "1 to 6 were deleted"
        );
        progress.add(&row(10), NOW + 60_000);
        assert!(progress.is_known(10));
        assert_eq!(progress.holes(NOW + HOLE_LIFETIME_MS), [8]);
        assert_eq!(progress.holes(NOW + LATE_COMMIT_MS + HOLE_LIFETIME_MS), [0; 0]);
        assert!(progress.is_known(8), "number 8 is too late");
        progress.add(&row(5_000), NOW);
        progress.settle(NOW + LATE_COMMIT_MS);
        assert_eq!(progress.holes(NOW), (4_800..5_000).collect::<Vec<_>>());
    }

    #[test]
    fn late_commit_closes_the_gap() {
        let mut progress = FeedProgress::default();
        for seq in [1, 3, 2] {
            progress.add(&row(seq), NOW);
            progress.settle(NOW);
        }
        assert_eq!(progress.settled(), 3);
    }

    #[test]
    fn row_that_is_missing_or_another_one_contradicts_what_is_known() {
        let mut progress = FeedProgress::default();
        for seq in [1, 2, 4] {
            progress.add(&row(seq), NOW);
        }
        progress.settle(NOW);
        assert_eq!((progress.settled(), progress.read_after()), (2, 1));
        let check = |rows: &[ChangeRow], is_all: bool, expected: bool| {
            assert_eq!(progress.is_contradicted(1, rows, is_all, NOW), expected, "{rows:?}");
        };
        check(&[row(2), row(4)], true, false);
        check(&[row(2), row(3), row(4), row(5)], true, false);
        check(&[row(2), row(3)], false, false);
        check(&[row(2)], true, true);
        check(&[row(4)], true, true);
        check(&[], true, true);
        check(&[row(2), ChangeRow { at: NOW + 1, ..row(4) }], true, true);
        check(&[ChangeRow { version: 9, ..row(2) }, row(4)], true, true);
        assert!(!progress.is_contradicted(1, &[], true, NOW + CHANGE_FEED_RETENTION_MS), "they were deleted");
        assert!(!FeedProgress::default().is_contradicted(0, &[], true, NOW));
    }
}
