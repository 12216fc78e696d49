//! Changes to a comment after it was written: an edit, a deletion.

use gailou_shared::content::check_length;
use gailou_shared::id::{CommentId, MemberId, MemberKind};
use gailou_shared::limits;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Comment, CommentState};

use crate::domain::audit::AuditEntry;
use crate::domain::operation::{CommentChange, Operation, OperationOutcome};
use crate::domain::review::HeldEdit;
use crate::domain::row::CommentRow;
use crate::service::challenge::WriteSource;
use crate::service::classify::WrittenText;
use crate::service::filter::filter_and_render;
use crate::service::refused::{RefusedTarget, RefusedWrite};
use crate::service::subject::SubjectAudience;
use crate::service::{
    ServiceError, ServiceResult, account, audit_log, challenge, classify, comment_view, guest, publish, refused, rules,
    subject,
};
use crate::state::AppState;

/// Replaces the text of a comment. Its author may do so for 15 minutes after posting. An edit that the filter holds
/// waits for a moderator, and readers see the former text: the answer has the new one and the state `review`.
///
/// # Errors
/// [`ServiceError::ChallengeRequired`], `CommentNotFound`, `Forbidden`, `GuestsNotAllowed`, `EditWindowOver`, `TooManyEdits`,
/// `WrongFields`, `ContentRejected`, or the journal's.
pub async fn edit(
    app: &AppState,
    member: &Member,
    source: &WriteSource,
    id: CommentId,
    content: String,
) -> ServiceResult<Comment> {
    // Before the place: an answer of Turnstile may take seconds to verify.
    challenge::check(app, member, source).await?;
    let member = &account::author(app, member).await;
    rules::check_not_blocked(app, member, source.network)?;
    if member.id.kind() == MemberKind::Guest {
        guest::check_allowed(app)?;
    }
    let place = app.writes.admit().await?;
    let before = read_any_row(app, id).await?;
    let is_author = before.author.id == member.id;
    if before.state != CommentState::Published || !(is_author || before.is_visible()) {
        return Err(ServiceError::CommentNotFound);
    }
    subject::check_seen(app, &before.subject, SubjectAudience::of(member)).await?;
    if !is_author {
        return Err(ServiceError::Forbidden("only its author may edit a comment"));
    }
    if app.now() >= before.created_at + limits::EDIT_WINDOW_MS {
        return Err(ServiceError::EditWindowOver);
    }
    if let Some(too_long) = check_length(&content, publish::max_chars(app, before.subject.kind())) {
        return Err(ServiceError::WrongFields(vec![too_long]));
    }
    let filtered = filter_and_render(&app.dictionary(), content.clone()).await;
    challenge::record_filtered(app, member, source.network, &filtered);
    let mut filtered = refused::keep_refused(app, refused::pass(source, filtered), || RefusedWrite {
        author: publish::author_of(member),
        subject: &before.subject,
        target: RefusedTarget::Edit { id, content },
    })?;
    rules::apply(app, member, &mut filtered).await?;
    let (subject, is_reply) = (&before.subject, before.parent_id.is_some());
    let written = WrittenText { author: member, source, subject, is_reply, is_edit: true };
    let _place = classify::apply(app, place, written, &mut filtered).await?;
    let held = (filtered.state == CommentState::Review).then(|| HeldEdit {
        content: filtered.content.clone(),
        html: filtered.html.clone(),
        original_text: filtered.original_text.clone(),
        at: app.now(),
    });
    let change = CommentChange::Edit {
        content: filtered.content,
        html: filtered.html,
        original_text: filtered.original_text,
        state: filtered.state,
        reasons: filtered.reasons,
        max_edits: u64::from(app.settings().values.limits.edits_per_comment),
    };
    let after = append_change(app, id, change, None).await?;
    let comment = comment_view::for_author(app, &after, subject::threading_around(app, &after)?);
    Ok(match held {
        Some(edit) => comment_view::with_edit(comment, &edit),
        None => comment,
    })
}

/// Deletes a comment. Its author, the subject's owner and moderators may; deleting it again changes
/// nothing.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], `Forbidden`, or the journal's.
pub async fn delete(app: &AppState, member: &Member, id: CommentId) -> ServiceResult<()> {
    let _place = app.writes.admit().await?;
    let before = read_any_row(app, id).await?;
    let owner = subject::read_row(app, &before.subject).await?.owner_id;
    if !may_delete(&before, member, owner) {
        return Err(if comment_view::is_readable_by_id(&before) {
            ServiceError::Forbidden("only its author, the subject's owner or a moderator may delete a comment")
        } else {
            ServiceError::CommentNotFound
        });
    }
    let is_author = before.author.id == member.id;
    // The author's own deletion comes last: after it, a moderator's is undone no more.
    if before.state == CommentState::Deleted && !is_author {
        return Ok(());
    }
    let audit = if is_author { None } else { Some(audit_log::entry(app, member, id.slot(), "delete", None)?) };
    append_change(app, id, CommentChange::State(CommentState::Deleted), audit).await?;
    Ok(())
}

/// Whether the reader may edit the comment at `now`: authors may for 15 minutes, while it is visible.
pub(super) fn may_edit(row: &CommentRow, reader: &Member, now: u64) -> bool {
    row.author.id == reader.id && row.is_visible() && now < row.created_at + limits::EDIT_WINDOW_MS
}

/// Whether the reader may delete the comment: its author, the subject's owner and moderators may.
pub(super) fn may_delete(row: &CommentRow, reader: &Member, owner: Option<MemberId>) -> bool {
    row.author.id == reader.id || reader.role >= Role::Moderator || owner == Some(reader.id)
}

/// The comment's row, whatever its state.
pub(super) async fn read_any_row(app: &AppState, id: CommentId) -> ServiceResult<CommentRow> {
    app.store.read_comments(&[id]).await?.remove(&id).ok_or(ServiceError::CommentNotFound)
}

/// Appends a change of a comment; its row after the change.
pub(super) async fn append_change(
    app: &AppState,
    id: CommentId,
    change: CommentChange,
    audit: Option<AuditEntry>,
) -> ServiceResult<CommentRow> {
    match app.journal.append(Operation::Change { id, change, audit }).await? {
        OperationOutcome::NoComment => Err(ServiceError::CommentNotFound),
        OperationOutcome::TooManyEdits => Err(ServiceError::TooManyEdits),
        OperationOutcome::Conflict => Err(ServiceError::VersionConflict("the comment is no longer as this expects it")),
        _ => read_any_row(app, id).await,
    }
}
