//! Publishing: everything that can refuse is decided here, once, before the append.

use std::collections::HashMap;

use gailou_shared::content::NewComment;
use gailou_shared::id::{MemberId, MemberKind, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Author, Code, Comment, CommentState, FieldError, MemberRef, SubjectState};
use gailou_shared::word_filter::FilterVerdict;

use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::{CommentRow, NewCommentRow, RememberedRequest};
use crate::error::ApiError;
use crate::service::{markdown, page, view};
use crate::state::AppState;

/// A request that must not be carried out twice.
#[derive(Debug, Clone)]
pub struct IdempotencyKey {
    /// The key its sender chose.
    pub key: String,
    /// Hash over method, path and body.
    pub request: [u8; 32],
}

/// The answer to a new comment.
#[derive(Debug)]
pub struct Published {
    pub comment: Comment,
    /// Whether it waits for a moderator.
    pub held: bool,
    /// Whether an earlier request with the same key made it.
    pub replayed: bool,
}

/// The text as it will be shown, and what the filter made of it.
#[derive(Debug)]
pub struct Filtered {
    pub content: String,
    /// The text as written, where part of it is masked.
    pub written: Option<String>,
    pub state: CommentState,
}

/// What the dictionary says of a text.
///
/// # Errors
/// `content_rejected` names the categories, never the terms.
pub fn filter(app: &AppState, text: String) -> Result<Filtered, ApiError> {
    Ok(match app.dictionary().check(&text) {
        FilterVerdict::Pass => Filtered { content: text, written: None, state: CommentState::Published },
        FilterVerdict::Mask { text: masked, .. } => {
            Filtered { content: masked, written: Some(text), state: CommentState::Published }
        }
        FilterVerdict::Review { .. } => Filtered { content: text, written: None, state: CommentState::Review },
        FilterVerdict::Block { categories } => {
            let blocked = FieldError::blocked_words(&categories);
            let refusal = ApiError::new(
                Code::ContentRejected,
                format!("the comment contains words that are not allowed here: {}", blocked.detail),
            );
            return Err(ApiError { errors: vec![blocked], ..refusal });
        }
    })
}

/// `POST /v1/subjects/{type}/{key}/comments`.
///
/// # Errors
/// Every refusal of the contract for a new comment.
pub async fn publish(
    app: &AppState,
    member: &Member,
    address: &str,
    key: SubjectKey,
    new: NewComment,
    once: Option<IdempotencyKey>,
) -> Result<Published, ApiError> {
    let subject = key.clone();
    let (threading, row) = match decide(app, member, address, key, new, once.as_ref()).await {
        Ok(decided) => decided,
        Err(refusal) => return replay_or(app, member, &subject, once.as_ref(), refusal).await,
    };
    match app.journal.append(Operation::Publish(Box::new(row.clone()))).await? {
        OperationOutcome::Published { floor } => {
            let held = row.state == CommentState::Review;
            Ok(Published { comment: view::whole(&fresh(row, floor, threading), threading), held, replayed: false })
        }
        OperationOutcome::Replayed { .. } | OperationOutcome::Mismatch => {
            let nothing = ApiError::internal("a replay of nothing");
            replay_or(app, member, &subject, once.as_ref(), nothing).await
        }
        other => Err(ApiError::internal(format_args!("publish: {other:?}"))),
    }
}

/// What was carried out once is answered again, whatever would be said of it today.
async fn replay_or(
    app: &AppState,
    member: &Member,
    subject: &SubjectKey,
    once: Option<&IdempotencyKey>,
    refusal: ApiError,
) -> Result<Published, ApiError> {
    let Some(once) = once else { return Err(refusal) };
    app.journal.resume(member.id, &once.key).await?;
    let since = app.now().saturating_sub(limits::IDEMPOTENCY_WINDOW_MS);
    match app.store.find_remembered(subject, member.id, &once.key, since).await? {
        Some(done) => replay(app, &done, once).await,
        None => Err(refusal),
    }
}

