//! New comments: floors, ids and keys that are there already, counts of ancestors.

use gailou_shared::id::CommentId;
use gailou_shared::path::Path;
use gailou_shared::rank::EngagementCounts;
use gailou_shared::wire::{CommentState, Visibility};

use crate::domain::columns::{EDITED, PINNED, damaged};
use crate::domain::damaged_data::Result;
use crate::domain::fold::{CommentFold, Fold, FoldedRow, Once, StoredKey};
use crate::domain::operation::OperationOutcome;
use crate::domain::positions::OperationStream;
use crate::domain::row::NewCommentRow;

impl<'b> Fold<'b> {
    pub(super) fn publish(&mut self, new: &'b NewCommentRow, at: u64, logged: bool) -> Result<OperationOutcome> {
        let id = new.path.id();
        if let Some(there) = self.comments.get(&id) {
            if !self.is(there, new) {
                return Err(damaged(format_args!("two comments have the id {id}")));
            }
            let floor = there.row.floor;
            self.follow(new);
            return Ok(OperationOutcome::Published { floor });
        }
        if let Some(first) = self.aliases.get(&id).copied() {
            return Ok(OperationOutcome::Replayed { id: first, state: self.present(first)?.row.state });
        }
        let once = self.reach.once(new);
        let holder = once.and_then(|(once, _)| self.keys.get(&once)).filter(|stored| stored.holds(at)).copied();
        if let (Some((_, request)), Some(stored)) = (once, holder) {
            if stored.request == *request {
                if logged {
                    self.alias(id, stored.id)?;
                }
                return Ok(OperationOutcome::Replayed { id: stored.id, state: stored.state });
            }
            if !logged {
                return Ok(OperationOutcome::Mismatch);
            }
        }
        let subject = self.subject(&new.subject)?;
        if let Some(imported) = &new.imported {
            if let Some(first) = self.sources.get(&(subject, imported.source.as_str())).copied() {
                if logged {
                    self.alias(id, first)?;
                }
                return Ok(OperationOutcome::Present { id: first });
            }
            self.sources.insert((subject, &imported.source), id);
            self.changes.sources.push((subject, &imported.source, id));
        }
        if let (Some((once, request)), None) = (once, holder) {
            self.claim(once, StoredKey { request: *request, id, state: new.state, created_at: at });
        }
        let floor = self.insert(new, subject)?;
        self.follow(new);
        Ok(OperationOutcome::Published { floor })
    }

    /// Whether the comment that is there is this one, edited or not.
    fn is(&self, there: &CommentFold<'_>, new: &NewCommentRow) -> bool {
        let id = new.path.id();
        let text = match (there.new, self.texts.get(&id)) {
            (Some((made, _)), _) => Some(&made.content),
            (None, text) => text,
        };
        (there.author, there.row.created_at) == (new.author.id, new.created_at) && text == Some(&new.content)
    }

    fn claim(&mut self, once: Once<'b>, key: StoredKey) {
        self.keys.insert(once, key);
        self.changes.keys.push((once, key));
    }

    fn insert(&mut self, new: &'b NewCommentRow, subject: usize) -> Result<Option<u64>> {
        let id = new.path.id();
        let path = self.place(&new.path)?;
        self.subjects[subject].used = true;
        let visible = new.state == CommentState::Published && new.visibility == Visibility::Everyone;
        // An imported tombstone was published once, somewhere.
        let floor = if visible || (new.imported.is_some() && new.state == CommentState::Deleted) {
            Some(self.next_floor(subject, &path)?)
        } else {
            None
        };
        let base = new.imported.as_ref().map_or((0, 0), |i| (i.likes, i.dislikes));
        // Reactions may have come before their comment.
        let strays = self.strays.remove(&id).unwrap_or((0, 0));
        let edited_at = new.imported.as_ref().and_then(|i| i.edited_at);
        let pinned = new.imported.as_ref().is_some_and(|i| i.pinned);
        let row = FoldedRow {
            path: path.clone(),
            created_at: new.created_at,
            floor,
            floors: 0,
            state: new.state,
            visibility: new.visibility,
            flags: if pinned { PINNED } else { 0 } | if edited_at.is_some() { EDITED } else { 0 },
            pinned_at: pinned.then_some(new.created_at),
            edited_at,
            counts: EngagementCounts { likes: base.0 + strays.0, dislikes: base.1 + strays.1, replies: 0 },
            reacted: self.positions.next(OperationStream::Reactions, id.slot()),
        };
        let parent = new.parent_id.map(|parent| self.resolve(parent));
        self.comments.insert(
            id,
            CommentFold {
                subject,
                author: new.author.id,
                row,
                base,
                before: (false, EngagementCounts::default()),
                new: Some((new, parent)),
                changed: true,
                moved: false,
                takedown: None,
                told: false,
                anew: false,
            },
        );
        if visible {
            self.count(subject, &path, 1)?;
        }
        Ok(floor)
    }

