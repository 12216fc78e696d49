//! Pages of a thread by their number, each root with its replies, as widgets of other systems read them.
//!
//! Not here: the paging law, by which a page follows a cursor ([`crate::service::page`]). A page by its number is what the
//! list has there now: what is posted meanwhile moves it.

use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Comment, CommentPage, CommentState, Subject, SubjectState};

use crate::domain::row::{CommentList, CommentRow, FloorRange};
use crate::service::comment_view::{for_every_reader, is_readable_by_id};
use crate::service::page::{PageQuery, cursor_after, list_replies, list_roots};
use crate::service::subject::{SubjectAudience, read_subject, threading_of};
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Roots before a page at most; what is behind them is read by cursors alone.
pub const MAX_SKIPPED_ROOTS: usize = 10_000;
/// The newest roots, among which those before a time are looked for.
const MAX_ROOTS_BY_TIME: usize = 2_000;
/// Replies that a page shows of a root, and of all its roots together: each root has an equal share.
const MAX_REPLIES_PER_ROOT: usize = 500;
const MAX_REPLIES_PER_PAGE: usize = 1_000;
/// Roots whose replies are read at the same time.
const ROOTS_AT_ONCE: usize = 4;

/// A root, and its visible replies in the order in which they were written.
#[derive(Debug)]
pub struct RepliedRoot {
    pub root: Comment,
    pub replies: Vec<Comment>,
}

/// A page of a subject.
#[derive(Debug)]
pub struct NumberedPage {
    pub roots: Vec<RepliedRoot>,
    pub subject: Subject,
}

/// The roots after the first `skipped`, at most `count` of them. After [`MAX_SKIPPED_ROOTS`] there are none.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`], or the store's.
pub async fn read_page(
    app: &AppState,
    key: &SubjectKey,
    sort: Sort,
    skipped: usize,
    count: usize,
) -> ServiceResult<NumberedPage> {
    let limit = count.clamp(1, limits::MAX_PAGE_SIZE);
    let cursor = match skipped {
        0 => None,
        1..=MAX_SKIPPED_ROOTS => cursor_after(app, key, sort, skipped).await?,
        _ => None,
    };
    if skipped > 0 && cursor.is_none() {
        let subject = read_subject(app, key, SubjectAudience::EveryReader).await?;
        return Ok(NumberedPage { roots: vec![], subject });
    }
    let page = list_roots(app, key, PageQuery { sort, limit, cursor }, SubjectAudience::EveryReader).await?;
    with_all_replies(app, page).await
}

async fn with_all_replies(app: &AppState, page: CommentPage) -> ServiceResult<NumberedPage> {
    let subject = page.subject.ok_or_else(|| ServiceError::Bug("a page of roots has no subject".into()))?;
    let replied: Vec<CommentId> =
        page.data.iter().filter(|root| root.more_replies > Some(0)).map(|root| root.id).collect();
    let rows = app.store.read_comments(&replied).await?;
    let most = (MAX_REPLIES_PER_PAGE / replied.len().max(1)).min(MAX_REPLIES_PER_ROOT);
    let roots = stream::iter(page.data)
        .map(|root| {
            let row = rows.get(&root.id);
            async move { with_replies(app, root, row, most).await }
        })
        .buffered(ROOTS_AT_ONCE)
        .try_collect()
        .await?;
    Ok(NumberedPage { roots, subject })
}

/// The newest roots that are from before this time, at most `count` of them and all of the same millisecond as the last;
/// and whether more follow. Their `created_at` never grows from one to the next: that of a root that was published late is
/// as late as that of the one behind it, so that the time of the last says where the next page begins.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`], or the store's.
pub async fn read_older(
    app: &AppState,
    key: &SubjectKey,
    before: Option<u64>,
    count: usize,
) -> ServiceResult<(NumberedPage, bool)> {
    let newest = FloorRange::newest(MAX_ROOTS_BY_TIME);
    let mut listed: Vec<(CommentId, u64)> = app
        .store
        .list_floors(&CommentList::Roots(key.clone()), newest)
        .await?
        .into_iter()
        .map(|(_, id)| (id, id.created_ms()))
        .collect();
    let mut latest = 0;
    for (_, time) in listed.iter_mut().rev() {
        latest = latest.max(*time);
        *time = latest;
    }
    let start = listed.partition_point(|(_, time)| before.is_some_and(|before| *time >= before));
    let last = listed.get(start + count - 1).map(|(_, time)| *time);
    let end = last.map_or(listed.len(), |last| listed.partition_point(|(_, time)| *time >= last));
    let mut page = read_page(app, key, Sort::New, start, (end - start).max(1)).await?;
    page.roots.truncate(end - start);
    let times: HashMap<CommentId, u64> = listed[start..end].iter().copied().collect();
    for replied in &mut page.roots {
        if let Some(time) = times.get(&replied.root.id) {
            replied.root.created_at = *time;
        }
    }
    let has_more = !page.roots.is_empty() && end < listed.len();
    Ok((page, has_more))
}

/// A root of this subject alone, with its replies; none where it is no visible root there.
///
/// # Errors
/// The store's.
pub async fn read_thread(app: &AppState, key: &SubjectKey, root: CommentId) -> ServiceResult<NumberedPage> {
    let subject = read_subject(app, key, SubjectAudience::EveryReader).await?;
    let row = app.store.read_comments(&[root]).await?.remove(&root);
    let is_shown = |row: &CommentRow| row.subject == *key && row.path.depth() == 1 && is_readable_by_id(row);
    let Some(row) = row.filter(|row| is_shown(row) && subject.state != SubjectState::Hidden) else {
        return Ok(NumberedPage { roots: vec![], subject });
    };
    let shown = for_every_reader(app, &row, threading_of(app, key.kind(), Some(subject.mode))?);
    Ok(NumberedPage { roots: vec![with_replies(app, shown, Some(&row), MAX_REPLIES_PER_ROOT).await?], subject })
}

/// `row`: that of the root, where it has more replies than the page of roots shows; then at least `most` are read.
async fn with_replies(
    app: &AppState,
    mut root: Comment,
    row: Option<&CommentRow>,
    most: usize,
) -> ServiceResult<RepliedRoot> {
    let mut replies = root.top_replies.take().unwrap_or_default();
    if let Some(row) = row {
        replies.clear();
        let mut query = PageQuery { sort: Sort::Old, limit: most.min(limits::MAX_PAGE_SIZE), cursor: None };
        loop {
            let page = list_replies(app, row, query).await?;
            replies.extend(page.data);
            let next = page.page.next.filter(|_| replies.len() < most);
            let Some(next) = next else { break };
            let cursor = app.cursor_key.decode(&next).map_err(|error| ServiceError::Bug(error.to_string()))?;
            query.cursor = Some(cursor);
        }
    }
    replies.retain(|reply| reply.state == CommentState::Published);
    replies.sort_by_key(|reply| (reply.floor, reply.id));
    Ok(RepliedRoot { root, replies })
}
