//! Changes to what is there: reactions, edits, deletion, pins, a moderator's decisions.

use gailou_shared::content::check_length;
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Code, Comment, CommentState, ReactionResult, Subject};

use crate::domain::operation::{
    AuditEntry, CommentChange, Operation, OperationOutcome, PinnedBy, ReactionChange, SubjectPatch,
};
use crate::domain::row::CommentRow;
use crate::error::ApiError;
use crate::service::member::may_delete;
use crate::service::{markdown, page, publish, view};
use crate::state::AppState;

/// Likes, dislikes, or takes either back.
///
/// # Errors
/// `comment_not_found` for what cannot be seen, or the journal's.
pub async fn react(
    app: &AppState,
    member: &Member,
    id: CommentId,
    react: ReactionChange,
) -> Result<ReactionResult, ApiError> {
    match app.journal.append(Operation::React { id, member: member.id, react }).await? {
        OperationOutcome::Reacted { likes, dislikes, reaction } => Ok(ReactionResult { id, likes, dislikes, reaction }),
        _ => Err(ApiError::comment_not_found()),
    }
}

async fn row(app: &AppState, id: CommentId) -> Result<CommentRow, ApiError> {
    app.store.read_comments(&[id]).await?.remove(&id).ok_or_else(ApiError::comment_not_found)
}

async fn append(
    app: &AppState,
    id: CommentId,
    change: CommentChange,
    audit: Option<AuditEntry>,
) -> Result<CommentRow, ApiError> {
    match app.journal.append(Operation::Change { id, change, audit }).await? {
        OperationOutcome::NoComment => Err(ApiError::comment_not_found()),
        _ => row(app, id).await,
    }
}

/// `PATCH /v1/comments/{id}`: the author's, for a quarter of an hour.
///
/// # Errors
/// `comment_not_found`, `forbidden`, `edit_window_over`, `content_rejected`, or the journal's.
pub async fn edit(app: &AppState, member: &Member, id: CommentId, content: String) -> Result<Comment, ApiError> {
    let before = row(app, id).await?;
    if before.state != CommentState::Published {
        return Err(ApiError::comment_not_found());
    }
    if before.author.id != member.id {
        return Err(ApiError::new(Code::Forbidden, "only its author may edit a comment"));
    }
    if app.now() >= before.created_at + limits::EDIT_WINDOW_MS {
        return Err(ApiError::new(Code::EditWindowOver, "a comment can be edited for 15 minutes"));
    }
    let most = app.config.types.get(before.subject.kind()).map_or(limits::MAX_CONTENT_CHARS, |t| t.max_chars);
    if let Some(too_long) = check_length(&content, most) {
        return Err(ApiError::fields(vec![too_long]));
    }
    let filtered = publish::filter(app, content)?;
    let html = markdown::html(&filtered.content);
    let change =
        CommentChange::Edit { content: filtered.content, html, written: filtered.written, state: filtered.state };
    let after = append(app, id, change, None).await?;
    Ok(view::whole(&after, page::threading_around(app, &after)?))
}

/// `DELETE /v1/comments/{id}`: nothing happens to what is deleted already.
///
/// # Errors
/// `comment_not_found`, `forbidden`, or the journal's.
pub async fn delete(app: &AppState, member: &Member, id: CommentId) -> Result<(), ApiError> {
    let before = row(app, id).await?;
    let owner = page::subject_row(app, &before.subject).await?.owner_id;
    if !may_delete(&before, member, owner) {
        return Err(if view::has_public_face(&before) {
            ApiError::new(Code::Forbidden, "only its author, the subject's owner or a moderator may delete a comment")
        } else {
            ApiError::comment_not_found()
        });
    }
    if before.state == CommentState::Deleted {
        return Ok(());
    }
    let is_author = before.author.id == member.id;
    let audit = (!is_author).then_some(AuditEntry { actor: member.id, action: "delete", reason: None });
    append(app, id, CommentChange::State(CommentState::Deleted), audit).await?;
    Ok(())
}

/// `PUT` and `DELETE /v1/comments/{id}/pin`.
///
/// # Errors
/// `comment_not_found`, `forbidden`, `invalid_request` when too many are pinned, or the journal's.
pub async fn pin(app: &AppState, member: &Member, id: CommentId, on: bool) -> Result<Comment, ApiError> {
    let before = row(app, id).await?;
    if !before.visible() {
        return Err(ApiError::comment_not_found());
    }
    let subject = page::subject_row(app, &before.subject).await?;
    let by = match (subject.owner_id == Some(member.id), member.role >= Role::Moderator) {
        (true, _) => PinnedBy::Owner,
        (false, true) => PinnedBy::Moderator,
        (false, false) => {
            return Err(ApiError::new(Code::Forbidden, "only the subject's owner or a moderator may pin a comment"));
        }
    };
    if on && !subject.pinned.contains(&id) && subject.pinned.len() >= limits::MAX_PINS {
        return Err(ApiError::field("id", format!("{} comments are pinned here already", limits::MAX_PINS)));
    }
    let audit = AuditEntry { actor: member.id, action: if on { "pin" } else { "unpin" }, reason: None };
    let after = append(app, id, CommentChange::Pin(on.then_some(by)), Some(audit)).await?;
    Ok(view::public(&after, page::threading_around(app, &after)?))
}

/// What a moderator decides about a comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "approve" => Self::Approve,
            "reject" => Self::Reject,
            "hide" => Self::Hide,
            "restore" => Self::Restore,
            "delete" => Self::Delete,
            "feature" => Self::Feature,
            "unfeature" => Self::Unfeature,
            _ => return None,
        })
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Approve => "approve",
            Self::Reject => "reject",
            Self::Hide => "hide",
            Self::Restore => "restore",
            Self::Delete => "delete",
            Self::Feature => "feature",
            Self::Unfeature => "unfeature",
        }
    }

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

/// `POST /v1/admin/comments/{id}/decision`.
///
/// # Errors
/// `comment_not_found`, or the journal's.
pub async fn decide(
    app: &AppState,
    moderator: &Member,
    id: CommentId,
    decision: Decision,
    reason: Option<String>,
) -> Result<Comment, ApiError> {
    let audit = AuditEntry { actor: moderator.id, action: decision.name(), reason };
    let after = append(app, id, decision.change(), Some(audit)).await?;
    Ok(view::whole(&after, page::threading_around(app, &after)?))
}

/// `PUT /v1/admin/subjects/{type}/{key}`.
///
/// # Errors
/// `unknown_subject_type`, or the journal's.
pub async fn subject(
    app: &AppState,
    moderator: &Member,
    key: &SubjectKey,
    patch: SubjectPatch,
) -> Result<Subject, ApiError> {
    page::threading(app, key.kind(), None)?;
    let audit = Some(AuditEntry { actor: moderator.id, action: "subject", reason: None });
    app.journal.append(Operation::Subject { key: key.clone(), patch, audit }).await?;
    app.subject_states.invalidate(key);
    page::subject(app, key).await
}
