//! The fold of a batch: what the rows become, the same for every database.
//!
//! An adapter locks the slots that it writes to, reads the rows of each [`LoadedRows::next_request`],
//! folds the operations in their order, and writes the [`RowChanges`], each row once. Pure: no SQL, no
//! clock, no waiting. Dictionaries, snapshots and sweeps touch no row that is folded; the adapter
//! applies them itself.
//!
//! Promises: the rows are the same whether a batch is folded at once or operation by operation, and an
//! operation whose position was applied before changes none. An operation from the broker is never refused:
//! it was decided before it was appended.

mod change_comment;
mod loaded_rows;
mod publish;
mod review;
mod row_changes;
mod row_request;
mod stored_rows;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::Hash;

use gailou_shared::id::{AuditId, CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{Author, Reaction, ReviewKind};
pub(crate) use loaded_rows::LoadedRows;
#[cfg(any(test, feature = "cluster"))]
pub(crate) use row_changes::HistoryRow;
pub(crate) use row_changes::{
    AuditedChange, CommentInsert, CommentUpdate, ForgottenName, RenamedMember, ReviewRow, RowChanges,
};
#[cfg(test)]
pub(crate) use row_changes::{ReactionRow, ReplyRank, Takedown};
pub(crate) use row_request::RowRequest;
pub(crate) use stored_rows::{
    FoldedRow, ScopedIdempotencyKey, StoredComment, StoredIdempotencyKey, StoredSubject, TableLayout,
};

use crate::domain::audit::{CurrentText, UndoRecord};
use crate::domain::columns::damaged;
use crate::domain::damaged_data::Result;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome};
use crate::domain::positions::NextPositions;
use crate::domain::reaction_state::DeadReaction;
use crate::domain::review::{QueuePosition, ReviewItem};
use crate::domain::row::{NewCommentRow, ReactionCounts};

/// The rows that a batch touches, while it is folded.
pub(crate) struct BatchFold<'b> {
    layout: TableLayout,
    positions: NextPositions,
    subjects: Vec<SubjectFold>,
    by_key: HashMap<SubjectKey, usize>,
    comments: HashMap<CommentId, CommentFold<'b>>,
    aliases: HashMap<CommentId, CommentId>,
    pairs: HashMap<(CommentId, MemberId), ReactionPair>,
    /// The reactions to comments that have no row yet.
    early_counts: HashMap<CommentId, ReactionCounts>,
    /// Reactions among the dead letters, by the slot of the comment and the member.
    dead_reactions: HashMap<(Slot, MemberId), Vec<DeadReaction>>,
    texts: HashMap<CommentId, String>,
    /// The texts of comments as they are, of those that a decision may replace.
    contents: HashMap<CommentId, CurrentText>,
    /// Who has reported what.
    reports: HashSet<(CommentId, MemberId)>,
    undos: HashMap<AuditId, UndoRecord>,
    idempotency_keys: HashMap<ScopedIdempotencyKey<'b>, StoredIdempotencyKey>,
    sources: HashMap<(usize, &'b str), CommentId>,
    /// The authors as of the newest comment of each.
    authors: BTreeMap<MemberId, (CommentId, &'b Author)>,
    changes: RowChanges<'b>,
}

struct SubjectFold {
    /// `None`: it has no row yet.
    number: Option<i64>,
    key: SubjectKey,
    version: u64,
    floors: u64,
    roots: u64,
    comments: u64,
    /// Whether something in the batch needs its row.
    used: bool,
    changed: bool,
    /// Whether listeners are notified of one of its comments again.
    notify_again: bool,
}

struct CommentFold<'b> {
    /// The index of its subject.
    subject: usize,
    author: MemberId,
    row: FoldedRow,
    /// The reactions that it was imported with: their members are unknown.
    base: ReactionCounts,
    /// Its place in lists before the batch.
    before: ListedBefore,
    /// The comment, where this batch publishes it.
    new: Option<FoldedInsert<'b>>,
    /// Its item of the review queue, and what the queue had of it before the batch.
    review: Option<ReviewItem>,
    queued_before: Option<QueuedBefore>,
    review_changed: bool,
    changed: bool,
    /// Whether more than counts changed.
    more_than_counts: bool,
    /// When readers lost something they saw of it.
    takedown: Option<u64>,
    /// Listeners are notified although no row changes: an earlier batch changed it, and its process may
    /// have died before it notified them.
    notify_again: bool,
    /// The same for its publication.
    publish_again: bool,
}

