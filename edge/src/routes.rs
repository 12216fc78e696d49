//! The route table of the contract, as the edge serves it.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, any, delete, get, patch, post, put};
use gailou_shared::wire::Code;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, IF_NONE_MATCH};
use http::{HeaderMap, Method};
use tower_service::Service as _;

use crate::Edge;
use crate::answer::{REQUEST_ID, problem};
use crate::forward::Asker;
use crate::key;
use crate::live;
use crate::pages::{self, Ask};
use crate::ports::{Task, World};
use crate::push;
use crate::writes::{self, Rule};

type Routes = MethodRouter<Arc<Edge>>;

/// The routes. What is called `page` is a public read; everything else is checked by its rule.
pub fn router(edge: Arc<Edge>) -> Router {
    let page = || get(public);
    Router::new()
        .route("/v1/subjects/{type}/{key}", page())
        .route("/v1/subjects/{type}/{key}/comments", page().merge(post(by(Rule::TEXT))))
        .route("/v1/subjects/{type}/{key}/comments/friends", get(by(Rule::MEMBER)))
        .route("/v1/subjects/{type}/{key}/events", get(events))
        .route("/v1/subjects/{type}/{key}/feed.atom", get(by(Rule::OPEN)))
        .route("/v1/comments/{id}", page().merge(patch(by(Rule::TEXT))).merge(delete(by(Rule::MEMBER))))
        .route("/v1/comments/{id}/replies", page())
        .route("/v1/comments/{id}/tree", page())
        .route("/v1/comments/{id}/ancestors", page())
        .route("/v1/comments/{id}/context", page())
        .route("/v1/comments/{id}/like", toggle())
        .route("/v1/comments/{id}/dislike", toggle())
        .route("/v1/comments/{id}/pin", toggle())
        .route("/v1/comments/{id}/reports", post(by(Rule::JSON)))
        .route("/v1/counts", page())
        .route("/v1/members/{id}/comments", page())
        .route("/v1/media", post(by(Rule::UPLOAD)))
        .route("/v1/guests", post(by(Rule::GUEST)))
        .route("/v1/me", delete(by(Rule::MEMBER)))
        .route("/v1/me/overlay", get(by(Rule::MEMBER)))
        .route("/v1/me/notifications", get(by(Rule::MEMBER)))
        .route("/v1/me/notifications/read", post(by(Rule::JSON)))
        .route("/v1/me/export", get(by(Rule::MEMBER)))
        .route("/v1/admin/queue", get(by(Rule::MEMBER)))
        .route("/v1/admin/comments", get(by(Rule::MEMBER)))
        .route("/v1/admin/comments/{id}/decision", post(by(Rule::JSON)))
        .route("/v1/admin/words", get(by(Rule::MEMBER)).merge(put(by(Rule::WORDS))))
        .route("/v1/admin/members/{id}", put(by(Rule::JSON)))
        .route("/v1/admin/subjects/{type}/{key}", put(by(Rule::JSON)))
        .route("/v1/admin/audit", get(by(Rule::MEMBER)))
        // The origin may know more of these than this table, so it is the one to say 404.
        .route("/v1/me/{*rest}", any(by(Rule::OPEN)))
        .route("/v1/admin/{*rest}", any(by(Rule::OPEN)))
        .route("/t/{type}/{key}", page())
        .route("/edge/push", post(push_pages))
        .route("/healthz", get(alive))
        .route("/readyz", get(by(Rule::OPEN)))
        .route("/openapi.json", get(by(Rule::OPEN)))
        .route("/docs", get(by(Rule::OPEN)))
        .route("/docs/{*rest}", get(by(Rule::OPEN)))
        .fallback(unknown_route)
        .method_not_allowed_fallback(unknown_method)
        .with_state(edge)
}

/// Answers one request. It never fails: what goes wrong is a problem to the client.
pub async fn entry(mut router: Router, edge: &Arc<Edge>, world: World, asker: Asker, mut request: Request) -> Response {
    if request.method() == Method::OPTIONS {
        // Who may write from where is the origin's to say.
        return writes::pass(edge, &world, &asker, Rule::OPEN, request).await;
    }
    let id = asker.id.header();
    request.extensions_mut().insert(world);
    request.extensions_mut().insert(asker);
    let mut response = match router.as_service().call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    };
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

fn toggle() -> Routes {
    put(by(Rule::MEMBER)).merge(delete(by(Rule::MEMBER)))
}

async fn public(
    State(edge): State<Arc<Edge>>,
    Extension(world): Extension<World>,
    Extension(asker): Extension<Asker>,
    request: Request,
) -> Response {
    match key::page(request.uri().path(), request.uri().query()) {
        Some(key) => {
            let headers = request.headers();
            let if_none_match = headers.get(IF_NONE_MATCH).and_then(|v| v.to_str().ok()).map(str::to_owned);
            let ask = Ask { key, if_none_match, no_cache: wants_no_cache(headers), asker };
            pages::read(&edge, &world, ask).await
        }
        None => writes::pass(&edge, &world, &asker, Rule::OPEN, request).await,
    }
}

async fn events(
    State(edge): State<Arc<Edge>>,
    Extension(world): Extension<World>,
    Extension(asker): Extension<Asker>,
    request: Request,
) -> Response {
    live::open(&edge, &world, &asker, request).await
}

fn wants_no_cache(headers: &HeaderMap) -> bool {
    headers.get_all(CACHE_CONTROL).iter().filter_map(|v| v.to_str().ok()).any(asks_no_cache)
}

/// Whether a request's `Cache-Control` asks for a page past the caches.
#[must_use]
pub fn asks_no_cache(cache_control: &str) -> bool {
    cache_control.split(',').any(|directive| directive.trim().eq_ignore_ascii_case("no-cache"))
}

fn by(
    rule: Rule,
) -> impl Fn(State<Arc<Edge>>, Extension<World>, Extension<Asker>, Request) -> Task<'static, Response> + Clone + Send + Sync
{
    move |State(edge), Extension(world), Extension(asker), request| {
        Box::pin(async move { writes::pass(&edge, &world, &asker, rule, request).await })
    }
}

async fn push_pages(
    State(edge): State<Arc<Edge>>,
    Extension(world): Extension<World>,
    Extension(asker): Extension<Asker>,
    request: Request,
) -> Response {
    push::receive(&edge, &world, &asker.id, request).await
}

async fn alive() -> Response {
    let mut response = Response::new(Body::from(r#"{"status":"ok"}"#));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

async fn unknown_route(Extension(asker): Extension<Asker>, request: Request) -> Response {
    let detail = format!("There is nothing at {}.", request.uri().path());
    problem(&asker.id, Code::NotFound, detail, Vec::new())
}

async fn unknown_method(Extension(asker): Extension<Asker>, request: Request) -> Response {
    let detail = format!("{} cannot be done here.", request.method());
    problem(&asker.id, Code::MethodNotAllowed, detail, Vec::new())
}
