//! One comment and what surrounds it: its tree, its chain (盖楼), its context.

use std::collections::HashMap;

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::path::{Path, Threading};
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Comment, CommentContext, CommentState, CommentTree, FormerText, TreeMore};

use crate::domain::row::{CommentRow, EarlierText};
use crate::service::answer_rows::{fitting, json_bytes};
use crate::service::filter::filter_and_render;
use crate::service::page::PageQuery;
use crate::service::subject::{SubjectAudience, check_seen, threading_around};
use crate::service::{ServiceError, ServiceResult, comment_view, page};
use crate::state::AppState;

/// What an answer has around its comments, in bytes.
const MAX_ENVELOPE_BYTES: usize = 1_024;
/// Siblings shown with a permalink.
const MAX_SIBLINGS: usize = 10;
/// Most bytes of them.
const MAX_SIBLING_BYTES: usize = limits::MAX_LIST_BYTES / 4;
/// Most bytes of the chain above a permalink: with the siblings and the page of roots, an answer stays below
/// [`limits::MAX_TREE_BYTES`].
const MAX_CONTEXT_CHAIN_BYTES: usize = limits::MAX_LIST_BYTES / 2;
/// Nodes of a tree that are read before their size is known. The largest ones take 10 MB.
const FIRST_TREE_READ: usize = 100;

/// The row of a comment that this audience may read by its id.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], or the store's.
pub async fn read_readable_row(app: &AppState, id: CommentId, audience: SubjectAudience) -> ServiceResult<CommentRow> {
    let row = app.store.read_comments(&[id]).await?.remove(&id).filter(comment_view::is_readable_by_id);
    let row = row.ok_or(ServiceError::CommentNotFound)?;
    check_seen(app, &row.subject, audience).await?;
    Ok(row)
}

/// The comment as every reader sees it, without its replies.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`] when its type is not configured any more.
pub fn show_comment(app: &AppState, row: &CommentRow) -> ServiceResult<Comment> {
    Ok(comment_view::for_every_reader(app, row, threading_around(app, row)?))
}

/// The earlier texts of a comment that every reader saw, the first one first. One that the dictionary would not let
/// through today is left out.
///
/// # Errors
/// [`ServiceError::NotFound`] where the installation does not show them, `CommentNotFound`, or the store's.
pub async fn list_shown_texts(app: &AppState, id: CommentId) -> ServiceResult<Vec<FormerText>> {
    if !app.settings().values.rules.show_earlier_texts {
        return Err(ServiceError::NotFound("earlier texts are not shown here"));
    }
    let row = read_readable_row(app, id, SubjectAudience::EveryReader).await?;
    if !row.is_visible() {
        return Err(ServiceError::CommentNotFound);
    }
    let earlier = app.tables.read_other_texts(id).await?.earlier;
    let dictionary = app.dictionary();
    let mut shown = Vec::with_capacity(earlier.len());
    for EarlierText { content, replaced_at, .. } in earlier.into_iter().filter(|text| text.was_shown) {
        match filter_and_render(&dictionary, content).await {
            Ok(text) if text.state == CommentState::Published => {
                shown.push(FormerText { content: text.content, replaced_at });
            }
            _ => {}
        }
    }
    Ok(shown)
}

/// The chain from the root to the comment.
///
/// # Errors
/// The store's.
pub async fn list_ancestors(app: &AppState, row: &CommentRow) -> ServiceResult<Vec<Comment>> {
    chain(app, row, limits::MAX_LIST_BYTES - MAX_ENVELOPE_BYTES).await
}

/// The chain from the root to the comment, as far as a page can hold it beside others.
///
/// # Errors
/// The store's.
pub async fn list_context_chain(app: &AppState, row: &CommentRow) -> ServiceResult<Vec<Comment>> {
    chain(app, row, MAX_CONTEXT_CHAIN_BYTES).await
}

