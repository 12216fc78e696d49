//! What waits for moderators, what they decide, and what undoes it.

use gailou_shared::wire::{ActivityPoint, MemberRef, ReportReason, ReviewReason, ReviewReasonKind};

use super::*;
use crate::domain::activity::ActivityStep;
use crate::domain::audit::{AuditEntry, UNDO_WINDOW_MS};
use crate::domain::review::{NewReport, SeenComment};

pub(super) fn report(member: u64, threshold: u64) -> CommentChange {
    let reporter = MemberRef { id: MemberId::new(member).unwrap(), name: "reader".into() };
    CommentChange::Report(Box::new(NewReport { reporter, reason: ReportReason::Spam, note: None, threshold }))
}

pub(super) fn held_edit(text: &str) -> CommentChange {
    CommentChange::Edit {
        content: text.into(),
        html: String::new(),
        original_text: None,
        state: CommentState::Review,
        reasons: vec![ReviewReason { kind: ReviewReasonKind::Word, detail: "ad".into(), count: 1 }],
        max_edits: 3,
    }
}

/// The entry of the audit log that step `n` leaves.
pub(super) fn audit(id: CommentId, n: usize) -> AuditEntry {
    AuditEntry {
        id: CommentId::from_parts(NOW + n as u64, id.slot(), 2, 0).into(),
        actor: MemberRef { id: MemberId::new(9).unwrap(), name: "moderator".into() },
        action: "test",
        reason: None,
        before: None,
        after: None,
    }
}

/// One comment, and the number of the last step.
struct Moderated {
    tables: FoldTables,
    id: CommentId,
    steps: usize,
}

impl Moderated {
    fn new(state: CommentState) -> Self {
        let new = NewCommentRow { state, ..comment(0, &subject(0), None) };
        let mut tables = FoldTables::default();
        tables.persist(TableLayout::Embedded, &[LoggedOperation::new(NOW, publish(&new))]).unwrap();
        tables.check();
        Self { tables, id: new.path.id(), steps: 0 }
    }

    /// The outcome of a change at this moment, with an entry of its own where a moderator makes it.
    fn change_at(&mut self, at: u64, change: CommentChange) -> OperationOutcome {
        self.steps += 1;
        let is_audited = !matches!(change, CommentChange::Edit { .. } | CommentChange::Report(_));
        let audit = is_audited.then(|| audit(self.id, self.steps));
        let operation = Operation::Change { id: self.id, change, audit };
        let persisted = self.tables.persist(TableLayout::Embedded, &[LoggedOperation::new(at, operation)]).unwrap();
        self.tables.check();
        persisted.outcomes.into_iter().next().unwrap()
    }

    fn change(&mut self, change: CommentChange) -> OperationOutcome {
        self.change_at(NOW + 100, change)
    }

    /// Undoes the last step.
    fn undo(&mut self) -> OperationOutcome {
        self.change(CommentChange::Undo(audit(self.id, self.steps).id))
    }

    /// Its state, the text that readers see, and its place in the queue: held, reported, reports.
    fn now(&self) -> (CommentState, &str, (i64, i64), u64) {
        let comment = &self.tables.comments[&self.id];
        let counts = self.tables.queue_counts.get(&self.id.slot()).copied().unwrap_or_default();
        let reports = self.tables.reviews.get(&self.id).map_or(0, |(_, item)| item.reports);
        (comment.row.state, &comment.texts.1.content, counts, reports)
    }
}

fn is_done(outcome: &OperationOutcome) -> bool {
    matches!(outcome, OperationOutcome::Done)
}

const PUBLISHED: CommentState = CommentState::Published;
const NOT_QUEUED: (i64, i64) = (0, 0);
const HELD: (i64, i64) = (1, 0);
const REPORTED: (i64, i64) = (0, 1);

#[test]
fn held_comment_is_queued_until_it_is_decided_and_again_when_that_is_undone() {
    for (decision, after) in [
        (CommentChange::Approve, PUBLISHED),
        (CommentChange::Reject, CommentState::Rejected),
        (CommentChange::State(CommentState::Hidden), CommentState::Hidden),
        (CommentChange::State(CommentState::Deleted), CommentState::Deleted),
    ] {
        let mut of = Moderated::new(CommentState::Review);
        assert_eq!(of.now(), (CommentState::Review, "comment 0", HELD, 0));
        assert!(is_done(&of.change(decision)));
        assert_eq!(of.now(), (after, "comment 0", NOT_QUEUED, 0));
        assert!(is_done(&of.undo()));
        assert_eq!(of.now(), (CommentState::Review, "comment 0", HELD, 0));
        assert!(is_done(&of.undo()), "undoing is undone");
        assert_eq!(of.now(), (after, "comment 0", NOT_QUEUED, 0));
    }
}

