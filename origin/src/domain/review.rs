//! What of a comment waits for a moderator: its item in the review queue; and what moderators decide.
//!
//! Pure data. An item exists while something about the comment is undecided: the comment itself, an edit of it, or
//! reports of readers.

use std::fmt;

use gailou_shared::id::CommentId;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, MemberRef, ReportReason, ReviewKind, ReviewReason, ReviewReasonKind};
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::domain::columns::StoredEnum as _;

/// Most reasons of one item; what comes after them is left out.
const MAX_REVIEW_REASONS: usize = 20;

/// What a report adds to the priority of a comment; a like adds 1.
const REPORT_PRIORITY: u64 = 10;
/// What a reply adds.
const REPLY_PRIORITY: u64 = 2;

/// An item of the review queue.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewItem {
    /// One for each kind and detail.
    pub reasons: Vec<ReviewReason>,
    /// Since when it waits, in Unix milliseconds.
    pub since: u64,
    /// Reports since the last decision.
    pub reports: u64,
    /// An edit that waits while readers see the former text.
    pub edit: Option<HeldEdit>,
}

/// A new text of a published comment that waits for a moderator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldEdit {
    pub content: String,
    pub html: String,
    /// The text as written, where the filter masked part of it.
    pub original_text: Option<String>,
    /// When it was written, in Unix milliseconds.
    pub at: u64,
}

impl ReviewItem {
    /// An item that begins to wait at this moment.
    pub fn new(since: u64) -> Self {
        Self { since, ..Self::default() }
    }

    /// Adds a reason, or counts it again.
    pub fn add(&mut self, reason: &ReviewReason) {
        let is_same = |other: &ReviewReason| other.kind == reason.kind && other.detail == reason.detail;
        match self.reasons.iter().position(is_same) {
            Some(index) => self.reasons[index].count += reason.count,
            None if self.reasons.len() < MAX_REVIEW_REASONS => self.reasons.push(reason.clone()),
            None => {}
        }
    }

    /// Removes what an edit that waits no longer was held for. Returns whether nothing is left to decide.
    pub fn remove_edit(&mut self) -> bool {
        self.edit = None;
        self.reasons.retain(|reason| reason.kind == ReviewReasonKind::Report);
        self.reports == 0
    }

    /// The part of the queue it is in.
    pub fn kind(&self) -> ReviewKind {
        let is_reported = self.reports > 0 && self.reasons.iter().all(|reason| reason.kind == ReviewReasonKind::Report);
        if is_reported { ReviewKind::Reported } else { ReviewKind::Held }
    }

    /// How urgent it is: reports × 10 + likes + 2 × replies + the author's level.
    pub fn priority(&self, counts: EngagementCounts, author_level: u8) -> u64 {
        let reports = self.reports.saturating_mul(REPORT_PRIORITY);
        let replies = counts.replies.saturating_mul(REPLY_PRIORITY);
        reports.saturating_add(counts.likes).saturating_add(replies).saturating_add(author_level.into())
    }
}

/// A comment as a moderator has seen it: its state, and when its text and the edit that waits were written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenComment {
    state: CommentState,
    /// Unix milliseconds; 0 for a text that was not edited.
    edited_at: u64,
    /// The same of the edit that waits; 0 where none does.
    held_edit_at: u64,
}

impl SeenComment {
    pub fn of(state: CommentState, edited_at: Option<u64>, item: Option<&ReviewItem>) -> Self {
        let held_edit_at = item.and_then(|item| item.edit.as_ref()).map_or(0, |edit| edit.at);
        Self { state, edited_at: edited_at.unwrap_or(0), held_edit_at }
    }

    /// Reads what it is written as.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let [state, edited_at, held_edit_at] = [parts.next()?, parts.next()?, parts.next()?];
        let state = CommentState::from_number(state.parse().ok()?).ok()?;
        let seen = Self { state, edited_at: edited_at.parse().ok()?, held_edit_at: held_edit_at.parse().ok()? };
        parts.next().is_none().then_some(seen)
    }
}

impl fmt::Display for SeenComment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, edited_at, held_edit_at } = self;
        write!(f, "{}.{edited_at}.{held_edit_at}", state.number())
    }
}

/// A reader's report of a comment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewReport {
    pub reporter: MemberRef,
    pub reason: ReportReason,
    pub note: Option<String>,
    /// So many reports take the comment out of the lists until a moderator decides; 0: none do.
    pub threshold: u64,
}

