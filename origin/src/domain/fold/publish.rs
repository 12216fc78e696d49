//! New comments: floors, repeated ids and keys, counts of ancestors.

use gailou_shared::id::{CommentId, MemberKind};
use gailou_shared::path::Path;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{Author, CommentState};

use crate::domain::columns::{FLAG_EDITED, FLAG_ERASED, FLAG_PINNED, damaged};
use crate::domain::damaged_data::Result;
use crate::domain::event::{Event, EventKind};
use crate::domain::fold::row_changes::{AliasRow, HistoryRow, SourceRow};
use crate::domain::fold::{
    BatchFold, CommentFold, FoldedInsert, FoldedRow, ScopedIdempotencyKey, StoredIdempotencyKey,
};
use crate::domain::operation::OperationOutcome;
use crate::domain::positions::OperationStream;
use crate::domain::review::ReviewItem;
use crate::domain::row::{NewCommentRow, ReactionCounts, is_visible};

impl<'b> BatchFold<'b> {
    pub(super) fn publish(&mut self, new: &'b NewCommentRow, at: u64, from_broker: bool) -> Result<OperationOutcome> {
        let id = new.path.id();
        if let Some(stored) = self.comments.get(&id) {
            if !self.is_same_comment(stored, new) {
                return Err(damaged(format_args!("two comments have the id {id}")));
            }
            let floor = stored.row.floor;
            self.record_author(new);
            return Ok(OperationOutcome::Published { floor });
        }
        if let Some(original) = self.aliases.get(&id).copied() {
            return Ok(OperationOutcome::Replayed { id: original, state: self.comment_mut(original)?.row.state });
        }
        let key = self.layout.scoped_idempotency_key(new);
        let holder =
            key.and_then(|(key, _)| self.idempotency_keys.get(&key)).filter(|stored| stored.is_valid_at(at)).copied();
        if let (Some((_, request)), Some(stored)) = (key, holder) {
            if stored.request == *request {
                if from_broker {
                    self.add_alias(id, stored.id)?;
                }
                return Ok(OperationOutcome::Replayed { id: stored.id, state: stored.state });
            }
            if !from_broker {
                return Ok(OperationOutcome::Mismatch);
            }
        }
        let subject = self.subject_index(&new.subject)?;
        if let Some(imported) = &new.imported {
            let source = imported.source.as_str();
            if let Some(original) = self.sources.get(&(subject, source)).copied() {
                if from_broker {
                    self.add_alias(id, original)?;
                }
                return Ok(OperationOutcome::Present { id: original });
            }
            self.sources.insert((subject, source), id);
            self.changes.sources.push(SourceRow { subject, source, id });
        }
        if let (Some((key, request)), None) = (key, holder) {
            self.claim_idempotency_key(
                key,
                StoredIdempotencyKey { request: *request, id, state: new.state, created_at: at },
            );
        }
        let floor = self.insert_comment(new, subject)?;
        if new.imported.is_none() {
            let counted = self.changes.activity_at(at);
            counted.posts += 1;
            counted.held += u64::from(new.state == CommentState::Review);
            let is_held = (new.state == CommentState::Review).then_some(EventKind::Held);
            let kind = is_held.or_else(|| is_visible(new.state, new.visibility).then_some(EventKind::Published));
            self.changes.events.extend(kind.map(|kind| Event::new(id, kind, None, at)));
        }
        self.record_author(new);
        Ok(OperationOutcome::Published { floor })
    }

    /// Whether the stored comment is this one, edited or not.
    fn is_same_comment(&self, stored: &CommentFold<'_>, new: &NewCommentRow) -> bool {
        let id = new.path.id();
        let text = match (stored.new, self.texts.get(&id)) {
            (Some(made), _) => Some(&made.row.content),
            (None, text) => text,
        };
        // One of the two may have been erased since.
        let is_erased = stored.row.flags & FLAG_ERASED != 0 || new.is_erased();
        // A guest may have become a member since.
        let is_author = stored.author == new.author.id || new.author.id.kind() == MemberKind::Guest;
        (is_author && stored.row.created_at == new.created_at) && (is_erased || text == Some(&new.content))
    }

    fn claim_idempotency_key(&mut self, key: ScopedIdempotencyKey<'b>, stored: StoredIdempotencyKey) {
        self.idempotency_keys.insert(key, stored);
        self.changes.idempotency_keys.push((key, stored));
    }

