//! Search: comments of a thread for its readers, and all comments for moderators, newest first.
//!
//! The index offers candidates, or the reports where those are asked for. What is shown is decided by the rows: a comment that is gone, or changed since, is not
//! in the answer, however far the index is behind.

use std::collections::HashMap;

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Comment, CommentPage, CommentState, PageInfo};

use crate::domain::row::CommentRow;
use crate::domain::search_index::{SearchFilter, state_name};
use crate::domain::search_text::SearchTerms;
use crate::ports::search_index::SearchError;
use crate::service::subject::hidden_among;
use crate::service::{ServiceError, ServiceResult, comment_view};
use crate::state::AppState;

/// How often the index is asked for one page, where what it offers is not shown.
const MAX_LOOKUPS: usize = 4;
/// The comments of a page, in bytes of JSON.
const MAX_PAGE_BYTES: usize = limits::MAX_LIST_BYTES - 128 * 1024;

/// A text that is searched for.
#[derive(Debug, Clone)]
pub struct SearchQuery {
    /// As it was sent.
    pub text: String,
    pub terms: SearchTerms,
}

/// Which comments a moderator looks for.
#[derive(Debug, Clone, Default)]
pub struct CommentSearch {
    pub query: Option<SearchQuery>,
    pub subject: Option<SubjectKey>,
    pub member: Option<MemberId>,
    pub state: Option<CommentState>,
    /// Written at this time or later, in Unix milliseconds.
    pub from: Option<u64>,
    /// Written before this time.
    pub to: Option<u64>,
    /// Those alone that readers have reported, among the newest of `member`.
    pub reported: bool,
}

/// A page of the visible comments of a subject that contain the query.
///
/// # Errors
/// [`ServiceError::NotFound`] for a hidden subject, [`ServiceError::BadCursor`], the index's, or the store's.
pub async fn search_subject(
    app: &AppState,
    subject: SubjectKey,
    query: SearchQuery,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<CommentPage> {
    if !hidden_among(app, [&subject]).await?.is_empty() {
        return Err(ServiceError::NotFound("there is no such subject"));
    }
    let list = CursorList::moderation("search", &[Some(subject.kind()), Some(subject.key()), Some(&query.text)]);
    let search = CommentSearch { query: Some(query), subject: Some(subject), ..CommentSearch::default() };
    walk(app, &search, true, list, limit, cursor).await
}

/// A page of all comments that a moderator looks for, whatever their state.
///
/// # Errors
/// [`ServiceError::BadCursor`], the index's, or the store's.
pub async fn search_all(
    app: &AppState,
    search: &CommentSearch,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<CommentPage> {
    let subject = search.subject.as_ref().map(ToString::to_string);
    let [member, from, to] =
        [search.member.map(MemberId::get), search.from, search.to].map(|n| n.map(|n| n.to_string()));
    let filters = [
        search.query.as_ref().map(|query| query.text.as_str()),
        subject.as_deref(),
        member.as_deref(),
        search.state.map(state_name),
        from.as_deref(),
        to.as_deref(),
        search.reported.then_some("reported"),
    ];
    let list = CursorList::moderation("comments", &filters);
    walk(app, search, false, list, limit, cursor).await
}

async fn walk(
    app: &AppState,
    search: &CommentSearch,
    visible_only: bool,
    list: CursorList,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<CommentPage> {
    let mut below = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::After(id), .. }) if of == list => {
            Some(CommentId::new(id).map_err(|_| ServiceError::BadCursor("does not fit this list"))?)
        }
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let mut page = FoundPage { search, visible_only, limit, data: Vec::new(), used_bytes: 0 };
    let mut has_more = true;
    for _ in 0..MAX_LOOKUPS {
        let offered = offer(app, search, visible_only, below, limit + 1).await?;
        let rows = app.store.read_comments(&offered).await?;
        let taken = page.take(app, &offered, &rows);
        below = taken.checked_sub(1).and_then(|last| offered.get(last)).copied().or(below);
        has_more = taken < offered.len() || offered.len() > limit;
        if !has_more || taken < offered.len() || page.data.len() == limit {
            break;
        }
    }
    let epoch = cursor.map_or_else(|| page.data.first().map_or(0, |comment| comment.id.get()), |c| c.epoch);
    let next = below.filter(|_| has_more).map(|last| {
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch, at: WalkPosition::After(last.get()) })
    });
    let info = PageInfo { next, has_more, sort: Sort::New, epoch: epoch.to_string() };
    Ok(CommentPage { data: page.data, page: info, subject: None, floors: None })
}

