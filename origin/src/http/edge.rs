//! `/v1/edge/changes`: the change feed, for the edge alone.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::header;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use gailou_shared::wire::{ChangeFeedPage, Code};

use crate::http::cached_page::JSON_TYPE;
use crate::http::extract::{QueryParameters, RequestClient};
use crate::http::openapi::responses::EdgeRefusals;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::state::AppState;
use crate::state::change_feed::Span;

/// The change feed.
///
/// For the edge: the comments that were edited, removed or restored. With an edge secret, only for requests that
/// the edge signed.
#[utoipa::path(
    get, path = "/v1/edge/changes", tag = "operations",
    params(
        ("day" = Option<String>, Query, description = "`1`: everything that is kept; otherwise the last two minutes."),
    ),
    responses((status = 200, description = "The changes.", body = ChangeFeedPage), EdgeRefusals),
)]
pub(super) async fn get_changes(
    State(app): State<Arc<AppState>>,
    _: FromTheEdge,
    query: QueryParameters,
) -> Result<impl IntoResponse, Refusal> {
    let span = if query.get("day") == Some("1") { Span::Full } else { Span::Tail };
    let page = app.change_feed.page(span, app.now(), app.dictionary().version());
    let page = page.ok_or_else(|| Refusal::new(Code::Unavailable, "the tables cannot be read"))?;
    Ok(([(header::CONTENT_TYPE, JSON_TYPE), (header::CACHE_CONTROL, "no-store")], page.to_json()))
}

/// A request that the edge signed; without an edge secret, any request.
#[derive(Debug)]
pub(super) struct FromTheEdge;

impl FromRequestParts<HttpState> for FromTheEdge {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let Ok(client) = RequestClient::from_request_parts(parts, state).await;
        let is_refused = state.app.config.edge.secret.is_some() && !client.is_edge;
        if is_refused { Err(Refusal::not_from_the_edge()) } else { Ok(Self) }
    }
}
