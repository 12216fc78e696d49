//! What waits for moderators, what they decide, and what undoes it.

use gailou_shared::id::{AuditId, CommentId};
use gailou_shared::wire::{CommentState, ReviewReason, ReviewReasonKind};

use crate::domain::audit::{CurrentText, UNDO_WINDOW_MS, UndoRecord};
use crate::domain::columns::{DECIDED_FLAGS, FLAG_APPROVED, FLAG_EDITED, FLAG_HELD_EDIT};
use crate::domain::damaged_data::Result;
use crate::domain::event::{Event, EventKind};
use crate::domain::fold::row_changes::{HistoryRow, ReportRow, TextEdit};
use crate::domain::fold::{BatchFold, CommentFold};
use crate::domain::review::{HeldEdit, NewReport, ReviewItem, report_detail};

impl CommentFold<'_> {
    /// Nothing of it waits for a decision any more.
    pub(super) fn end_review(&mut self) {
        self.review_changed |= self.review.is_some();
        self.review = None;
        self.row.flags &= !FLAG_HELD_EDIT;
    }

    /// The edit of it that waits, which waits no more.
    pub(super) fn drop_edit(&mut self) -> Option<HeldEdit> {
        let item = self.review.as_mut()?;
        let edit = item.edit.take()?;
        if item.remove_edit() {
            self.review = None;
        }
        self.review_changed = true;
        self.row.flags &= !FLAG_HELD_EDIT;
        Some(edit)
    }

    /// Its item of the review queue, which is about to change.
    fn review_mut(&mut self, at: u64) -> &mut ReviewItem {
        self.review_changed = true;
        self.review.get_or_insert_with(|| ReviewItem::new(at))
    }
}

impl<'b> BatchFold<'b> {
    /// Lets an edit wait for a moderator, in place of one that waits already.
    pub(super) fn hold_edit(
        &mut self,
        id: CommentId,
        text: CurrentText,
        reasons: &[ReviewReason],
        at: u64,
    ) -> Result<()> {
        let comment = self.comment_mut(id)?;
        comment.drop_edit();
        comment.row.flags |= FLAG_HELD_EDIT;
        let CurrentText { content, html, original_text } = text;
        let item = comment.review_mut(at);
        reasons.iter().for_each(|reason| item.add(reason));
        item.edit = Some(HeldEdit { content, html, original_text, at });
        let member = comment.author;
        self.changes.history.push(HistoryRow { member, id, held: true });
        self.changes.activity_at(at).held += 1;
        self.changes.events.push(Event::new(id, EventKind::Held, None, at));
        Ok(())
    }

    /// Writes a new text over the one that readers see.
    pub(super) fn replace_text(&mut self, id: CommentId, text: CurrentText, at: u64) -> Result<()> {
        let was_shown = self.comment_mut(id)?.row.is_visible();
        self.write_text(id, text, at, was_shown);
        Ok(())
    }

    /// `was_shown`: whether the text before is one of those that readers may see afterwards.
    fn write_text(&mut self, id: CommentId, text: CurrentText, at: u64, was_shown: bool) {
        self.contents.insert(id, text.clone());
        self.changes.edits.push(TextEdit { id, at, text, was_shown });
    }

    pub(super) fn approve(&mut self, id: CommentId, at: u64) -> Result<()> {
        let comment = self.comment_mut(id)?;
        let edit = comment.drop_edit();
        comment.end_review();
        comment.row.flags |= FLAG_APPROVED;
        let is_edited = edit.is_some();
        if let Some(HeldEdit { content, html, original_text, at: edited_at }) = edit {
            comment.row.flags |= FLAG_EDITED;
            comment.row.edited_at = Some(edited_at);
            self.replace_text(id, CurrentText { content, html, original_text }, at)?;
        }
        self.set_state(id, CommentState::Published, is_edited, at)
    }

    /// Answers whether readers may see a difference.
    pub(super) fn reject(&mut self, id: CommentId, at: u64) -> Result<bool> {
        self.changes.activity_at(at).rejected += 1;
        let comment = self.comment_mut(id)?;
        if comment.drop_edit().is_some() {
            return Ok(false);
        }
        comment.end_review();
        self.set_state(id, CommentState::Rejected, false, at)?;
        Ok(true)
    }

    /// Answers whether readers may see a difference: the report takes the comment out of the lists.
    pub(super) fn report(&mut self, id: CommentId, report: &'b NewReport, at: u64) -> Result<bool> {
        self.changes.reports.push(ReportRow { id, report, at });
        self.changes.activity_at(at).reports += 1;
        self.changes.events.push(Event::new(id, EventKind::Reported, Some(report.reporter.id), at));
        let detail = report_detail(report.reason).to_owned();
        let comment = self.comment_mut(id)?;
        let item = comment.review_mut(at);
        item.reports += 1;
        item.add(&ReviewReason { kind: ReviewReasonKind::Report, detail, count: 1 });
        if report.threshold == 0 || item.reports < report.threshold {
            return Ok(false);
        }
        let member = comment.author;
        self.changes.history.push(HistoryRow { member, id, held: true });
        self.changes.activity_at(at).held += 1;
        self.changes.events.push(Event::new(id, EventKind::Held, None, at));
        self.set_state(id, CommentState::Review, false, at)?;
        Ok(true)
    }

    /// Whether nothing has changed the comment since this entry of the audit log, and the entry is young enough.
    pub(super) fn can_undo(&self, id: CommentId, undone: AuditId, at: u64) -> bool {
        let is_last = self.comments.get(&id).is_some_and(|comment| comment.row.last_audit == Some(undone));
        is_last && self.undos.contains_key(&undone) && at < undone.created_ms() + UNDO_WINDOW_MS
    }

    pub(super) fn undo(&mut self, id: CommentId, undone: AuditId, at: u64) -> Result<()> {
        let Some(before) = self.undos.get(&undone).cloned() else { return Ok(()) };
        let UndoRecord { state, flags, pinned_at, edited_at, review, text } = before;
        let comment = self.comment_mut(id)?;
        comment.review_changed |= comment.review.is_some() || review.is_some();
        comment.review = review;
        comment.row.flags = (comment.row.flags & !DECIDED_FLAGS) | (flags & DECIDED_FLAGS);
        comment.row.pinned_at = pinned_at;
        comment.row.edited_at = edited_at;
        let is_edited = text.is_some();
        let member = comment.author;
        if let Some(text) = text {
            // What was published by mistake is no earlier text.
            self.write_text(id, text, at, false);
        }
        self.set_state(id, state, is_edited, at)?;
        // It may have become another member's since it was held.
        if self.comment_mut(id)?.row.is_pending() {
            self.changes.history.push(HistoryRow { member, id, held: true });
        }
        Ok(())
    }

    /// The comment as it is, for undoing what comes next.
    pub(super) fn undo_record(&mut self, id: CommentId) -> Result<UndoRecord> {
        let comment = self.comment_mut(id)?;
        let new_text = comment.new.map(|new| CurrentText {
            content: new.row.content.clone(),
            html: new.row.html.clone(),
            original_text: new.row.original_text.clone(),
        });
        let record = UndoRecord {
            state: comment.row.state,
            flags: comment.row.flags & DECIDED_FLAGS,
            pinned_at: comment.row.pinned_at,
            edited_at: comment.row.edited_at,
            review: comment.review.clone(),
            text: None,
        };
        if let Some(text) = new_text {
            self.contents.entry(id).or_insert(text);
        }
        Ok(UndoRecord { text: self.contents.get(&id).cloned(), ..record })
    }
}
