//! What moderators and owners of subjects decide: pins, decisions about a comment, a subject's state.

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Comment, CommentState, Subject};
use strum::{EnumString, IntoStaticStr, VariantNames};

use crate::domain::operation::{AuditEntry, CommentChange, Operation, PinnedBy, SubjectPatch};
use crate::service::edit::{append_change, read_any_row};
use crate::service::subject::SubjectAudience;
use crate::service::{ServiceError, ServiceResult, comment_view, subject};
use crate::state::AppState;

/// Pins a comment to the top of its subject.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], `Forbidden`, `WrongFields` when too many comments are pinned, or
/// the journal's.
pub async fn pin(app: &AppState, member: &Member, id: CommentId) -> ServiceResult<Comment> {
    change_pin(app, member, id, true).await
}

/// Removes a pin.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], `Forbidden`, or the journal's.
pub async fn unpin(app: &AppState, member: &Member, id: CommentId) -> ServiceResult<Comment> {
    change_pin(app, member, id, false).await
}

async fn change_pin(app: &AppState, member: &Member, id: CommentId, pinned: bool) -> ServiceResult<Comment> {
    let _place = app.writes.admit().await?;
    let before = read_any_row(app, id).await?;
    if !before.is_visible() {
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
    let audit = AuditEntry { actor: member.id, action: if pinned { "pin" } else { "unpin" }, reason: None };
    let after = append_change(app, id, CommentChange::Pin(pinned.then_some(by)), Some(audit)).await?;
    Ok(comment_view::for_every_reader(&after, subject::threading_around(app, &after)?))
}

/// What a moderator decides about a comment. The names are those of requests and of the audit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Decision {
    Approve,
    Reject,
    Hide,
    Restore,
    Delete,
    Feature,
    Unfeature,
}

impl Decision {
    const fn change(self) -> CommentChange {
        match self {
            Self::Approve | Self::Restore => CommentChange::State(CommentState::Published),
            Self::Reject => CommentChange::State(CommentState::Rejected),
            Self::Hide => CommentChange::State(CommentState::Hidden),
            Self::Delete => CommentChange::State(CommentState::Deleted),
            Self::Feature => CommentChange::Feature(true),
            Self::Unfeature => CommentChange::Feature(false),
        }
    }
}

/// Carries out a moderator's decision about a comment, with an entry in the audit log.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], or the journal's.
pub async fn decide(
    app: &AppState,
    moderator: &Member,
    id: CommentId,
    decision: Decision,
    reason: Option<String>,
) -> ServiceResult<Comment> {
    let _place = app.writes.admit().await?;
    let audit = AuditEntry { actor: moderator.id, action: decision.into_str(), reason };
    let after = append_change(app, id, decision.change(), Some(audit)).await?;
    Ok(comment_view::for_author(&after, subject::threading_around(app, &after)?))
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
    let audit = Some(AuditEntry { actor: moderator.id, action: "subject", reason: None });
    app.journal.append(Operation::Subject { key: key.clone(), patch, audit }).await?;
    app.subject_states.invalidate(key);
    subject::read_subject(app, key, SubjectAudience::Moderators).await
}
