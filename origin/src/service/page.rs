//! Pages of lists: the paging law over the store, in a fixed number of store calls.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::rank::Sort;
use gailou_shared::walk::{ListWalk, Snapshot, WalkNeed, WalkedPage};
use gailou_shared::wire::{Comment, CommentPage, PageInfo, SubjectState};

use crate::domain::operation::Operation;
use crate::domain::row::{CommentList, CommentRow, FloorRange, SubjectRow};
use crate::ports::journal::JournalError;
use crate::ports::store::StoreError;
use crate::service::answer_rows::AnswerRows;
use crate::service::quoted_floors::Quoting;
use crate::service::subject::SubjectAudience;
use crate::service::{ServiceError, ServiceResult, comment_view, subject};
use crate::state::AppState;
use crate::state::degrade::DegradeCause;
use crate::state::ranked_snapshots::UsedSnapshot;

/// Comments of a page, in bytes of JSON: an answer without its subject and its cursor.
const MAX_COMMENT_BYTES: usize = limits::MAX_LIST_BYTES - MAX_SUBJECT_BYTES;
/// The largest subject without its pinned comments: title, address and key with all their escapes.
const MAX_SUBJECT_BYTES: usize = 32 * 1024;

/// What a `hot` list is walked by where nothing is ranked: no comment is in it, so all follow by floor, the
/// newest first. It is stored nowhere, and a walk that began with it goes on with it.
static NOTHING_RANKED: LazyLock<Arc<Snapshot>> = LazyLock::new(|| Arc::new(Snapshot::rank(vec![])));

/// One page of a list: its order, its size, its place.
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

/// Whether a cursor belongs to a `hot` list that is answered as `new`. The page that gave it says `new`.
pub fn is_newest_first(cursor: &Cursor) -> bool {
    cursor.sort == Sort::Hot && matches!(cursor.at, WalkPosition::Tail(id, _) if id == NOTHING_RANKED.id())
}

/// A page of a subject's roots with their first replies.
///
/// # Errors
/// [`ServiceError::BadCursor`], `CursorExpired`, `UnknownSubjectType`, or the store's.
pub async fn list_roots(
    app: &AppState,
    key: &SubjectKey,
    query: PageQuery,
    audience: SubjectAudience,
) -> ServiceResult<CommentPage> {
    match roots_page(app, key, query, audience, FirstRanking::Current).await {
        Err(ServiceError::Journal(_)) => roots_page(app, key, query, audience, FirstRanking::Former).await,
        page => page,
    }
}

async fn roots_page(
    app: &AppState,
    key: &SubjectKey,
    query: PageQuery,
    audience: SubjectAudience,
    first: FirstRanking,
) -> ServiceResult<CommentPage> {
    let subject = subject::read_row_for(app, key, audience).await?;
    let threading = subject::threading_of(app, key.kind(), subject.mode)?;
    if subject.state == SubjectState::Hidden && audience == SubjectAudience::EveryReader {
        let page = PageInfo { next: None, has_more: false, sort: query.sort, epoch: subject.version.to_string() };
        let subject = Some(subject::subject_view(app, &subject, threading, &HashMap::new()));
        return Ok(CommentPage { data: vec![], page, subject, floors: None });
    }
    let list = CommentList::Roots(key.clone());
    let walked = walk(app, CursorList::roots(key), &list, query, &subject, first).await?;
    let ids = walked.page.ids();
    let top = top_replies(app, ids).await?;
    let groups: Vec<Vec<_>> =
        ids.iter().map(|id| [id].into_iter().chain(top.get(id).into_iter().flatten()).copied().collect()).collect();
    let AnswerRows { rows, shown } =
        AnswerRows::read(app, &subject.pinned, &groups, max_comment_bytes(threading), Some(walked.epoch)).await?;
    let data =
        listed(&ids[..shown], &rows).map(|row| with_replies(app, row, top.get(&row.id()), &rows, threading)).collect();
    let subject = subject::subject_view(app, &subject, threading, &rows);
    let (quoting, shown) = Quoting::of(app, threading, &subject, data, &ids[..shown]).await?;
    let page = walked.finish(app, &list, shown).await?;
    Ok(CommentPage { data: quoting.comments, page, subject: Some(subject), floors: quoting.floors })
}

