//! The first answer to a request with an idempotency key, for every repetition of it.

use gailou_shared::id::{MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::token::Member;
use gailou_shared::wire::CommentState;

use crate::domain::row::{CommentRow, IdempotencyKey, RememberedRequest};
use crate::service::publish::Published;
use crate::service::{ServiceError, ServiceResult, comment_view, markdown, subject};
use crate::state::AppState;

/// The first answer where the request was carried out before, else the refusal: what was done once is
/// answered again, though it might be refused today.
pub(super) async fn replay_or_refuse(
    app: &AppState,
    member: &Member,
    subject: &SubjectKey,
    idempotency_key: Option<&IdempotencyKey>,
    refusal: ServiceError,
) -> ServiceResult<Published> {
    find_first_answer(app, member.id, subject, idempotency_key).await?.ok_or(refusal)
}

/// The first answer where the request was carried out before.
pub(super) async fn find_first_answer(
    app: &AppState,
    member: MemberId,
    subject: &SubjectKey,
    idempotency_key: Option<&IdempotencyKey>,
) -> ServiceResult<Option<Published>> {
    let Some(key) = idempotency_key else { return Ok(None) };
    app.journal.resume(member, &key.key).await?;
    let since = app.now().saturating_sub(limits::IDEMPOTENCY_WINDOW_MS);
    match app.store.find_remembered(subject, member, &key.key, since).await? {
        Some(first) => replay(app, &first, key).await.map(Some),
        None => Ok(None),
    }
}

/// The comment as it was when it was made.
async fn replay(app: &AppState, first: &RememberedRequest, key: &IdempotencyKey) -> ServiceResult<Published> {
    if first.request != key.request {
        return Err(ServiceError::IdempotencyMismatch);
    }
    let row = app.store.read_comments(&[first.id]).await?.remove(&first.id).ok_or(ServiceError::CommentNotFound)?;
    let threading = subject::threading_around(app, &row)?;
    let (content, html) = match app.store.read_first_text(first.id).await? {
        None => (row.content.clone(), row.html.clone()),
        Some(text) => (text.clone(), markdown::render(text).await),
    };
    let held = first.state == CommentState::Review;
    // In a cluster the floor is given after the first answer.
    let floor = row.floor.filter(|_| !held && app.config.cluster.is_none());
    let row = CommentRow {
        content,
        html,
        state: first.state,
        floor,
        likes: 0,
        dislikes: 0,
        replies: 0,
        edited_at: None,
        flags: vec![],
        parent_gone: false,
        ..row
    };
    Ok(Published { comment: comment_view::for_author(app, &row, threading), held, replayed: true })
}
