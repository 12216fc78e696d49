//! Compares the counters stored in rows with what the rows add up to.
//!
//! Pure: an adapter feeds the rows of one subject, as of one moment, in path order. Memory is bounded by
//! the depth of the thread and the number of floors. Nothing here reads or repairs.

use gailou_shared::id::CommentId;
use gailou_shared::path::Path;

use crate::domain::row::ReactionCounts;

/// A counter that differs from what the rows add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterDifference {
    pub owner: CounterOwner,
    pub counter: CounterKind,
    pub stored: u64,
    pub counted: u64,
}

/// The row that has a counter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterOwner {
    Subject,
    Comment(CommentId),
}

/// What a counter counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterKind {
    Likes,
    Dislikes,
    /// Visible descendants, or visible comments of a subject.
    Replies,
    /// Visible roots of a subject.
    Roots,
    /// The last floor given.
    LastFloor,
    /// Floors that exist exactly once. Not repaired: floors never change.
    DistinctFloors,
    /// Whether lists contain it.
    Listed,
    /// Ancestors that exist. Not repaired.
    Ancestors,
}

impl CounterDifference {
    /// Whether a repair can correct it.
    pub fn can_be_repaired(&self) -> bool {
        !matches!(self.counter, CounterKind::DistinctFloors | CounterKind::Ancestors)
    }

    /// How much is missing from what is stored. Writers move a counter by the changes that they make, so this
    /// stays the same while they do: a repair adds it, however much the counter has moved since it was compared.
    pub(crate) fn missing(&self) -> i64 {
        i64::try_from(i128::from(self.counted) - i128::from(self.stored)).unwrap_or(0)
    }
}

impl std::fmt::Display for CounterDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.owner {
            CounterOwner::Subject => f.write_str("the subject")?,
            CounterOwner::Comment(id) => write!(f, "comment {id}")?,
        }
        let counter = match self.counter {
            CounterKind::Likes => "likes",
            CounterKind::Dislikes => "dislikes",
            CounterKind::Replies => "visible comments below",
            CounterKind::Roots => "visible roots",
            CounterKind::LastFloor => "floors given",
            CounterKind::DistinctFloors => "floors that are there once",
            CounterKind::Listed => "listed",
            CounterKind::Ancestors => "ancestors",
        };
        write!(f, ": {counter} stored {}, counted {}", self.stored, self.counted)
    }
}

/// A comment's counters, and what they are compared with.
#[derive(Debug, Clone)]
pub struct CountedComment {
    pub path: Path,
    pub floor: Option<u64>,
    pub floors: u64,
    pub visible: bool,
    pub listed: bool,
    pub likes: u64,
    pub dislikes: u64,
    /// Likes and dislikes that it was imported with.
    pub base: ReactionCounts,
    /// Likes and dislikes among the rows of its reactions.
    pub reactions: ReactionCounts,
    pub replies: u64,
}

/// A subject's counters.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountedSubject {
    pub floors: u64,
    pub roots: u64,
    pub comments: u64,
}

/// A comment whose descendants are being fed.
struct OpenComment {
    row: CountedComment,
    /// Visible descendants so far.
    below: u64,
    /// Floors of its descendants, where it is a root.
    floors: Vec<u64>,
}

/// Adds up one subject.
#[derive(Default)]
pub struct CounterChecker {
    /// The path down to the last row.
    chain: Vec<OpenComment>,
    floors: Vec<u64>,
    roots: u64,
    comments: u64,
    found: Vec<CounterDifference>,
}

impl std::fmt::Debug for CounterChecker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CounterChecker").field("found", &self.found).finish_non_exhaustive()
    }
}

impl CounterChecker {
    /// Adds the next row in path order.
    pub fn feed(&mut self, row: CountedComment) {
        while self.chain.last().is_some_and(|open| !open.row.path.is_ancestor_of(&row.path)) {
            self.close_last();
        }
        let above = row.path.depth() as u64 - 1;
        if self.chain.len() as u64 != above {
            self.compare(CounterOwner::Comment(row.path.id()), CounterKind::Ancestors, above, self.chain.len() as u64);
        }
        if row.visible {
            self.comments += 1;
            self.roots += u64::from(above == 0);
            self.chain.iter_mut().for_each(|open| open.below += 1);
        }
        if let Some(floor) = row.floor {
            match self.chain.first_mut() {
                Some(root) => root.floors.push(floor),
                None => self.floors.push(floor),
            }
        } else if row.visible {
            self.compare(CounterOwner::Comment(row.path.id()), CounterKind::DistinctFloors, 0, 1);
        }
        self.chain.push(OpenComment { row, below: 0, floors: vec![] });
    }

    /// The differences, after every row was fed.
    pub fn finish(mut self, subject: CountedSubject) -> Vec<CounterDifference> {
        while !self.chain.is_empty() {
            self.close_last();
        }
        let floors = std::mem::take(&mut self.floors);
        self.compare(CounterOwner::Subject, CounterKind::Roots, subject.roots, self.roots);
        self.compare(CounterOwner::Subject, CounterKind::Replies, subject.comments, self.comments);
        self.compare_floors(CounterOwner::Subject, subject.floors, floors);
        self.found
    }

