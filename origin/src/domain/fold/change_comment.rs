//! Changes to comments that exist: reactions, edits, states, pins; and to subjects.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::wire::{CommentState, Reaction, SubjectState};

use crate::domain::audit::{AuditEntry, CurrentText, UndoRecord, describe_comment};
use crate::domain::columns::{
    DECIDED_FLAGS, FLAG_EDITED, FLAG_ERASED, FLAG_FEATURED, FLAG_HELD_EDIT, FLAG_OWNER_PINNED, FLAG_PINNED,
};
use crate::domain::damaged_data::Result;
use crate::domain::event::{Event, EventKind};
use crate::domain::fold::BatchFold;
use crate::domain::fold::row_changes::{
    AuditRow, AuditedChange, ForgottenName, HistoryRow, RenamedMember, SubjectPatchRow, Takedown,
};
use crate::domain::operation::{CommentChange, OperationOutcome, PinnedBy, ReactionChange, SubjectPatch};
use crate::domain::reaction_state::DeadReaction;
use crate::domain::review::SeenComment;

impl<'b> BatchFold<'b> {
    /// Ends what a change of this pair makes outdated among the dead letters; for one that was a dead letter itself,
    /// that is what died before it. Answers whether the change is to be applied: a dead letter only while it is not
    /// outdated.
    pub(super) fn end_dead_reactions(&mut self, id: CommentId, member: MemberId, died_at: Option<u64>) -> bool {
        let id = self.resolve(id);
        let aliases = &self.aliases;
        let is_of_pair = |dead: &DeadReaction| aliases.get(&dead.id).copied().unwrap_or(dead.id) == id;
        let Some(dead) = self.dead_reactions.get_mut(&(id.slot(), member)) else { return died_at.is_none() };
        if let Some(position) = died_at
            && !dead.iter().any(|dead| is_of_pair(dead) && dead.position == position)
        {
            return false;
        }
        let last = died_at.unwrap_or(u64::MAX);
        let ended = dead.extract_if(.., |dead| is_of_pair(dead) && dead.position <= last);
        self.changes.ended_dead_reactions.extend(ended);
        true
    }

    /// Without a position, a reaction to an invisible comment is refused. With one, a reaction to a
    /// comment without a row is stored until the comment is published.
    pub(super) fn react(
        &mut self,
        id: CommentId,
        member: MemberId,
        change: ReactionChange,
        at: u64,
        position: Option<u64>,
    ) -> OperationOutcome {
        let id = self.resolve(id);
        let comment = self.comments.get_mut(&id);
        if position.is_none() && !comment.as_ref().is_some_and(|c| c.row.is_visible()) {
            return OperationOutcome::NoComment;
        }
        if let (Some(comment), Some(position)) = (comment, position) {
            comment.row.reactions_offset = comment.row.reactions_offset.max(position + 1);
            comment.changed = true;
        }
        let pair = self.pairs.entry((id, member)).or_default();
        let (before, after) = (pair.now, change.fold(pair.now));
        pair.now = after;
        if before != after {
            self.changes.activity_at(at).reactions += 1;
        }
        self.move_counts(id, before, after);
        match self.comments.get(&id) {
            Some(comment) => {
                let counts = comment.row.counts;
                OperationOutcome::Reacted { likes: counts.likes, dislikes: counts.dislikes, reaction: after }
            }
            None => OperationOutcome::NoComment,
        }
    }

