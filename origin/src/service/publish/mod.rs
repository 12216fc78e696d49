//! Publishing: everything that can refuse a comment is decided here, once, before the append.
//!
//! Promise: with an idempotency key a comment is published once, wherever an earlier attempt died, and
//! every attempt gets the first answer (`replay`).

mod replay;

use std::collections::HashMap;

use gailou_shared::content::NewComment;
use gailou_shared::id::{MemberId, MemberKind, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Author, Comment, CommentState, MemberRef, StaffRole, SubjectState, Visibility};

use crate::domain::media::MediaRef;
use crate::domain::network_digest::NetworkDigest;
use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::{CommentRow, IdempotencyKey, NewCommentRow, SubjectRules};
use crate::service::challenge::{ChallengeGate, WriteSource};
use crate::service::classify::WrittenText;
use crate::service::filter::{FilteredText, filter_and_render};
use crate::service::refused::{RefusedTarget, RefusedWrite};
use crate::service::{
    ServiceError, ServiceResult, account, challenge, classify, comment_view, guest, media, refused, rules, standing,
    subject,
};
use crate::state::AppState;

use self::replay::{find_first_answer, replay_or_refuse};

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
    let author = if let_through.is_ok() { account::author(app, member).await } else { member.clone() };
    let member = &author;
    let mut place = app.writes.admit().await?;
    let idempotency_key = idempotency_key.as_ref();
    let subject = key.clone();
    // The reader may have sent it as a guest, and signed in before the answer came.
    for guest in app.erased_members.guests_of(member.id) {
        if let Some(first) = find_first_answer(app, guest, &subject, idempotency_key).await? {
            return Ok(first);
        }
    }
    let checked = match let_through {
        Ok(()) => check(app, member, source, &key, &new).await,
        Err(refusal) => Err(refusal),
    };
    let decided = match checked {
        Ok(mut checked) => {
            // The classifier is asked once.
            if classify::is_asked(app, member, &checked.text)
                && let Some(first) = find_first_answer(app, member.id, &subject, idempotency_key).await?
            {
                return Ok(first);
            }
            // Nor does an attempt that is repeated use the pictures once more.
            if !checked.media.is_empty()
                && let Some(first) = find_first_answer(app, member.id, &subject, idempotency_key).await?
            {
                return Ok(first);
            }
            let is_reply = checked.parent.is_some();
            let written = WrittenText { author: member, source, subject: &subject, is_reply, is_edit: false };
            place = classify::apply(app, place, written, &mut checked.text).await?;
            let threading = checked.threading;
            let row = build_row(app, author_of(member), key, checked, idempotency_key).await;
            row.map(|row| (threading, NewCommentRow { network: known_network(app, member, source), ..row }))
        }
        Err(refusal) => Err(refusal),
    };
    let _place = place;
    let (threading, row) = match decided {
        Ok(decided) => decided,
        Err(refusal) => {
            let answer = replay_or_refuse(app, member, &subject, idempotency_key, refusal).await;
            // Once this is the answer: an attempt that gets another one is repeated.
            return refused::keep_refused(app, answer, || RefusedWrite {
                author: author_of(member),
                subject: &subject,
                target: RefusedTarget::Post(&new),
            });
        }
    };
    match app.journal.append(Operation::Publish(Box::new(row.clone()))).await? {
        OperationOutcome::Published { floor } => {
            app.taken_names.record(&app.journal, member);
            let held = row.state == CommentState::Review;
            Ok(Published {
                comment: comment_view::for_author(app, &new_row(row, floor, threading), threading),
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

/// A comment that nothing of what was asked of it refuses.
pub(super) struct CheckedComment {
    threading: Threading,
    text: FilteredText,
    parent: Option<CommentRow>,
    visibility: Visibility,
    mentions: Vec<MemberId>,
    media: Vec<MediaRef>,
}

/// Everything else that can refuse.
async fn check(
    app: &AppState,
    member: &Member,
    source: &WriteSource,
    key: &SubjectKey,
    new: &NewComment,
) -> ServiceResult<CheckedComment> {
    rules::check_not_blocked(app, member, source.network)?;
    let mode = check_may_post(app, member, key).await?;
    rules::check_age(app, member, key).await?;
    let threading = subject::threading_of(app, key.kind(), mode)?;
    let filtered = filter_and_render(&app.dictionary(), new.content.clone()).await;
    challenge::record_filtered(app, member, source.network, &filtered);
    let mut text = refused::pass(source, filtered)?;
    rules::apply(app, member, &mut text).await?;
    let media = media::find(app, member, &new.media).await?;
    Ok(CheckedComment { media, ..with_parent(app, key, threading, new.clone(), text).await? })
}

/// The member as the author of what they write now.
pub(super) fn author_of(member: &Member) -> Author {
    Author::new(member.id, member.name.clone(), member.avatar.clone(), member.level, StaffRole::of(member.role))
}

/// A comment with this text and no pictures, whose parent is there.
///
/// # Errors
/// [`ServiceError::ParentNotFound`], or the store's.
pub(super) async fn with_parent(
    app: &AppState,
    key: &SubjectKey,
    threading: Threading,
    new: NewComment,
    text: FilteredText,
) -> ServiceResult<CheckedComment> {
    let parent = match new.parent_id {
        None => None,
        Some(id) => {
            let parent =
                app.store.read_comments(&[id]).await?.remove(&id).filter(|p| p.is_visible() && p.subject == *key);
            Some(parent.ok_or(ServiceError::ParentNotFound)?)
        }
    };
    Ok(CheckedComment { threading, text, parent, visibility: new.visibility, mentions: new.mentions, media: vec![] })
}

/// These members, each once; instead of a guest who has become a member, that member.
fn heirs_of(app: &AppState, members: Vec<MemberId>) -> Vec<MemberId> {
    let mut heirs = Vec::with_capacity(members.len());
    for id in members {
        let heir = app.erased_members.heir_of(id).unwrap_or(id);
        if !heirs.contains(&heir) {
            heirs.push(heir);
        }
    }
    heirs
}

/// The row of a comment, with its id, which the rows of its pictures know from here on.
///
/// # Errors
/// `WrongFields` where the chain is too long, or [`ServiceError::NoNodeNumber`], or the store's.
pub(super) async fn build_row(
    app: &AppState,
    author: Author,
    key: SubjectKey,
    checked: CheckedComment,
    idempotency_key: Option<&IdempotencyKey>,
) -> ServiceResult<NewCommentRow> {
    let CheckedComment { threading, text, parent, visibility, mentions, media } = checked;
    let now = app.now();
    let id = app.ids.next(key.slot(), now).ok_or(ServiceError::NoNodeNumber)?;
    let path = threading
        .path_under(parent.as_ref().map(|parent| &parent.path), id)
        .map_err(|error| ServiceError::wrong_field("parent_id", error.to_string()))?;
    let mentions = heirs_of(app, mentions);
    let names = if mentions.is_empty() { HashMap::new() } else { app.store.read_names(&mentions).await? };
    let named = |id: &MemberId| MemberRef { id: *id, name: names.get(id).cloned().unwrap_or_default() };
    media::remember_use(app, &media, id).await?;
    Ok(NewCommentRow {
        subject: key,
        path,
        parent_id: parent.as_ref().map(CommentRow::id),
        reply_to: parent.map(|parent| MemberRef { id: parent.author.id, name: parent.author.name }),
        state: text.state,
        visibility,
        author,
        created_at: now,
        html: text.html,
        content: text.content,
        original_text: text.original_text,
        mentions: mentions.iter().map(named).collect(),
        media,
        reasons: text.reasons,
        idempotency: idempotency_key.cloned(),
        imported: None,
        network: None,
    })
}

/// What is kept of where a comment comes from, so that a moderator can block it; nothing of a moderator's.
fn known_network(app: &AppState, author: &Member, source: &WriteSource) -> Option<NetworkDigest> {
    let network = source.network.filter(|_| author.role < Role::Moderator)?;
    Some(app.network_key.digest(network))
}

/// Refuses a member that may not post here; the subject's own mode.
async fn check_may_post(app: &AppState, member: &Member, key: &SubjectKey) -> ServiceResult<Option<Mode>> {
    standing::check_not_muted(app, member)?;
    let kind = app.config.types.get(key.kind());
    if member.name.is_empty() {
        let detail = "who has no name cannot post; choose one with PATCH /v1/me, or /v1/guests/me as a guest";
        return Err(ServiceError::wrong_field("name", detail));
    }
    let is_guest = member.id.kind() == MemberKind::Guest;
    if is_guest {
        guest::check_allowed(app)?;
        if !kind.is_some_and(|kind| kind.guests) {
            return Err(ServiceError::GuestsNotAllowed("guests may not post here"));
        }
    }
    let min_level = kind.map_or(0, |kind| kind.min_level).max(app.settings().values.rules.min_level);
    if member.level < min_level && member.role < Role::Moderator {
        return Err(ServiceError::LevelTooLow(min_level));
    }
    let SubjectRules { state, mode } = subject::read_rules(app, key).await?;
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
        media: new.media,
    }
}
