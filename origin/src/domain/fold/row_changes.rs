//! The result of a fold: the rows to write, each once, sorted by primary key.

use std::collections::BTreeMap;

use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use gailou_shared::wire::{ActivityPoint, Author, MemberRef, Reaction, ReviewKind};
use serde_json::Value;

use crate::domain::activity::ActivityStep;
use crate::domain::audit::{AuditEntry, CurrentText, UndoRecord};
use crate::domain::columns::FLAG_QUEUED;
use crate::domain::event::Event;
use crate::domain::fold::{
    BatchFold, CommentFold, FoldedRow, ScopedIdempotencyKey, StoredIdempotencyKey, queue_position,
};
use crate::domain::operation::{ChangeRow, ChangedSubject, PersistedBatch, SubjectPatch, TouchedComment};
use crate::domain::positions::NextPositions;
use crate::domain::reaction_state::DeadReaction;
use crate::domain::review::{NewReport, QueuePosition, ReviewItem};
use crate::domain::root_keys::RootKeys;
use crate::domain::row::{NewCommentRow, ReactionCounts};

/// Rows to write. They name a subject by its index in `subjects`.
#[derive(Debug, Default)]
pub(crate) struct RowChanges<'b> {
    pub subjects: Vec<SubjectChange>,
    /// Patches of subjects, in the order of their operations; written after `subjects`.
    pub patches: Vec<SubjectPatchRow<'b>>,
    pub inserts: Vec<CommentInsert<'b>>,
    pub updates: Vec<CommentUpdate>,
    /// New texts, in the order of their operations; written after `inserts`.
    pub edits: Vec<TextEdit>,
    /// Comments that have another author from now on, after `inserts`.
    pub transferred: BTreeMap<CommentId, &'b Author>,
    /// Names that are replaced in comments, after `inserts`.
    pub renamed: Vec<RenamedMember<'b>>,
    /// Comments whose content and author are overwritten, after `edits` and all of the above.
    pub erased: Vec<CommentId>,
    /// Deleted comments that lose their pictures, after `inserts`.
    pub without_media: Vec<CommentId>,
    /// Names that are removed from comments, after `renamed`.
    pub forgotten: Vec<ForgottenName>,
    pub reactions: Vec<ReactionRow>,
    /// Dead letters that are applied or outdated; their rows are deleted.
    pub ended_dead_reactions: Vec<DeadReaction>,
    pub root_ranks: Vec<RootRank>,
    /// Ranks of replies to delete before `added_reply_ranks` are inserted.
    pub removed_reply_ranks: Vec<ReplyRank>,
    pub added_reply_ranks: Vec<ReplyRank>,
    pub idempotency_keys: Vec<(ScopedIdempotencyKey<'b>, StoredIdempotencyKey)>,
    pub sources: Vec<SourceRow<'b>>,
    pub aliases: Vec<AliasRow>,
    pub takedowns: Vec<Takedown>,
    pub audits: Vec<AuditRow<'b>>,
    pub reviews: Vec<ReviewRow>,
    pub reports: Vec<ReportRow<'b>>,
    /// By how much the numbers of held and of reported comments of a slot change.
    pub queue_counts: BTreeMap<Slot, (i64, i64)>,
    /// Also for comments that listeners are notified of again.
    pub history: Vec<HistoryRow>,
    /// The authors of new comments, each as of the newest of theirs, which is in the history too.
    pub authors: Vec<(CommentId, &'b Author)>,
    /// What members, moderators and other programs are notified of, in the order of the operations.
    pub events: Vec<Event>,
    /// What happened in each minute, by its begin.
    pub activity: BTreeMap<u64, ActivityPoint>,
    pub positions: NextPositions,
}

/// A subject of the batch.
#[derive(Debug)]
pub(crate) struct SubjectChange {
    pub key: SubjectKey,
    /// The number of its row; `None` for a row to insert.
    pub number: Option<i64>,
    pub version: u64,
    pub floors: u64,
    pub roots: u64,
    pub comments: u64,
    /// Whether the row must be written.
    pub write: bool,
}

/// New values of a subject's fields.
#[derive(Debug)]
pub(crate) struct SubjectPatchRow<'b> {
    pub subject: usize,
    pub patch: &'b SubjectPatch,
}

/// A comment to insert.
#[derive(Debug)]
pub(crate) struct CommentInsert<'b> {
    pub id: CommentId,
    pub new: &'b NewCommentRow,
    /// The comment it answers, by the id that has the row.
    pub parent: Option<CommentId>,
    pub subject: usize,
    pub base: ReactionCounts,
    pub row: FoldedRow,
}

/// A comment to update.
#[derive(Debug)]
pub(crate) struct CommentUpdate {
    pub id: CommentId,
    pub row: FoldedRow,
    /// Whether more changed than likes, dislikes, replies, floors and the offset of reactions.
    pub more_than_counts: bool,
}

