//! What a member is notified of: answers, mentions and decisions, with the comments as the member may see them today.

use std::collections::{BTreeSet, HashMap};

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, EventId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{
    Comment, ListPageInfo, MemberRef, Notification, NotificationKind, NotificationPage, NotifyChoice,
};

use crate::domain::member_contact::ContactPatch;
use crate::domain::notification::{NotificationReason, StoredNotification};
use crate::domain::row::CommentRow;
use crate::service::answer_rows::AnswerRows;
use crate::service::subject::{SubjectAudience, hidden_among};
use crate::service::{ServiceError, ServiceResult, comment_view, watch};
use crate::state::AppState;

/// The comments of a page, in bytes of JSON; what is beside each of a hundred takes 200.
const MAX_NOTIFIED_BYTES: usize = limits::MAX_LIST_BYTES - 24 * 1024;

/// A page of what a member is notified of, newest first, and how much of everything they have not read.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn list(
    app: &AppState,
    reader: &Member,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<NotificationPage> {
    let list = CursorList::moderation("notifications", &[Some(&reader.id.to_string())]);
    let below = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::After(id), .. }) if of == list => {
            Some(EventId::new(id).map_err(|_| ServiceError::BadCursor("does not fit this list"))?)
        }
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let mut stored = app.tables.list_notifications(reader.id, below, limit + 1).await?;
    let listed = stored.len();
    stored.truncate(limit);
    let groups: Vec<_> = stored.iter().map(|row| vec![row.comment]).collect();
    let AnswerRows { rows, shown } = AnswerRows::read(app, &[], &groups, MAX_NOTIFIED_BYTES, None).await?;
    let has_more = listed > shown;
    stored.truncate(shown);
    let next = stored.last().filter(|_| has_more).map(|last| {
        let at = WalkPosition::After(last.id.get());
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at })
    });
    Ok(NotificationPage {
        data: view(app, reader, &stored, &rows).await?,
        page: ListPageInfo { next, has_more },
        unread: app.tables.count_unread(reader.id).await?,
    })
}

/// Marks this one and all older ones as read.
///
/// # Errors
/// Those of the admission or the store.
pub async fn mark_read(app: &AppState, reader: MemberId, up_to: EventId) -> ServiceResult<()> {
    let _place = app.writes.admit().await?;
    Ok(app.tables.mark_read(reader, up_to).await?)
}

/// Ends the mails to a member. An erased one gets none, and no row.
///
/// # Errors
/// Those of the admission or the store.
pub async fn unsubscribe(app: &AppState, member: MemberId) -> ServiceResult<()> {
    if app.erased_members.contains(member) {
        return Ok(());
    }
    let _place = app.writes.admit().await?;
    let patch = ContactPatch { notify: Some(NotifyChoice::Never), ..ContactPatch::default() };
    app.tables.change_contact(member, &patch).await?;
    Ok(())
}

/// Stored notifications with their comments, as the member may see them today.
async fn view(
    app: &AppState,
    reader: &Member,
    stored: &[StoredNotification],
    rows: &HashMap<CommentId, CommentRow>,
) -> ServiceResult<Vec<Notification>> {
    let hidden = match reader.role {
        Role::Member => hidden_among(app, rows.values().map(|row| &row.subject)).await?,
        Role::Moderator | Role::Admin => Default::default(),
    };
    let watched = stored.iter().filter(|row| row.reason == NotificationReason::Watched);
    let watched: BTreeSet<&SubjectKey> = watched.filter_map(|row| Some(&rows.get(&row.comment)?.subject)).collect();
    let watched: Vec<SubjectKey> = watched.into_iter().cloned().collect();
    let watched = watch::read_shown(app, &watched, SubjectAudience::of(reader)).await?;
    let of = |row: &StoredNotification| {
        let title = rows.get(&row.comment).filter(|_| row.reason == NotificationReason::Watched);
        let title = title.and_then(|comment| watched.get(&comment.subject)?.title.clone());
        let seen = rows.get(&row.comment).filter(|comment| !hidden.contains(&comment.subject));
        let comment = seen.and_then(|comment| notified_comment(app, reader.id, row.reason, comment));
        let kind = row.reason.kind();
        let author = comment.as_ref().and_then(|comment| comment.author.as_ref());
        let author = author.filter(|_| kind != NotificationKind::Decision);
        Notification {
            id: row.id,
            kind,
            action: row.reason.action().map(str::to_owned),
            title,
            actor: author.map(|author| MemberRef { id: author.id, name: author.name.clone() }),
            comment,
            created_at: row.at,
            read: row.is_read,
        }
    };
    Ok(stored.iter().map(of).collect())
}

/// The comment that a member is notified of; `None` where they may not see it.
fn notified_comment(app: &AppState, reader: MemberId, reason: NotificationReason, row: &CommentRow) -> Option<Comment> {
    // A comment whose type is not configured any more is left out.
    let threading = app.threading_of(row.subject.kind(), row.mode)?;
    let is_own = reason.kind() == NotificationKind::Decision && row.author.id == reader;
    match row.is_visible() {
        true => Some(comment_view::for_every_reader(app, row, threading)),
        false if is_own => Some(comment_view::for_owner(app, row, threading)),
        false => None,
    }
}
