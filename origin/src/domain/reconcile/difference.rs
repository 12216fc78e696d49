//! A difference, in words.

use gailou_shared::id::{CommentId, MemberId};

use crate::domain::reconcile::CounterDifference;

/// Something in the tables that differs from what the rows of comments say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    Counter(CounterDifference),
    /// The rank row of a comment.
    Rank(CommentId, RankFault),
    /// The row of a comment in the review queue.
    Review(CommentId, ReviewFault),
    /// The row of a comment in a member's history.
    History(MemberId, CommentId, HistoryFault),
    Outbox(OutboxDifference),
}

/// What is wrong with a rank row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankFault {
    Missing,
    Wrong,
    /// The comment has none, or another one that is right.
    Superfluous,
}

/// What is wrong with a row of the review queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReviewFault {
    /// The comment is held.
    Missing,
    /// Its place differs from what the comment says, or the comment says something else of it.
    Wrong,
    /// Nothing of the comment is undecided.
    Superfluous,
}

/// What is wrong with a row of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HistoryFault {
    /// The comment is in no history, and no outbox owes it.
    Missing,
    /// The member has no such comment.
    Superfluous,
}

/// Rows of an outbox that wait although their recipient answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutboxDifference {
    pub database: usize,
    pub recipient: usize,
    pub rows: u64,
    /// How long the oldest has waited.
    pub age_s: u64,
}

/// A difference, and whether it was repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundDifference {
    pub difference: Difference,
    pub repaired: bool,
}

/// What one bounded step found, and where the next one begins; `None` at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedChunk<P> {
    pub found: Vec<FoundDifference>,
    pub next: Option<P>,
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Counter(counter) => counter.fmt(f),
            Self::Rank(id, fault) => {
                let what = match fault {
                    RankFault::Missing => "its rank row is missing",
                    RankFault::Wrong => "its rank row is wrong",
                    RankFault::Superfluous => "a rank row is superfluous",
                };
                write!(f, "comment {id}: {what}")
            }
            Self::Review(id, fault) => {
                let what = match fault {
                    ReviewFault::Missing => "it is held, and its row of the review queue is missing",
                    ReviewFault::Wrong => "its row of the review queue is wrong",
                    ReviewFault::Superfluous => "it is decided, and its row of the review queue is superfluous",
                };
                write!(f, "comment {id}: {what}")
            }
            Self::History(member, id, HistoryFault::Missing) => {
                write!(f, "comment {id}: its row in the history of member {member} is missing")
            }
            Self::History(member, id, HistoryFault::Superfluous) => {
                write!(f, "comment {id}: the history of member {member} has it, but the member has no such comment")
            }
            Self::Outbox(OutboxDifference { database, recipient, rows, age_s }) => write!(
                f,
                "the outbox of database {database}: {rows} rows for database {recipient}, which answers, wait for {age_s} s"
            ),
        }
    }
}
