//! Pages of lists: the paging law over the store, in a fixed number of store calls.

use std::collections::HashMap;
use std::sync::Arc;

use gailou_shared::cursor::{Cursor, List, Position};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Threading;
use gailou_shared::rank::Sort;
use gailou_shared::walk::{Need, Snapshot, Walk};
use gailou_shared::wire::{Code, Comment, Page, PageInfo, Subject};

use super::view;
use crate::app::App;
use crate::error::ApiError;
use crate::store::{Event, ListOf, Row, SubjectRow};

/// Which page of a list is asked for.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    pub sort: Sort,
    pub limit: usize,
    pub cursor: Option<Cursor>,
}

impl Asked {
    /// The first page of the default order.
    pub fn first(limit: usize) -> Self {
        Self { sort: Sort::Hot, limit, cursor: None }
    }
}

/// Why a cursor is refused.
pub fn bad_cursor(detail: &str) -> ApiError {
    ApiError {
        errors: vec![gailou_shared::wire::FieldError::new("cursor", detail.to_owned())],
        ..ApiError::new(Code::BadCursor, detail)
    }
}

/// How threads of a type are built, or `unknown_subject_type`.
pub fn threading(app: &App, kind: &str) -> Result<Threading, ApiError> {
    app.threading(kind).ok_or_else(|| ApiError::new(Code::UnknownSubjectType, "there is no such subject type here"))
}

/// The subject's row; an empty one where nobody has written.
pub async fn subject_row(app: &App, key: &SubjectKey) -> Result<SubjectRow, ApiError> {
    let found = app.store.subjects(std::slice::from_ref(key)).await?.pop().flatten();
    Ok(found.unwrap_or_else(|| SubjectRow::empty(key.clone())))
}

/// A subject as readers see it, with these comments for its pinned ones.
pub fn subject_view(row: &SubjectRow, threading: Threading, comments: &HashMap<CommentId, Row>) -> Subject {
    let pinned = row.pinned.iter().filter_map(|id| comments.get(id)).map(|c| view::public(c, threading)).collect();
    Subject {
        r#type: row.key.kind().to_owned(),
        key: row.key.key().to_owned(),
        title: row.title.clone(),
        url: row.url.clone(),
        owner_id: row.owner_id,
        mode: threading.mode,
        state: row.state,
        roots: row.roots,
        comments: row.comments,
        pinned,
    }
}

/// `GET /v1/subjects/{type}/{key}`.
///
/// # Errors
/// `unknown_subject_type`, or the store's.
pub async fn subject(app: &App, key: &SubjectKey) -> Result<Subject, ApiError> {
    let threading = threading(app, key.kind())?;
    let row = subject_row(app, key).await?;
    let comments = app.store.comments(&row.pinned).await?;
    Ok(subject_view(&row, threading, &comments))
}

/// A page of a subject's roots with their first replies.
///
/// # Errors
/// `bad_cursor`, `cursor_expired`, `unknown_subject_type`, or the store's.
pub async fn roots(app: &App, key: &SubjectKey, asked: Asked) -> Result<Page, ApiError> {
    let threading = threading(app, key.kind())?;
    let subject = subject_row(app, key).await?;
    let (ids, info) = walk(app, List::roots(key), &ListOf::Roots(key.clone()), asked, subject.version).await?;
    let top = app.store.top_replies(&ids, limits::TOP_REPLIES).await?;
    let wanted: Vec<_> = ids.iter().chain(top.values().flatten()).chain(&subject.pinned).copied().collect();
    let rows = app.store.comments(&wanted).await?;
    let data = listed(&ids, &rows).map(|row| with_replies(row, top.get(&row.id()), &rows, threading)).collect();
    Ok(Page { data, page: info, subject: Some(subject_view(&subject, threading, &rows)) })
}