#[test]
fn decision_about_what_was_seen_is_refused_once_it_is_another() {
    let mut of = Moderated::new(CommentState::Review);
    let seen = SeenComment::of(CommentState::Review, None, None);
    let decide = |change| CommentChange::IfSeen { seen, change: Box::new(change) };
    assert!(is_done(&of.change(decide(CommentChange::Approve))));
    for late in [CommentChange::Approve, CommentChange::Reject, CommentChange::State(CommentState::Hidden)] {
        assert!(matches!(of.change(decide(late)), OperationOutcome::Conflict));
    }
    assert_eq!(of.now(), (PUBLISHED, "comment 0", NOT_QUEUED, 0));
}

#[test]
fn decision_that_comes_again_since_its_answer_was_lost_changes_nothing_more() {
    let mut of = Moderated::new(PUBLISHED);
    of.change(held_edit("new"));
    for _ in 0..2 {
        // The same entry of the audit log.
        of.steps = 1;
        assert!(is_done(&of.change(CommentChange::Reject)));
        assert_eq!(of.now(), (PUBLISHED, "comment 0", NOT_QUEUED, 0), "the edit alone is dropped");
    }
    for _ in 0..2 {
        of.steps = 2;
        let undone = audit(of.id, 2).id;
        assert!(is_done(&of.change(CommentChange::Undo(undone))));
        assert_eq!(of.now(), (PUBLISHED, "comment 0", HELD, 0));
    }
}

#[test]
fn held_edit_waits_while_readers_see_the_former_text() {
    let mut of = Moderated::new(PUBLISHED);
    of.change(held_edit("new"));
    assert_eq!(of.now(), (PUBLISHED, "comment 0", HELD, 0));
    of.change(CommentChange::Reject);
    assert_eq!(of.now(), (PUBLISHED, "comment 0", NOT_QUEUED, 0), "the edit alone is dropped");
    of.undo();
    assert_eq!(of.now(), (PUBLISHED, "comment 0", HELD, 0));
    of.change(CommentChange::Approve);
    assert_eq!(of.now(), (PUBLISHED, "new", NOT_QUEUED, 0));
    of.undo();
    assert_eq!(of.now(), (PUBLISHED, "comment 0", HELD, 0), "the former text is back");
    of.change(CommentChange::State(CommentState::Hidden));
    assert_eq!(of.now(), (CommentState::Hidden, "comment 0", NOT_QUEUED, 0));
    assert!(matches!(of.change(CommentChange::Approve), OperationOutcome::Conflict));
    of.change(CommentChange::State(PUBLISHED));
    assert_eq!(of.now(), (PUBLISHED, "comment 0", NOT_QUEUED, 0), "what is restored is the text that was seen");
}

#[test]
fn edit_that_nothing_holds_takes_the_place_of_one_that_waits() {
    let mut of = Moderated::new(PUBLISHED);
    of.change(held_edit("held"));
    of.change(CommentChange::Edit {
        content: "clean".into(),
        html: String::new(),
        original_text: None,
        state: PUBLISHED,
        reasons: vec![],
        max_edits: 3,
    });
    assert_eq!(of.now(), (PUBLISHED, "clean", NOT_QUEUED, 0));
    of.change(held_edit("again"));
    assert!(matches!(of.change(held_edit("once more")), OperationOutcome::TooManyEdits), "held edits are counted");
}

#[test]
fn reports_queue_a_comment_and_hold_it_at_the_threshold() {
    let mut of = Moderated::new(PUBLISHED);
    for (member, expected) in [(1, 1), (1, 1), (2, 2)] {
        assert!(is_done(&of.change(report(member, 3))));
        assert_eq!(of.now(), (PUBLISHED, "comment 0", REPORTED, expected));
    }
    of.change(report(3, 3));
    assert_eq!(of.now(), (CommentState::Review, "comment 0", REPORTED, 3));
    assert!(matches!(of.change(report(4, 3)), OperationOutcome::NoComment), "readers do not see it");
    of.change(CommentChange::Approve);
    assert_eq!(of.now(), (PUBLISHED, "comment 0", NOT_QUEUED, 0));
    of.undo();
    assert_eq!(of.now(), (CommentState::Review, "comment 0", REPORTED, 3));
    of.undo();
    of.change(report(1, 3));
    assert_eq!(of.now(), (PUBLISHED, "comment 0", NOT_QUEUED, 0), "who has reported it before changes nothing");
    of.change(report(5, 3));
    assert_eq!(of.now(), (PUBLISHED, "comment 0", REPORTED, 1));
}

