//! Whether the counters kept in rows are what the rows add up to.
//!
//! Pure: an adapter feeds the rows of one subject in path order, of one moment; memory is bounded
//! by the depth and the number of floors. Nothing here reads or repairs.

use gailou_shared::id::CommentId;
use gailou_shared::path::Path;

/// A counter that is not what the rows add up to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterDifference {
    pub of: CounterOwner,
    pub counter: SubjectCounter,
    pub stored: u64,
    pub counted: u64,
}

/// What a counter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterOwner {
    Subject,
    Comment(CommentId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectCounter {
    Likes,
    Dislikes,
    /// Visible descendants, or visible comments of a subject.
    Replies,
    /// Visible roots of a subject.
    Roots,
    /// The last floor given.
    Floors,
    /// Floors that two comments have, or none has. Not repaired: floors never change.
    Floor,
    /// Whether it stands in lists.
    Listed,
    /// Ancestors that are not there. Not repaired.
    Ancestors,
}

impl CounterDifference {
    /// Whether writing the counted number puts it right.
    pub fn can_be_repaired(&self) -> bool {
        !matches!(self.counter, SubjectCounter::Floor | SubjectCounter::Ancestors)
    }
}

impl std::fmt::Display for CounterDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.of {
            CounterOwner::Subject => f.write_str("the subject")?,
            CounterOwner::Comment(id) => write!(f, "comment {id}")?,
        }
        let counter = match self.counter {
            SubjectCounter::Likes => "likes",
            SubjectCounter::Dislikes => "dislikes",
            SubjectCounter::Replies => "visible comments below",
            SubjectCounter::Roots => "visible roots",
            SubjectCounter::Floors => "floors given",
            SubjectCounter::Floor => "floors that are there once",
            SubjectCounter::Listed => "listed",
            SubjectCounter::Ancestors => "ancestors",
        };
        write!(f, ": {counter} stored {}, counted {}", self.stored, self.counted)
    }
}

/// A comment as its row counts it.
#[derive(Debug, Clone)]
pub struct CountedComment {
    pub path: Path,
    pub floor: Option<u64>,
    pub floors: u64,
    pub visible: bool,
    pub listed: bool,
    pub likes: u64,
    pub dislikes: u64,
    /// Likes and dislikes it was imported with.
    pub base: (u64, u64),
    /// Likes and dislikes among its reactions.
    pub reactions: (u64, u64),
    pub replies: u64,
}

/// A subject as its row counts it.
#[derive(Debug, Clone, Copy, Default)]
pub struct CountedSubject {
    pub floors: u64,
    pub roots: u64,
    pub comments: u64,
}

struct OpenComment {
    row: CountedComment,
    /// Visible descendants so far.
    below: u64,
    /// Floors of its descendants, of a root alone.
    floors: Vec<u64>,
}

/// Adds up one subject.
#[derive(Default)]
pub struct CounterChecker {
    /// The chain down to the last row.
    chain: Vec<OpenComment>,
    floors: Vec<u64>,
    roots: u64,
    comments: u64,
    found: Vec<CounterDifference>,
}

impl std::fmt::Debug for CounterChecker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Checker").field("found", &self.found).finish_non_exhaustive()
    }
}

impl CounterChecker {
    /// Takes the next row in path order.
    pub fn feed(&mut self, row: CountedComment) {
        while self.chain.last().is_some_and(|open| !open.row.path.is_ancestor_of(&row.path)) {
            self.leave();
        }
        let above = row.path.depth() as u64 - 1;
        if self.chain.len() as u64 != above {
            self.differ(
                CounterOwner::Comment(row.path.id()),
                SubjectCounter::Ancestors,
                above,
                self.chain.len() as u64,
            );
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
            self.differ(CounterOwner::Comment(row.path.id()), SubjectCounter::Floor, 0, 1);
        }
        self.chain.push(OpenComment { row, below: 0, floors: vec![] });
    }