    fn close_last(&mut self) {
        let Some(OpenComment { row, below, floors }) = self.chain.pop() else { return };
        let owner = CounterOwner::Comment(row.path.id());
        self.compare(owner, CounterKind::Likes, row.likes, row.base.likes + row.reactions.likes);
        self.compare(owner, CounterKind::Dislikes, row.dislikes, row.base.dislikes + row.reactions.dislikes);
        self.compare(owner, CounterKind::Replies, row.replies, below);
        let listed = row.visible || (row.floor.is_some() && below > 0);
        self.compare(owner, CounterKind::Listed, u64::from(row.listed), u64::from(listed));
        if row.path.depth() == 1 {
            self.compare_floors(owner, row.floors, floors);
        }
    }

    /// Floors are assigned from 1 on, each once, and rows are never deleted.
    fn compare_floors(&mut self, owner: CounterOwner, given: u64, mut floors: Vec<u64>) {
        floors.sort_unstable();
        self.compare(owner, CounterKind::LastFloor, given, floors.last().copied().unwrap_or(0));
        let once = floors.iter().zip(1..).filter(|(floor, n)| **floor == *n).count() as u64;
        self.compare(owner, CounterKind::DistinctFloors, floors.len() as u64, once);
    }

    fn compare(&mut self, owner: CounterOwner, counter: CounterKind, stored: u64, counted: u64) {
        if stored != counted {
            self.found.push(CounterDifference { owner, counter, stored, counted });
        }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;

    use super::*;

    fn id(n: u64) -> CommentId {
        CommentId::from_parts(1_700_000_000_000 + n, Slot::FIRST, 0, 0)
    }

    fn row(ids: &[u64], floor: u64, floors: u64, replies: u64) -> CountedComment {
        let bytes: Vec<u8> = ids.iter().flat_map(|n| id(*n).get().to_be_bytes()).collect();
        CountedComment {
            path: Path::from_bytes(&bytes).unwrap(),
            floor: Some(floor),
            floors,
            visible: true,
            listed: true,
            likes: 3,
            dislikes: 0,
            base: ReactionCounts { likes: 1, dislikes: 0 },
            reactions: ReactionCounts { likes: 2, dislikes: 0 },
            replies,
        }
    }

    fn check(rows: Vec<CountedComment>, subject: CountedSubject, expected: &[(CounterOwner, CounterKind, u64, u64)]) {
        let mut checker = CounterChecker::default();
        rows.into_iter().for_each(|row| checker.feed(row));
        let found: Vec<_> =
            checker.finish(subject).into_iter().map(|d| (d.owner, d.counter, d.stored, d.counted)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn every_wrong_counter_is_named() {
        let rows = || vec![row(&[1], 1, 2, 2), row(&[1, 2], 1, 0, 1), row(&[1, 2, 3], 2, 0, 0), row(&[4], 2, 0, 0)];
        let subject = CountedSubject { floors: 2, roots: 2, comments: 4 };
        check(rows(), subject, &[]);
        let mut wrong = rows();
        wrong[2].likes = 4;
        wrong[1].replies = 0;
        wrong[0].floors = 3;
        let of = |n| CounterOwner::Comment(id(n));
        check(
            wrong,
            CountedSubject { comments: 5, ..subject },
            &[
                (of(3), CounterKind::Likes, 4, 3),
                (of(2), CounterKind::Replies, 0, 1),
                (of(1), CounterKind::LastFloor, 3, 2),
                (CounterOwner::Subject, CounterKind::Replies, 5, 4),
            ],
        );
        let mut twice = rows();
        twice[3].floor = Some(1);
        check(
            twice,
            subject,
            &[
                (CounterOwner::Subject, CounterKind::LastFloor, 2, 1),
                (CounterOwner::Subject, CounterKind::DistinctFloors, 2, 1),
            ],
        );
        let orphan = vec![row(&[1], 1, 0, 0), row(&[4, 5], 1, 0, 0)];
        let found = |d: &CounterDifference| d.counter == CounterKind::Ancestors && d.owner == of(5);
        let mut checker = CounterChecker::default();
        orphan.into_iter().for_each(|row| checker.feed(row));
        assert!(checker.finish(subject).iter().any(found));
    }

    #[test]
    fn tombstone_is_listed_while_a_descendant_is_visible() {
        let mut rows = vec![row(&[1], 1, 1, 1), row(&[1, 2], 1, 0, 0)];
        rows[0].visible = false;
        check(rows.clone(), CountedSubject { floors: 1, roots: 0, comments: 1 }, &[]);
        rows[1].visible = false;
        rows[1].listed = false;
        rows[0].replies = 0;
        let of = CounterOwner::Comment(id(1));
        check(rows, CountedSubject { floors: 1, roots: 0, comments: 0 }, &[(of, CounterKind::Listed, 1, 0)]);
    }
}