    /// The true path of a new comment: what it answers may have been named by a second id.
    fn place(&self, path: &Path) -> Result<Path> {
        let Some(parent) = path.parent_id().filter(|_| path.ids().any(|id| self.aliases.contains_key(&id))) else {
            return Ok(path.clone());
        };
        let parent = self.comments.get(&self.resolve(parent));
        let parent = parent.ok_or_else(|| damaged(format_args!("what comment {} answers is missing", path.id())))?;
        parent.row.path.child(path.id()).map_err(damaged)
    }

    /// Makes an id the second one of a comment, and gives the comment the reactions to it.
    fn alias(&mut self, id: CommentId, first: CommentId) -> Result<()> {
        self.present(first)?;
        self.aliases.insert(id, first);
        self.changes.aliases.push((id, first));
        self.strays.remove(&id);
        let mut strays: Vec<_> = self.pairs.keys().filter(|(of, _)| *of == id).map(|(_, member)| *member).collect();
        strays.sort_unstable();
        for member in strays {
            let stray = self.pairs.get_mut(&(id, member)).and_then(|pair| pair.now.take());
            let pair = self.pairs.entry((first, member)).or_default();
            if pair.now.is_none() && stray.is_some() {
                pair.now = stray;
                self.vote(first, None, stray);
            }
        }
        Ok(())
    }

    /// What is kept of the author: the comment in the history, and the name.
    pub(super) fn follow(&mut self, new: &'b NewCommentRow) {
        let id = new.path.id();
        if !self.comments.contains_key(&id) {
            return;
        }
        let held = !(new.state == CommentState::Published && new.visibility == Visibility::Everyone);
        self.changes.history.push((new.author.id, id, held));
        if new.imported.is_none() {
            self.authors.insert(new.author.id, &new.author);
        }
    }

    /// Floors are given at first publication and never again: roots count up per subject, replies
    /// per root.
    pub(super) fn next_floor(&mut self, subject: usize, path: &Path) -> Result<u64> {
        if path.depth() == 1 {
            let subject = &mut self.subjects[subject];
            subject.floors += 1;
            subject.changed = true;
            return Ok(subject.floors);
        }
        let root = self.present(path.root_id())?;
        root.row.floors += 1;
        root.changed = true;
        Ok(root.row.floors)
    }

    /// A comment has become visible (1) or stopped being so (−1).
    pub(super) fn count(&mut self, subject: usize, path: &Path, by: i64) -> Result<()> {
        let subject = &mut self.subjects[subject];
        subject.changed = true;
        subject.comments = subject.comments.saturating_add_signed(by);
        if path.depth() == 1 {
            subject.roots = subject.roots.saturating_add_signed(by);
        }
        for ancestor in path.ids().take(path.depth() - 1) {
            let ancestor = self.present(ancestor)?;
            let was = ancestor.row.listed();
            ancestor.row.counts.replies = ancestor.row.counts.replies.saturating_add_signed(by);
            ancestor.changed = true;
            ancestor.moved |= was != ancestor.row.listed();
        }
        Ok(())
    }
}
