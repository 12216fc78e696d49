//! The route table of the contract, as the edge serves it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, delete, get, patch, post, put};
use gailou_shared::refusal_page::{CONTENT_SECURITY_POLICY as DOCUMENT_POLICY, DocumentRead};
use gailou_shared::request_path::DOT_SEGMENT_DETAIL;
use gailou_shared::wire::{Code, FieldError};
use http::header::{
    ACCEPT, ACCEPT_LANGUAGE, ACCESS_CONTROL_ALLOW_CREDENTIALS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, AUTHORIZATION, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    HeaderName, HeaderValue, IF_NONE_MATCH, ORIGIN, VARY,
};
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use serde::Deserialize;
use tower_service::Service as _;

use crate::Isolate;
use crate::bounded_body::read_bounded;
use crate::event_stream;
use crate::forward::{Requester, header_text, is_problem};
use crate::page_key::{PageKey, query_with_language};
use crate::page_service::{self, PageRequest};
use crate::ports::{PortFuture, Ports};
use crate::push;
use crate::rate_limits::network_of;
use crate::request_target::canonical_target;
use crate::response::{REQUEST_ID, problem};
use crate::writes::{self, RouteRule};

/// Paths whose client sends every call as if there were a cookie, for which a browser takes no `*`.
const CREDENTIALED_PATHS: &str = "/compat/isso/";
/// No problem is larger.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;

type EdgeRoutes = MethodRouter<Arc<Isolate>>;

