//! What every request goes through that no ready page answers, in this order:
//!
//! 1. its edge's signature and its sender's address are found ([`edge_signature`]);
//! 2. it gets an id ([`request_id`]), a span in the trace that the edge has begun or in one of its own, and one in the
//!    log; a path with a dot segment is refused, then its CORS headers are found ([`cors`]), which may cost its sender
//!    a read; a preflight ends here, and so does what is not signed as it must be;
//! 3. its route answers; a page that is sent counts as read;
//! 4. a refusal becomes a problem that names the request's id, or a page that says so to who reads documents;
//! 5. its duration is recorded ([`metrics`]).
//!
//! One function instead of a stack of layers: each layer of axum costs a request an allocation and a
//! clone of the service behind it. The layers of `tower-http` do not fit, see `docs/decisions.md`.

pub(super) mod cors;
mod edge_signature;
mod metrics;
pub(super) mod request_id;

pub(super) use cors::is_own_page;
pub(super) use edge_signature::network_of_socket;

use std::net::IpAddr;

use edge_signature::RequestSender;

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use gailou_shared::edge_protocol::SIGNATURE_HEADER;
use gailou_shared::refusal_page::DocumentRead;
use gailou_shared::request_path::{DOT_SEGMENT_DETAIL, has_dot_segment};
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::http::cached_page::SentPage;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::telemetry::trace::{TRACE_PARENT, request_span, trace_id};

/// A browser takes an answer for what it says that it is.
pub(super) const NO_SNIFFING: HeaderValue = HeaderValue::from_static("nosniff");

/// The CORS headers and the answer, which is a bare status for a refusal.
async fn answer(
    state: &HttpState,
    sender: Result<RequestSender, Refusal>,
    socket: Option<IpAddr>,
    (method, path): (&Method, &str),
    request: Request,
    next: Next,
) -> (HeaderMap, Response) {
    let app = &state.app;
    if has_dot_segment(path) {
        let cors = cors::headers(|site| cors::may_call(app, "", path, site), method, path, request.headers());
        return (cors, Refusal::field("path", DOT_SEGMENT_DETAIL).into_response());
    }
    // What the edge did not sign counts for the socket's network: unsigned preflights, and forgeries.
    let network = sender.as_ref().map_or(socket, RequestSender::network);
    let kind = cors::subject_type(app, network, method, path, request.headers()).await;
    let may_call = |site: &str| cors::may_call(app, kind.as_deref().unwrap_or_default(), path, site);
    let cors = cors::headers(may_call, method, path, request.headers());
    let response = match kind.and_then(|kind| cors::refuse_site(app, &kind, &cors, &request)) {
        Err(refused) => refused.into_response(),
        Ok(()) if *method == Method::OPTIONS => StatusCode::NO_CONTENT.into_response(),
        Ok(()) => match admit(sender, request).await {
            Ok(request) => {
                let mut response = next.run(request).await;
                if let Some(SentPage(page)) = response.extensions_mut().remove() {
                    page.count_read(network);
                }
                response
            }
            Err(refused) => refused.into_response(),
        },
    };
    (cors, response)
}

async fn admit(sender: Result<RequestSender, Refusal>, request: Request) -> Result<Request, Refusal> {
    sender?.admit(request).await
}

/// The read of a document, from a browser. The edge answers its own browsers so, and needs the problem.
fn document_read(request: &Request) -> Option<DocumentRead> {
    let text =
        |name: &HeaderName| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if request.headers().contains_key(SIGNATURE_HEADER) {
        return None;
    }
    let uri = request.uri();
    DocumentRead::of(uri.path(), uri.query(), text(&header::ACCEPT), text(&header::ACCEPT_LANGUAGE))
}

pub(super) async fn handle(State(state): State<HttpState>, request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let socket = network_of_socket(&state.app, &request);
    let sender = edge_signature::verify(&state.app, socket, &request);
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let route = request.extensions().get::<MatchedPath>().cloned();
    let read = document_read(&request);
    let label = route.as_ref().map_or("none", MatchedPath::as_str);
    // A stranger's trace is none of ours.
    let parent = request.headers().get(TRACE_PARENT).filter(|_| sender.as_ref().is_ok_and(RequestSender::is_edge));
    let span = request_span(metrics::known_method(&method), label, parent.and_then(|parent| parent.to_str().ok()));
    let id = request_id::of(request.headers(), trace_id(&span));
    let request_id = id.to_str().unwrap_or_default();
    span.record("request_id", request_id);
    let logged = tracing::info_span!("request", request_id);
    let answer = answer(&state, sender, socket, (&method, &path), request, next);
    let (cors, mut response) = answer.instrument(logged).instrument(span.clone()).await;
    span.record("http.response.status_code", response.status().as_u16());
    if let Some(refusal) = response.extensions_mut().remove::<Refusal>() {
        response = refusal.into_problem(&id, &method, route.as_ref(), read.as_ref());
    }
    let headers = response.headers_mut();
    headers.insert(request_id::REQUEST_ID_HEADER, id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NO_SNIFFING);
    headers.extend(cors);
    metrics::record(&method, route.as_ref(), response.status(), begun.elapsed());
    response
}