#[test]
fn reported_comment_with_a_held_edit_is_held_until_the_edit_is_decided() {
    let mut of = Moderated::new(PUBLISHED);
    of.change(report(1, 0));
    of.change(held_edit("new"));
    assert_eq!(of.now(), (PUBLISHED, "comment 0", HELD, 1));
    of.change(CommentChange::Reject);
    assert_eq!(of.now(), (PUBLISHED, "comment 0", REPORTED, 1));
    of.change(CommentChange::Reject);
    assert_eq!(of.now(), (CommentState::Rejected, "comment 0", NOT_QUEUED, 0));
}

#[test]
fn decision_is_not_undone_after_another_change_or_a_day() {
    let changes = [report(1, 0), held_edit("new"), CommentChange::Feature(true)];
    for change in changes {
        let mut of = Moderated::new(CommentState::Review);
        of.change(CommentChange::Approve);
        let approved = audit(of.id, of.steps).id;
        of.change(change);
        let (before, outcome) = (of.tables.clone(), of.change(CommentChange::Undo(approved)));
        assert!(matches!(outcome, OperationOutcome::Conflict));
        assert_eq!(of.tables, before);
    }
    let mut of = Moderated::new(CommentState::Review);
    of.change(CommentChange::Approve);
    let approved = audit(of.id, of.steps).id;
    let last = approved.created_ms() + UNDO_WINDOW_MS;
    assert!(matches!(of.change_at(last, CommentChange::Undo(approved)), OperationOutcome::Conflict));
    assert!(is_done(&of.change_at(last - 1, CommentChange::Undo(approved))));
}

#[test]
fn report_and_held_edit_change_nothing_that_caches_hold() {
    for change in [report(1, 0), held_edit("new")] {
        let mut of = Moderated::new(PUBLISHED);
        let version = of.tables.subjects[&subject(0)].version;
        of.change(change);
        assert_eq!(of.tables.subjects[&subject(0)].version, version);
    }
}

#[test]
fn erased_comment_leaves_the_queue_its_reports_and_what_undoing_needs() {
    let mut of = Moderated::new(PUBLISHED);
    of.change(CommentChange::Feature(true));
    of.change(report(1, 0));
    of.change(held_edit("new"));
    let erase = Operation::Change { id: of.id, change: CommentChange::Erase, audit: None };
    of.tables.persist(TableLayout::Embedded, &[LoggedOperation::new(NOW, erase)]).unwrap();
    of.tables.check();
    assert!(of.tables.reviews.is_empty() && of.tables.reports.is_empty() && of.tables.undos.is_empty());
}

#[test]
fn acts_are_counted_in_their_minutes_and_what_undoes_them_changes_no_number() {
    let mut of = Moderated::new(PUBLISHED);
    let like = || Operation::React {
        id: of.id,
        member: MemberId::new(1).unwrap(),
        change: ReactionChange::Put(Reaction::Like),
    };
    let likes = [LoggedOperation::new(NOW, like()), LoggedOperation::new(NOW, like())];
    of.tables.persist(TableLayout::Embedded, &likes).unwrap();
    of.change(held_edit("new"));
    of.change(CommentChange::Reject);
    of.change(report(1, 2));
    of.change(report(1, 2));
    let later = NOW + 60_000;
    of.change_at(later, report(2, 2));
    of.change_at(later, CommentChange::Reject);
    of.change_at(later, CommentChange::Undo(audit(of.id, of.steps).id));
    of.change_at(later, CommentChange::State(CommentState::Deleted));
    let minute = |at| ActivityStep::Minute.begin_of(at);
    let first = ActivityPoint { at: minute(NOW), posts: 1, held: 1, rejected: 1, reports: 1, reactions: 1 };
    let second = ActivityPoint { at: minute(later), posts: 0, held: 1, rejected: 1, reports: 1, reactions: 0 };
    assert_eq!(of.tables.activity.into_values().collect::<Vec<_>>(), [first, second]);
}

#[test]
fn imported_comment_is_no_post() {
    let imported = ImportedFrom { source: "1".into(), likes: 3, dislikes: 1, edited_at: None, pinned: false };
    let new = NewCommentRow { imported: Some(imported), ..comment(0, &subject(0), None) };
    let mut tables = FoldTables::default();
    tables.persist(TableLayout::Embedded, &[LoggedOperation::new(NOW, publish(&new))]).unwrap();
    assert!(tables.activity.is_empty());
}