/// Everything that can refuse, and the row that nothing refuses.
async fn decide(
    app: &AppState,
    member: &Member,
    address: &str,
    key: SubjectKey,
    new: NewComment,
    once: Option<&IdempotencyKey>,
) -> Result<(Threading, NewCommentRow), ApiError> {
    let mode = may_post(app, member, &key).await?;
    let threading = page::threading(app, key.kind(), mode)?;
    let filtered = filter(app, new.content)?;
    let parent = match new.parent_id {
        None => None,
        Some(id) => {
            let parent = app.store.read_comments(&[id]).await?.remove(&id).filter(|p| p.visible() && p.subject == key);
            Some(parent.ok_or_else(|| ApiError::new(Code::ParentNotFound, "the comment to answer is not there"))?)
        }
    };
    app.rate_limits.post(member.id, address, &key)?;
    let now = app.now();
    let id = app.ids.next(key.slot(), now).ok_or_else(ApiError::no_node)?;
    let path = threading
        .path_under(parent.as_ref().map(|p| &p.path), id)
        .map_err(|e| ApiError::field("parent_id", e.to_string()))?;
    let names = if new.mentions.is_empty() { HashMap::new() } else { app.store.read_names(&new.mentions).await? };
    let named = |id: &MemberId| MemberRef { id: *id, name: names.get(id).cloned().unwrap_or_default() };
    let row = NewCommentRow {
        subject: key,
        path,
        parent_id: new.parent_id,
        reply_to: parent.map(|p| MemberRef { id: p.author.id, name: p.author.name }),
        state: filtered.state,
        visibility: new.visibility,
        author: Author { id: member.id, name: member.name.clone(), avatar: member.avatar.clone(), level: member.level },
        created_at: now,
        html: markdown::html(&filtered.content),
        content: filtered.content,
        written: filtered.written,
        mentions: new.mentions.iter().map(named).collect(),
        idempotency: once.map(|o| (o.key.clone(), o.request)),
        imported: None,
    };
    Ok((threading, row))
}

/// Whether the member may post here; the subject's own mode.
async fn may_post(app: &AppState, member: &Member, key: &SubjectKey) -> Result<Option<Mode>, ApiError> {
    let kind = app.config.types.get(key.kind());
    let is_guest = member.id.kind() == MemberKind::Guest;
    if is_guest && !(app.config.auth.guests && kind.is_some_and(|k| k.guests)) {
        return Err(ApiError::new(Code::GuestsNotAllowed, "guests may not post here"));
    }
    let least = kind.map_or(0, |k| k.min_level);
    if member.level < least && member.role < Role::Moderator {
        return Err(ApiError::new(Code::LevelTooLow, format!("posting here needs level {least}")));
    }
    let (state, mode) = match app.subject_states.get(key) {
        Some(known) => known,
        None => {
            let row = page::subject_row(app, key).await?;
            app.subject_states.insert(key.clone(), (row.state, row.mode));
            (row.state, row.mode)
        }
    };
    match state {
        SubjectState::Open => Ok(mode),
        SubjectState::Closed | SubjectState::Hidden => {
            Err(ApiError::new(Code::SubjectClosed, "this subject takes no comments"))
        }
    }
}

/// The first answer again: the comment as it was when it was made.
async fn replay(app: &AppState, done: &RememberedRequest, once: &IdempotencyKey) -> Result<Published, ApiError> {
    if done.request != once.request {
        return Err(ApiError::new(Code::IdempotencyMismatch, "this Idempotency-Key was used for another request"));
    }
    let row = app.store.read_comments(&[done.id]).await?.remove(&done.id).ok_or_else(ApiError::comment_not_found)?;
    let threading = page::threading_around(app, &row)?;
    let first = app.store.read_first_text(done.id).await?;
    let (content, html) = match first {
        None => (row.content.clone(), row.html.clone()),
        Some(text) => (text.clone(), markdown::html(&text)),
    };
    let held = done.state == CommentState::Review;
    // In a cluster the floor is given after the first answer.
    let floor = row.floor.filter(|_| !held && app.config.cluster.is_none());
    let row = CommentRow {
        content,
        html,
        state: done.state,
        floor,
        likes: 0,
        dislikes: 0,
        replies: 0,
        edited_at: None,
        flags: vec![],
        parent_gone: false,
        ..row
    };
    Ok(Published { comment: view::whole(&row, threading), held, replayed: true })
}

/// The row a new comment has just become.
fn fresh(new: NewCommentRow, floor: Option<u64>, threading: Threading) -> CommentRow {
    CommentRow {
        subject: new.subject,
        version: 0,
        mode: Some(threading.mode),
        path: new.path,
        parent_id: new.parent_id,
        reply_to: new.reply_to,
        parent_gone: false,
        floor,
        state: new.state,
        visibility: new.visibility,
        flags: vec![],
        author: new.author,
        likes: 0,
        dislikes: 0,
        reacted: 0,
        replies: 0,
        created_at: new.created_at,
        edited_at: None,
        content: new.content,
        html: new.html,
        mentions: new.mentions,
    }
}
