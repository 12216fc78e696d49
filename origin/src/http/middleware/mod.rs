//! What every request goes through that no ready page answers, in this order:
//!
//! 1. it gets an id ([`request_id`]) and its CORS headers ([`cors`]);
//! 2. a path with a dot segment is refused, a preflight ends here; any other request gets its sender's address, and its edge's signature is
//!    checked ([`edge_signature`]);
//! 3. its route answers; a page that is sent counts as read;
//! 4. a refusal becomes a problem that names the request's id;
//! 5. its duration is recorded ([`metrics`]).
//!
//! One function instead of a stack of layers: each layer of axum costs a request an allocation and a
//! clone of the service behind it. The layers of `tower-http` do not fit, see `docs/decisions.md`.

pub(super) mod cors;
mod edge_signature;
mod metrics;
pub(super) mod request_id;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use gailou_shared::request_path::{DOT_SEGMENT_DETAIL, has_dot_segment};
use tokio::time::Instant;

use crate::http::cached_page::SentPage;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

pub(super) async fn handle(State(state): State<HttpState>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = request_id::of(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let cors = cors::headers(&state.app.config, &method, &path, request.headers());
    let mut response = if has_dot_segment(&path) {
        Refusal::field("path", DOT_SEGMENT_DETAIL).into_response()
    } else if method == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        match edge_signature::verify(&state.app, request).await {
            Ok(request) => next.run(request).await,
            Err(refused) => refused.into_response(),
        }
    };
    if let Some(SentPage(page)) = response.extensions_mut().remove() {
        page.count_read();
    }
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        response = refusal.into_problem(&id, &method, route.as_ref());
    }
    let headers = response.headers_mut();
    headers.insert(request_id::REQUEST_ID_HEADER, id);
    headers.extend(cors);
    metrics::record(&method, route.as_ref(), response.status(), begun.elapsed());
    response
}
