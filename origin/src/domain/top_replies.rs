//! The best replies of roots, each reply once.
//!
//! While comments are ranked again, a reply that is written to may have two rank rows: one of the new weights, and one
//! of the former that the walk over the ranks has not reached. Not here: how rows are read.

use std::collections::{BTreeSet, HashMap};

use gailou_shared::id::CommentId;

/// How many rank rows a reply may have, of the new weights and of the former.
pub(crate) const MAX_RANKS_PER_REPLY: usize = 2;

/// The replies of roots by their rank rows, best first.
#[derive(Debug, Default)]
pub(crate) struct TopReplies(HashMap<CommentId, Vec<CommentId>>);

impl TopReplies {
    /// Adds the next row of a root.
    pub(crate) fn push(&mut self, root: CommentId, reply: CommentId) {
        self.0.entry(root).or_default().push(reply);
    }

    /// The roots that have rows of one reply twice: of these, more rows must be read.
    pub(crate) fn repeating_roots(&self) -> Vec<CommentId> {
        let is_repeating = |replies: &[CommentId]| BTreeSet::from_iter(replies).len() < replies.len();
        self.0.iter().filter(|(_, replies)| is_repeating(replies)).map(|(root, _)| *root).collect()
    }

    /// Takes all rows of these roots from there.
    pub(crate) fn replace(&mut self, rows: Self) {
        self.0.extend(rows.0);
    }

    /// The first `each` different replies of each root. A reply has the place of its better rank.
    pub(crate) fn finish(mut self, each: usize) -> HashMap<CommentId, Vec<CommentId>> {
        for replies in self.0.values_mut() {
            let mut seen = BTreeSet::new();
            replies.retain(|id| seen.insert(*id));
            replies.truncate(each);
        }
        self.0
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;

    use super::*;

    fn id(n: u64) -> CommentId {
        CommentId::from_parts(1_700_000_000_000 + n, Slot::FIRST, 0, 0)
    }

    #[test]
    fn reply_with_two_ranks_is_taken_once_at_its_better_place() {
        let mut top = TopReplies::default();
        for (root, reply) in [(100, 1), (100, 2), (100, 1), (200, 3), (200, 4), (200, 5)] {
            top.push(id(root), id(reply));
        }
        assert_eq!(top.repeating_roots(), [id(100)]);
        let mut more = TopReplies::default();
        for reply in [1, 2, 1, 2, 6, 7] {
            more.push(id(100), id(reply));
        }
        top.replace(more);
        let top = top.finish(3);
        assert_eq!(top[&id(100)], [1, 2, 6].map(id));
        assert_eq!(top[&id(200)], [3, 4, 5].map(id));
    }
}
