//! The platform: the fetch event, and the ports on Cloudflare's APIs. Nothing is decided here.
//!
//! A page that is fresh in memory is answered before the router, from what was made of it for
//! JavaScript the first time. Objects that belong to one request (streams, responses, promises)
//! never outlive it; bytes and headers may.

mod live;

use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures_util::future::{Either, select};
use gailou_shared::token::TokenKey;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys::{self, Uint8Array};
use worker::send::{SendFuture, SendWrapper};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Context, Delay, Env, event, web_sys};

use crate::forward::Asker;
use crate::live::Granted;
use crate::page::Page;
use crate::pages;
use crate::ports::{
    self, Clock, FromOrigin, Later, Origin, OriginFailed, PageStore, RateLimiter, StoreFailed, Stream, Task, ToOrigin,
    Want, World,
};
use crate::{Config, Edge, entry, key, router, routes};

/// Name of the KV binding.
const KV: &str = "PAGES";
/// Largest page or document the origin may answer, in bytes: an isolate has 128 MB for everything.
const ANSWER_BYTES: usize = 16 << 20;
/// How long the stores keep what is put, in seconds: a day, and an hour for slow clocks.
const KEEP_SECONDS: u64 = 90_000;
/// How long a colo may answer from its own copy of a KV value, in seconds: the platform's least.
const KV_CACHE_SECONDS: u64 = 30;

/// One isolate.
struct Isolate {
    edge: Arc<Edge>,
    router: axum::Router,
    /// Where the origin is, without a slash at the end.
    origin: Arc<str>,
}

static ISOLATE: OnceLock<Isolate> = OnceLock::new();

#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, context: Context) -> worker::Result<web_sys::Response> {
    let isolate = ISOLATE.get_or_init(|| isolate(&env));
    let (method, url, headers) = (request.method(), request.url(), request.headers());
    let header = |name: &str| headers.get(name).ok().flatten();
    let id = isolate.edge.request_id(header("x-request-id").as_deref());
    let path_query = path_query(&url);
    let (path, query) = path_query.split_once('?').map_or((path_query, None), |(path, query)| (path, Some(query)));

    if method == "GET"
        && let Some(key) = key::page(path, query)
        && let Some(page) = pages::at_hand(&isolate.edge, &key.path_query, now_ms())
        && !header("cache-control").is_some_and(|list| routes::asks_no_cache(&list))
    {
        return at_once(&page, id.as_str(), header("if-none-match").as_deref());
    }

    let asker = Asker { id, client: header("cf-connecting-ip") };
    let Ok(request) = incoming(&request, path_query, &method) else {
        let detail = "The request cannot be read.";
        let problem = crate::answer::problem(&asker.id, gailou_shared::wire::Code::InvalidRequest, detail, Vec::new());
        return outgoing(problem).await;
    };
    let world = World {
        origin: Arc::new(Remote(Arc::clone(&isolate.origin))),
        colo: Arc::new(Colo(Arc::clone(&isolate.origin))),
        global: Arc::new(Kv(SendWrapper::new(env.kv(KV).ok()))),
        later: Arc::new(WaitUntil(context)),
        limiter: Arc::new(Limiter(SendWrapper::new(env))),
        clock: Arc::new(Now),
    };
    outgoing(SendFuture::new(entry(isolate.router.clone(), &isolate.edge, world, asker, request)).await).await
}

fn isolate(env: &Env) -> Isolate {
    let text = |name: &str| env.var(name).ok().map(|value| value.to_string()).filter(|value| !value.is_empty());
    let public = text("TOKEN_PUBLIC_KEY").and_then(|key| STANDARD.decode(key).ok());
    let token_key = match (text("TOKEN_SECRET"), public) {
        (Some(secret), _) => TokenKey::secret(secret.as_bytes()),
        (None, Some(bytes)) => TokenKey::public(&bytes),
        (None, None) => None,
    };
    let config = Config {
        edge_secret: text("EDGE_SECRET").map(String::into_bytes),
        edge_secret_previous: text("EDGE_SECRET_PREVIOUS").map(String::into_bytes),
        token_key,
        audience: text("TOKEN_AUDIENCE").unwrap_or_else(|| "gailou".to_owned()),
    };
    // Not a secret: it only tells the request ids of isolates apart.
    let seed = (js_sys::Math::random() * (1u64 << 53) as f64) as u64;
    let edge = Arc::new(Edge::new(config, seed));
    let origin = text("ORIGIN").unwrap_or_else(|| "http://127.0.0.1:8080".to_owned());
    Isolate { router: router(Arc::clone(&edge)), edge, origin: origin.trim_end_matches('/').into() }
}

/// Path and query of an absolute address.
fn path_query(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/")
}

fn now_ms() -> u64 {
    js_sys::Date::now() as u64
}

/// A page as JavaScript sends it.
struct Prepared {
    body: Uint8Array,
    headers: web_sys::Headers,
}

