//! The texts that the word filter refused, as moderators read, accept and drop them.
//!
//! Promise: a text is accepted once, however many moderators accept it, since a new comment has the idempotency key of its
//! entry.

use gailou_shared::content::NewComment;
use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, RefusedTextId, SubjectKey};
use gailou_shared::limits::MAX_LIST_BYTES;
use gailou_shared::rank::Sort;
use gailou_shared::token::Member;
use gailou_shared::wire::{Comment, CommentState, ListPageInfo, RefusedText, RefusedTextPage, SubjectState};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::domain::audit::AuditEntry;
use crate::domain::operation::{CommentChange, Operation, OperationOutcome, SubjectPatch};
use crate::domain::row::{IdempotencyKey, SubjectRules};
use crate::service::edit::{append_change, read_any_row};
use crate::service::filter::{FilteredText, render_unfiltered};
use crate::service::{ServiceError, ServiceResult, audit_log, comment_view, moderate, publish, subject};
use crate::state::AppState;

/// Texts that are read at once: 20 kB each at most.
const TEXTS_PER_READ: usize = 100;
/// Most texts that are looked through for one page.
const MAX_TEXTS_SCANNED: usize = 1_000;
/// The verbs of the audit log.
const ACCEPT_ACTION: &str = "accept";
const DROP_ACTION: &str = "drop";
const NO_SUCH_TEXT: ServiceError =
    ServiceError::NotFound("there is no such refused text: it was accepted, dropped or has expired");

/// A page of the refused texts, newest first; with `query` those whose text, author or category has it. A page may have
/// fewer than `limit`, even none, while there are more.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn list(
    app: &AppState,
    query: Option<&str>,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<RefusedTextPage> {
    let query = query.map(str::to_lowercase);
    let list = CursorList::moderation("rejected", &[query.as_deref()]);
    let mut below = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::After(id), .. }) if of == list => {
            Some(RefusedTextId::new(id).map_err(|_| ServiceError::BadCursor("does not fit this list"))?)
        }
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let (mut data, mut scanned, mut bytes, mut has_more) = (Vec::with_capacity(limit), 0, 0, true);
    while has_more && data.len() < limit && scanned < MAX_TEXTS_SCANNED {
        let read = app.tables.list_refused(below, TEXTS_PER_READ).await?;
        has_more = read.len() == TEXTS_PER_READ;
        scanned += read.len();
        for text in read {
            let author = app.avatars.addresses.shown_author(&text.author);
            let text = RefusedText { author, ..text };
            let is_shown =
                query.as_deref().is_none_or(|query| has(&text, query)) && !app.erased_members.contains(text.author.id);
            if is_shown {
                bytes += json_bytes(&text);
                if data.len() == limit || bytes > MAX_LIST_BYTES {
                    (has_more, scanned) = (true, MAX_TEXTS_SCANNED);
                    break;
                }
            }
            below = Some(text.id);
            data.extend(is_shown.then_some(text));
        }
    }
    let next = below.filter(|_| has_more).map(|last| {
        let at = WalkPosition::After(last.get());
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at })
    });
    Ok(RefusedTextPage { data, page: ListPageInfo { has_more: next.is_some(), next } })
}

/// How long it is in an answer. One text is never too long for one.
fn json_bytes(text: &RefusedText) -> usize {
    serde_json::to_vec(text).map_or(0, |json| json.len())
}

fn has(text: &RefusedText, query: &str) -> bool {
    let has = |part: &str| part.to_lowercase().contains(query);
    has(&text.content) || has(&text.author.name) || text.why.iter().any(|reason| has(&reason.detail))
}

/// Writes a refused text as its author's, without the word filter: publishes the comment, or applies the edit. The entry
/// is gone afterwards.
///
/// # Errors
/// [`ServiceError::NotFound`] where the entry is gone, `CommentNotFound` or `ParentNotFound` where what it belongs to is,
/// `SubjectClosed`; `VersionConflict` where its comment is no longer published or was edited since; or the journal's.
pub async fn accept(app: &AppState, moderator: &Member, id: RefusedTextId) -> ServiceResult<Comment> {
    let _place = app.writes.admit().await?;
    let text = read(app, id).await?;
    let comment = match text.comment_id {
        None => accept_post(app, moderator, text).await?,
        Some(comment) => accept_edit(app, moderator, comment, text).await?,
    };
    app.tables.delete_refused(id).await?;
    Ok(comment)
}