/// The routes: all of the contract's calls and no others, so that nothing else of the origin can be
/// reached. `page()` is a public read; every other route is checked by its rule.
pub fn router(isolate: Arc<Isolate>) -> Router {
    let page = || get(public_page);
    Router::new()
        .route("/v1/subjects/{type}/{key}", page())
        .route("/v1/subjects/{type}/{key}/comments", page().merge(post(checked(RouteRule::PUBLISHED_TEXT))))
        .route("/v1/subjects/{type}/{key}/events", get(subject_events))
        .route("/v1/subjects/{type}/{key}/feed.atom", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/subjects/{type}/{key}/search", get(checked(RouteRule::ANY_REQUEST)))
        .route(
            "/v1/subjects/{type}/{key}/watch",
            get(checked(RouteRule::MEMBER_CALL))
                .merge(put(checked(RouteRule::MEMBER_CALL)))
                .merge(delete(checked(RouteRule::MEMBER_CALL))),
        )
        .route(
            "/v1/comments/{id}",
            page().merge(patch(checked(RouteRule::PUBLISHED_TEXT))).merge(delete(checked(RouteRule::MEMBER_CALL))),
        )
        .route("/v1/comments/{id}/replies", page())
        .route("/v1/comments/{id}/tree", page())
        .route("/v1/comments/{id}/ancestors", page())
        .route("/v1/comments/{id}/context", page())
        .route("/v1/comments/{id}/history", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/comments/{id}/like", toggle())
        .route("/v1/comments/{id}/dislike", toggle())
        .route("/v1/comments/{id}/pin", toggle())
        .route("/v1/comments/{id}/reports", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/counts", page())
        .route("/v1/latest", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/latest.atom", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/members/{id}/comments", page())
        .route("/v1/media", post(checked(RouteRule::PICTURE_UPLOAD)))
        .route("/v1/media/{name}", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/avatars/{hash}", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/avatars/{signature}/{address}", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/preview", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/guests", post(checked(RouteRule::GUEST_JSON)))
        .route("/v1/guests/me", patch(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/auth/providers", get(checked(RouteRule::ANY_REQUEST)))
        .route("/v1/auth/email", post(checked(RouteRule::GUEST_JSON)))
        .route("/v1/auth/refresh", post(checked(RouteRule::SIGN_IN)))
        .route("/v1/auth/session", post(checked(RouteRule::SIGN_IN)).merge(delete(checked(RouteRule::SIGN_IN))))
        .route("/v1/auth/passkeys", get(checked(RouteRule::MEMBER_CALL)).merge(post(checked(RouteRule::MEMBER_JSON))))
        .route(
            "/v1/auth/passkeys/{id}",
            patch(checked(RouteRule::MEMBER_JSON)).merge(delete(checked(RouteRule::MEMBER_CALL))),
        )
        .route("/v1/auth/passkeys/registration", post(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/auth/passkeys/challenge", post(checked(RouteRule::SIGN_IN)))
        .route("/v1/auth/passkeys/session", post(checked(RouteRule::SIGN_IN)))
        .route("/v1/auth/{provider}", get(checked(RouteRule::SIGN_IN)))
        .route(
            "/v1/auth/{provider}/callback",
            get(checked(RouteRule::SIGN_IN)).merge(post(checked(RouteRule::SIGN_IN))),
        )
        .route(
            "/v1/me",
            get(checked(RouteRule::MEMBER_CALL))
                .merge(patch(checked(RouteRule::MEMBER_JSON)))
                .merge(delete(checked(RouteRule::MEMBER_CALL))),
        )
        .route("/v1/me/merge", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/me/export", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/me/overlay", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/me/friends/comments", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/me/notifications", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/me/notifications/read", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/me/watches", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/unsubscribe", get(checked(RouteRule::ANY_REQUEST)).merge(post(checked(RouteRule::ANY_REQUEST))))
        .route("/v1/admin/queue", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/queue/lease", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/admin/comments", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/comments/{id}", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/comments/{id}/decision", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/admin/comments/{id}/block-network", post(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/comments/{id}/history", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/comments/{id}/reports", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/decisions", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/admin/rejected", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/rejected/{id}", delete(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/rejected/{id}/accept", post(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/audit", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/audit/{id}/undo", post(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/stats", get(checked(RouteRule::MEMBER_CALL)))
        .route(
            "/v1/admin/words",
            get(checked(RouteRule::MEMBER_CALL))
                .merge(put(checked(RouteRule::MEMBER_JSON)))
                .merge(patch(checked(RouteRule::MEMBER_JSON))),
        )
        .route("/v1/admin/members", get(checked(RouteRule::MEMBER_CALL)))
        .route(
            "/v1/admin/members/{id}",
            get(checked(RouteRule::MEMBER_CALL))
                .merge(put(checked(RouteRule::MEMBER_JSON)))
                .merge(delete(checked(RouteRule::MEMBER_CALL))),
        )
        .route("/v1/admin/words/test", post(checked(RouteRule::MEMBER_JSON)))
        .route("/v1/admin/settings", get(checked(RouteRule::MEMBER_CALL)).merge(patch(checked(RouteRule::MEMBER_JSON))))
        .route("/v1/admin/webhooks", get(checked(RouteRule::MEMBER_CALL)).merge(post(checked(RouteRule::MEMBER_JSON))))
        .route("/v1/admin/webhooks/{id}", delete(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/webhooks/{id}/deliveries", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/webhooks/{id}/deliveries/{delivery}/retry", post(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/subjects", get(checked(RouteRule::MEMBER_CALL)))
        .route("/v1/admin/subjects/{type}/{key}", put(checked(RouteRule::MEMBER_JSON)))
        .route("/t/{type}/{key}", page())
        .route("/write/{type}/{key}", get(checked(RouteRule::ANY_REQUEST)).merge(post(checked(RouteRule::ANY_REQUEST))))
        .route("/compat/{*call}", compat())
        .route("/edge/push", post(receive_push))
        .route("/healthz", get(health_check))
        .route("/readyz", get(checked(RouteRule::ANY_REQUEST)))
        .route("/openapi.json", get(checked(RouteRule::ANY_REQUEST)))
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .with_state(isolate)
}

/// Answers one request. It never fails: an error becomes a problem to the client.
pub async fn handle(
    mut router: Router,
    isolate: &Arc<Isolate>,
    ports: Ports,
    requester: Requester,
    mut request: Request,
) -> Response {
    let Some(target) = canonical_target(request.uri()) else {
        let errors = vec![FieldError::new("path", DOT_SEGMENT_DETAIL)];
        return problem(&requester.id, Code::InvalidRequest, format!("path {DOT_SEGMENT_DETAIL}"), errors);
    };
    let canonical =
        (request.uri().path_and_query().map(PathAndQuery::as_str) != Some(&*target)).then(|| target.parse());
    match canonical {
        None => {}
        Some(Ok(uri)) => *request.uri_mut() = uri,
        Some(Err(_)) => {
            return problem(&requester.id, Code::InvalidRequest, "The request cannot be read.", Vec::new());
        }
    }
    if request.method() == Method::OPTIONS {
        // The origin decides which sites may write.
        return writes::check_and_forward(isolate, &ports, &requester, RouteRule::ANY_REQUEST, request).await;
    }
    let id = requester.id.to_header();
    request.extensions_mut().insert(ports);
    request.extensions_mut().insert(requester);
    let text = |name: &HeaderName| header_text(request.headers(), name);
    let (path, query) = (request.uri().path(), request.uri().query());
    let read = DocumentRead::of(path, query, text(&ACCEPT), text(&ACCEPT_LANGUAGE));
    let site = request.headers().get(ORIGIN).filter(|_| path.starts_with(CREDENTIALED_PATHS)).cloned();
    let mut response = match router.as_service().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    if let Some(read) = read.filter(|_| is_problem(response.headers())) {
        response = refused_document(&read, response, &id).await;
    }
    response.headers_mut().insert(REQUEST_ID, id);
    if let Some(site) = site.filter(|_| is_for_every_site(response.headers())) {
        let headers = response.headers_mut();
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, site);
        headers.insert(ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("Date"));
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    response
}

/// Whether an answer is for pages of every site.
fn is_for_every_site(headers: &HeaderMap) -> bool {
    headers.get(ACCESS_CONTROL_ALLOW_ORIGIN).is_some_and(|site| site == "*")
}

/// What the page says of a problem.
#[derive(Deserialize)]
struct ProblemCode {
    code: String,
}

/// A problem as the page that says so.
async fn refused_document(read: &DocumentRead, response: Response, id: &HeaderValue) -> Response {
    let (mut parts, body) = response.into_parts();
    let body = read_bounded(body, MAX_PROBLEM_BYTES).await.unwrap_or_default();
    let Ok(ProblemCode { code }) = serde_json::from_slice(&body) else {
        return Response::from_parts(parts, Body::from(body));
    };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    parts.headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(DOCUMENT_POLICY));
    Response::from_parts(parts, Body::from(read.refused(&code, id.to_str().unwrap_or_default())))
}

fn toggle() -> EdgeRoutes {
    put(checked(RouteRule::MEMBER_CALL)).merge(delete(checked(RouteRule::MEMBER_CALL)))
}

/// What widgets of other systems call, without a token: reads are pages as far as they have keys.
fn compat() -> EdgeRoutes {
    let write = || checked(RouteRule::ANY_REQUEST);
    get(public_page).merge(post(write())).merge(put(write())).merge(delete(write()))
}

async fn public_page(
    State(isolate): State<Arc<Isolate>>,
    Extension(ports): Extension<Ports>,
    Extension(requester): Extension<Requester>,
    request: Request,
) -> Response {
    let headers = request.headers();
    let text = |name| headers.get(name).and_then(|v| v.to_str().ok());
    let (path, query) = (request.uri().path(), request.uri().query());
    let with_language = query_with_language(path, query, text(ACCEPT_LANGUAGE));
    match PageKey::parse(path, with_language.as_deref().or(query)) {
        Some(key) => {
            let if_none_match = text(IF_NONE_MATCH).map(str::to_owned);
            let now_ms = ports.clock.now_ms();
            let is_moderators = page_service::is_moderator_read(&isolate, &key.path_query, text(AUTHORIZATION), now_ms);
            let token = headers.get(AUTHORIZATION).filter(|_| is_moderators).cloned();
            let network = network_of(requester.client.as_deref());
            let has_written = isolate.recent_writers.has_written(path, network, now_ms);
            let page = PageRequest { key, if_none_match, no_cache: bypasses_caches(headers), has_written, requester };
            let mut response = match token {
                Some(token) => page_service::answer_moderator(&isolate, &ports, page, token).await,
                None => page_service::answer_page(&isolate, &ports, page).await,
            };
            if with_language.is_some() {
                response.headers_mut().append(VARY, HeaderValue::from_static("Accept-Language"));
            }
            response
        }
        None => writes::check_and_forward(&isolate, &ports, &requester, RouteRule::ANY_REQUEST, request).await,
    }
}

async fn subject_events(
    State(isolate): State<Arc<Isolate>>,
    Extension(ports): Extension<Ports>,
    Extension(requester): Extension<Requester>,
    request: Request,
) -> Response {
    event_stream::open_stream(&isolate, &ports, &requester, request).await
}

fn bypasses_caches(headers: &HeaderMap) -> bool {
    headers.get_all(CACHE_CONTROL).iter().filter_map(|v| v.to_str().ok()).any(has_no_cache)
}

/// Whether a request's `Cache-Control` asks for a page past the caches.
#[must_use]
pub fn has_no_cache(cache_control: &str) -> bool {
    cache_control.split(',').any(|directive| directive.trim().eq_ignore_ascii_case("no-cache"))
}

/// A handler that checks a request by `rule` and forwards it.
fn checked(
    rule: RouteRule,
) -> impl Fn(State<Arc<Isolate>>, Extension<Ports>, Extension<Requester>, Request) -> PortFuture<'static, Response>
+ Clone
+ Send
+ Sync {
    move |State(isolate), Extension(ports), Extension(requester), request| {
        Box::pin(async move { writes::check_and_forward(&isolate, &ports, &requester, rule, request).await })
    }
}

async fn receive_push(
    State(isolate): State<Arc<Isolate>>,
    Extension(ports): Extension<Ports>,
    Extension(requester): Extension<Requester>,
    request: Request,
) -> Response {
    push::receive_push(&isolate, &ports, &requester, request).await
}

async fn health_check() -> Response {
    let mut response = Response::new(Body::from(r#"{"status":"ok"}"#));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn unknown_route(Extension(requester): Extension<Requester>, request: Request) -> Response {
    let detail = format!("There is nothing at {}.", request.uri().path());
    problem(&requester.id, Code::NotFound, detail, Vec::new())
}

async fn unknown_method(Extension(requester): Extension<Requester>, request: Request) -> Response {
    let detail = format!("{} is not allowed at {}.", request.method(), request.uri().path());
    problem(&requester.id, Code::MethodNotAllowed, detail, Vec::new())
}