/// The answer from memory.
fn at_once(page: &Arc<Page>, id: &str, if_none_match: Option<&str>) -> worker::Result<web_sys::Response> {
    let init = web_sys::ResponseInit::new();
    let known = if_none_match.is_some_and(|tags| page.matches(tags));
    let response = if known {
        let mut headers = HeaderMap::new();
        pages::put_common(page, &mut headers);
        init.set_status(304);
        init.set_headers(to_js(&headers)?.as_ref());
        web_sys::Response::new_with_opt_str_and_init(None, &init)?
    } else {
        let prepared = page.prepared.get_or_init(|| {
            let mut headers = HeaderMap::new();
            pages::put_all(page, &mut headers);
            Arc::new(SendWrapper::new(
                to_js(&headers).ok().map(|headers| Prepared { body: bytes(&page.body), headers }),
            ))
        });
        let prepared = prepared.downcast_ref::<SendWrapper<Option<Prepared>>>().and_then(|p| p.0.as_ref());
        let prepared = prepared.ok_or_else(|| worker::Error::RustError("a header is no text".into()))?;
        init.set_headers(&prepared.headers);
        web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&prepared.body), &init)?
    };
    let headers = response.headers();
    headers.set("x-request-id", id)?;
    headers.set("age", &page.age_seconds(now_ms()).to_string())?;
    Ok(response)
}

fn bytes(bytes: &Bytes) -> Uint8Array {
    Uint8Array::from(&**bytes)
}

fn to_js(headers: &HeaderMap) -> worker::Result<web_sys::Headers> {
    let js = web_sys::Headers::new()?;
    for (name, value) in headers {
        if let Ok(value) = value.to_str() {
            js.append(name.as_str(), value)?;
        }
    }
    Ok(js)
}

fn from_js(js: &web_sys::Headers) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for pair in js.entries().into_iter().flatten() {
        let pair: js_sys::Array = pair.unchecked_into();
        let (Some(name), Some(value)) = (pair.get(0).as_string(), pair.get(1).as_string()) else { continue };
        if let (Ok(name), Ok(value)) = (HeaderName::from_bytes(name.as_bytes()), HeaderValue::from_str(&value)) {
            headers.append(name, value);
        }
    }
    headers
}

fn incoming(request: &web_sys::Request, path_query: &str, method: &str) -> Result<http::Request<Body>, http::Error> {
    let body = request.body().map_or_else(Body::empty, |stream| Body::new(worker::Body::new(stream)));
    let path_query = path_query.split('#').next().unwrap_or("/");
    let mut built = http::Request::builder().method(method).uri(path_query).body(body)?;
    *built.headers_mut() = from_js(&request.headers());
    Ok(built)
}

async fn outgoing(response: Response) -> worker::Result<web_sys::Response> {
    let (mut parts, body) = response.into_parts();
    let init = web_sys::ResponseInit::new();
    init.set_status(parts.status.as_u16());
    // The platform counts the body itself.
    parts.headers.remove(http::header::CONTENT_LENGTH);
    init.set_headers(to_js(&parts.headers)?.as_ref());
    // These have no body, and the platform refuses even an empty one.
    if matches!(parts.status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED) {
        return Ok(web_sys::Response::new_with_opt_str_and_init(None, &init)?);
    }
    if let Some(reader) = parts.extensions.get::<Granted>().and_then(Granted::take) {
        return Ok(web_sys::Response::new_with_opt_readable_stream_and_init(Some(&live::body(reader)?), &init)?);
    }
    if let Some(stream) = parts.extensions.get::<Stream>() {
        let stream = stream.0.downcast_ref::<SendWrapper<Option<web_sys::ReadableStream>>>();
        let stream = stream.and_then(|stream| stream.0.as_ref());
        return Ok(web_sys::Response::new_with_opt_readable_stream_and_init(stream, &init)?);
    }
    let whole = axum::body::to_bytes(body, usize::MAX).await.unwrap_or_default();
    Ok(web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&bytes(&whole)), &init)?)
}

struct Now;

impl Clock for Now {
    fn now_ms(&self) -> u64 {
        now_ms()
    }

    fn pause(&self, ms: u32) -> Task<'static, ()> {
        Box::pin(SendFuture::new(Delay::from(Duration::from_millis(ms.into()))))
    }
}

struct WaitUntil(Context);

impl Later for WaitUntil {
    fn run(&self, task: Task<'static, ()>) {
        self.0.wait_until(task);
    }
}

/// The rate-limit bindings.
struct Limiter(SendWrapper<Env>);

impl RateLimiter for Limiter {
    fn take<'a>(&'a self, binding: &'static str, key: String) -> Task<'a, bool> {
        Box::pin(SendFuture::new(async move {
            let Ok(limiter) = self.0.rate_limiter(binding) else { return true };
            limiter.limit(key).await.map_or(true, |outcome| outcome.success)
        }))
    }
}

/// The origin, by fetch.
struct Remote(Arc<str>);

