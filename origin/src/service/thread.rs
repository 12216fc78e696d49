//! One comment and what surrounds it: its tree, its chain (盖楼), its context.

use std::collections::HashMap;

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::{Path, Threading};
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Comment, CommentContext, CommentTree, TreeMore};

use crate::domain::row::CommentRow;
use crate::service::page::PageQuery;
use crate::service::subject::threading_around;
use crate::service::{ServiceError, ServiceResult, comment_view, page};
use crate::state::AppState;

/// Siblings shown with a permalink.
const MAX_SIBLINGS: usize = 10;

/// The row of a comment that every reader may read by its id.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], or the store's.
pub async fn read_readable_row(app: &AppState, id: CommentId) -> ServiceResult<CommentRow> {
    let row = app.store.read_comments(&[id]).await?.remove(&id).filter(comment_view::is_readable_by_id);
    row.ok_or(ServiceError::CommentNotFound)
}

/// The comment as every reader sees it, without its replies.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`] when its type is not configured any more.
pub fn show_comment(app: &AppState, row: &CommentRow) -> ServiceResult<Comment> {
    Ok(comment_view::for_every_reader(row, threading_around(app, row)?))
}

/// The chain from the root to the comment.
///
/// # Errors
/// The store's.
pub async fn list_ancestors(app: &AppState, row: &CommentRow) -> ServiceResult<Vec<Comment>> {
    let threading = threading_around(app, row)?;
    let ids: Vec<_> = row.path.ids().collect();
    let rows = app.store.read_comments(&ids).await?;
    Ok(ids.iter().filter_map(|id| rows.get(id)).map(|r| comment_view::for_every_reader(r, threading)).collect())
}

/// What a permalink needs.
///
/// # Errors
/// The store's.
pub async fn read_context(app: &AppState, row: &CommentRow) -> ServiceResult<CommentContext> {
    let threading = threading_around(app, row)?;
    let mut ancestors = list_ancestors(app, row).await?;
    let comment = ancestors.pop().ok_or(ServiceError::CommentNotFound)?;
    let ids = app.store.list_siblings(&row.path, MAX_SIBLINGS).await?;
    let rows = app.store.read_comments(&ids).await?;
    let siblings =
        ids.iter().filter_map(|id| rows.get(id)).map(|r| comment_view::for_every_reader(r, threading)).collect();
    let root_page = page::list_roots(app, &row.subject, PageQuery::first(limits::DEFAULT_PAGE_SIZE)).await?;
    Ok(CommentContext { ancestors, comment, siblings, root_page })
}

/// A comment with what is drawn under it: `depth` levels, at most `limit` nodes, in path order.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn read_tree(
    app: &AppState,
    top: &CommentRow,
    depth: usize,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<CommentTree> {
    let threading = threading_around(app, top)?;
    let from = top.path.depth();
    let (after, left) = match cursor {
        None => (None, top.replies),
        Some(c) if c.list != CursorList::Tree(top.id()) => {
            return Err(ServiceError::BadCursor("belongs to another list"));
        }
        Some(Cursor { at: WalkPosition::Child(child, left), .. }) => {
            (Some(resume_after(app, threading, from, child).await?), left)
        }
        Some(_) => (None, top.replies),
    };
    let bottom = deepest_true_depth(threading, from, depth);
    // One row more than fits: it shows where the answer is cut.
    let mut rows = app.store.list_subtree(&top.path, after.as_deref(), bottom, limit + 1).await?;
    let cut = if rows.len() > limit { rows.pop().map(|row| row.path) } else { None };
    let mut children: HashMap<CommentId, Vec<CommentRow>> = HashMap::new();
    for row in rows {
        if let Some(parent) = threading.drawn_under(&row.path, from) {
            children.entry(parent).or_default().push(row);
        }
    }
    Ok(Drawing { app, threading, from, cut }.node(top, left, &mut children))
}

/// The key that what comes after `child` is beyond: after its descendants, or, where those are
/// drawn beside it, after itself.
async fn resume_after(app: &AppState, threading: Threading, from: usize, child: CommentId) -> ServiceResult<Vec<u8>> {
    let row = app
        .store
        .read_comments(&[child])
        .await?
        .remove(&child)
        .ok_or(ServiceError::BadCursor("does not fit this list"))?;
    let mut key = row.path.as_bytes().to_vec();
    if row.path.depth() < threading.max_level().max(from + 1) {
        // An id is below 2^63, so no descendant's next byte is this large.
        key.push(u8::MAX);
    }
    Ok(key)
}

/// How deep in true depth `depth` drawn levels below `from` reach: at the level limit everything
/// deeper is drawn on that level.
fn deepest_true_depth(threading: Threading, from: usize, depth: usize) -> usize {
    let limit = threading.max_level().max(from + 1);
    if from + depth >= limit { limits::MAX_DEPTH } else { from + depth }
}

struct Drawing<'a> {
    app: &'a AppState,
    threading: Threading,
    from: usize,
    /// The first comment that did not fit.
    cut: Option<Path>,
}

impl Drawing<'_> {
    /// A node with its children. `left`: visible comments to be drawn below it that earlier answers
    /// of the same walk did not show.
    fn node(&self, row: &CommentRow, left: u64, children: &mut HashMap<CommentId, Vec<CommentRow>>) -> CommentTree {
        let rows = children.remove(&row.id()).unwrap_or_default();
        // On the last level a child counts without its replies: they are drawn beside it.
        let last_level = row.path.depth() + 1 >= self.threading.max_level().max(self.from + 1);
        let mut shown = 0;
        let mut nodes = Vec::with_capacity(rows.len());
        for child in &rows {
            let below = if last_level { 0 } else { child.replies };
            shown += u64::from(child.is_visible()) + below;
            nodes.push(self.node(child, below, children));
        }
        let count = left.saturating_sub(shown);
        let is_cut = self.cut.as_ref().is_some_and(|cut| row.path.is_ancestor_of(cut));
        let more = (count > 0 && (is_cut || nodes.is_empty())).then(|| {
            let at = rows.last().map_or(WalkPosition::After(0), |child| WalkPosition::Child(child.id(), count));
            let cursor = Cursor { list: CursorList::Tree(row.id()), sort: Sort::Old, epoch: 0, at };
            TreeMore { count, cursor: self.app.cursor_key.encode(&cursor) }
        });
        CommentTree { comment: comment_view::for_every_reader(row, self.threading), children: nodes, more }
    }
}
