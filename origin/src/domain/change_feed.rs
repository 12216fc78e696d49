//! How far the change feed of one database is known.
//!
//! A row gets its number when it is written and becomes visible when it is committed, so a smaller
//! number may appear after a larger one. A missing number is waited for; until then everything after
//! it is read again. Knows numbers and times only: no rows, no clock, no query.

use std::collections::BTreeMap;

/// How long a missing number may still be committed, in milliseconds.
pub const LATE_COMMIT_MS: u64 = 15_000;
/// Rows of one query of the feed.
pub const MAX_CHANGE_ROWS_PER_QUERY: usize = 1_000;

/// The known numbers of one database.
#[derive(Debug, Default)]
pub struct FeedProgress {
    /// Every number up to this one is known or is waited for no longer.
    settled: u64,
    /// Known numbers beyond a gap, with the time they became known.
    ahead: BTreeMap<u64, u64>,
}

impl FeedProgress {
    /// The number after which the feed has to be read again.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// Whether the row of this number was added, or is too late.
    pub fn is_known(&self, seq: u64) -> bool {
        seq <= self.settled || self.ahead.contains_key(&seq)
    }

    /// Adds a number that became known at `known_at`, in Unix milliseconds.
    pub fn add(&mut self, seq: u64, known_at: u64) {
        if !self.is_known(seq) {
            self.ahead.insert(seq, known_at);
        }
    }

    /// Settles what has no gap before it, or a gap that has been waited for long enough at `now`.
    pub fn settle(&mut self, now: u64) {
        while let Some((&seq, &known_at)) = self.ahead.first_key_value() {
            if seq != self.settled + 1 && now < known_at + LATE_COMMIT_MS {
                return;
            }
            self.settled = seq;
            self.ahead.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_800_000_000_000;

    #[test]
    fn gap_is_waited_for() {
        let mut progress = FeedProgress::default();
        for seq in [1, 2, 4] {
            progress.add(seq, NOW);
        }
        progress.settle(NOW);
        assert_eq!(progress.settled(), 2);
        assert!(progress.is_known(4) && !progress.is_known(3), "number 3 may still be committed");
        progress.settle(NOW + LATE_COMMIT_MS - 1);
        assert_eq!(progress.settled(), 2);
        progress.settle(NOW + LATE_COMMIT_MS);
        assert_eq!(progress.settled(), 4);
        assert!(progress.is_known(3), "number 3 is too late");
    }

    #[test]
    fn late_commit_closes_the_gap() {
        let mut progress = FeedProgress::default();
        for seq in [1, 3, 2] {
            progress.add(seq, NOW);
            progress.settle(NOW);
        }
        assert_eq!(progress.settled(), 3);
    }
}
