//! Publishing: everything that can refuse a comment is decided here, once, before the append.
//!
//! Promise: with an idempotency key a comment is published once, wherever an earlier attempt died, and
//! every attempt gets the first answer (`replay`).

mod replay;

use std::collections::HashMap;
use std::net::IpAddr;

use gailou_shared::content::NewComment;
use gailou_shared::id::{MemberId, MemberKind, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Author, Comment, CommentState, MemberRef, StaffRole, SubjectState};

use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::{CommentRow, IdempotencyKey, NewCommentRow};
use crate::service::challenge::{ChallengeGate, WriteSource};
use crate::service::filter::filter_and_render;
use crate::service::{ServiceError, ServiceResult, challenge, comment_view, guest, rules, standing, subject};
use crate::state::AppState;

use self::replay::replay_or_refuse;

/// The answer to a new comment.
#[derive(Debug)]
pub struct Published {
    pub comment: Comment,
    /// Whether it waits for a moderator.
    pub held: bool,
    /// Whether an earlier request with the same key made it.
    pub replayed: bool,
}

/// Longest text of a comment on a subject of this type, in characters.
pub fn max_chars(app: &AppState, kind: &str) -> usize {
    app.config.types.get(kind).map_or(limits::MAX_CONTENT_CHARS, |kind| kind.max_chars)
}

/// Publishes a comment on a subject. Each attempt counts against the limits of the member, its network and the subject.
///
/// # Errors
/// Every refusal of the contract for a new comment.
pub async fn publish(
    app: &AppState,
    member: &Member,
    source: &WriteSource,
    key: SubjectKey,
    new: NewComment,
    idempotency_key: Option<IdempotencyKey>,
) -> ServiceResult<Published> {
    // Before the place: an answer of Turnstile may take seconds to verify.
    let let_through = check_sender(app, member, source, &key).await;
    let _place = app.writes.admit().await?;
    let idempotency_key = idempotency_key.as_ref();
    let subject = key.clone();
    let decided = match let_through {
        Ok(()) => check_and_build_row(app, member, source.network, key, new, idempotency_key).await,
        Err(refusal) => Err(refusal),
    };
    let (threading, row) = match decided {
        Ok(decided) => decided,
        Err(refusal) => return replay_or_refuse(app, member, &subject, idempotency_key, refusal).await,
    };
    match app.journal.append(Operation::Publish(Box::new(row.clone()))).await? {
        OperationOutcome::Published { floor } => {
            app.taken_names.record(&app.journal, member);
            let held = row.state == CommentState::Review;
            Ok(Published {
                comment: comment_view::for_author(&new_row(row, floor, threading), threading),
                held,
                replayed: false,
            })
        }
        OperationOutcome::Replayed { .. } | OperationOutcome::Mismatch => {
            let missing = ServiceError::Bug("the first answer of a replayed request does not exist".into());
            replay_or_refuse(app, member, &subject, idempotency_key, missing).await
        }
        other => Err(ServiceError::Bug(format!("publishing was answered with {other:?}"))),
    }
}

/// Counts the post in front of everything that costs, refused or not, and refuses a guest who has to answer a challenge.
/// The request that gets the challenge is no post.
async fn check_sender(app: &AppState, member: &Member, source: &WriteSource, key: &SubjectKey) -> ServiceResult<()> {
    let gate = challenge::gate(app, member, source);
    if gate == ChallengeGate::Closed {
        app.rate_limits.count_challenged(source.network).await?;
    } else {
        app.rate_limits.count_post(member.id, source.network, key).await?;
    }
    challenge::pass(app, member, gate).await
}

/// Everything else that can refuse, and the row that nothing refuses.
async fn check_and_build_row(
    app: &AppState,
    member: &Member,
    network: Option<IpAddr>,
    key: SubjectKey,
    new: NewComment,
    idempotency_key: Option<&IdempotencyKey>,
) -> ServiceResult<(Threading, NewCommentRow)> {
    rules::check_not_blocked(app, member, network)?;
    let mode = check_may_post(app, member, &key).await?;
    rules::check_age(app, member, &key).await?;
    let threading = subject::threading_of(app, key.kind(), mode)?;
    let filtered = filter_and_render(&app.dictionary(), new.content).await;
    challenge::record_filtered(app, member, network, &filtered);
    let mut filtered = filtered?;
    rules::apply(app, member, &mut filtered).await?;
    let parent = match new.parent_id {
        None => None,
        Some(id) => {
            let parent =
                app.store.read_comments(&[id]).await?.remove(&id).filter(|p| p.is_visible() && p.subject == key);
            Some(parent.ok_or(ServiceError::ParentNotFound)?)
        }
    };
    let now = app.now();
    let id = app.ids.next(key.slot(), now).ok_or(ServiceError::NoNodeNumber)?;
    let path = threading
        .path_under(parent.as_ref().map(|parent| &parent.path), id)
        .map_err(|error| ServiceError::wrong_field("parent_id", error.to_string()))?;
    let names = if new.mentions.is_empty() { HashMap::new() } else { app.store.read_names(&new.mentions).await? };
    let named = |id: &MemberId| MemberRef { id: *id, name: names.get(id).cloned().unwrap_or_default() };
    let row = NewCommentRow {
        subject: key,
        path,
        parent_id: new.parent_id,
        reply_to: parent.map(|parent| MemberRef { id: parent.author.id, name: parent.author.name }),
        state: filtered.state,
        visibility: new.visibility,
        author: Author::new(
            member.id,
            member.name.clone(),
            member.avatar.clone(),
            member.level,
            StaffRole::of(member.role),
        ),
        created_at: now,
        html: filtered.html,
        content: filtered.content,
        original_text: filtered.original_text,
        mentions: new.mentions.iter().map(named).collect(),
        reasons: filtered.reasons,
        idempotency: idempotency_key.cloned(),
        imported: None,
    };
    Ok((threading, row))
}

/// Refuses a member that may not post here; the subject's own mode.
async fn check_may_post(app: &AppState, member: &Member, key: &SubjectKey) -> ServiceResult<Option<Mode>> {
    standing::check_not_muted(app, member)?;
    let kind = app.config.types.get(key.kind());
    if member.name.is_empty() {
        let detail = "a guest without a name cannot post; choose one with PATCH /v1/guests/me";
        return Err(ServiceError::wrong_field("name", detail));
    }
    let is_guest = member.id.kind() == MemberKind::Guest;
    if is_guest {
        guest::check_allowed(app)?;
        if !kind.is_some_and(|kind| kind.guests) {
            return Err(ServiceError::GuestsNotAllowed("guests may not post here"));
        }
    }
    let min_level = kind.map_or(0, |kind| kind.min_level);
    if member.level < min_level && member.role < Role::Moderator {
        return Err(ServiceError::LevelTooLow(min_level));
    }
    let (state, mode) = subject::read_state(app, key).await?;
    match state {
        SubjectState::Open => Ok(mode),
        SubjectState::Closed | SubjectState::Hidden => Err(ServiceError::SubjectClosed),
    }
}

/// The row that a new comment becomes with this floor.
fn new_row(new: NewCommentRow, floor: Option<u64>, threading: Threading) -> CommentRow {
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
        reactions_offset: 0,
        replies: 0,
        created_at: new.created_at,
        edited_at: None,
        content: new.content,
        html: new.html,
        mentions: new.mentions,
    }
}
