//! `/v1/comments/{id}` and what hangs on it.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use gailou_shared::content;
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::wire::{Comment, Data};

use super::request::{Query, comment_id, json_body, list_key, member, member_and_comment, page_key};
use super::send;
use super::subjects::json_page;
use crate::app::App;
use crate::error::ApiError;
use crate::service::{change, page, thread};

/// Levels below a comment that one tree shows.
const DEPTH_DEFAULT: usize = 3;

pub(super) async fn get_comment(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = comment_id(path)?;
    let page = app
        .pages
        .get_or_build(path, || async {
            let row = thread::find(&app, id).await?;
            json_page(&thread::comment(&app, &row)?, vec![row.subject])
        })
        .await?;
    Ok(send(&page, request.headers()))
}

pub(super) async fn list_replies(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = comment_id(path)?;
    let query = Query::of(&request)?;
    let asked = query.asked(&app, &[Sort::Hot, Sort::Old, Sort::New])?;
    let page = app
        .pages
        .get_or_build(&list_key(path, &query, &asked), || async {
            let row = thread::find(&app, id).await?;
            json_page(&page::replies(&app, &row, asked).await?, vec![row.subject])
        })
        .await?;
    Ok(send(&page, request.headers()))
}

pub(super) async fn get_tree(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = comment_id(path)?;
    let query = Query::of(&request)?;
    let (depth, limit) = match (
        query.number("depth", limits::DEPTH, DEPTH_DEFAULT),
        query.number("limit", limits::TREE_NODES, limits::TREE_NODES_DEFAULT),
    ) {
        (Ok(depth), Ok(limit)) => (depth, limit),
        (depth, limit) => return Err(ApiError::fields([depth.err(), limit.err()].into_iter().flatten().collect())),
    };
    let cursor = query.cursor(&app)?;
    let key = page_key(
        path,
        &[
            ("depth", (depth != DEPTH_DEFAULT).then(|| depth.to_string())),
            ("limit", (limit != limits::TREE_NODES_DEFAULT).then(|| limit.to_string())),
            ("cursor", query.get("cursor").map(str::to_owned)),
        ],
    );
    let page = app
        .pages
        .get_or_build(&key, || async {
            let row = thread::find(&app, id).await?;
            json_page(&Data { data: thread::tree(&app, &row, depth, limit, cursor).await? }, vec![row.subject])
        })
        .await?;
    Ok(send(&page, request.headers()))
}

pub(super) async fn list_ancestors(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = comment_id(path)?;
    let page = app
        .pages
        .get_or_build(path, || async {
            let row = thread::find(&app, id).await?;
            json_page(&Data { data: thread::ancestors(&app, &row).await? }, vec![row.subject])
        })
        .await?;
    Ok(send(&page, request.headers()))
}

pub(super) async fn get_context(State(app): State<Arc<App>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = comment_id(path)?;
    let page = app
        .pages
        .get_or_build(path, || async {
            let row = thread::find(&app, id).await?;
            json_page(&Data { data: thread::context(&app, &row).await? }, vec![row.subject])
        })
        .await?;
    Ok(send(&page, request.headers()))
}

pub(super) async fn edit_comment(State(app): State<Arc<App>>, request: Request) -> Result<Json<Comment>, ApiError> {
    let member = member(&app, request.headers())?;
    let path = request.uri().path().to_owned();
    let body = json_body(request).await?;
    let id = comment_id(&path)?;
    let text = content::edit(&body, limits::CONTENT_CHARS).map_err(ApiError::fields)?;
    Ok(Json(change::edit(&app, &member, id, text).await?))
}

pub(super) async fn delete_comment(State(app): State<Arc<App>>, request: Request) -> Result<StatusCode, ApiError> {
    let (member, id) = member_and_comment(&app, &request)?;
    change::delete(&app, &member, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

pub(super) async fn pin(State(app): State<Arc<App>>, request: Request) -> Result<Json<Comment>, ApiError> {
    let (member, id) = member_and_comment(&app, &request)?;
    Ok(Json(change::pin(&app, &member, id, true).await?))
}

pub(super) async fn unpin(State(app): State<Arc<App>>, request: Request) -> Result<Json<Comment>, ApiError> {
    let (member, id) = member_and_comment(&app, &request)?;
    Ok(Json(change::pin(&app, &member, id, false).await?))
}
