//! What moderators and owners of subjects decide: pins, decisions about a comment, a subject's state.

use std::collections::HashMap;

use futures_util::{StreamExt as _, stream};
use gailou_shared::id::{AuditId, CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{AuditTargetKind, Comment, CommentState, FormerText, Subject};
use serde_json::{Value, json};

use crate::domain::audit::AuditEntry;
use crate::domain::operation::{CommentChange, Operation, PinnedBy, SubjectPatch};
use crate::domain::review::{Decision, ModeratorAction, SeenComment};
use crate::domain::row::SubjectRow;
use crate::service::edit::{append_change, read_any_row};
use crate::service::subject::SubjectAudience;
use crate::service::{ServiceError, ServiceResult, audit_log, comment_view, subject};
use crate::state::AppState;

/// Actions of one request that are carried out at the same time.
const CONCURRENT_ACTIONS: usize = 8;

/// Pins a comment to the top of its subject.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], `Forbidden`, `WrongFields` when too many comments are pinned, or
/// the journal's.
pub async fn pin(app: &AppState, member: &Member, id: CommentId) -> ServiceResult<Comment> {
    change_pin(app, member, id, true, None).await
}

/// Removes a pin.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], `Forbidden`, or the journal's.
pub async fn unpin(app: &AppState, member: &Member, id: CommentId) -> ServiceResult<Comment> {
    change_pin(app, member, id, false, None).await
}

async fn change_pin(
    app: &AppState,
    member: &Member,
    id: CommentId,
    pinned: bool,
    reason: Option<String>,
) -> ServiceResult<Comment> {
    let _place = app.writes.admit().await?;
    let before = read_any_row(app, id).await?;
    // A pin of what is hidden is taken by moderators.
    if !before.is_visible() && (pinned || member.role < Role::Moderator) {
        return Err(ServiceError::CommentNotFound);
    }
    subject::check_seen(app, &before.subject, SubjectAudience::of(member)).await?;
    let subject = subject::read_row(app, &before.subject).await?;
    let by = match (subject.owner_id == Some(member.id), member.role >= Role::Moderator) {
        (true, _) => PinnedBy::Owner,
        (false, true) => PinnedBy::Moderator,
        (false, false) => {
            return Err(ServiceError::Forbidden("only the subject's owner or a moderator may pin a comment"));
        }
    };
    if pinned && !subject.pinned.contains(&id) && subject.pinned.len() >= limits::MAX_PINS {
        let detail = format!("{} comments are pinned here already; unpin one first", limits::MAX_PINS);
        return Err(ServiceError::wrong_field("id", detail));
    }
    let verb = if pinned { "pin" } else { "unpin" };
    let is_audited = member.role >= Role::Moderator;
    let audit = is_audited.then(|| audit_log::entry(app, member, id.slot(), verb, reason)).transpose()?;
    let audit_id = audit.as_ref().map(|entry| entry.id);
    let after = append_change(app, id, CommentChange::Pin(pinned.then_some(by)), audit).await?;
    let comment = comment_view::for_every_reader(app, &after, subject::threading_around(app, &after)?);
    Ok(Comment { audit_id, ..comment })
}

impl Decision {
    const fn change(self) -> CommentChange {
        match self {
            Self::Approve => CommentChange::Approve,
            Self::Reject => CommentChange::Reject,
            Self::Restore => CommentChange::State(CommentState::Published),
            Self::Hide => CommentChange::State(CommentState::Hidden),
            Self::Delete => CommentChange::State(CommentState::Deleted),
            Self::Feature => CommentChange::Feature(true),
            Self::Unfeature => CommentChange::Feature(false),
        }
    }
}

/// Does what a moderator asks for with a comment, with an entry in the audit log.
///
/// # Errors
/// [`ServiceError::CommentNotFound`]; [`ServiceError::VersionConflict`] where a comment that is hidden or deleted is
/// approved, one that is deleted is rejected, hidden or featured, or one is not any more as it was `seen`; `WrongFields`
/// where too many comments are pinned; or the journal's.
pub async fn act(
    app: &AppState,
    moderator: &Member,
    id: CommentId,
    action: ModeratorAction,
    reason: Option<String>,
    seen: Option<SeenComment>,
) -> ServiceResult<Comment> {
    match action {
        ModeratorAction::Pin => change_pin(app, moderator, id, true, reason).await,
        ModeratorAction::Unpin => change_pin(app, moderator, id, false, reason).await,
        ModeratorAction::Decide(decision) => {
            let _place = app.writes.admit().await?;
            let change = match seen {
                Some(seen) => CommentChange::IfSeen { seen, change: Box::new(decision.change()) },
                None => decision.change(),
            };
            change_audited(app, moderator, id, change, decision.into_str(), reason).await
        }
    }
}

/// Does the same with several comments; what became of each, in their order.
pub async fn act_on_all(
    app: &AppState,
    moderator: &Member,
    ids: Vec<CommentId>,
    action: ModeratorAction,
    reason: Option<String>,
    seen: &HashMap<CommentId, SeenComment>,
) -> Vec<(CommentId, ServiceResult<Comment>)> {
    // Each pin sees those before it, because a subject has only so many.
    let at_once = if action == ModeratorAction::Pin { 1 } else { CONCURRENT_ACTIONS };
    let done = ids.into_iter().map(|id| {
        let reason = reason.clone();
        async move { (id, act(app, moderator, id, action, reason, seen.get(&id).copied()).await) }
    });
    stream::iter(done).buffered(at_once).collect().await
}

/// Undoes what an entry of the audit log is about.
///
/// # Errors
/// [`ServiceError::NotFound`]; [`ServiceError::VersionConflict`] when the comment has changed since, a day is over, or
/// the entry is about no comment; or the journal's.
pub async fn undo(app: &AppState, moderator: &Member, audit: AuditId) -> ServiceResult<Comment> {
    let undone = app.tables.read_audit(audit).await?;
    let undone = undone.ok_or(ServiceError::NotFound("there is no such entry in the audit log"))?;
    let comment = undone.target.id.parse().ok().filter(|_| undone.target.kind == AuditTargetKind::Comment);
    let id = comment.ok_or(ServiceError::VersionConflict("what this entry is about cannot be undone"))?;
    let _place = app.writes.admit().await?;
    change_audited(app, moderator, id, CommentChange::Undo(audit), "undo", None).await
}

/// A comment in any state.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], [`ServiceError::UnknownSubjectType`], or the store's.
pub async fn read_comment(app: &AppState, id: CommentId) -> ServiceResult<Comment> {
    let row = read_any_row(app, id).await?;
    Ok(comment_view::for_author(app, &row, subject::threading_around(app, &row)?))
}

/// The earlier texts of a comment, the first one first.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], or the store's.
pub async fn list_former_texts(app: &AppState, id: CommentId) -> ServiceResult<Vec<FormerText>> {
    read_any_row(app, id).await?;
    let texts = app.tables.read_other_texts(id).await?.earlier.into_iter();
    Ok(texts.map(|text| FormerText { content: text.content, replaced_at: text.replaced_at }).collect())
}

/// Carries out a change of a comment, with an entry in the audit log.
pub(super) async fn change_audited(
    app: &AppState,
    moderator: &Member,
    id: CommentId,
    change: CommentChange,
    action: &'static str,
    reason: Option<String>,
) -> ServiceResult<Comment> {
    let audit = audit_log::entry(app, moderator, id.slot(), action, reason)?;
    let audit_id = Some(audit.id);
    let after = append_change(app, id, change, Some(audit)).await?;
    let comment = comment_view::for_author(app, &after, subject::threading_around(app, &after)?);
    Ok(Comment { audit_id, ..comment })
}

/// Changes the fields of a subject that `patch` names, with an entry in the audit log.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`], or the journal's.
pub async fn change_subject(
    app: &AppState,
    moderator: &Member,
    key: &SubjectKey,
    patch: SubjectPatch,
) -> ServiceResult<Subject> {
    subject::threading_of(app, key.kind(), None)?;
    let _place = app.writes.admit().await?;
    let before = subject::read_row(app, key).await?;
    let audit = AuditEntry {
        before: Some(patched_fields(&patch, &before)),
        after: Some(patch_values(&patch)),
        ..audit_log::entry(app, moderator, key.slot(), "subject", None)?
    };
    let audit = Some(audit);
    app.journal.append(Operation::Subject { key: key.clone(), patch, audit }).await?;
    app.subject_rules.invalidate(key);
    subject::read_subject(app, key, SubjectAudience::Moderators).await
}

/// The fields that a patch names, with these values.
fn describe_fields(patch: &SubjectPatch, values: [Value; 5]) -> Value {
    let [title, url, owner_id, state, mode] = values;
    let fields = [
        (patch.title.is_some(), "title", title),
        (patch.url.is_some(), "url", url),
        (patch.owner_id.is_some(), "owner_id", owner_id),
        (patch.state.is_some(), "state", state),
        (patch.mode.is_some(), "mode", mode),
    ];
    fields.into_iter().filter(|(is_named, ..)| *is_named).map(|(_, name, value)| (name.to_owned(), value)).collect()
}

/// The fields that a patch names, as they are in the row.
fn patched_fields(patch: &SubjectPatch, row: &SubjectRow) -> Value {
    let values = [json!(row.title), json!(row.url), json!(row.owner_id), json!(row.state), json!(row.mode)];
    describe_fields(patch, values)
}

/// The fields that a patch names, as it sets them.
fn patch_values(patch: &SubjectPatch) -> Value {
    let SubjectPatch { title, url, owner_id, state, mode, fills_gaps: _ } = patch;
    describe_fields(patch, [json!(title), json!(url), json!(owner_id), json!(state), json!(mode)])
}
