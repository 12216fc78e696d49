//! What is done to comments that are there: reactions, edits, states, pins; and to subjects.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::wire::{CommentState, Reaction};

use crate::domain::columns::{EDITED, FEATURED, OWNER_PINNED, PINNED};
use crate::domain::damaged_data::Result;
use crate::domain::fold::Fold;
use crate::domain::fold::changes::{Audited, Edited};
use crate::domain::operation::{AuditEntry, CommentChange, OperationOutcome, PinnedBy, ReactionChange, SubjectPatch};

impl<'b> Fold<'b> {
    /// Without a position, nothing that cannot be seen is reacted to. With one, a reaction to a
    /// comment without a row is kept until the comment comes.
    pub(super) fn react(
        &mut self,
        id: CommentId,
        member: MemberId,
        react: ReactionChange,
        position: Option<u64>,
    ) -> OperationOutcome {
        let id = self.resolve(id);
        let comment = self.comments.get_mut(&id);
        if position.is_none() && !comment.as_ref().is_some_and(|c| c.row.visible()) {
            return OperationOutcome::NoComment;
        }
        if let (Some(comment), Some(position)) = (comment, position) {
            comment.row.reacted = comment.row.reacted.max(position + 1);
            comment.changed = true;
        }
        let pair = self.pairs.entry((id, member)).or_default();
        let (before, after) = (pair.now, react.fold(pair.now));
        pair.now = after;
        self.vote(id, before, after);
        match self.comments.get(&id) {
            Some(comment) => {
                let counts = comment.row.counts;
                OperationOutcome::Reacted { likes: counts.likes, dislikes: counts.dislikes, reaction: after }
            }
            None => OperationOutcome::NoComment,
        }
    }

    /// Moves the counts of a comment as one member's mind has changed.
    pub(super) fn vote(&mut self, id: CommentId, before: Option<Reaction>, after: Option<Reaction>) {
        if before == after {
            return;
        }
        let by = |which| i64::from(after == Some(which)) - i64::from(before == Some(which));
        let (likes, dislikes) = match self.comments.get_mut(&id) {
            Some(comment) => {
                comment.changed = true;
                self.subjects[comment.subject].changed = true;
                (&mut comment.row.counts.likes, &mut comment.row.counts.dislikes)
            }
            None => {
                let (likes, dislikes) = self.strays.entry(id).or_default();
                (likes, dislikes)
            }
        };
        *likes = likes.saturating_add_signed(by(Reaction::Like));
        *dislikes = dislikes.saturating_add_signed(by(Reaction::Dislike));
    }

    pub(super) fn change(
        &mut self,
        id: CommentId,
        change: &'b CommentChange,
        audit: Option<&'b AuditEntry>,
        at: u64,
    ) -> Result<OperationOutcome> {
        let id = self.resolve(id);
        let Some(comment) = self.comments.get_mut(&id) else { return Ok(OperationOutcome::NoComment) };
        comment.changed = true;
        comment.moved = true;
        let subject = comment.subject;
        match change {
            CommentChange::Pin(by) => {
                comment.row.flags &= !(PINNED | OWNER_PINNED);
                comment.row.flags |= match by {
                    None => 0,
                    Some(PinnedBy::Moderator) => PINNED,
                    Some(PinnedBy::Owner) => PINNED | OWNER_PINNED,
                };
                comment.row.pinned_at = by.map(|_| at);
            }
            CommentChange::Feature(true) => comment.row.flags |= FEATURED,
            CommentChange::Feature(false) => comment.row.flags &= !FEATURED,
            CommentChange::State(state) => self.set_state(id, *state, false, at)?,
            CommentChange::Edit { content, html, written, state } => {
                comment.row.flags |= EDITED;
                comment.row.edited_at = Some(at);
                self.set_state(id, *state, true, at)?;
                self.changes.edits.push(Edited { id, at, content, html, written: written.as_deref() });
            }
        }
        self.subjects[subject].changed = true;
        self.changes.audits.extend(audit.map(|audit| Audited { audit, at, comment: Some(id), subject: None }));
        Ok(OperationOutcome::Done)
    }

    fn set_state(&mut self, id: CommentId, state: CommentState, edited: bool, at: u64) -> Result<()> {
        let comment = self.present(id)?;
        let (subject, path, was) = (comment.subject, comment.row.path.clone(), comment.row.visible());
        comment.row.state = state;
        let is = comment.row.visible();
        if comment.row.floor.is_some() && (was || is) && (edited || was != is) {
            comment.takedown = Some(at);
        }
        if is && comment.row.floor.is_none() {
            let floor = self.next_floor(subject, &path)?;
            self.present(id)?.row.floor = Some(floor);
        }
        if was != is {
            self.count(subject, &path, if is { 1 } else { -1 })?;
        }
        Ok(())
    }

    pub(super) fn patch(
        &mut self,
        key: &'b SubjectKey,
        patch: &'b SubjectPatch,
        audit: Option<&'b AuditEntry>,
        at: u64,
    ) -> Result<OperationOutcome> {
        let place = self.subject(key)?;
        let subject = &mut self.subjects[place];
        subject.used = true;
        subject.changed = true;
        self.changes.patches.push((place, patch));
        self.changes.audits.extend(audit.map(|audit| Audited { audit, at, comment: None, subject: Some(place) }));
        Ok(OperationOutcome::Done)
    }
}