/// A page of the descendants of a comment, flat.
///
/// # Errors
/// `comment_not_found`, `bad_cursor`, `cursor_expired`, or the store's.
pub async fn replies(app: &App, top: &Row, asked: Asked) -> Result<Page, ApiError> {
    let threading = threading(app, top.subject.kind())?;
    let subject = subject_row(app, &top.subject).await?;
    let list = ListOf::Under(top.path.clone());
    let (ids, info) = walk(app, List::Replies(top.id()), &list, asked, subject.version).await?;
    let wanted: Vec<_> = ids.iter().chain(&subject.pinned).copied().collect();
    let rows = app.store.comments(&wanted).await?;
    let data = listed(&ids, &rows).map(|row| view::public(row, threading)).collect();
    Ok(Page { data, page: info, subject: Some(subject_view(&subject, threading, &rows)) })
}

/// Those of the ids that still stand in lists, in their order.
fn listed<'r>(ids: &[CommentId], rows: &'r HashMap<CommentId, Row>) -> impl Iterator<Item = &'r Row> {
    ids.iter().filter_map(|id| rows.get(id)).filter(|row| row.listed())
}

fn with_replies(
    root: &Row,
    top: Option<&Vec<CommentId>>,
    rows: &HashMap<CommentId, Row>,
    threading: Threading,
) -> Comment {
    let top = top.map_or(&[][..], Vec::as_slice);
    let shown: Vec<&Row> = listed(top, rows).collect();
    let visible = shown.iter().filter(|row| row.visible()).count() as u64;
    Comment {
        top_replies: Some(shown.into_iter().map(|row| view::public(row, threading)).collect()),
        more_replies: Some(root.replies.saturating_sub(visible)),
        ..view::public(root, threading)
    }
}

/// The ids of a page and where it stands.
async fn walk(
    app: &App,
    list: List,
    of: &ListOf,
    asked: Asked,
    version: u64,
) -> Result<(Vec<CommentId>, PageInfo), ApiError> {
    if asked.cursor.is_some_and(|c| c.list != list) {
        return Err(bad_cursor("belongs to another list"));
    }
    let at = asked.cursor.map(|c| c.at);
    let epoch = asked.cursor.map_or(version, |c| c.epoch);
    let (snapshot, fresh) = snapshot(app, list, of, asked.sort, at).await?;
    let wrong = |_| bad_cursor("does not fit this list");
    let mut walk = Walk::new(asked.sort, snapshot.as_deref(), at, asked.limit).map_err(wrong)?;
    while let Need::Floors { ascending, beyond, count } = walk.need() {
        walk.feed(count, &app.store.floors(of, ascending, beyond, count).await?);
    }
    let (ids, next) = walk.finish();
    if let (Some(snapshot), true, true) = (&snapshot, fresh, next.is_some()) {
        keep(app, list, asked.sort, snapshot).await?;
    }
    let next = next.map(|at| app.cursor_key.print(&Cursor { list, sort: asked.sort, epoch, at }));
    Ok((ids, PageInfo { has_more: next.is_some(), next, sort: asked.sort, epoch: epoch.to_string() }))
}

/// The snapshot a page is walked by, and whether it was made just now.
async fn snapshot(
    app: &App,
    list: List,
    of: &ListOf,
    sort: Sort,
    at: Option<Position>,
) -> Result<(Option<Arc<Snapshot>>, bool), ApiError> {
    if !sort.is_ranked() {
        return Ok((None, false));
    }
    if let Some(Position::Snapshot(id, _) | Position::Tail(id, _)) = at {
        let stored = app.snapshots.named(id, app.now(), app.store.snapshot(id)).await?;
        let gone = || ApiError::new(Code::CursorExpired, "this walk is over; begin again at the first page");
        return Ok((Some(stored.ok_or_else(gone)?), false));
    }
    if let Some(current) = app.snapshots.current(list, sort, app.now()) {
        return Ok((Some(current), false));
    }
    let ranked = app.store.ranked(of, sort).await?;
    Ok((Some(Arc::new(Snapshot::rank(ranked))), true))
}

/// Stores a snapshot before a cursor names it.
async fn keep(app: &App, list: List, sort: Sort, snapshot: &Arc<Snapshot>) -> Result<(), ApiError> {
    let now = app.now();
    let store = app.snapshots.needs_storing(list, sort, snapshot, now);
    if store {
        app.journal.append(Event::Snapshot(Snapshot::clone(snapshot))).await?;
    }
    app.snapshots.put(list, sort, snapshot.clone(), now, store);
    Ok(())
}