/// A new text.
#[derive(Debug)]
pub(crate) struct TextEdit {
    pub id: CommentId,
    pub at: u64,
    pub text: CurrentText,
    /// Whether every reader saw the text that it replaces.
    pub was_shown: bool,
}

/// A comment that names a member who is erased.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ForgottenName {
    pub id: CommentId,
    pub member: MemberId,
}

/// A comment that names a guest who has become a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RenamedMember<'b> {
    pub id: CommentId,
    pub from: MemberId,
    pub to: &'b MemberRef,
}

/// A member's reaction; `None`: its row is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReactionRow {
    pub id: CommentId,
    pub member: MemberId,
    pub reaction: Option<Reaction>,
}

/// The rank of a root in every sort; without counts and keys its row is deleted.
#[derive(Debug)]
pub(crate) struct RootRank {
    pub subject: usize,
    pub id: CommentId,
    pub ranked: Option<(EngagementCounts, RootKeys)>,
    pub created_at: u64,
}

/// The rank of a reply under its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReplyRank {
    pub root: CommentId,
    pub hot: i64,
    pub id: CommentId,
}

/// The id of an imported comment in its former system.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SourceRow<'b> {
    pub subject: usize,
    pub source: &'b str,
    pub id: CommentId,
}

/// The second id of a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AliasRow {
    pub id: CommentId,
    pub original: CommentId,
}

/// A row of the change feed.
#[derive(Debug)]
pub(crate) struct Takedown {
    pub subject: usize,
    /// `None` for the subject as a whole.
    pub id: Option<CommentId>,
    pub at: u64,
}

impl Takedown {
    /// The id as the tables have it.
    pub(crate) fn stored_id(&self) -> i64 {
        self.id.map_or(ChangeRow::WHOLE_SUBJECT, CommentId::signed)
    }
}

/// A row of the audit log.
#[derive(Debug)]
pub(crate) struct AuditRow<'b> {
    pub audit: &'b AuditEntry,
    pub at: u64,
    pub change: AuditedChange,
}

/// What an entry of the audit log is about.
#[derive(Debug)]
pub(crate) enum AuditedChange {
    Comment {
        id: CommentId,
        /// What the entry says of it after the change.
        after: Value,
        undo: Box<UndoRecord>,
    },
    /// The index of a subject.
    Subject(usize),
}

/// An item of the review queue; without one its row is deleted.
#[derive(Debug)]
pub(crate) struct ReviewRow {
    pub id: CommentId,
    pub item: Option<(QueuePosition, ReviewItem)>,
}

/// A reader's report.
#[derive(Debug)]
pub(crate) struct ReportRow<'b> {
    pub id: CommentId,
    pub report: &'b NewReport,
    pub at: u64,
}

/// A comment in its author's history, and whether it, or an edit of it, has been shown to its author alone at some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HistoryRow {
    pub member: MemberId,
    pub id: CommentId,
    pub held: bool,
}

impl<'b> BatchFold<'b> {
    /// What the batch did, without the outcomes, and the rows to write.
    pub(crate) fn finish(mut self, weights: impl Fn(&str) -> HotWeights) -> (PersistedBatch, RowChanges<'b>) {
        let mut persisted = PersistedBatch::default();
        let mut changes = std::mem::take(&mut self.changes);
        for subject in self.subjects {
            let version = subject.version + u64::from(subject.changed);
            if subject.changed || subject.notify_again {
                persisted.changed.push(ChangedSubject {
                    subject: subject.key.clone(),
                    version,
                    is_new: subject.changed,
                });
            }
            changes.subjects.push(SubjectChange {
                key: subject.key,
                number: subject.number,
                version,
                floors: subject.floors,
                roots: subject.roots,
                comments: subject.comments,
                write: subject.changed || (subject.used && subject.number.is_none()),
            });
        }
        let mut comments: Vec<_> = self.comments.into_iter().filter(|(_, c)| c.changed || c.notify_again).collect();
        comments.sort_unstable_by_key(|(id, _)| *id);
        for (id, mut comment) in comments {
            persisted.touched.push(touched(id, &comment, &changes.subjects[comment.subject]));
            if !comment.changed {
                continue;
            }
            changes.takedowns.extend(comment.takedown.map(|at| Takedown {
                subject: comment.subject,
                id: Some(id),
                at,
            }));
            let kind = changes.subjects[comment.subject].key.kind();
            changes.rank(id, &comment, &weights(kind));
            changes.queue(id, &mut comment);
            let CommentFold { subject, base, row, more_than_counts, .. } = comment;
            match comment.new {
                Some(made) => {
                    let (new, parent) = (made.row, made.parent);
                    changes.inserts.push(CommentInsert { id, new, parent, subject, base, row });
                }
                None => changes.updates.push(CommentUpdate { id, row, more_than_counts }),
            }
        }
        let pairs = self.pairs.into_iter().filter(|(_, pair)| pair.before != pair.now);
        changes.reactions = pairs.map(|((id, member), pair)| ReactionRow { id, member, reaction: pair.now }).collect();
        changes.reactions.sort_unstable_by_key(|row| (row.id, row.member));
        changes.ended_dead_reactions.sort_unstable();
        changes.removed_reply_ranks.sort_unstable();
        changes.added_reply_ranks.sort_unstable();
        changes.idempotency_keys.sort_by_key(|(key, _)| *key);
        changes.sources.sort_unstable();
        changes.aliases.sort_unstable();
        changes.history.sort_unstable();
        changes.authors = self.authors.into_values().collect();
        changes.positions = self.positions;
        (persisted, changes)
    }
}

