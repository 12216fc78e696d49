//! `/v1/comments/{id}`: one comment, what surrounds it, and what may be done with it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::Response;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::CommentId;
use gailou_shared::list_view::ListView;
use gailou_shared::page_key::{page_key, unless_default};
use gailou_shared::wire::compact::CompactView;
use gailou_shared::wire::{Comment, CommentState, DataEnvelope, FormerTextPage, ListPageInfo};
use gailou_shared::{content, limits};
use serde::Serialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::row::CommentRow;
use crate::http::cached_page::{CacheableRead, PRIVATE_CACHING, list_page};
use crate::http::extract::{
    AfterBody, ChallengedWrite, CountedRead, Decisions, Deletions, Edits, JsonBody, LimitedMember, ListQuery, PathId,
    QueryParameters, RefusedHeader, ReplySorts, UnreadBody, ViewQuery, view_parameter,
};
use crate::http::openapi::bodies::CommentEdit;
use crate::http::openapi::list_views::{CommentChainView, CommentContextView, CommentPageView, CommentTreeView};
use crate::http::openapi::responses::{
    BodyRefusals, Conflict, Gone, MemberRefusals, NotFound, NotModified, PublicRefusals, Unprocessable,
};
use crate::http::openapi::{examples, parameters};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::cache_tags::Tagged;
use crate::service::{ServiceResult, edit, moderate, page, thread};
use crate::state::AppState;

/// Levels below a comment that a tree shows where the query names none.
const DEFAULT_TREE_DEPTH: usize = 3;

/// A page about one comment, built from its row where it is not in memory.
async fn comment_page<T: Serialize + CompactView + Tagged, F: Future<Output = ServiceResult<T>>>(
    app: &AppState,
    read: &CacheableRead,
    id: CommentId,
    key: &str,
    view: ListView,
    build: impl Fn(CommentRow) -> F,
) -> Result<Response, Refusal> {
    let build = || async {
        let row = thread::read_readable_row(app, id, read.audience()).await?;
        let subject = row.subject.clone();
        list_page(view, &build(row).await?, vec![subject])
    };
    read.answer(key, build).await
}

/// A comment.
#[utoipa::path(
    get, path = "/v1/comments/{id}", tag = "comments",
    params(PathId<CommentId>, CacheableRead),
    responses(
        (
            status = 200, description = "The comment; its tombstone when it is deleted.", body = Comment,
            examples(
                ("root" = (summary = "A root", value = json!(examples::root()))),
                ("reply" = (summary = "A reply", value = json!(examples::reply()))),
                ("deleted" = (summary = "A deleted comment", value = json!(examples::tombstone()))),
            ),
        ),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn get_comment(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<CommentId>,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let app = &app;
    let build = |row: CommentRow| async move { thread::show_comment(app, &row) };
    comment_page(app, &read, id, read.path(), ListView::Full, build).await
}

/// The earlier texts of a comment, as readers saw them.
///
/// The first one first. 404 where `rules.show_earlier_texts` is off. Left out is what not every reader saw, and what the word
/// filter would not let through today.
#[utoipa::path(
    get, path = "/v1/comments/{id}/history", tag = "comments",
    params(PathId<CommentId>),
    responses((status = 200, description = "The earlier texts.", body = FormerTextPage), PublicRefusals, NotFound),
)]
pub(super) async fn list_shown_texts(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<CommentId>,
    _: CountedRead,
) -> Result<([(HeaderName, HeaderValue); 1], Json<FormerTextPage>), Refusal> {
    let _place = app.reads.admit().await?;
    let data = thread::list_shown_texts(&app, id).await?;
    let page = FormerTextPage { data, page: ListPageInfo { next: None, has_more: false } };
    Ok(([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(page)))
}

/// The building (盖楼): the chain from the root to the comment.
#[utoipa::path(
    get, path = "/v1/comments/{id}/ancestors", tag = "comments",
    params(PathId<CommentId>, ViewQuery, CacheableRead),
    responses(
        (status = 200, description = "The root first, the comment last.", body = inline(DataEnvelope<CommentChainView>)),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn list_ancestors(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<CommentId>,
    view: ViewQuery,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let app = &app;
    let build = |row: CommentRow| async move { Ok(DataEnvelope { data: thread::list_ancestors(app, &row).await? }) };
    comment_page(app, &read, id, &view.page_key(read.path()), view.0, build).await
}

/// What a permalink needs.
#[utoipa::path(
    get, path = "/v1/comments/{id}/context", tag = "comments",
    params(PathId<CommentId>, ViewQuery, CacheableRead),
    responses(
        (
            status = 200, description = "The comment with what surrounds it.", body = inline(DataEnvelope<CommentContextView>),
        ),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn get_context(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<CommentId>,
    view: ViewQuery,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let app = &app;
    let audience = read.audience();
    let build =
        |row: CommentRow| async move { Ok(DataEnvelope { data: thread::read_context(app, &row, audience).await? }) };
    comment_page(app, &read, id, &view.page_key(read.path()), view.0, build).await
}

/// A page of a comment's descendants, flat.
#[utoipa::path(
    get, path = "/v1/comments/{id}/replies", tag = "comments",
    params(PathId<CommentId>, ListQuery<ReplySorts>, CacheableRead),
    responses(
        (status = 200, description = "The page.", body = inline(CommentPageView)),
        PublicRefusals, NotFound, NotModified, Gone,
    ),
)]
pub(super) async fn list_replies(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<CommentId>,
    query: ListQuery<ReplySorts>,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let (app, page) = (&app, query.page);
    let build = |row: CommentRow| async move { page::list_replies(app, &row, page).await };
    comment_page(app, &read, id, &query.page_key(read.path()), query.view, build).await
}

/// A comment's descendants, nested.
#[utoipa::path(
    get, path = "/v1/comments/{id}/tree", tag = "comments",
    params(PathId<CommentId>, TreeQuery, CacheableRead),
    responses(
        (
            status = 200, description = "The comment with what is drawn under it.", body = inline(DataEnvelope<CommentTreeView>),
            examples(("tree" = (summary = "A root with its one reply", value = json!(examples::tree())))),
        ),
        PublicRefusals, NotFound, NotModified,
    ),
)]
pub(super) async fn get_tree(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<CommentId>,
    query: TreeQuery,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let (app, depth, limit, cursor) = (&app, query.depth, query.limit, query.cursor);
    let build = |row: CommentRow| async move {
        Ok(DataEnvelope { data: thread::read_tree(app, &row, depth, limit, cursor).await? })
    };
    comment_page(app, &read, id, &query.page_key(read.path()), query.view, build).await
}

