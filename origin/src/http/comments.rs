//! `/v1/comments/{id}` and what hangs on it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use gailou_shared::id::CommentId;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Comment, DataEnvelope};
use gailou_shared::{content, limits};
use serde::Serialize;

use crate::domain::row::CommentRow;
use crate::error::ApiError;
use crate::http::request::{Query, comment_id, json_body, list_key, member, member_and_comment, page_key};
use crate::http::send;
use crate::http::subjects::json_page;
use crate::service::cache_tags::Showing;
use crate::service::{change, page, thread};
use crate::state::AppState;

/// Levels below a comment that one tree shows.
const DEPTH_DEFAULT: usize = 3;

/// A page about one comment, built from its row when it is not in memory.
async fn about<T: Serialize + Showing, F: Future<Output = Result<T, ApiError>>>(
    app: &AppState,
    request: &HeaderMap,
    (id, key): (CommentId, &str),
    build: impl Fn(CommentRow) -> F,
) -> Result<Response, ApiError> {
    let page = app
        .page_cache
        .get_or_build(key, || async {
            let row = thread::find(app, id).await?;
            let subject = row.subject.clone();
            json_page(&build(row).await?, vec![subject])
        })
        .await?;
    Ok(send(&page, request))
}

pub(super) async fn get_comment(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let app = &app;
    let build = |row: CommentRow| async move { thread::comment(app, &row) };
    about(app, request.headers(), (comment_id(path)?, path), build).await
}

pub(super) async fn list_ancestors(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let app = &app;
    let build = |row: CommentRow| async move { Ok(DataEnvelope { data: thread::ancestors(app, &row).await? }) };
    about(app, request.headers(), (comment_id(path)?, path), build).await
}

pub(super) async fn get_context(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let app = &app;
    let build = |row: CommentRow| async move { Ok(DataEnvelope { data: thread::context(app, &row).await? }) };
    about(app, request.headers(), (comment_id(path)?, path), build).await
}

pub(super) async fn list_replies(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = comment_id(path)?;
    let query = Query::of(&request)?;
    let asked = query.asked(&app, &[Sort::Hot, Sort::Old, Sort::New])?;
    let app = &app;
    let build = |row: CommentRow| async move { page::replies(app, &row, asked).await };
    about(app, request.headers(), (id, &list_key(path, &query, &asked)), build).await
}

pub(super) async fn get_tree(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = comment_id(path)?;
    let query = Query::of(&request)?;
    let (depth, limit) = match (
        query.number("depth", limits::MAX_DEPTH, DEPTH_DEFAULT),
        query.number("limit", limits::MAX_TREE_NODES, limits::DEFAULT_TREE_NODES),
    ) {
        (Ok(depth), Ok(limit)) => (depth, limit),
        (depth, limit) => return Err(ApiError::fields([depth.err(), limit.err()].into_iter().flatten().collect())),
    };
    let cursor = query.cursor(&app)?;
    let key = page_key(
        path,
        &[
            ("depth", (depth != DEPTH_DEFAULT).then(|| depth.to_string())),
            ("limit", (limit != limits::DEFAULT_TREE_NODES).then(|| limit.to_string())),
            ("cursor", query.get("cursor").map(str::to_owned)),
        ],
    );
    let app = &app;
    let build = |row: CommentRow| async move {
        Ok(DataEnvelope { data: thread::tree(app, &row, depth, limit, cursor).await? })
    };
    about(app, request.headers(), (id, &key), build).await
}

pub(super) async fn edit_comment(
    State(app): State<Arc<AppState>>,
    request: Request,
) -> Result<Json<Comment>, ApiError> {
    let member = member(&app, request.headers())?;
    let path = request.uri().path().to_owned();
    let body = json_body(request).await?;
    let id = comment_id(&path)?;
    let text = content::parse_edit(&body, limits::MAX_CONTENT_CHARS).map_err(ApiError::fields)?;
    Ok(Json(change::edit(&app, &member, id, text).await?))
}

pub(super) async fn delete_comment(State(app): State<Arc<AppState>>, request: Request) -> Result<StatusCode, ApiError> {
    let (member, id) = member_and_comment(&app, &request)?;
    change::delete(&app, &member, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn pin(State(app): State<Arc<AppState>>, request: Request) -> Result<Json<Comment>, ApiError> {
    let (member, id) = member_and_comment(&app, &request)?;
    Ok(Json(change::pin(&app, &member, id, true).await?))
}

pub(super) async fn unpin(State(app): State<Arc<AppState>>, request: Request) -> Result<Json<Comment>, ApiError> {
    let (member, id) = member_and_comment(&app, &request)?;
    Ok(Json(change::pin(&app, &member, id, false).await?))
}