/// The chain within `max_bytes`: the root, and as many comments up from the last one as fit. What is left
/// out between them is missing from the chain, not from any comment's `path`.
async fn chain(app: &AppState, row: &CommentRow, max_bytes: usize) -> ServiceResult<Vec<Comment>> {
    let threading = threading_around(app, row)?;
    let ids: Vec<_> = row.path.ids().collect();
    let rows = app.store.read_comments(&ids).await?;
    let mut chain: Vec<_> = ids.iter().filter_map(|id| rows.get(id)).collect();
    let (root, below) = chain.split_at(chain.len().min(1));
    let shown = fitting(root.iter().chain(below.iter().rev()).copied(), max_bytes).count().max(2).min(chain.len());
    chain.drain(1..=chain.len() - shown);
    Ok(chain.into_iter().map(|r| comment_view::for_every_reader(app, r, threading)).collect())
}

/// What a permalink needs.
///
/// # Errors
/// The store's.
pub async fn read_context(
    app: &AppState,
    row: &CommentRow,
    audience: SubjectAudience,
) -> ServiceResult<CommentContext> {
    let threading = threading_around(app, row)?;
    let mut ancestors = chain(app, row, MAX_CONTEXT_CHAIN_BYTES).await?;
    let comment = ancestors.pop().ok_or(ServiceError::CommentNotFound)?;
    let ids = app.store.list_siblings(&row.path, MAX_SIBLINGS).await?;
    let rows = app.store.read_comments(&ids).await?;
    let siblings = fitting(ids.iter().filter_map(|id| rows.get(id)), MAX_SIBLING_BYTES);
    let siblings = siblings.map(|r| comment_view::for_every_reader(app, r, threading)).collect();
    let first = PageQuery::first(limits::DEFAULT_PAGE_SIZE);
    let root_page = page::list_roots(app, &row.subject, first, audience).await?;
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
    let (rows, cut) = read_subtree(app, top, after, bottom, limit).await?;
    let mut children: HashMap<CommentId, Vec<CommentRow>> = HashMap::new();
    for row in rows {
        if let Some(parent) = threading.drawn_under(&row.path, from) {
            children.entry(parent).or_default().push(row);
        }
    }
    Ok(Drawing { app, threading, from, cut }.node(top, left, &mut children))
}

/// The first rows below `top` that the answer shows, and the first one that it does not.
async fn read_subtree(
    app: &AppState,
    top: &CommentRow,
    mut after: Option<Vec<u8>>,
    bottom: usize,
    limit: usize,
) -> ServiceResult<(Vec<CommentRow>, Option<Path>)> {
    let mut left_bytes = (limits::MAX_TREE_BYTES - MAX_ENVELOPE_BYTES).saturating_sub(node_bytes(top));
    let mut shown: Vec<CommentRow> = Vec::new();
    let mut count = FIRST_TREE_READ.min(limit + 1);
    loop {
        let rows = app.store.list_subtree(&top.path, after.as_deref(), bottom, count).await?;
        let is_last = rows.len() < count;
        for row in rows {
            let bytes = node_bytes(&row);
            // The row that does not fit shows where the answer is cut.
            if shown.len() == limit || (bytes > left_bytes && !shown.is_empty()) {
                return Ok((shown, Some(row.path)));
            }
            left_bytes = left_bytes.saturating_sub(bytes);
            shown.push(row);
        }
        if is_last {
            return Ok((shown, None));
        }
        after = shown.last().map(|row| row.path.as_bytes().to_vec());
        // As many again as fit, if they are as large as those before.
        let mean_bytes = (limits::MAX_TREE_BYTES - left_bytes) / shown.len().max(1);
        count = (left_bytes / mean_bytes.max(1) + 1).min(limit + 1 - shown.len());
    }
}

/// No less than the bytes of a comment in a tree: itself, and a cursor.
fn node_bytes(row: &CommentRow) -> usize {
    json_bytes(row) + limits::MAX_CURSOR_CHARS + MAX_ENVELOPE_BYTES / 16
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
        CommentTree { comment: comment_view::for_every_reader(self.app, row, self.threading), children: nodes, more }
    }
}