/// The place after the first `skipped` roots of a list; `None` where it has no more than these.
///
/// # Errors
/// As [`list_roots`].
pub async fn cursor_after(
    app: &AppState,
    key: &SubjectKey,
    sort: Sort,
    skipped: usize,
) -> ServiceResult<Option<Cursor>> {
    let subject = subject::read_row_for(app, key, SubjectAudience::EveryReader).await?;
    if subject.state == SubjectState::Hidden {
        return Ok(None);
    }
    let (list, query) = (CommentList::Roots(key.clone()), PageQuery { sort, limit: skipped, cursor: None });
    let walked = walk(app, CursorList::roots(key), &list, query, &subject, FirstRanking::Current).await?;
    let shown = walked.page.ids().len();
    let next = walked.finish(app, &list, shown).await?.next;
    let decode = |next: String| app.cursor_key.decode(&next).map_err(|error| ServiceError::Bug(error.to_string()));
    next.map(decode).transpose()
}

/// A page of the descendants of a comment, flat.
///
/// # Errors
/// [`ServiceError::BadCursor`], `CursorExpired`, or the store's.
pub async fn list_replies(app: &AppState, top: &CommentRow, query: PageQuery) -> ServiceResult<CommentPage> {
    match replies_page(app, top, query, FirstRanking::Current).await {
        Err(ServiceError::Journal(_)) => replies_page(app, top, query, FirstRanking::Former).await,
        page => page,
    }
}

async fn replies_page(
    app: &AppState,
    top: &CommentRow,
    query: PageQuery,
    first: FirstRanking,
) -> ServiceResult<CommentPage> {
    let threading = subject::threading_around(app, top)?;
    let subject = subject::read_row(app, &top.subject).await?;
    let list = CommentList::Under(top.path.clone());
    let walked = walk(app, CursorList::Replies(top.id()), &list, query, &subject, first).await?;
    let ids = walked.page.ids();
    let groups: Vec<_> = ids.iter().map(|id| vec![*id]).collect();
    let AnswerRows { rows, shown } =
        AnswerRows::read(app, &subject.pinned, &groups, max_comment_bytes(threading), Some(walked.epoch)).await?;
    let data = listed(&ids[..shown], &rows).map(|row| comment_view::for_every_reader(app, row, threading)).collect();
    let subject = subject::subject_view(app, &subject, threading, &rows);
    let (quoting, shown) = Quoting::of(app, threading, &subject, data, &ids[..shown]).await?;
    let page = walked.finish(app, &list, shown).await?;
    Ok(CommentPage { data: quoting.comments, page, subject: Some(subject), floors: quoting.floors })
}

/// What the comments of a page may take beside the floors that they quote.
const fn max_comment_bytes(threading: Threading) -> usize {
    match threading.mode {
        Mode::Building => MAX_COMMENT_BYTES - limits::MAX_QUOTED_BYTES,
        _ => MAX_COMMENT_BYTES,
    }
}

/// The best replies of each root: the beginning of its list of replies in `hot` order.
async fn top_replies(app: &AppState, roots: &[CommentId]) -> ServiceResult<HashMap<CommentId, Vec<CommentId>>> {
    let mut top = app.store.list_top_replies(roots, limits::TOP_REPLIES).await?;
    for root in roots {
        if let Some((snapshot, _)) = app.snapshots.current(CursorList::Replies(*root), Sort::Hot, app.now()) {
            // A reader walks that list by a snapshot. More ids than are shown, because some may have left the list.
            top.insert(*root, snapshot.ids().iter().take(2 * limits::TOP_REPLIES).copied().collect());
        }
    }
    Ok(top)
}