fn touched(id: CommentId, comment: &CommentFold<'_>, subject: &SubjectChange) -> TouchedComment {
    let row = &comment.row;
    TouchedComment {
        id,
        subject: subject.key.clone(),
        version: subject.version,
        root: row.path.root_id(),
        parent: comment.new.map_or(row.path.parent_id(), |new| new.parent),
        floor: row.floor,
        was_listed: comment.before.listed && !comment.publish_again,
        listed: row.is_listed(),
        visible: row.is_visible(),
        takedown: comment.takedown.is_some(),
        likes: row.counts.likes,
        dislikes: row.counts.dislikes,
        reactions_offset: row.reactions_offset,
    }
}

impl RowChanges<'_> {
    /// What happened in the minute of this moment, to count something in it.
    pub(super) fn activity_at(&mut self, at: u64) -> &mut ActivityPoint {
        let at = ActivityStep::Minute.begin_of(at);
        self.activity.entry(at).or_insert(ActivityPoint { at, ..ActivityPoint::default() })
    }

    /// The comments of which a search index has to learn: those that are new, and those of which more than counts has
    /// changed.
    pub(crate) fn indexed_comments(&self) -> Vec<CommentId> {
        let changed = self.updates.iter().filter(|update| update.more_than_counts).map(|update| update.id);
        let mut ids: Vec<CommentId> = self.inserts.iter().map(|insert| insert.id).chain(changed).collect();
        ids.sort_unstable();
        ids
    }

    /// Writes the comment's item of the review queue, where it or its place has changed.
    fn queue(&mut self, id: CommentId, comment: &mut CommentFold<'_>) {
        let is_queued = comment.review.is_some();
        comment.row.flags = (comment.row.flags & !FLAG_QUEUED) | if is_queued { FLAG_QUEUED } else { 0 };
        let before = comment.queued_before;
        let item = comment.review.take().map(|item| (queue_position(id, &item, &comment.row), item));
        let place = item.as_ref().map(|(position, _)| *position);
        if (before.is_none() && item.is_none())
            || (!comment.review_changed && before.map(|before| before.position) == place)
        {
            return;
        }
        let (was, is) = (before.map(|before| before.kind), item.as_ref().map(|(_, item)| item.kind()));
        if was != is {
            let by = |kind| i64::from(is == Some(kind)) - i64::from(was == Some(kind));
            let counts = self.queue_counts.entry(id.slot()).or_default();
            counts.0 += by(ReviewKind::Held);
            counts.1 += by(ReviewKind::Reported);
        }
        self.reviews.push(ReviewRow { id, item });
    }

    /// Moves the comment from its former rank to its new one. A root is ranked while it has any
    /// engagement, a reply always.
    fn rank(&mut self, id: CommentId, comment: &CommentFold<'_>, weights: &HotWeights) {
        let (former, row) = (comment.before, &comment.row);
        let (before, after) = (former.listed.then_some(former.counts), row.is_listed().then_some(row.counts));
        if before == after {
            return;
        }
        if row.path.depth() == 1 {
            let (before, after) = (before.filter(|c| c.has_any()), after.filter(|c| c.has_any()));
            if before != after {
                let (subject, created_at) = (comment.subject, row.created_at);
                let ranked = after.map(|counts| (counts, RootKeys::of(counts, created_at, weights)));
                self.root_ranks.push(RootRank { subject, id, ranked, created_at });
            }
            return;
        }
        let rank_of = |counts| ReplyRank {
            root: row.path.root_id(),
            hot: rank::sort_key(Sort::Hot, counts, row.created_at, weights),
            id,
        };
        let (before, after) = (before.map(rank_of), after.map(rank_of));
        if before != after {
            self.removed_reply_ranks.extend(before);
            self.added_reply_ranks.extend(after);
        }
    }
}