impl Origin for Remote {
    fn send(&self, request: ToOrigin, deadline_ms: u32) -> Task<'_, Result<FromOrigin, OriginFailed>> {
        Box::pin(SendFuture::new(async move {
            let abort = web_sys::AbortController::new().map_err(|error| failed(&error))?;
            let signal = abort.signal();
            let answer = send(&self.0, request, &signal);
            let deadline = Delay::from(Duration::from_millis(deadline_ms.into()));
            match select(Box::pin(answer), Box::pin(deadline)).await {
                Either::Left((answer, _)) => answer.map_err(|error| failed(&error)),
                Either::Right(_) => {
                    abort.abort();
                    Err(OriginFailed(format!("no answer within {deadline_ms} ms")))
                }
            }
        }))
    }
}

fn failed(error: &JsValue) -> OriginFailed {
    OriginFailed(format!("{error:?}"))
}

async fn send(origin: &str, request: ToOrigin, signal: &web_sys::AbortSignal) -> Result<FromOrigin, JsValue> {
    let init = web_sys::RequestInit::new();
    init.set_method(request.method.as_str());
    init.set_headers(to_js(&request.headers).map_err(JsValue::from)?.as_ref());
    init.set_redirect(web_sys::RequestRedirect::Manual);
    init.set_signal(Some(signal));
    if !request.body.is_empty() {
        init.set_body(&bytes(&request.body));
    }
    let url = format!("{origin}{}", request.path_query);
    let global: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(global.fetch_with_str_and_init(&url, &init)).await?;
    let response: web_sys::Response = response.dyn_into()?;
    let body = match request.want {
        Want::Whole => ports::Body::Whole(bounded(&response).await?),
        Want::Stream => ports::Body::Stream(Stream(Arc::new(SendWrapper::new(response.body())))),
    };
    let status = StatusCode::from_u16(response.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    Ok(FromOrigin { status, headers: from_js(&response.headers()), body })
}

/// The body of an answer, which may not be larger than [`ANSWER_BYTES`].
async fn bounded(response: &web_sys::Response) -> Result<Bytes, JsValue> {
    let Some(stream) = response.body() else { return Ok(Bytes::new()) };
    let body = axum::body::to_bytes(Body::new(worker::Body::new(stream)), ANSWER_BYTES).await;
    body.map_err(|error| JsValue::from(error.to_string()))
}

async fn whole(response: &web_sys::Response) -> Result<Bytes, JsValue> {
    let buffer = JsFuture::from(response.array_buffer()?).await?;
    Ok(Uint8Array::new(&buffer).to_vec().into())
}

/// The colo's cache. Its keys are addresses below the origin's, which are the operator's own.
struct Colo(Arc<str>);

impl Colo {
    fn url(&self, key: &str) -> String {
        format!("{}/.gailou/edge/1{key}", self.0)
    }
}

impl PageStore for Colo {
    fn get<'a>(&'a self, key: &'a str) -> Task<'a, Result<Option<Bytes>, StoreFailed>> {
        task(async move {
            let Some(found) = worker::Cache::default().get(self.url(key), false).await? else { return Ok(None) };
            let found: web_sys::Response = found.into();
            Ok(Some(whole(&found).await?))
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> Task<'a, Result<(), StoreFailed>> {
        task(async move {
            let headers = web_sys::Headers::new()?;
            headers.set("cache-control", &format!("public, max-age={KEEP_SECONDS}"))?;
            headers.set("content-type", "application/octet-stream")?;
            let init = web_sys::ResponseInit::new();
            init.set_headers(&headers);
            let response = web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&bytes(&value)), &init)?;
            worker::Cache::default().put(self.url(key), response.into()).await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> Task<'a, Result<(), StoreFailed>> {
        task(async move { worker::Cache::default().delete(self.url(key), false).await.map(|_| ()) })
    }
}

/// The store all colos share; without a binding it holds nothing.
struct Kv(SendWrapper<Option<worker::KvStore>>);

impl Kv {
    /// KV takes keys of 512 bytes.
    fn name(key: &str) -> Option<String> {
        match key.strip_prefix('/') {
            None => Some(key.to_owned()),
            Some(_) => (key.len() <= 500).then(|| format!("page:{key}")),
        }
    }
}

impl PageStore for Kv {
    fn get<'a>(&'a self, key: &'a str) -> Task<'a, Result<Option<Bytes>, StoreFailed>> {
        task(async move {
            let (Some(kv), Some(name)) = (&self.0.0, Self::name(key)) else { return Ok(None) };
            Ok(kv.get(&name).cache_ttl(KV_CACHE_SECONDS).bytes().await?.map(Bytes::from))
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> Task<'a, Result<(), StoreFailed>> {
        task(async move {
            let (Some(kv), Some(name)) = (&self.0.0, Self::name(key)) else { return Ok(()) };
            Ok(kv.put_bytes(&name, &value)?.expiration_ttl(KEEP_SECONDS).execute().await?)
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> Task<'a, Result<(), StoreFailed>> {
        task(async move {
            let (Some(kv), Some(name)) = (&self.0.0, Self::name(key)) else { return Ok(()) };
            Ok(kv.delete(&name).await?)
        })
    }
}

fn task<'a, T>(work: impl Future<Output = worker::Result<T>> + 'a) -> Task<'a, Result<T, StoreFailed>> {
    Box::pin(SendFuture::new(async move { work.await.map_err(|error| StoreFailed(error.to_string())) }))
}