    fn insert_comment(&mut self, new: &'b NewCommentRow, subject: usize) -> Result<Option<u64>> {
        let id = new.path.id();
        let path = self.resolve_path(&new.path)?;
        self.subjects[subject].used = true;
        let visible = is_visible(new.state, new.visibility);
        // A tombstone was published before: in its former system, or until its author was erased.
        let floor =
            if visible || new.state == CommentState::Deleted { Some(self.next_floor(subject, &path)?) } else { None };
        let imported = new.imported.as_ref();
        let base =
            imported.map_or_else(ReactionCounts::default, |i| ReactionCounts { likes: i.likes, dislikes: i.dislikes });
        // Reactions may precede their comment.
        let early = self.early_counts.remove(&id).unwrap_or_default();
        let edited_at = imported.and_then(|i| i.edited_at);
        let pinned = imported.is_some_and(|i| i.pinned);
        let row = FoldedRow {
            path: path.clone(),
            created_at: new.created_at,
            floor,
            floors: 0,
            state: new.state,
            visibility: new.visibility,
            flags: [(pinned, FLAG_PINNED), (edited_at.is_some(), FLAG_EDITED), (new.is_erased(), FLAG_ERASED)]
                .into_iter()
                .filter_map(|(is_set, flag)| is_set.then_some(flag))
                .sum(),
            pinned_at: pinned.then_some(new.created_at),
            edited_at,
            edits: 0,
            counts: EngagementCounts {
                likes: base.likes + early.likes,
                dislikes: base.dislikes + early.dislikes,
                replies: 0,
            },
            reactions_offset: self.positions.next(OperationStream::Reactions, id.slot()),
            author_level: new.author.level,
            last_audit: None,
        };
        let parent = new.parent_id.map(|parent| self.resolve(parent));
        let new_comment = Some(FoldedInsert { row: new, parent });
        let fold = CommentFold::new(subject, new.author.id, row);
        let review = (new.state == CommentState::Review).then(|| {
            let mut item = ReviewItem::new(new.created_at);
            new.reasons.iter().for_each(|reason| item.add(reason));
            item
        });
        self.comments.insert(id, CommentFold { base, new: new_comment, review, changed: true, ..fold });
        if visible {
            self.count_visible(subject, &path, 1)?;
        }
        Ok(floor)
    }

    /// The path of a new comment by ids that have rows: the request may have named an ancestor by a
    /// second id.
    fn resolve_path(&self, path: &Path) -> Result<Path> {
        let Some(parent) = path.parent_id().filter(|_| path.ids().any(|id| self.aliases.contains_key(&id))) else {
            return Ok(path.clone());
        };
        let parent = self.comments.get(&self.resolve(parent));
        let parent = parent.ok_or_else(|| damaged(format_args!("the parent of comment {} has no row", path.id())))?;
        parent.row.path.child(path.id()).map_err(damaged)
    }

    /// Makes an id the second id of a comment, and moves the reactions to it to that comment.
    fn add_alias(&mut self, id: CommentId, original: CommentId) -> Result<()> {
        self.comment_mut(original)?;
        self.aliases.insert(id, original);
        self.changes.aliases.push(AliasRow { id, original });
        self.early_counts.remove(&id);
        let mut members: Vec<_> = self.pairs.keys().filter(|(of, _)| *of == id).map(|(_, member)| *member).collect();
        members.sort_unstable();
        for member in members {
            let early = self.pairs.get_mut(&(id, member)).and_then(|pair| pair.now.take());
            let pair = self.pairs.entry((original, member)).or_default();
            if pair.now.is_none() && early.is_some() {
                pair.now = early;
                self.move_counts(original, None, early);
            }
        }
        Ok(())
    }

    /// Records the comment in the history of its author, who may be another one by now, and the author's name.
    pub(super) fn record_author(&mut self, new: &'b NewCommentRow) {
        let id = new.path.id();
        let Some(comment) = self.comments.get(&id) else { return };
        let (member, held) = (comment.author, comment.row.is_pending());
        self.changes.history.push(HistoryRow { member, id, held });
        if new.imported.is_none() && !new.is_erased() && member == new.author.id {
            self.record_name(id, &new.author);
        }
    }

    /// Records a member's name as of one of their comments. Those of several logs come in no order.
    pub(super) fn record_name(&mut self, id: CommentId, author: &'b Author) {
        let newest = self.authors.entry(author.id).or_insert((id, author));
        if newest.0 < id {
            *newest = (id, author);
        }
    }

    /// A floor is assigned at the first publication and never changes: roots count up within their
    /// subject, replies within their root.
    pub(super) fn next_floor(&mut self, subject: usize, path: &Path) -> Result<u64> {
        if path.depth() == 1 {
            let subject = &mut self.subjects[subject];
            subject.floors += 1;
            subject.changed = true;
            return Ok(subject.floors);
        }
        let root = self.comment_mut(path.root_id())?;
        root.row.floors += 1;
        root.changed = true;
        Ok(root.row.floors)
    }

    /// Counts a comment that has become visible (1) or invisible (−1).
    pub(super) fn count_visible(&mut self, subject: usize, path: &Path, by: i64) -> Result<()> {
        let subject = &mut self.subjects[subject];
        subject.changed = true;
        subject.comments = subject.comments.saturating_add_signed(by);
        if path.depth() == 1 {
            subject.roots = subject.roots.saturating_add_signed(by);
        }
        for ancestor in path.ids().take(path.depth() - 1) {
            let ancestor = self.comment_mut(ancestor)?;
            let was_listed = ancestor.row.is_listed();
            ancestor.row.counts.replies = ancestor.row.counts.replies.saturating_add_signed(by);
            ancestor.changed = true;
            ancestor.more_than_counts |= was_listed != ancestor.row.is_listed();
        }
        Ok(())
    }
}
