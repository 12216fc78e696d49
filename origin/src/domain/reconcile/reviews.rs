//! What the review queue must have of comments, and how what it has differs.

use gailou_shared::id::CommentId;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::CommentState;

use crate::domain::columns::{FLAG_HELD_EDIT, FLAG_QUEUED, StoredEnum as _};
use crate::domain::fold::ReviewRow;
use crate::domain::reconcile::{Difference, FoundDifference, ReviewFault};
use crate::domain::review::{QueuePosition, ReviewItem};

/// The flags of a comment that say what the queue has of it.
pub(crate) const QUEUE_FLAGS: i64 = FLAG_QUEUED | FLAG_HELD_EDIT;

/// A comment with its row of the review queue.
#[derive(Debug, Clone)]
pub(crate) struct ReviewedComment {
    pub(crate) id: CommentId,
    pub(crate) state: CommentState,
    pub(crate) flags: i64,
    pub(crate) counts: EngagementCounts,
    pub(crate) author_level: u8,
    pub(crate) created_at: u64,
    pub(crate) queued: Option<QueuedRow>,
}

/// A row of the review queue as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct QueuedRow {
    /// The number of its part of the queue.
    pub(crate) kind: i64,
    pub(crate) rank: i64,
    pub(crate) since: u64,
    pub(crate) item: ReviewItem,
}

impl ReviewedComment {
    /// The item that the queue must have: of a held comment, and of a published one that was reported or has an edit that
    /// waits. Why a comment was held is not known any more where its row is missing.
    fn expected_item(&self) -> Option<ReviewItem> {
        let item = self.queued.as_ref().map(|queued| queued.item.clone());
        match self.state {
            CommentState::Review => Some(item.unwrap_or_else(|| ReviewItem::new(self.created_at))),
            CommentState::Published => item.filter(|item| item.reports > 0 || item.edit.is_some()),
            CommentState::Rejected | CommentState::Hidden | CommentState::Deleted => None,
        }
    }

    /// The row that the queue must have of it.
    pub(crate) fn expected_row(&self) -> ReviewRow {
        let item = self.expected_item().map(|item| {
            let priority = item.priority(self.counts, self.author_level);
            (QueuePosition::new(priority, item.since, self.id), item)
        });
        ReviewRow { id: self.id, item }
    }

    /// The flags that it must have.
    pub(crate) fn expected_flags(&self) -> i64 {
        let item = self.expected_item();
        let flag = |is_set: bool, flag: i64| if is_set { flag } else { 0 };
        let has_edit = item.as_ref().is_some_and(|item| item.edit.is_some());
        (self.flags & !QUEUE_FLAGS) | flag(item.is_some(), FLAG_QUEUED) | flag(has_edit, FLAG_HELD_EDIT)
    }

    /// How the queue differs from what it must have of it.
    pub(crate) fn fault(&self) -> Option<ReviewFault> {
        let expected = self.expected_row().item;
        let is_in_place = |queued: &QueuedRow, (position, item): &(QueuePosition, ReviewItem)| {
            (queued.kind, queued.rank, queued.since) == (item.kind().number(), position.rank, position.since)
        };
        match (&self.queued, &expected) {
            (None, Some(_)) => Some(ReviewFault::Missing),
            (Some(_), None) => Some(ReviewFault::Superfluous),
            (Some(queued), Some(expected)) if !is_in_place(queued, expected) => Some(ReviewFault::Wrong),
            _ => (self.flags != self.expected_flags()).then_some(ReviewFault::Wrong),
        }
    }

    /// The difference, where there is one.
    pub(crate) fn found(&self, repaired: bool) -> Option<FoundDifference> {
        let difference = Difference::Review(self.id, self.fault()?);
        Some(FoundDifference { difference, repaired })
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;

    use super::*;
    use crate::domain::review::HeldEdit;

    #[test]
    fn queue_has_what_is_undecided_and_nothing_else() {
        let edit = HeldEdit { content: "x".into(), html: String::new(), original_text: None, at: 5 };
        let item = |reports, edit| ReviewItem { reports, edit, ..ReviewItem::new(3) };
        let check = |state, item: Option<ReviewItem>, flags, fault| {
            let queued = item.map(|item| {
                let rank = -i64::try_from(item.priority(EngagementCounts::default(), 2)).unwrap();
                QueuedRow { kind: item.kind().number(), rank, since: item.since, item }
            });
            let comment = ReviewedComment {
                id: CommentId::from_parts(7, Slot::FIRST, 0, 0),
                state,
                flags,
                counts: EngagementCounts::default(),
                author_level: 2,
                created_at: 7,
                queued,
            };
            assert_eq!(comment.fault(), fault, "{comment:?}");
            let flags = comment.expected_flags();
            let queued = comment.expected_row().item.map(|(position, item)| QueuedRow {
                kind: item.kind().number(),
                rank: position.rank,
                since: position.since,
                item,
            });
            assert_eq!(ReviewedComment { flags, queued, ..comment }.fault(), None, "it is right afterwards");
        };
        use CommentState::{Deleted, Published, Rejected, Review};
        use ReviewFault::{Missing, Superfluous, Wrong};
        let (queued, with_edit) = (FLAG_QUEUED | 1, FLAG_QUEUED | FLAG_HELD_EDIT);
        check(Published, None, 1, None);
        check(Review, Some(item(0, None)), queued, None);
        check(Published, Some(item(1, None)), queued, None);
        check(Published, Some(item(0, Some(edit.clone()))), with_edit, None);
        check(Review, None, 1, Some(Missing));
        check(Review, None, queued, Some(Missing));
        check(Published, Some(item(0, None)), queued, Some(Superfluous));
        check(Rejected, Some(item(2, Some(edit.clone()))), with_edit, Some(Superfluous));
        check(Deleted, Some(item(0, None)), 0, Some(Superfluous));
        check(Review, Some(item(0, None)), 0, Some(Wrong));
        check(Published, Some(item(0, Some(edit))), queued, Some(Wrong));
        check(Published, None, queued, Some(Wrong));
    }
}