    /// Moves the counts of a comment by the change of one member's reaction.
    pub(super) fn move_counts(&mut self, id: CommentId, before: Option<Reaction>, after: Option<Reaction>) {
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
                let counts = self.early_counts.entry(id).or_default();
                (&mut counts.likes, &mut counts.dislikes)
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
        if audit.is_some_and(|audit| comment.row.last_audit == Some(audit.id)) {
            // It comes again, since its answer was lost. The rows have it, and caches may not know that yet.
            (comment.changed, comment.more_than_counts) = (true, true);
            self.subjects[comment.subject].changed = true;
            return Ok(OperationOutcome::Done);
        }
        if let CommentChange::IfSeen { seen, change } = change {
            let now = SeenComment::of(comment.row.state, comment.row.edited_at, comment.review.as_ref());
            return if now == *seen { self.change(id, change, audit, at) } else { Ok(OperationOutcome::Conflict) };
        }
        let is_erased = comment.row.flags & FLAG_ERASED != 0;
        match change {
            CommentChange::Erase if is_erased => return Ok(OperationOutcome::Done),
            CommentChange::Forget { member, is_shown } => {
                self.changes.forgotten.push(ForgottenName { id, member: *member });
                if !is_shown {
                    return Ok(OperationOutcome::Done);
                }
            }
            CommentChange::Rename { from, to } => self.changes.renamed.push(RenamedMember { id, from: *from, to }),
            _ if is_erased => return Ok(OperationOutcome::NoComment),
            CommentChange::Transfer { from, .. } if comment.author != *from => return Ok(OperationOutcome::Done),
            // An edit that was under way when a moderator decided must not undo the decision.
            CommentChange::Edit { .. } if comment.row.state != CommentState::Published => {
                return Ok(OperationOutcome::NoComment);
            }
            CommentChange::Edit { max_edits, .. } if *max_edits > 0 && comment.row.edits >= *max_edits => {
                return Ok(OperationOutcome::TooManyEdits);
            }
            CommentChange::Approve if matches!(comment.row.state, CommentState::Hidden | CommentState::Deleted) => {
                return Ok(OperationOutcome::Conflict);
            }
            // A decision that comes late brings back nothing that was deleted, and its author hears nothing of it.
            CommentChange::Reject | CommentChange::Feature(_) | CommentChange::State(CommentState::Hidden)
                if comment.row.state == CommentState::Deleted =>
            {
                return Ok(OperationOutcome::Conflict);
            }
            CommentChange::DropMedia if comment.row.state != CommentState::Deleted => {
                return Ok(OperationOutcome::Conflict);
            }
            // Readers see no difference, and what was decided before can still be undone.
            CommentChange::DropMedia => {
                self.changes.without_media.push(id);
                return Ok(OperationOutcome::Done);
            }
            CommentChange::Report(_) if !comment.row.is_visible() => return Ok(OperationOutcome::NoComment),
            CommentChange::Report(report) if !self.reports.insert((id, report.reporter.id)) => {
                return Ok(OperationOutcome::Done);
            }
            CommentChange::Undo(undone) if !self.can_undo(id, *undone, at) => return Ok(OperationOutcome::Conflict),
            _ => {}
        }
        let before = audit.map(|_| self.undo_record(id)).transpose()?;
        let is_public = self.apply_change(id, change, at)?;
        let comment = self.comment_mut(id)?;
        comment.changed = true;
        comment.more_than_counts = true;
        // What was decided before can still be undone where the change is no decision of its own.
        if !change.keeps_decisions() {
            comment.row.last_audit = audit.map(|audit| audit.id);
        }
        let (subject, after) = (comment.subject, describe_comment(comment.row.state, comment.row.flags));
        let (state, flags, review) = (comment.row.state, comment.row.flags & DECIDED_FLAGS, comment.review.clone());
        let is_changed = |before: &UndoRecord| (before.state, before.flags, &before.review) != (state, flags, &review);
        self.subjects[subject].changed |= is_public;
        if let (Some(audit), Some(mut undo)) = (audit, before) {
            let was_waiting = undo.state != CommentState::Published || undo.flags & FLAG_HELD_EDIT != 0;
            let kind = change.event_kind(was_waiting).filter(|_| is_changed(&undo));
            self.changes.events.extend(kind.map(|kind| Event::new(id, kind, Some(audit.actor.id), at)));
            undo.text = undo.text.filter(|before| self.contents.get(&id).is_some_and(|now| now != before));
            self.undos.insert(audit.id, undo.clone());
            let change = AuditedChange::Comment { id, after, undo: Box::new(undo) };
            self.changes.audits.push(AuditRow { audit, at, change });
        }
        Ok(OperationOutcome::Done)
    }