/// The rows of the ids that are still in lists, in the order of the ids.
fn listed<'r>(ids: &[CommentId], rows: &'r HashMap<CommentId, CommentRow>) -> impl Iterator<Item = &'r CommentRow> {
    ids.iter().filter_map(|id| rows.get(id)).filter(|row| row.is_listed())
}

fn with_replies(
    app: &AppState,
    root: &CommentRow,
    top: Option<&Vec<CommentId>>,
    rows: &HashMap<CommentId, CommentRow>,
    threading: Threading,
) -> Comment {
    let top = top.map_or(&[][..], Vec::as_slice);
    let shown: Vec<&CommentRow> = listed(top, rows).take(limits::TOP_REPLIES).collect();
    let visible = shown.iter().filter(|row| row.is_visible()).count() as u64;
    Comment {
        top_replies: Some(shown.into_iter().map(|row| comment_view::for_every_reader(app, row, threading)).collect()),
        more_replies: Some(root.replies.saturating_sub(visible)),
        ..comment_view::for_every_reader(app, root, threading)
    }
}

/// A page of a walk, before it is known how many of its comments fit into the answer.
struct Walk {
    page: WalkedPage,
    list: CursorList,
    sort: Sort,
    ranking: Option<Ranking>,
    epoch: u64,
}

async fn walk(
    app: &AppState,
    list: CursorList,
    of: &CommentList,
    query: PageQuery,
    subject: &SubjectRow,
    first: FirstRanking,
) -> ServiceResult<Walk> {
    if query.cursor.is_some_and(|c| c.list != list) {
        return Err(ServiceError::BadCursor("belongs to another list"));
    }
    let at = query.cursor.map(|c| c.at);
    let ranking = match at {
        Some(at) => named_ranking(app, of, query.sort, at, subject.version).await?,
        None => first_ranking(app, list, of, query.sort, subject, first).await?,
    };
    let snapshot = ranking.as_ref().map(|r| &*r.snapshot);
    let began_at = query.cursor.map(|cursor| cursor.epoch);
    let mut epoch = began_at.unwrap_or_else(|| ranking.as_ref().map_or(subject.version, |r| r.epoch));
    let wrong = |_| ServiceError::BadCursor("does not fit this list");
    let mut walk = ListWalk::new(query.sort, snapshot, at, query.limit).map_err(wrong)?;
    while let WalkNeed::Floors { ascending, beyond, count } = walk.need() {
        let range = FloorRange { ascending, beyond, count };
        if began_at.is_some() {
            walk.feed(count, &app.store.list_floors(of, range).await?);
        } else {
            // The row of the subject may be newer than a cached list.
            let listed = app.store.list_floors_of(&subject.key, of, range).await?;
            epoch = epoch.min(listed.version);
            walk.feed(count, &listed.entries);
        }
    }
    Ok(Walk { page: walk.finish(), list, sort: query.sort, ranking, epoch })
}

impl Walk {
    /// The place of the page, which ends after its first `shown` comments.
    async fn finish(self, app: &AppState, of: &CommentList, shown: usize) -> ServiceResult<PageInfo> {
        let Self { page, list, sort, ranking, epoch } = self;
        let next = page.next_after(shown);
        let is_unranked = ranking.as_ref().is_some_and(|ranking| ranking.is_left_out);
        if let Some(ranking) = ranking.filter(|r| r.is_new && next.is_some()) {
            store_snapshot(app, list, of, sort, ranking).await?;
        }
        let next = next.map(|at| app.cursor_key.encode(&Cursor { list, sort, epoch, at }));
        let shown_sort = if is_unranked { Sort::New } else { sort };
        Ok(PageInfo { has_more: next.is_some(), next, sort: shown_sort, epoch: epoch.to_string() })
    }
}

