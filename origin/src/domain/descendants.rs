//! How the list under a reply is read: along the paths below it, or along the order of its whole thread.
//!
//! Paths reach the descendants alone, but in no order that a list has, so all of them are read for each
//! page. The thread's order has every page at its place, between the replies of others. Promise: reading
//! costs by what is under the comment, however long the thread around it is. Pure: no SQL.

use crate::domain::row::FloorRange;

/// A comment with at most so many replies is read by path. They are sorted faster than found among others.
const MAX_SORTED_REPLIES: u64 = 1_000;

/// The order of the thread is read where at least one in so many of the thread's replies is wanted, so that
/// it costs at most so many times what is under the comment.
const MAX_THREAD_SHARE: u64 = 4;

/// Counts of a comment that is no root, and of its thread.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DescendantCounts {
    /// Visible replies under the comment, in all.
    pub replies: u64,
    /// The same under its root.
    pub thread_replies: u64,
    /// The last floor that the thread has assigned.
    pub last_floor: u64,
}

/// Floors of a thread, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FloorWindow {
    pub first: u64,
    pub last: u64,
    /// Whether no floor of the range is outside.
    pub is_whole: bool,
}

impl DescendantCounts {
    /// Whether nothing under the comment is listed. A tombstone is listed for a visible descendant only.
    pub(crate) fn is_empty(&self) -> bool {
        self.replies == 0
    }

    /// The floors among which a part of the list is looked for first: as many as the comment has replies.
    /// `None` where the list is read by path at once.
    pub(crate) fn window(&self, range: FloorRange) -> Option<FloorWindow> {
        if self.replies <= MAX_SORTED_REPLIES {
            return None;
        }
        let FloorRange { ascending, beyond, .. } = range;
        Some(if ascending {
            let first = beyond.unwrap_or(0).min(self.last_floor) + 1;
            let last = first + self.replies - 1;
            FloorWindow { first, last, is_whole: last >= self.last_floor }
        } else {
            let last = beyond.map_or(self.last_floor, |beyond| beyond.saturating_sub(1).min(self.last_floor));
            let first = (last + 1).saturating_sub(self.replies);
            FloorWindow { first, last, is_whole: first <= 1 }
        })
    }

    /// Whether the best of the list are looked for in the order of the whole thread.
    pub(crate) fn is_ranked_by_thread(&self) -> bool {
        self.replies.saturating_mul(MAX_THREAD_SHARE) >= self.thread_replies
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LARGE: DescendantCounts = DescendantCounts { replies: 5_000, thread_replies: 30_000, last_floor: 31_000 };

    fn window(range: FloorRange) -> (u64, u64, bool) {
        let FloorWindow { first, last, is_whole } = LARGE.window(range).unwrap();
        (first, last, is_whole)
    }

    #[test]
    fn window_has_as_many_floors_as_replies() {
        assert_eq!(window(FloorRange::newest(20)), (26_001, 31_000, false));
        assert_eq!(window(FloorRange { beyond: Some(5_001), ..FloorRange::newest(20) }), (1, 5_000, true));
        assert_eq!(window(FloorRange { beyond: Some(3), ..FloorRange::newest(20) }), (0, 2, true));
        assert_eq!(window(FloorRange { beyond: Some(99_000), ..FloorRange::newest(20) }), (26_001, 31_000, false));
        assert_eq!(window(FloorRange::oldest(20)), (1, 5_000, false));
        assert_eq!(window(FloorRange { beyond: Some(26_000), ..FloorRange::oldest(20) }), (26_001, 31_000, true));
        let small = DescendantCounts { replies: MAX_SORTED_REPLIES, ..LARGE };
        assert_eq!(small.window(FloorRange::newest(20)), None);
    }

    #[test]
    fn order_of_the_thread_ranks_a_quarter_of_it() {
        assert!(!LARGE.is_ranked_by_thread());
        assert!(DescendantCounts { thread_replies: 20_000, ..LARGE }.is_ranked_by_thread());
    }
}