    /// What differs, once every row was fed.
    pub fn finish(mut self, subject: CountedSubject) -> Vec<CounterDifference> {
        while !self.chain.is_empty() {
            self.leave();
        }
        let floors = std::mem::take(&mut self.floors);
        self.differ(CounterOwner::Subject, SubjectCounter::Roots, subject.roots, self.roots);
        self.differ(CounterOwner::Subject, SubjectCounter::Replies, subject.comments, self.comments);
        self.compare_floors(CounterOwner::Subject, subject.floors, floors);
        self.found
    }

    fn leave(&mut self) {
        let Some(OpenComment { row, below, floors }) = self.chain.pop() else { return };
        let of = CounterOwner::Comment(row.path.id());
        self.differ(of, SubjectCounter::Likes, row.likes, row.base.0 + row.reactions.0);
        self.differ(of, SubjectCounter::Dislikes, row.dislikes, row.base.1 + row.reactions.1);
        self.differ(of, SubjectCounter::Replies, row.replies, below);
        let listed = row.visible || (row.floor.is_some() && below > 0);
        self.differ(of, SubjectCounter::Listed, u64::from(row.listed), u64::from(listed));
        if row.path.depth() == 1 {
            self.compare_floors(of, row.floors, floors);
        }
    }

    /// Floors are given from 1 on, each once, and rows stay for ever.
    fn compare_floors(&mut self, of: CounterOwner, given: u64, mut floors: Vec<u64>) {
        floors.sort_unstable();
        self.differ(of, SubjectCounter::Floors, given, floors.last().copied().unwrap_or(0));
        let once = floors.iter().zip(1..).filter(|(floor, n)| **floor == *n).count() as u64;
        self.differ(of, SubjectCounter::Floor, floors.len() as u64, once);
    }

    fn differ(&mut self, of: CounterOwner, counter: SubjectCounter, stored: u64, counted: u64) {
        if stored != counted {
            self.found.push(CounterDifference { of, counter, stored, counted });
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
            base: (1, 0),
            reactions: (2, 0),
            replies,
        }
    }

    fn check(
        rows: Vec<CountedComment>,
        subject: CountedSubject,
        expected: &[(CounterOwner, SubjectCounter, u64, u64)],
    ) {
        let mut checker = CounterChecker::default();
        rows.into_iter().for_each(|row| checker.feed(row));
        let found: Vec<_> =
            checker.finish(subject).into_iter().map(|d| (d.of, d.counter, d.stored, d.counted)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_adds_up_differs_in_nothing_and_every_wrong_counter_is_named() {
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
                (of(3), SubjectCounter::Likes, 4, 3),
                (of(2), SubjectCounter::Replies, 0, 1),
                (of(1), SubjectCounter::Floors, 3, 2),
                (CounterOwner::Subject, SubjectCounter::Replies, 5, 4),
            ],
        );
        let mut twice = rows();
        twice[3].floor = Some(1);
        check(
            twice,
            subject,
            &[
                (CounterOwner::Subject, SubjectCounter::Floors, 2, 1),
                (CounterOwner::Subject, SubjectCounter::Floor, 2, 1),
            ],
        );
        let orphan = vec![row(&[1], 1, 0, 0), row(&[4, 5], 1, 0, 0)];
        let found = |d: &CounterDifference| d.counter == SubjectCounter::Ancestors && d.of == of(5);
        let mut checker = CounterChecker::default();
        orphan.into_iter().for_each(|row| checker.feed(row));
        assert!(checker.finish(subject).iter().any(found));
    }

    #[test]
    fn a_tombstone_is_listed_while_it_holds_something_up() {
        let mut rows = vec![row(&[1], 1, 1, 1), row(&[1, 2], 1, 0, 0)];
        rows[0].visible = false;
        check(rows.clone(), CountedSubject { floors: 1, roots: 0, comments: 1 }, &[]);
        rows[1].visible = false;
        rows[1].listed = false;
        rows[0].replies = 0;
        let of = CounterOwner::Comment(id(1));
        check(rows, CountedSubject { floors: 1, roots: 0, comments: 0 }, &[(of, SubjectCounter::Listed, 1, 0)]);
    }
}
