//! The end of a fold: what has to be written, each row once, sorted by primary key.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::rank::{
    HotWeights, Sort, {self},
};
use gailou_shared::wire::{Author, Reaction};

use crate::domain::fold::{CommentFold, Fold, FoldedRow, Once, StoredKey};
use crate::domain::operation::{AuditEntry, PersistedBatch, SubjectPatch, TouchedComment};
use crate::domain::positions::NextPositions;
use crate::domain::row::NewCommentRow;

/// Rows to write. They name subjects by their places in `subjects`.
#[derive(Debug, Default)]
pub(crate) struct Changes<'b> {
    pub subjects: Vec<SubjectChange>,
    /// Patches of subjects in the order of their events, after `subjects`.
    pub patches: Vec<(usize, &'b SubjectPatch)>,
    pub inserts: Vec<Inserted<'b>>,
    pub updates: Vec<CommentUpdate>,
    /// New texts in the order of their events, after `inserts`.
    pub edits: Vec<Edited<'b>>,
    /// Reactions as they are now; `None`: neither.
    pub reactions: Vec<(CommentId, MemberId, Option<Reaction>)>,
    /// Roots to rank anew, and to rank no more: `None`.
    pub roots: Vec<RootRank>,
    /// Keys of replies to remove, and then to insert.
    pub cooled: Vec<HotKey>,
    pub heated: Vec<HotKey>,
    pub keys: Vec<(Once<'b>, StoredKey)>,
    pub sources: Vec<(usize, &'b str, CommentId)>,
    /// Second ids and the comments they stand for.
    pub aliases: Vec<(CommentId, CommentId)>,
    /// Rows of the change feed: the subject, the comment, and when it was changed.
    pub feed: Vec<(usize, CommentId, u64)>,
    pub audits: Vec<Audited<'b>>,
    /// Who wrote which comment, and whether it was held then; of comments that are told of again too.
    pub history: Vec<(MemberId, CommentId, bool)>,
    pub authors: Vec<&'b Author>,
    /// The next positions of the slots.
    pub positions: NextPositions,
}

/// A subject of the batch.
#[derive(Debug)]
pub(crate) struct SubjectChange {
    pub key: SubjectKey,
    /// The number of its row, which is new where there is none.
    pub number: Option<i64>,
    pub version: u64,
    pub floors: u64,
    pub roots: u64,
    pub comments: u64,
    /// Whether there is anything to write.
    pub write: bool,
}

/// A comment to insert.
#[derive(Debug)]
pub(crate) struct Inserted<'b> {
    pub id: CommentId,
    pub new: &'b NewCommentRow,
    /// What it answers, whatever id the event named it by.
    pub parent: Option<CommentId>,
    pub subject: usize,
    pub base: (u64, u64),
    pub row: FoldedRow,
}

/// A comment to update.
#[derive(Debug)]
pub(crate) struct CommentUpdate {
    pub id: CommentId,
    pub row: FoldedRow,
    /// Whether more changed than likes, dislikes, replies, floors and reacted.
    pub moved: bool,
}

/// A new text.
#[derive(Debug)]
pub(crate) struct Edited<'b> {
    pub id: CommentId,
    pub at: u64,
    pub content: &'b str,
    pub html: &'b str,
    pub written: Option<&'b str>,
}

/// The rank of a root: what every sort's key is computed from.
#[derive(Debug)]
pub(crate) struct RootRank {
    pub subject: usize,
    pub id: CommentId,
    pub counts: Option<rank::EngagementCounts>,
    pub created_at: u64,
}

/// The rank of a reply under its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HotKey {
    pub root: CommentId,
    pub hot: i64,
    pub id: CommentId,
}

/// A line of the audit.
#[derive(Debug)]
pub(crate) struct Audited<'b> {
    pub audit: &'b AuditEntry,
    pub at: u64,
    pub comment: Option<CommentId>,
    pub subject: Option<usize>,
}

impl<'b> Fold<'b> {
    /// What the batch has done, without the outcomes, and what is to be written.
    pub(crate) fn finish(mut self, weights: impl Fn(&str) -> HotWeights) -> (PersistedBatch, Changes<'b>) {
        let mut persisted = PersistedBatch::default();
        let mut changes = std::mem::take(&mut self.changes);
        for subject in self.subjects {
            let version = subject.version + u64::from(subject.changed);
            if subject.changed || subject.told {
                persisted.changed.push((subject.key.clone(), version));
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
        let mut comments: Vec<_> = self.comments.into_iter().filter(|(_, c)| c.changed || c.told).collect();
        comments.sort_unstable_by_key(|(id, _)| *id);
        for (id, comment) in comments {
            persisted.touched.push(touched(id, &comment, &changes.subjects[comment.subject]));
            if !comment.changed {
                continue;
            }
            changes.feed.extend(comment.takedown.map(|at| (comment.subject, id, at)));
            let kind = changes.subjects[comment.subject].key.kind();
            changes.rank(id, &comment, &weights(kind));
            let CommentFold { subject, base, row, moved, .. } = comment;
            match comment.new {
                Some((new, parent)) => changes.inserts.push(Inserted { id, new, parent, subject, base, row }),
                None => changes.updates.push(CommentUpdate { id, row, moved }),
            }
        }
        let pairs = self.pairs.into_iter().filter(|(_, pair)| pair.before != pair.now);
        changes.reactions = pairs.map(|((id, member), pair)| (id, member, pair.now)).collect();
        changes.reactions.sort_unstable_by_key(|(id, member, _)| (*id, *member));
        changes.cooled.sort_unstable();
        changes.heated.sort_unstable();
        changes.keys.sort_by_key(|(once, _)| *once);
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
        parent: comment.new.map_or(row.path.parent_id(), |(_, parent)| parent),
        floor: row.floor,
        was_listed: comment.before.0 && !comment.anew,
        listed: row.listed(),
        visible: row.visible(),
        takedown: comment.takedown.is_some(),
        likes: row.counts.likes,
        dislikes: row.counts.dislikes,
        reacted: row.reacted,
    }
}

impl Changes<'_> {
    /// What the comment's rank was and is now: a root has one with any engagement, a reply always.
    fn rank(&mut self, id: CommentId, comment: &CommentFold<'_>, weights: &HotWeights) {
        let (was_listed, old) = comment.before;
        let row = &comment.row;
        let (before, after) = (was_listed.then_some(old), row.listed().then_some(row.counts));
        if before == after {
            return;
        }
        if row.path.depth() == 1 {
            let (before, after) = (before.filter(|c| c.has_any()), after.filter(|c| c.has_any()));
            if before != after {
                let (subject, created_at) = (comment.subject, row.created_at);
                self.roots.push(RootRank { subject, id, counts: after, created_at });
            }
            return;
        }
        let hot = |counts| HotKey {
            root: row.path.root_id(),
            hot: rank::sort_key(Sort::Hot, counts, row.created_at, weights),
            id,
        };
        let (before, after) = (before.map(hot), after.map(hot));
        if before != after {
            self.cooled.extend(before);
            self.heated.extend(after);
        }
    }
}