/// The name of a reason as reviewers read it.
pub fn report_detail(reason: ReportReason) -> &'static str {
    match reason {
        ReportReason::Spam => "spam",
        ReportReason::Abuse => "abuse",
        ReportReason::Illegal => "illegal",
        ReportReason::Other => "other",
    }
}

/// A place in the review queue, which is sorted by it: the most urgent first, among equals the one that waits longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueuePosition {
    /// The priority, negative.
    pub rank: i64,
    pub since: u64,
    pub id: CommentId,
}

impl QueuePosition {
    /// The place of a comment with this priority.
    pub fn new(priority: u64, since: u64, id: CommentId) -> Self {
        Self { rank: -i64::try_from(priority).unwrap_or(i64::MAX), since, id }
    }
}

/// An item as the queue is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedReview {
    pub position: QueuePosition,
    pub item: ReviewItem,
    /// The moderator who has it, and until when (Unix milliseconds); also after that moment.
    pub lease: Option<(MemberRef, u64)>,
}

/// How many comments are in each part of the queue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounts {
    pub held: u64,
    pub reported: u64,
}

impl QueueCounts {
    /// Those of one part, or of both.
    pub fn of(self, kind: Option<ReviewKind>) -> u64 {
        match kind {
            Some(ReviewKind::Held) => self.held,
            Some(ReviewKind::Reported) => self.reported,
            None => self.held + self.reported,
        }
    }
}

/// What a moderator decides about a comment. The names are those of requests and of the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Decision {
    /// Publishes a comment that was held or rejected, with the edit of it that waits; ends what was reported of it.
    Approve,
    /// Drops the edit that waits; without one, takes the comment out of the lists.
    Reject,
    Hide,
    /// Publishes a comment whatever took it out of the lists.
    Restore,
    Delete,
    Feature,
    Unfeature,
}

/// What a moderator does with comments, singly and in bulk: a decision, of which its author is notified, or a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeratorAction {
    Decide(Decision),
    Pin,
    Unpin,
}

impl ModeratorAction {
    /// The names of requests and of the audit.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Decision::VARIANTS.iter().copied().chain(["pin", "unpin"])
    }

    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "pin" => Some(Self::Pin),
            "unpin" => Some(Self::Unpin),
            _ => name.parse().ok().map(Self::Decide),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(kind: ReviewReasonKind, detail: &str) -> ReviewReason {
        ReviewReason { kind, detail: detail.into(), count: 1 }
    }

    #[test]
    fn reasons_are_counted_once_each_and_bounded() {
        let mut item = ReviewItem::new(5);
        item.add(&reason(ReviewReasonKind::Report, "spam"));
        item.add(&reason(ReviewReasonKind::Report, "spam"));
        item.add(&reason(ReviewReasonKind::Word, "spam"));
        let found: Vec<_> = item.reasons.iter().map(|r| (r.kind, r.detail.as_str(), r.count)).collect();
        assert_eq!(found, [(ReviewReasonKind::Report, "spam", 2), (ReviewReasonKind::Word, "spam", 1)]);
        (0..100).for_each(|n| item.add(&reason(ReviewReasonKind::Rule, &n.to_string())));
        assert_eq!(item.reasons.len(), MAX_REVIEW_REASONS);
    }

    #[test]
    fn comment_is_reported_until_something_else_holds_it() {
        let mut item = ReviewItem { reports: 1, ..ReviewItem::new(5) };
        item.add(&reason(ReviewReasonKind::Report, "abuse"));
        assert_eq!(item.kind(), ReviewKind::Reported);
        item.add(&reason(ReviewReasonKind::Word, "ad"));
        assert_eq!(item.kind(), ReviewKind::Held);
        assert!(!item.remove_edit(), "the report is left");
        assert_eq!(item.kind(), ReviewKind::Reported);
        assert!(ReviewItem::new(5).remove_edit());
    }

    #[test]
    fn priority_is_by_reports_likes_replies_and_level_and_older_ones_come_first() {
        let counts = EngagementCounts { likes: 4, dislikes: 9, replies: 3 };
        let item = ReviewItem { reports: 2, ..ReviewItem::new(5) };
        assert_eq!(item.priority(counts, 7), 20 + 4 + 6 + 7);
        let id = |n| CommentId::new(n).unwrap();
        let mut places = [(1, 5, 9), (3, 6, 2), (3, 5, 3), (3, 5, 1)].map(|(p, s, n)| QueuePosition::new(p, s, id(n)));
        places.sort_unstable();
        assert_eq!(places.map(|place| place.id.get()), [1, 3, 2, 9]);
    }
}
