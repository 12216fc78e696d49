//! One round of rows that a fold needs from the tables.

use gailou_shared::id::{AuditId, CommentId, MemberId, Slot, SubjectKey};

use crate::domain::fold::stored_rows::ScopedIdempotencyKey;

/// The keys of rows to read, each kind sorted and without repetition.
#[derive(Debug, Default)]
pub(crate) struct RowRequest<'b> {
    /// Subjects by key, and by the number that a comment has for its subject.
    pub subjects: Vec<&'b SubjectKey>,
    pub numbers: Vec<i64>,
    pub comments: Vec<CommentId>,
    /// The texts of these comments before their first edits.
    pub texts: Vec<CommentId>,
    pub pairs: Vec<(CommentId, MemberId)>,
    pub idempotency_keys: Vec<ScopedIdempotencyKey<'b>>,
    /// Import sources, by the number of the subject. An embedded store is not asked for the
    /// fields from here to `dead_reactions`.
    pub sources: Vec<(i64, &'b str)>,
    /// Ids without rows, which may be second ids.
    pub aliases: Vec<CommentId>,
    /// Ids without rows whose likes and dislikes are to be counted from their reactions.
    pub early_counts: Vec<CommentId>,
    /// Ids without rows whose reactions are all to be read; the answers are pairs.
    pub early_reactions: Vec<CommentId>,
    /// Members whose reactions in a slot are among the dead letters.
    pub dead_reactions: Vec<(Slot, MemberId)>,
    /// Comments whose items of the review queue are to be read.
    pub reviews: Vec<CommentId>,
    /// Whether these members have reported these comments.
    pub reports: Vec<(CommentId, MemberId)>,
    /// The texts of these comments as they are.
    pub contents: Vec<CommentId>,
    /// What undoing these changes needs.
    pub undos: Vec<AuditId>,
}

impl RowRequest<'_> {
    pub(super) fn sort_and_deduplicate(&mut self) {
        fn sort<T: Ord>(list: &mut Vec<T>) {
            list.sort_unstable();
            list.dedup();
        }
        sort(&mut self.subjects);
        sort(&mut self.numbers);
        sort(&mut self.comments);
        sort(&mut self.texts);
        sort(&mut self.pairs);
        sort(&mut self.idempotency_keys);
        sort(&mut self.sources);
        sort(&mut self.aliases);
        sort(&mut self.early_counts);
        sort(&mut self.early_reactions);
        sort(&mut self.dead_reactions);
        sort(&mut self.reviews);
        sort(&mut self.reports);
        sort(&mut self.contents);
        sort(&mut self.undos);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.subjects.is_empty()
            && self.numbers.is_empty()
            && self.comments.is_empty()
            && self.texts.is_empty()
            && self.pairs.is_empty()
            && self.idempotency_keys.is_empty()
            && self.sources.is_empty()
            && self.aliases.is_empty()
            && self.early_counts.is_empty()
            && self.early_reactions.is_empty()
            && self.dead_reactions.is_empty()
            && self.reviews.is_empty()
            && self.reports.is_empty()
            && self.contents.is_empty()
            && self.undos.is_empty()
    }
}
