//! The HTTP contract: the router, and what every request goes through, in order.
//!
//! 1. a page that is ready in memory is answered in front of everything else;
//! 2. the edge's signature, where it is required, and the client's address;
//! 3. routing and the handlers, one file per resource;
//! 4. refusals become `application/problem+json`, every 5xx is logged, here and nowhere else;
//! 5. CORS and the request's id.

mod admin;
mod assets;
mod comments;
mod edge;
pub mod events;
mod guests;
mod health;
mod html;
pub mod local_renderer;
mod me;
mod members;
mod reactions;
mod request;
mod subjects;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::task;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use futures_util::FutureExt;
use futures_util::future::{
    Either, {self},
};
use gailou_shared::edge_protocol::{
    CACHE_TAGS_HEADER, CLIENT_HEADER, HOT_FOR_HEADER, MADE_HEADER, SIGNATURE_HEADER, SUBJECT_VERSION_HEADER,
    SignedRequest, verify_request,
};
use gailou_shared::http_headers::matches_etag;
use gailou_shared::limits;
use gailou_shared::wire::{Code, Problem};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tower_service::Service;

use crate::error::ApiError;
use crate::state::AppState;
use crate::state::page_cache::ReadyPage;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const CDN_CACHE_CONTROL: HeaderName = HeaderName::from_static("cdn-cache-control");
const JSON: &str = "application/json";

/// Everything the origin answers.
pub fn router(app: Arc<AppState>) -> HotPath {
    let probes = Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics));
    let routes =
        if app.role.serves() { probes.merge(contract()).fallback(assets::serve) } else { probes.fallback(not_found) };
    let routes = routes
        .method_not_allowed_fallback(|| async {
            ApiError::new(Code::MethodNotAllowed, "this address does not take this method")
        })
        .layer(from_fn_with_state(app.clone(), middleware))
        .with_state(app.clone());
    HotPath { app, routes }
}

/// What clients ask for.
fn contract() -> Router<Arc<AppState>> {
    Router::new()
        .route("/v1/subjects/{type}/{key}", get(subjects::get_subject))
        .route("/v1/subjects/{type}/{key}/comments", get(subjects::list_roots).post(subjects::create_comment))
        .route("/v1/subjects/{type}/{key}/events", get(events::watch))
        .route(
            "/v1/comments/{id}",
            get(comments::get_comment).patch(comments::edit_comment).delete(comments::delete_comment),
        )
        .route("/v1/comments/{id}/replies", get(comments::list_replies))
        .route("/v1/comments/{id}/tree", get(comments::get_tree))
        .route("/v1/comments/{id}/ancestors", get(comments::list_ancestors))
        .route("/v1/comments/{id}/context", get(comments::get_context))
        .route("/v1/comments/{id}/like", put(reactions::like).delete(reactions::take_like))
        .route("/v1/comments/{id}/dislike", put(reactions::dislike).delete(reactions::take_dislike))
        .route("/v1/comments/{id}/pin", put(comments::pin).delete(comments::unpin))
        .route("/v1/counts", get(subjects::get_counts))
        .route("/v1/members/{id}/comments", get(members::list_history))
        .route("/v1/guests", post(guests::create_guest))
        .route("/v1/me/overlay", get(me::get_overlay))
        .route("/v1/admin/comments/{id}/decision", post(admin::decide))
        .route("/v1/admin/subjects/{type}/{key}", put(admin::put_subject))
        .route("/t/{type}/{key}", get(html::get_thread))
        .route("/v1/edge/changes", get(edge::get_changes))
        .route("/openapi.json", get(health::openapi))
}

async fn not_found() -> ApiError {
    ApiError::new(Code::NotFound, "there is nothing at this address")
}

/// A page that is ready is answered here; everything else goes on to the routes.
#[derive(Debug, Clone)]
pub struct HotPath {
    app: Arc<AppState>,
    routes: Router,
}

impl Service<Request> for HotPath {
    type Response = Response;
    type Error = Infallible;
    type Future = Either<future::Ready<Result<Response, Infallible>>, <Router as Service<Request>>::Future>;

    fn poll_ready(&mut self, _: &mut task::Context<'_>) -> task::Poll<Result<(), Infallible>> {
        // Routes are always ready.
        task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match self.ready_page(&request) {
            Some(response) => Either::Left(future::ready(Ok(response))),
            None => Either::Right(self.routes.call(request)),
        }
    }
}

impl HotPath {
    fn ready_page(&self, request: &Request) -> Option<Response> {
        if *request.method() != Method::GET || self.app.config.edge.require_edge {
            return None;
        }
        let page = self.app.page_cache.get_now(request.uri().path_and_query()?.as_str())?;
        page.read();
        let mut response = send(&page, request.headers());
        let headers = response.headers_mut();
        headers.insert(REQUEST_ID, request_id(request.headers()));
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        Some(response)
    }
}

