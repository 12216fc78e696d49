//! `/v1/members/{id}/comments`.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use gailou_shared::limits;

use crate::error::ApiError;
use crate::http::request::{Query, member_id, page_key};
use crate::http::send;
use crate::http::subjects::json_page;
use crate::service::{member, view};
use crate::state::AppState;

pub(super) async fn list_history(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let path = request.uri().path();
    let id = member_id(path)?;
    let query = Query::of(&request)?;
    let limit = query
        .number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE)
        .map_err(|e| ApiError::fields(vec![e]))?;
    let cursor = query.cursor(&app)?;
    let key = page_key(
        path,
        &[
            ("limit", (limit != limits::DEFAULT_PAGE_SIZE).then(|| limit.to_string())),
            ("cursor", query.get("cursor").map(str::to_owned)),
        ],
    );
    let page = app
        .page_cache
        .get_or_build(&key, || async {
            let page = member::history(&app, id, limit, cursor).await?;
            let subjects = view::subjects(&page.data);
            json_page(&page, subjects)
        })
        .await?;
    Ok(send(&page, request.headers()))
}