/// The order that a page of a ranked sort is walked by.
struct Ranking {
    snapshot: Arc<Snapshot>,
    /// The version of the subject that it shows.
    epoch: u64,
    /// Whether it was made for this page.
    is_new: bool,
    /// Whether nothing was ranked, to spare the database.
    is_left_out: bool,
}

impl Ranking {
    fn left_out(version: u64) -> Self {
        Self { snapshot: NOTHING_RANKED.clone(), epoch: version, is_new: false, is_left_out: true }
    }
}

/// Which ranking a first page may begin with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FirstRanking {
    /// The one in use, or a new one, which is stored before a cursor names it.
    Current,
    /// One that needs no write: a new one could not be stored.
    Former,
}

/// The ranking that a cursor names; `None` for a sort by floor.
async fn named_ranking(
    app: &AppState,
    of: &CommentList,
    sort: Sort,
    at: WalkPosition,
    version: u64,
) -> ServiceResult<Option<Ranking>> {
    let (WalkPosition::Snapshot(id, _) | WalkPosition::Tail(id, _)) = at else { return Ok(None) };
    if !sort.is_ranked() {
        return Ok(None);
    }
    if id == NOTHING_RANKED.id() {
        return Ok(Some(Ranking::left_out(version)));
    }
    let stored = app.snapshots.named(id, app.now(), app.store.read_snapshot(of.slot(), id)).await?;
    let snapshot = stored.ok_or(ServiceError::CursorExpired)?;
    Ok(Some(Ranking { snapshot, epoch: version, is_new: false, is_left_out: false }))
}

/// The ranking that a first page is walked by; `None` for a sort by floor. Without the tables it is the last one,
/// however old, and where there is none `hot` lists are answered newest first.
async fn first_ranking(
    app: &AppState,
    list: CursorList,
    of: &CommentList,
    sort: Sort,
    subject: &SubjectRow,
    first: FirstRanking,
) -> ServiceResult<Option<Ranking>> {
    if !sort.is_ranked() {
        return Ok(None);
    }
    let used = |(snapshot, epoch)| Ranking { snapshot, epoch, is_new: false, is_left_out: false };
    let former = || {
        let last = app.snapshots.last(list, sort, app.now()).map(used);
        last.or_else(|| (sort == Sort::Hot).then(|| Ranking::left_out(subject.version)))
    };
    let as_new = if sort == Sort::Hot { app.degrade.hot_as_new() } else { None };
    if as_new != Some(DegradeCause::ByHand)
        && let Some(current) = app.snapshots.current(list, sort, app.now())
    {
        return Ok(Some(used(current)));
    }
    if as_new.is_some() {
        return Ok(Some(Ranking::left_out(subject.version)));
    }
    if first == FirstRanking::Former {
        return former().map(Some).ok_or(ServiceError::Journal(JournalError::NotSent));
    }
    match app.store.list_ranked_of(&subject.key, of, sort).await {
        Ok(ranked) => {
            let (snapshot, epoch) = (Arc::new(Snapshot::rank(ranked.entries)), subject.version.min(ranked.version));
            Ok(Some(Ranking { snapshot, epoch, is_new: true, is_left_out: false }))
        }
        Err(error @ StoreError::Damaged(_)) => Err(error.into()),
        Err(error) => former().map(Some).ok_or_else(|| error.into()),
    }
}

/// Stores a snapshot before a cursor names it.
async fn store_snapshot(
    app: &AppState,
    list: CursorList,
    of: &CommentList,
    sort: Sort,
    ranking: Ranking,
) -> ServiceResult<()> {
    let (now, Ranking { snapshot, epoch, .. }) = (app.now(), ranking);
    let is_stored_now = app.snapshots.needs_storing(list, sort, &snapshot, now);
    if is_stored_now {
        let snapshot = Snapshot::clone(&snapshot);
        app.journal.append(Operation::Snapshot { slot: of.slot(), snapshot }).await?;
    }
    app.snapshots.put(list, sort, UsedSnapshot { snapshot, version: epoch, is_stored_now }, now);
    Ok(())
}