/// How long a connection may take to send a request's head, and may stand idle between two.
const HEAD: Duration = Duration::from_secs(30);

/// Serves until `stop`, then finishes what is under way.
pub async fn serve(app: Arc<AppState>, listener: TcpListener, stop: impl Future<Output = ()> + Send) {
    let front = router(app.clone());
    let mut server = auto::Builder::new(TokioExecutor::new());
    server.http1().timer(TokioTimer::new()).header_read_timeout(HEAD);
    server.http2().timer(TokioTimer::new()).keep_alive_interval(Some(HEAD));
    let open = GracefulShutdown::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Too many open files, most likely: others have to end first.
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let front = front.clone();
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(ConnectInfo(address));
            front.clone().call(request)
        });
        let connection = server.serve_connection(TokioIo::new(stream), service).into_owned();
        // A connection that breaks is its client's matter.
        tokio::spawn(open.watch(connection).map(drop));
    }
    drop(listener);
    app.streams.end();
    open.shutdown().await;
}

/// Who asks, for limits.
#[derive(Debug, Clone)]
struct Client {
    address: String,
    /// Whether the edge signed the request.
    by_edge: bool,
}

/// What every request goes through that no ready page answers.
async fn middleware(State(app): State<Arc<AppState>>, mut request: Request, next: Next) -> Response {
    let id = request_id(request.headers());
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let cors = cors(&app, &method, &path, request.headers());
    let mut response = if method == Method::OPTIONS {
        StatusCode::NO_CONTENT.into_response()
    } else {
        match client(&app, &mut request).await {
            Ok(client) => {
                request.extensions_mut().insert(client);
                next.run(request).await
            }
            Err(refused) => refused.into_response(),
        }
    };
    if let Some(page) = response.extensions_mut().remove::<Arc<ReadyPage>>() {
        page.read();
    }
    if let Some(error) = response.extensions_mut().remove::<ApiError>() {
        response = problem(error, &id, &method, &path);
    }
    let headers = response.headers_mut();
    headers.insert(REQUEST_ID, id);
    headers.extend(cors);
    response
}

/// The id a caller gave when it is a sane one, else a new one: a random start and a count.
fn request_id(headers: &HeaderMap) -> HeaderValue {
    static START: LazyLock<u64> = LazyLock::new(rand::random);
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let sane = |id: &&HeaderValue| {
        let bytes = id.as_bytes();
        (1..=64).contains(&bytes.len()) && bytes.iter().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
    };
    if let Some(id) = headers.get(&REQUEST_ID).filter(sane) {
        return id.clone();
    }
    let n = START.wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    HeaderValue::try_from(format!("{n:016x}")).unwrap_or_else(|_| HeaderValue::from_static("0"))
}

/// The reader's address: the edge's word when the edge signed it, else the socket's.
async fn client(app: &AppState, request: &mut Request) -> Result<Client, ApiError> {
    let socket = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|c| c.0.ip().to_canonical().to_string());
    let socket = Client { address: socket.unwrap_or_default(), by_edge: false };
    let Some(secret) = &app.config.edge.secret else { return Ok(socket) };
    let header =
        |request: &Request, name: &str| request.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let Some(signature) = header(request, SIGNATURE_HEADER) else {
        let is_probe = matches!(request.uri().path(), "/healthz" | "/readyz" | "/metrics");
        return if app.config.edge.require_edge && !is_probe { Err(refused()) } else { Ok(socket) };
    };
    let address = header(request, CLIENT_HEADER).unwrap_or_default();
    let (parts, body) = std::mem::take(request).into_parts();
    let body = axum::body::to_bytes(body, limits::MAX_BODY_BYTES).await.map_err(|_| request::too_large())?;
    let signed = SignedRequest {
        method: parts.method.as_str(),
        path_query: parts.uri.path_and_query().map_or("", |p| p.as_str()),
        client: &address,
        body: &body,
    };
    let now = app.now() / 1_000;
    let mut secrets = std::iter::once(secret).chain(&app.config.edge.secret_previous);
    let good = secrets.any(|secret| verify_request(secret.expose().as_bytes(), now, &signed, &signature).is_ok());
    *request = Request::from_parts(parts, body.into());
    let address = if address.is_empty() { socket.address } else { address };
    if good { Ok(Client { address, by_edge: true }) } else { Err(refused()) }
}

fn refused() -> ApiError {
    ApiError::new(Code::Forbidden, "requests must come through the edge")
}