/// Comments that may be what is looked for, newest first: at most `count` below an id.
async fn offer(
    app: &AppState,
    search: &CommentSearch,
    visible_only: bool,
    below: Option<CommentId>,
    count: usize,
) -> ServiceResult<Vec<CommentId>> {
    if let (true, Some(member)) = (search.reported, search.member) {
        let mut reported = app.tables.list_reported_of(member).await?;
        reported.retain(|id| below.is_none_or(|below| *id < below));
        reported.truncate(count);
        return Ok(reported);
    }
    let index = app.search.as_ref().ok_or(SearchError::NotConfigured)?;
    Ok(index.search(&index_filter(search, visible_only, below), count).await?)
}

fn index_filter(search: &CommentSearch, visible_only: bool, below: Option<CommentId>) -> SearchFilter {
    SearchFilter {
        conditions: search.query.as_ref().map(|query| query.terms.conditions()).unwrap_or_default(),
        subject: search.subject.clone(),
        author: search.member,
        state: search.state,
        visible_only,
        from: search.from,
        to: search.to,
        below,
    }
}

/// A page that is filled.
struct FoundPage<'s> {
    search: &'s CommentSearch,
    visible_only: bool,
    limit: usize,
    data: Vec<Comment>,
    used_bytes: usize,
}

impl FoundPage<'_> {
    /// Takes of what was offered what is shown, until the page is full. How many of the offered were looked at.
    fn take(&mut self, app: &AppState, offered: &[CommentId], rows: &HashMap<CommentId, CommentRow>) -> usize {
        for (at, id) in offered.iter().enumerate() {
            if self.data.len() == self.limit {
                return at;
            }
            // A comment whose type is not configured any more is left out.
            let shown = rows.get(id).filter(|row| self.is_shown(row));
            let Some(comment) = shown.and_then(|row| self.view(app, row)) else { continue };
            self.used_bytes += serde_json::to_vec(&comment).map_or(0, |json| json.len());
            if self.used_bytes > MAX_PAGE_BYTES && !self.data.is_empty() {
                return at;
            }
            self.data.push(comment);
        }
        offered.len()
    }

    /// Whether the row is what is looked for.
    fn is_shown(&self, row: &CommentRow) -> bool {
        let CommentSearch { query, subject, member, state, from, to, reported: _ } = self.search;
        (!self.visible_only || row.is_visible())
            && subject.as_ref().is_none_or(|subject| *subject == row.subject)
            && member.is_none_or(|member| member == row.author.id)
            && state.is_none_or(|state| state == row.state)
            && from.is_none_or(|from| from <= row.created_at)
            && to.is_none_or(|to| row.created_at < to)
            && query.as_ref().is_none_or(|query| query.terms.matches(&row.content))
    }

    fn view(&self, app: &AppState, row: &CommentRow) -> Option<Comment> {
        let threading = app.threading_of(row.subject.kind(), row.mode)?;
        let comment = match self.visible_only {
            true => comment_view::for_every_reader(app, row, threading),
            false => comment_view::for_author(app, row, threading),
        };
        let highlight = self.search.query.as_ref().map(|query| query.terms.highlight(&row.content));
        Some(Comment { highlight, ..comment })
    }
}
