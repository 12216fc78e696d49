//! `/v1/me/overlay`.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use gailou_shared::id::CommentId;
use gailou_shared::limits;

use crate::error::ApiError;
use crate::http::request::{Query, member};
use crate::service::member::overlay;
use crate::state::AppState;

pub(super) async fn get_overlay(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, ApiError> {
    let reader = member(&app, request.headers())?;
    let query = Query::of(&request)?;
    let texts: Vec<&str> = query.all("ids").flat_map(|list| list.split(',')).filter(|id| !id.is_empty()).collect();
    if texts.len() > limits::MAX_OVERLAY_IDS {
        return Err(ApiError::field("ids", "must be at most 400 ids"));
    }
    let wrong = |_| ApiError::field("ids", "must be comment ids, separated by commas");
    let ids: Vec<CommentId> = texts.into_iter().map(str::parse).collect::<Result<_, _>>().map_err(wrong)?;
    let overlay = overlay(&app, &reader, &ids).await?;
    Ok(([(header::CACHE_CONTROL, "private, no-store")], Json(overlay)).into_response())
}