/// A refusal as the contract writes it. The one place that logs a 5xx.
fn problem(error: ApiError, id: &HeaderValue, method: &Method, path: &str) -> Response {
    let trace_id = id.to_str().unwrap_or_default().to_owned();
    let (code, status, _) = error.code.parts();
    if status >= 500 {
        let cause = error.cause.as_deref().unwrap_or_default();
        tracing::error!(request.id = trace_id, %method, path, code, cause, "refused {path} with {status} {code}");
    }
    let body = Problem::new(error.code, error.detail, trace_id, error.errors);
    let body = serde_json::to_vec(&body).unwrap_or_default();
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response =
        (status, [(header::CONTENT_TYPE, "application/problem+json"), (header::CACHE_CONTROL, "no-store")], body)
            .into_response();
    let headers = response.headers_mut();
    let mut set = |name: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    };
    if let Some(wait) = error.retry_after {
        set(header::RETRY_AFTER, wait.as_secs().max(1).to_string());
    }
    if let Some((policy, state)) = error.rate_limit.map(|limit| *limit) {
        set(HeaderName::from_static("ratelimit-policy"), policy);
        set(HeaderName::from_static("ratelimit"), state);
    }
    if status == StatusCode::UNAUTHORIZED {
        set(header::WWW_AUTHENTICATE, "Bearer".into());
    }
    response
}

/// Public reads are open to every site; what carries an identity or writes, to those allowed.
fn cors(app: &AppState, method: &Method, path: &str, headers: &HeaderMap) -> HeaderMap {
    let mut out = HeaderMap::new();
    let Some(origin) = headers.get(header::ORIGIN) else {
        if !is_personal(path) && *method == Method::GET {
            out.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        }
        return out;
    };
    let asked = headers.get(header::ACCESS_CONTROL_REQUEST_METHOD).and_then(|m| m.to_str().ok());
    let meant = if *method == Method::OPTIONS { asked.unwrap_or("GET") } else { method.as_str() };
    let exposed = "X-Request-Id, X-Gailou-Stale, Retry-After, RateLimit, RateLimit-Policy, Idempotent-Replayed";
    if matches!(meant, "GET" | "HEAD") && !is_personal(path) {
        out.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    } else {
        out.insert(header::VARY, HeaderValue::from_static("Origin"));
        let kind = path.strip_prefix("/v1/subjects/").and_then(|rest| rest.split('/').next()).unwrap_or("");
        if origin.to_str().is_ok_and(|o| app.config.origins(kind).allow(o)) {
            out.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
        } else {
            return out;
        }
    }
    out.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static(exposed));
    if *method == Method::OPTIONS {
        out.insert(
            header::ACCESS_CONTROL_ALLOW_METHODS,
            HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE"),
        );
        let allowed = "Authorization, Content-Type, Idempotency-Key, Cache-Control, X-Request-Id";
        out.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HeaderValue::from_static(allowed));
        out.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("7200"));
    }
    out
}

fn is_personal(path: &str) -> bool {
    ["/v1/me/", "/v1/admin/", "/v1/edge/"].iter().any(|prefix| path.starts_with(prefix)) || path == "/v1/guests"
}

/// A page as it goes out, counted as read when it does: what the process asks of itself is not.
fn send_counted(page: Arc<ReadyPage>, asked: &HeaderMap) -> Response {
    let mut response = send(&page, asked);
    response.extensions_mut().insert(page);
    response
}

/// A page as it goes out: whole, or `304` to who has it already.
fn send(page: &ReadyPage, asked: &HeaderMap) -> Response {
    let has_it = asked
        .get(header::IF_NONE_MATCH)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|tags| page.etag.to_str().is_ok_and(|etag| matches_etag(tags, etag)));
    let mut response = if has_it {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        Response::new(axum::body::Body::from(page.body.clone()))
    };
    let headers = response.headers_mut();
    if !has_it {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    }
    headers.insert(header::ETAG, page.etag.clone());
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    let shared = "public, max-age=1, stale-while-revalidate=1, stale-if-error=86400";
    headers.insert(CDN_CACHE_CONTROL, HeaderValue::from_static(shared));
    if let Some(shows) = &page.shows {
        headers.insert(CACHE_TAGS_HEADER, shows.clone());
    }
    headers.insert(MADE_HEADER, page.made.into());
    headers.insert(SUBJECT_VERSION_HEADER, page.version.into());
    if let Some(seconds) = page.hot_for() {
        headers.insert(HOT_FOR_HEADER, u16::from(seconds).into());
    }
    if page.content_type != JSON {
        headers.extend(html::headers());
    }
    response
}