impl<'b> CommentFold<'b> {
    /// A comment that no operation has touched yet.
    fn new(subject: usize, author: MemberId, row: FoldedRow) -> Self {
        Self {
            subject,
            author,
            row,
            base: ReactionCounts::default(),
            before: ListedBefore::default(),
            new: None,
            review: None,
            queued_before: None,
            review_changed: false,
            changed: false,
            more_than_counts: false,
            takedown: None,
            notify_again: false,
            publish_again: false,
        }
    }
}

/// The place of a comment in the review queue before the batch.
#[derive(Clone, Copy)]
struct QueuedBefore {
    kind: ReviewKind,
    position: QueuePosition,
}

#[derive(Clone, Copy, Default)]
struct ListedBefore {
    listed: bool,
    counts: EngagementCounts,
}

#[derive(Clone, Copy)]
struct FoldedInsert<'b> {
    row: &'b NewCommentRow,
    /// The comment it answers, by the id that has the row.
    parent: Option<CommentId>,
}

/// A member's reaction to a comment.
#[derive(Debug, Clone, Copy, Default)]
struct ReactionPair {
    before: Option<Reaction>,
    now: Option<Reaction>,
}

impl<'b> BatchFold<'b> {
    /// Begins with the rows as they were read.
    ///
    /// # Errors
    /// When a comment's subject has no row.
    pub(crate) fn new(loaded: LoadedRows<'b>) -> Result<Self> {
        let mut subjects = Vec::with_capacity(loaded.subjects.len());
        let mut by_key = HashMap::with_capacity(loaded.subjects.len());
        let mut by_number = HashMap::with_capacity(loaded.subjects.len());
        // In an order of their own, so that what is written and said of them has one.
        let mut loaded_subjects: Vec<_> = loaded.subjects.into_iter().collect();
        loaded_subjects.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        for (key, stored) in loaded_subjects {
            by_key.insert(key.clone(), subjects.len());
            by_number.extend(stored.as_ref().map(|s| (s.number, subjects.len())));
            let (number, version) = (stored.as_ref().map(|s| s.number), stored.as_ref().map_or(0, |s| s.version));
            let (floors, roots, comments) = stored.map_or((0, 0, 0), |s| (s.floors, s.roots, s.comments));
            let (used, changed, notify_again) = (false, false, false);
            subjects.push(SubjectFold { number, key, version, floors, roots, comments, used, changed, notify_again });
        }
        let index_of = |number: i64| {
            by_number.get(&number).copied().ok_or_else(|| damaged(format_args!("subject {number} has no row")))
        };
        let mut reviews = present_rows(loaded.reviews);
        let mut comments = HashMap::with_capacity(loaded.comments.len());
        for (id, stored) in loaded.comments {
            let Some(stored) = stored else { continue };
            let before = ListedBefore { listed: stored.row.is_listed(), counts: stored.row.counts };
            let review = reviews.remove(&id);
            let queued_before = review.as_ref().map(|item: &ReviewItem| QueuedBefore {
                kind: item.kind(),
                position: queue_position(id, item, &stored.row),
            });
            let fold = CommentFold::new(index_of(stored.subject)?, stored.author, stored.row);
            comments.insert(id, CommentFold { before, review, queued_before, ..fold });
        }
        let mut sources = HashMap::with_capacity(loaded.sources.len());
        for ((subject, source), id) in loaded.sources {
            if let Some(id) = id {
                sources.insert((index_of(subject)?, source), id);
            }
        }
        let pair = |before| ReactionPair { before, now: before };
        Ok(Self {
            layout: loaded.layout,
            positions: loaded.positions,
            subjects,
            by_key,
            comments,
            aliases: present_rows(loaded.aliases),
            pairs: loaded.pairs.into_iter().map(|(ids, before)| (ids, pair(before))).collect(),
            early_counts: present_rows(loaded.early_counts),
            dead_reactions: present_rows(loaded.dead_reactions),
            texts: present_rows(loaded.texts),
            contents: present_rows(loaded.contents),
            reports: present_rows(loaded.reports).into_keys().collect(),
            undos: present_rows(loaded.undos),
            idempotency_keys: present_rows(loaded.idempotency_keys),
            sources,
            authors: BTreeMap::new(),
            changes: RowChanges::default(),
        })
    }