/// Deletes a refused text.
///
/// # Errors
/// [`ServiceError::NotFound`], or the journal's.
pub async fn drop_text(app: &AppState, moderator: &Member, id: RefusedTextId) -> ServiceResult<()> {
    let _place = app.writes.admit().await?;
    let text = read(app, id).await?;
    let key = subject_of(&text)?;
    // The audit log has no text of it: it would outlast the erasure of its author.
    let before = json!({ "rejected": text.id, "author": text.author.id, "why": text.why });
    let audit = AuditEntry { before: Some(before), ..audit_log::entry(app, moderator, key.slot(), DROP_ACTION, None)? };
    app.journal.append(Operation::Subject { key, patch: SubjectPatch::default(), audit: Some(audit) }).await?;
    Ok(app.tables.delete_refused(id).await?)
}

async fn read(app: &AppState, id: RefusedTextId) -> ServiceResult<RefusedText> {
    let text = app.tables.read_refused(id).await?;
    text.filter(|text| !app.erased_members.contains(text.author.id)).ok_or(NO_SUCH_TEXT)
}

fn subject_of(text: &RefusedText) -> ServiceResult<SubjectKey> {
    SubjectKey::new(&text.subject.r#type, &text.subject.key)
        .map_err(|error| ServiceError::Bug(format!("refused text {} is of no subject: {error}", text.id)))
}

/// The comment is published as one that is held, and approved: that writes the entry of the audit log. Where this dies in
/// between, the comment is in the review queue.
async fn accept_post(app: &AppState, moderator: &Member, text: RefusedText) -> ServiceResult<Comment> {
    let key = subject_of(&text)?;
    let SubjectRules { state, mode } = subject::read_rules(app, &key).await?;
    if state != SubjectState::Open {
        return Err(ServiceError::SubjectClosed);
    }
    let threading = subject::threading_of(app, key.kind(), mode)?;
    // A client's key has no space.
    let name = format!("refused {}", text.id);
    let idempotency = IdempotencyKey { request: Sha256::digest(&name).into(), key: name };
    let rendered = render_unfiltered(text.content.clone()).await;
    let held = FilteredText { state: CommentState::Review, reasons: text.why, ..rendered };
    let RefusedText { content, parent_id, mentions, visibility, author, .. } = text;
    let new = NewComment { content, parent_id, mentions, visibility, media: vec![] };
    let checked = publish::with_parent(app, &key, threading, new, held).await?;
    // A guest may have become a member meanwhile.
    let author = app.tables.read_heir(author.id).await?.unwrap_or(author);
    let row = publish::build_row(app, author, key, checked, Some(&idempotency)).await?;
    let id = row.path.id();
    let published = match app.journal.append(Operation::Publish(Box::new(row))).await? {
        OperationOutcome::Published { .. } => id,
        OperationOutcome::Replayed { id, .. } => id,
        other => return Err(ServiceError::Bug(format!("accepting a refused text was answered with {other:?}"))),
    };
    moderate::change_audited(app, moderator, published, CommentChange::Approve, ACCEPT_ACTION, None).await
}

/// The edit is held, as one of the author's that waits, and approved: where that is undone, or where this dies in between,
/// it is in the review queue.
async fn accept_edit(app: &AppState, moderator: &Member, id: CommentId, text: RefusedText) -> ServiceResult<Comment> {
    let row = read_any_row(app, id).await?;
    if row.state != CommentState::Published {
        return Err(ServiceError::VersionConflict("the comment of this edit is no longer published"));
    }
    if subject::read_rules(app, &row.subject).await?.state == SubjectState::Hidden {
        return Err(ServiceError::SubjectClosed);
    }
    let waiting = app.tables.read_reviews(&[row.id()]).await?.remove(&row.id()).and_then(|review| review.item.edit);
    if row.content == text.content {
        return Ok(comment_view::for_author(app, &row, subject::threading_around(app, &row)?));
    }
    if waiting.as_ref().is_none_or(|edit| edit.content != text.content) {
        let last_edit = row.edited_at.max(waiting.map(|edit| edit.at));
        if last_edit.is_some_and(|at| at > text.at) {
            return Err(ServiceError::VersionConflict("the comment was edited after this edit was refused"));
        }
        let FilteredText { content, html, original_text, .. } = render_unfiltered(text.content).await;
        let (state, reasons) = (CommentState::Review, text.why);
        // Its author made it while edits were allowed, so nothing bounds their number.
        let held = CommentChange::Edit { content, html, original_text, state, reasons, max_edits: 0 };
        append_change(app, id, held, None).await?;
    }
    moderate::change_audited(app, moderator, id, CommentChange::Approve, ACCEPT_ACTION, None).await
}
