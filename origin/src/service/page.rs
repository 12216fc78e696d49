//! Pages of lists: the paging law over the store, in a fixed number of store calls.

use std::collections::HashMap;
use std::sync::Arc;

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::rank::Sort;
use gailou_shared::walk::{ListWalk, Snapshot, WalkNeed};
use gailou_shared::wire::{Code, Comment, CommentPage, PageInfo, Subject};

use crate::domain::operation::Operation;
use crate::domain::row::{CommentList, CommentRow, SubjectRow};
use crate::error::ApiError;
use crate::service::view;
use crate::state::AppState;

/// Which page of a list is asked for.
#[derive(Debug, Clone, Copy)]
pub struct PageQuery {
    pub sort: Sort,
    pub limit: usize,
    pub cursor: Option<Cursor>,
}

impl PageQuery {
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

/// How the threads of a subject are built, or `unknown_subject_type`.
pub fn threading(app: &AppState, kind: &str, mode: Option<Mode>) -> Result<Threading, ApiError> {
    let unknown = || ApiError::new(Code::UnknownSubjectType, "there is no such subject type here");
    app.threading_of(kind, mode).ok_or_else(unknown)
}

/// How the threads are built that a comment stands in.
pub fn threading_around(app: &AppState, row: &CommentRow) -> Result<Threading, ApiError> {
    threading(app, row.subject.kind(), row.mode)
}

/// The subject's row; an empty one where nobody has written.
pub async fn subject_row(app: &AppState, key: &SubjectKey) -> Result<SubjectRow, ApiError> {
    let found = app.store.read_subjects(std::slice::from_ref(key)).await?.pop().flatten();
    Ok(found.unwrap_or_else(|| SubjectRow::empty(key.clone())))
}

/// A subject as readers see it, with these comments for its pinned ones.
pub fn subject_view(row: &SubjectRow, threading: Threading, comments: &HashMap<CommentId, CommentRow>) -> Subject {
    let pinned = row.pinned.iter().filter_map(|id| comments.get(id)).map(|c| view::public(c, threading)).collect();
    Subject {
        version: row.version,
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
pub async fn subject(app: &AppState, key: &SubjectKey) -> Result<Subject, ApiError> {
    let row = subject_row(app, key).await?;
    let threading = threading(app, key.kind(), row.mode)?;
    let comments = app.store.read_comments(&row.pinned).await?;
    Ok(subject_view(&row, threading, &comments))
}

/// A page of a subject's roots with their first replies.
///
/// # Errors
/// `bad_cursor`, `cursor_expired`, `unknown_subject_type`, or the store's.
pub async fn roots(app: &AppState, key: &SubjectKey, asked: PageQuery) -> Result<CommentPage, ApiError> {
    let subject = subject_row(app, key).await?;
    let threading = threading(app, key.kind(), subject.mode)?;
    let (ids, info) =
        walk(app, CursorList::roots(key), &CommentList::Roots(key.clone()), asked, subject.version).await?;
    let top = top_replies(app, &ids).await?;
    let wanted: Vec<_> = ids.iter().chain(top.values().flatten()).chain(&subject.pinned).copied().collect();
    let rows = app.store.read_comments(&wanted).await?;
    let data = listed(&ids, &rows).map(|row| with_replies(row, top.get(&row.id()), &rows, threading)).collect();
    Ok(CommentPage { data, page: info, subject: Some(subject_view(&subject, threading, &rows)) })
}

/// A page of the descendants of a comment, flat.
///
/// # Errors
/// `comment_not_found`, `bad_cursor`, `cursor_expired`, or the store's.
pub async fn replies(app: &AppState, top: &CommentRow, asked: PageQuery) -> Result<CommentPage, ApiError> {
    let threading = threading_around(app, top)?;
    let subject = subject_row(app, &top.subject).await?;
    let list = CommentList::Under(top.path.clone());
    let (ids, info) = walk(app, CursorList::Replies(top.id()), &list, asked, subject.version).await?;
    let wanted: Vec<_> = ids.iter().chain(&subject.pinned).copied().collect();
    let rows = app.store.read_comments(&wanted).await?;
    let data = listed(&ids, &rows).map(|row| view::public(row, threading)).collect();
    Ok(CommentPage { data, page: info, subject: Some(subject_view(&subject, threading, &rows)) })
}

/// The best replies of each root: as its list of replies by heat begins, where that is being walked.
async fn top_replies(app: &AppState, roots: &[CommentId]) -> Result<HashMap<CommentId, Vec<CommentId>>, ApiError> {
    let mut top = app.store.list_top_replies(roots, limits::TOP_REPLIES).await?;
    for root in roots {
        if let Some((snapshot, _)) = app.snapshots.current(CursorList::Replies(*root), Sort::Hot, app.now()) {
            // A few more than are shown: some may be listed no more.
            top.insert(*root, snapshot.ids().iter().take(2 * limits::TOP_REPLIES).copied().collect());
        }
    }
    Ok(top)
}

/// Those of the ids that still stand in lists, in their order.
fn listed<'r>(ids: &[CommentId], rows: &'r HashMap<CommentId, CommentRow>) -> impl Iterator<Item = &'r CommentRow> {
    ids.iter().filter_map(|id| rows.get(id)).filter(|row| row.listed())
}

fn with_replies(
    root: &CommentRow,
    top: Option<&Vec<CommentId>>,
    rows: &HashMap<CommentId, CommentRow>,
    threading: Threading,
) -> Comment {
    let top = top.map_or(&[][..], Vec::as_slice);
    let shown: Vec<&CommentRow> = listed(top, rows).take(limits::TOP_REPLIES).collect();
    let visible = shown.iter().filter(|row| row.visible()).count() as u64;
    Comment {
        top_replies: Some(shown.into_iter().map(|row| view::public(row, threading)).collect()),
        more_replies: Some(root.replies.saturating_sub(visible)),
        ..view::public(root, threading)
    }
}

/// The ids of a page and where it stands.
async fn walk(
    app: &AppState,
    list: CursorList,
    of: &CommentList,
    asked: PageQuery,
    version: u64,
) -> Result<(Vec<CommentId>, PageInfo), ApiError> {
    if asked.cursor.is_some_and(|c| c.list != list) {
        return Err(bad_cursor("belongs to another list"));
    }
    let at = asked.cursor.map(|c| c.at);
    let ranking = ranking(app, list, of, asked.sort, at, version).await?;
    let snapshot = ranking.as_ref().map(|r| &*r.snapshot);
    let epoch = asked.cursor.map_or_else(|| ranking.as_ref().map_or(version, |r| r.epoch), |c| c.epoch);
    let wrong = |_| bad_cursor("does not fit this list");
    let mut walk = ListWalk::new(asked.sort, snapshot, at, asked.limit).map_err(wrong)?;
    while let WalkNeed::Floors { ascending, beyond, count } = walk.need() {
        walk.feed(count, &app.store.list_floors(of, ascending, beyond, count).await?);
    }
    let (ids, next) = walk.finish();
    if let Some(ranking) = ranking.filter(|r| r.is_new && next.is_some()) {
        keep(app, list, of, asked.sort, ranking).await?;
    }
    let next = next.map(|at| app.cursor_key.encode(&Cursor { list, sort: asked.sort, epoch, at }));
    Ok((ids, PageInfo { has_more: next.is_some(), next, sort: asked.sort, epoch: epoch.to_string() }))
}

/// What a page of a ranked sort is walked by.
struct Ranking {
    snapshot: Arc<Snapshot>,
    /// The subject's version it shows.
    epoch: u64,
    /// Whether it was made just now.
    is_new: bool,
}

/// The ranking a page is walked by; `None` for a sort by floor.
async fn ranking(
    app: &AppState,
    list: CursorList,
    of: &CommentList,
    sort: Sort,
    at: Option<WalkPosition>,
    version: u64,
) -> Result<Option<Ranking>, ApiError> {
    if !sort.is_ranked() {
        return Ok(None);
    }
    if let Some(WalkPosition::Snapshot(id, _) | WalkPosition::Tail(id, _)) = at {
        let stored = app.snapshots.named(id, app.now(), app.store.read_snapshot(of.slot(), id)).await?;
        let gone = || ApiError::new(Code::CursorExpired, "this walk is over; begin again at the first page");
        return Ok(Some(Ranking { snapshot: stored.ok_or_else(gone)?, epoch: version, is_new: false }));
    }
    if let Some((snapshot, epoch)) = app.snapshots.current(list, sort, app.now()) {
        return Ok(Some(Ranking { snapshot, epoch, is_new: false }));
    }
    let ranked = app.store.list_ranked(of, sort).await?;
    Ok(Some(Ranking { snapshot: Arc::new(Snapshot::rank(ranked)), epoch: version, is_new: true }))
}

/// Stores a snapshot before a cursor names it.
async fn keep(
    app: &AppState,
    list: CursorList,
    of: &CommentList,
    sort: Sort,
    ranking: Ranking,
) -> Result<(), ApiError> {
    let (now, Ranking { snapshot, epoch, .. }) = (app.now(), ranking);
    let store = app.snapshots.needs_storing(list, sort, &snapshot, now);
    if store {
        let event = Operation::Snapshot { slot: of.slot(), snapshot: Snapshot::clone(&snapshot) };
        app.journal.append(event).await?;
    }
    app.snapshots.put(list, sort, snapshot, epoch, now, store);
    Ok(())
}