/// Edit a comment.
///
/// Only its author may, for 15 minutes, and 60 times unless the installation says otherwise.
#[utoipa::path(
    patch, path = "/v1/comments/{id}", tag = "comments",
    params(PathId<CommentId>, ChallengedWrite, RefusedHeader),
    request_body(content = CommentEdit, examples(
        ("edit" = (value = json!({"content": "Well said!"}))),
    )),
    responses(
        (
            status = 200, description = "The comment after the edit.", body = Comment,
            examples(("root" = (summary = "A root", value = json!(examples::root())))),
        ),
        (
            status = 202, body = Comment,
            description = "The edit waits for a moderator: the comment with the new text. Readers see the former one.",
        ),
        MemberRefusals, NotFound, Conflict, BodyRefusals, Unprocessable,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn edit_comment(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Edits>,
    ChallengedWrite(source): ChallengedWrite,
    id: AfterBody<PathId<CommentId>>,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<Comment>), Refusal> {
    let PathId(id) = id?;
    app.rate_limits.count_edit_of(id).await?;
    let text = content::parse_edit(&body, limits::MAX_CONTENT_CHARS).map_err(Refusal::fields)?;
    let comment = edit::edit(&app, &member, &source, id, text).await?;
    let is_held = comment.state == CommentState::Review;
    Ok((if is_held { StatusCode::ACCEPTED } else { StatusCode::OK }, Json(comment)))
}

/// Delete a comment.
///
/// Its author, the subject's owner and moderators may.
#[utoipa::path(
    delete, path = "/v1/comments/{id}", tag = "comments",
    params(PathId<CommentId>),
    responses(
        (status = 204, description = "The comment is deleted, by this call or an earlier one."),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn delete_comment(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Deletions>,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<StatusCode, Refusal> {
    edit::delete(&app, &member, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pin a comment.
///
/// The subject's owner and moderators may. A subject has at most 10 pinned comments.
#[utoipa::path(
    put, path = "/v1/comments/{id}/pin", tag = "comments",
    params(PathId<CommentId>),
    responses((status = 200, description = "The comment after the call.", body = Comment), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(super) async fn pin_comment(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Decisions>,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<Comment>, Refusal> {
    Ok(Json(moderate::pin(&app, &member, id).await?))
}

/// Unpin a comment.
///
/// The subject's owner and moderators may.
#[utoipa::path(
    delete, path = "/v1/comments/{id}/pin", tag = "comments",
    params(PathId<CommentId>),
    responses((status = 200, description = "The comment after the call.", body = Comment), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(super) async fn unpin_comment(
    State(app): State<Arc<AppState>>,
    LimitedMember { member, .. }: LimitedMember<Decisions>,
    _: UnreadBody,
    PathId(id): PathId<CommentId>,
) -> Result<Json<Comment>, Refusal> {
    Ok(Json(moderate::unpin(&app, &member, id).await?))
}

/// The requested part of a tree.
#[derive(Debug)]
pub(super) struct TreeQuery {
    depth: usize,
    limit: usize,
    cursor: Option<Cursor>,
    /// As it was sent.
    sent_cursor: Option<String>,
    view: ListView,
}

impl TreeQuery {
    fn page_key(&self, path: &str) -> String {
        let depth = unless_default(self.depth, DEFAULT_TREE_DEPTH);
        let limit = unless_default(self.limit, limits::DEFAULT_TREE_NODES);
        let cursor = ("cursor", self.sent_cursor.clone());
        page_key(path, &[("depth", depth), ("limit", limit), cursor, self.view.key_parameter()])
    }
}

impl FromRequestParts<HttpState> for TreeQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let depth = query.number("depth", limits::MAX_DEPTH, DEFAULT_TREE_DEPTH);
        let limit = query.number("limit", limits::MAX_TREE_NODES, limits::DEFAULT_TREE_NODES);
        let (depth, limit, view) = match (depth, limit, query.view()) {
            (Ok(depth), Ok(limit), Ok(view)) => (depth, limit, view),
            (depth, limit, view) => {
                let errors = [depth.err(), limit.err(), view.err()];
                return Err(Refusal::fields(errors.into_iter().flatten().collect()));
            }
        };
        let (cursor, sent_cursor) = (query.cursor(&state.app)?, query.get("cursor").map(str::to_owned));
        Ok(Self { depth, limit, cursor, sent_cursor, view })
    }
}

impl IntoParams for TreeQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let (max_nodes, nodes) = (limits::MAX_TREE_NODES, limits::DEFAULT_TREE_NODES);
        vec![
            parameters::whole_number("depth", "Levels below the comment.", limits::MAX_DEPTH, DEFAULT_TREE_DEPTH),
            parameters::whole_number("limit", "Most comments in the answer.", max_nodes, nodes),
            parameters::cursor("`more.cursor` of this comment."),
            view_parameter(),
        ]
    }
}