    /// Folds one operation.
    ///
    /// # Errors
    /// When it contradicts the rows; the fold must be dropped then.
    pub(crate) fn apply(&mut self, logged: &'b LoggedOperation) -> Result<OperationOutcome> {
        let (at, position) = (logged.at, logged.position);
        if self.positions.is_applied(logged) {
            self.notify_again(logged);
            return Ok(OperationOutcome::Seen);
        }
        let outcome = match &logged.operation {
            Operation::Publish(new) => self.publish(new, at, position.is_some())?,
            Operation::React { id, member, .. } if !self.end_dead_reactions(*id, *member, logged.died_at) => {
                OperationOutcome::Outdated
            }
            Operation::React { id, member, change } => self.react(*id, *member, *change, at, position),
            Operation::Change { id, change, audit } => self.change(*id, change, audit.as_ref(), at)?,
            Operation::Subject { key, patch, audit } => self.patch_subject(key, patch, audit.as_ref(), at)?,
            Operation::Snapshot { .. }
            | Operation::LeaseReviews { .. }
            | Operation::Standing { .. }
            | Operation::Dictionary { .. }
            | Operation::Settings { .. }
            | Operation::Webhook { .. }
            | Operation::Import { .. }
            | Operation::MemberNames(_)
            | Operation::DeleteExpired
            | Operation::DeleteEditHistory { .. }
            | Operation::Erasure { .. }
            | Operation::Merge { .. } => OperationOutcome::Done,
        };
        self.positions.advance(logged);
        Ok(outcome)
    }

    /// The process that applied this operation may have died before it notified the listeners: they
    /// are notified again, as if the operation had just been applied.
    fn notify_again(&mut self, logged: &'b LoggedOperation) {
        let id = match &logged.operation {
            Operation::Publish(new) => {
                self.record_author(new);
                new.path.id()
            }
            Operation::React { id, .. } => self.resolve(*id),
            _ => return,
        };
        let Some(comment) = self.comments.get_mut(&id) else { return };
        comment.notify_again = true;
        comment.publish_again |= matches!(logged.operation, Operation::Publish(_));
        self.subjects[comment.subject].notify_again = true;
    }

    /// The id that has the row.
    fn resolve(&self, id: CommentId) -> CommentId {
        self.aliases.get(&id).copied().unwrap_or(id)
    }

    fn comment_mut(&mut self, id: CommentId) -> Result<&mut CommentFold<'b>> {
        self.comments.get_mut(&id).ok_or_else(|| damaged(format_args!("comment {id} has no row")))
    }

    /// The index of a subject that was requested by its key.
    fn subject_index(&self, key: &SubjectKey) -> Result<usize> {
        self.by_key.get(key).copied().ok_or_else(|| damaged(format_args!("subject {key} was not read")))
    }
}

/// The place of a comment in the review queue.
fn queue_position(id: CommentId, item: &ReviewItem, row: &FoldedRow) -> QueuePosition {
    QueuePosition::new(item.priority(row.counts, row.author_level), item.since, id)
}

/// The rows that exist.
fn present_rows<K: Hash + Eq, V>(rows: loaded_rows::Lookups<K, V>) -> HashMap<K, V> {
    rows.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
}
