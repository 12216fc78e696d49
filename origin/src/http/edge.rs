//! `/v1/edge/changes`: what the edge needs to know, for the edge alone.

use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::http::header;
use axum::response::IntoResponse;
use gailou_shared::wire::Code;

use crate::error::ApiError;
use crate::http::request::Query;
use crate::http::{Client, JSON, refused};
use crate::state::AppState;
use crate::state::change_feed::Span;

pub(super) async fn get_changes(
    State(app): State<Arc<AppState>>,
    Extension(client): Extension<Client>,
    request: Request,
) -> Result<impl IntoResponse, ApiError> {
    if app.config.edge.secret.is_some() && !client.by_edge {
        return Err(refused());
    }
    let span = if Query::of(&request)?.get("day") == Some("1") { Span::Day } else { Span::Tail };
    let document = app.change_feed.document(span, app.now(), app.dictionary().version());
    let document = document.ok_or_else(|| ApiError::new(Code::Unavailable, "the tables cannot be read"))?;
    Ok(([(header::CONTENT_TYPE, JSON), (header::CACHE_CONTROL, "no-store")], document.to_json()))
}