    /// Carries out a change that is allowed. Answers whether readers may see a difference.
    fn apply_change(&mut self, id: CommentId, change: &'b CommentChange, at: u64) -> Result<bool> {
        let comment = self.comment_mut(id)?;
        match change {
            CommentChange::Erase => {
                comment.row.flags = FLAG_ERASED;
                comment.row.pinned_at = None;
                comment.row.edited_at = None;
                comment.end_review();
                self.set_state(id, CommentState::Deleted, false, at)?;
                self.contents.remove(&id);
                self.changes.erased.push(id);
            }
            // Handled before.
            CommentChange::DropMedia | CommentChange::IfSeen { .. } => return Ok(false),
            CommentChange::Forget { .. } | CommentChange::Rename { .. } => {
                comment.takedown = comment.row.is_visible().then_some(at).or(comment.takedown);
            }
            CommentChange::Transfer { to, .. } => {
                comment.author = to.id;
                comment.row.author_level = to.level;
                let is_visible = comment.row.is_visible();
                comment.takedown = is_visible.then_some(at).or(comment.takedown);
                let held = comment.row.is_pending();
                self.changes.history.push(HistoryRow { member: to.id, id, held });
                self.changes.transferred.insert(id, to);
                self.record_name(id, to);
            }
            CommentChange::Pin(by) => {
                comment.row.flags &= !(FLAG_PINNED | FLAG_OWNER_PINNED);
                comment.row.flags |= match by {
                    None => 0,
                    Some(PinnedBy::Moderator) => FLAG_PINNED,
                    Some(PinnedBy::Owner) => FLAG_PINNED | FLAG_OWNER_PINNED,
                };
                comment.row.pinned_at = by.map(|_| at);
            }
            CommentChange::Feature(true) => comment.row.flags |= FLAG_FEATURED,
            CommentChange::Feature(false) => comment.row.flags &= !FLAG_FEATURED,
            CommentChange::State(state) => {
                comment.end_review();
                self.set_state(id, *state, false, at)?;
            }
            CommentChange::Edit { content, html, original_text, state: CommentState::Review, reasons, .. } => {
                comment.row.edits += 1;
                let text =
                    CurrentText { content: content.clone(), html: html.clone(), original_text: original_text.clone() };
                self.hold_edit(id, text, reasons, at)?;
                return Ok(false);
            }
            CommentChange::Edit { content, html, original_text, .. } => {
                comment.row.edits += 1;
                comment.drop_edit();
                let text =
                    CurrentText { content: content.clone(), html: html.clone(), original_text: original_text.clone() };
                self.replace_text(id, text, at)?;
                let comment = self.comment_mut(id)?;
                comment.row.flags |= FLAG_EDITED;
                comment.row.edited_at = Some(at);
                self.set_state(id, CommentState::Published, true, at)?;
            }
            CommentChange::Approve => self.approve(id, at)?,
            CommentChange::Reject => return self.reject(id, at),
            CommentChange::Report(report) => return self.report(id, report, at),
            CommentChange::Undo(undone) => self.undo(id, *undone, at)?,
        }
        Ok(true)
    }

    pub(super) fn set_state(&mut self, id: CommentId, state: CommentState, edited: bool, at: u64) -> Result<()> {
        let comment = self.comment_mut(id)?;
        let (subject, path, was_visible) = (comment.subject, comment.row.path.clone(), comment.row.is_visible());
        comment.row.state = state;
        let visible = comment.row.is_visible();
        if comment.row.floor.is_some() && (was_visible || visible) && (edited || was_visible != visible) {
            comment.takedown = Some(at);
        }
        if visible && comment.row.floor.is_none() {
            let floor = self.next_floor(subject, &path)?;
            self.comment_mut(id)?.row.floor = Some(floor);
            self.changes.events.push(Event::new(id, EventKind::Published, None, at));
        }
        if was_visible != visible {
            self.count_visible(subject, &path, if visible { 1 } else { -1 })?;
        }
        Ok(())
    }

    pub(super) fn patch_subject(
        &mut self,
        key: &'b SubjectKey,
        patch: &'b SubjectPatch,
        audit: Option<&'b AuditEntry>,
        at: u64,
    ) -> Result<OperationOutcome> {
        let index = self.subject_index(key)?;
        let subject = &mut self.subjects[index];
        subject.used = true;
        subject.changed = true;
        self.changes.patches.push(SubjectPatchRow { subject: index, patch });
        if patch.state == Some(SubjectState::Hidden) {
            self.changes.takedowns.push(Takedown { subject: index, id: None, at });
        }
        let change = AuditedChange::Subject(index);
        self.changes.audits.extend(audit.map(|audit| AuditRow { audit, at, change }));
        Ok(OperationOutcome::Done)
    }
}
