//! The ports on Cloudflare's APIs.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::{Either, select};
use gailou_shared::limits::MAX_TREE_BYTES;
use http::StatusCode;
use wasm_bindgen::{JsCast, JsValue};
use worker::js_sys;
use worker::send::{SendFuture, SendWrapper};
use worker::wasm_bindgen_futures::JsFuture;
use worker::{Context, Delay, Env, web_sys};

use super::convert::{http_headers, js_bytes, js_headers, whole_body};
use crate::bounded_body::{BodyError, read_bounded};
use crate::ports::{
    BodyMode, EdgeClock, Origin, OriginBody, OriginError, OriginRequest, OriginResponse, PageStore, PageStoreError,
    PlatformStream, PortFuture, Ports, RateLimiter, WaitUntil,
};

/// The name of the KV binding.
const KV_BINDING: &str = "PAGES";
/// Largest body of an answer that is read whole, in bytes: twice the largest that an origin sends. An isolate
/// has 128 MB for everything.
const MAX_ORIGIN_ANSWER_BYTES: usize = 2 * MAX_TREE_BYTES;
/// How long the stores keep a value, in seconds: a day, and an hour for slow clocks.
const STORE_TTL_SECONDS: u64 = 90_000;
/// How long a colo may answer from its own copy of a KV value, in seconds: the platform's minimum.
const KV_CACHE_SECONDS: u64 = 30;
/// Longest page key in KV, in bytes: the platform's limit of 512, less the prefix `page:` and a margin.
const MAX_KV_KEY_BYTES: usize = 500;

/// The ports of one request.
pub(super) fn ports(origin: &Arc<str>, env: Env, context: Context) -> Ports {
    Ports {
        origin: Arc::new(FetchOrigin(Arc::clone(origin))),
        colo_cache: Arc::new(ColoCache(Arc::clone(origin))),
        global_store: Arc::new(KvPageStore(SendWrapper::new(env.kv(KV_BINDING).ok()))),
        wait_until: Arc::new(ContextTasks(context)),
        limiter: Arc::new(BindingLimiter(SendWrapper::new(env))),
        clock: Arc::new(JsClock),
    }
}

struct JsClock;

impl EdgeClock for JsClock {
    fn now_ms(&self) -> u64 {
        super::now_ms()
    }

    fn pause(&self, ms: u32) -> PortFuture<'static, ()> {
        Box::pin(SendFuture::new(Delay::from(Duration::from_millis(ms.into()))))
    }
}

struct ContextTasks(Context);

impl WaitUntil for ContextTasks {
    fn spawn(&self, task: PortFuture<'static, ()>) {
        self.0.wait_until(task);
    }
}

/// The rate-limit bindings.
struct BindingLimiter(SendWrapper<Env>);

impl RateLimiter for BindingLimiter {
    fn take<'a>(&'a self, binding: &'static str, key: String) -> PortFuture<'a, bool> {
        Box::pin(SendFuture::new(async move {
            let Ok(limiter) = self.0.rate_limiter(binding) else { return true };
            limiter.limit(key).await.map_or(true, |outcome| outcome.success)
        }))
    }
}

/// The origin, by fetch, at this address.
struct FetchOrigin(Arc<str>);

impl Origin for FetchOrigin {
    fn send(&self, request: OriginRequest, timeout_ms: u32) -> PortFuture<'_, Result<OriginResponse, OriginError>> {
        Box::pin(SendFuture::new(async move {
            let abort = web_sys::AbortController::new().map_err(|error| origin_error(&error))?;
            let signal = abort.signal();
            let answer = fetch(&self.0, request, &signal);
            let timeout = Delay::from(Duration::from_millis(timeout_ms.into()));
            match select(Box::pin(answer), Box::pin(timeout)).await {
                Either::Left((answer, _)) => {
                    if answer.is_err() {
                        // Ends the transfer of what is not read.
                        abort.abort();
                    }
                    answer
                }
                Either::Right(_) => {
                    abort.abort();
                    Err(OriginError::NoAnswer(format!("no answer within {timeout_ms} ms")))
                }
            }
        }))
    }
}

fn origin_error(error: &JsValue) -> OriginError {
    OriginError::NoAnswer(format!("{error:?}"))
}

async fn fetch(
    origin: &str,
    request: OriginRequest,
    signal: &web_sys::AbortSignal,
) -> Result<OriginResponse, OriginError> {
    let body_mode = request.body_mode;
    let response = fetch_response(origin, request, signal).await.map_err(|error| origin_error(&error))?;
    let body = match body_mode {
        BodyMode::Whole => OriginBody::Whole(answer_body(&response).await?),
        BodyMode::Stream => OriginBody::Stream(PlatformStream(Arc::new(SendWrapper::new(response.body())))),
    };
    let status = StatusCode::from_u16(response.status()).unwrap_or(StatusCode::BAD_GATEWAY);
    Ok(OriginResponse { status, headers: http_headers(&response.headers()), body })
}

/// The response, its body unread.
async fn fetch_response(
    origin: &str,
    request: OriginRequest,
    signal: &web_sys::AbortSignal,
) -> Result<web_sys::Response, JsValue> {
    let init = web_sys::RequestInit::new();
    init.set_method(request.method.as_str());
    init.set_headers(js_headers(&request.headers).map_err(JsValue::from)?.as_ref());
    init.set_redirect(web_sys::RequestRedirect::Manual);
    init.set_signal(Some(signal));
    if !request.body.is_empty() {
        init.set_body(&js_bytes(&request.body));
    }
    let url = format!("{origin}{}", request.path_query);
    let global: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
    let response = JsFuture::from(global.fetch_with_str_and_init(&url, &init)).await?;
    response.dyn_into()
}

/// The body of an answer of at most [`MAX_ORIGIN_ANSWER_BYTES`].
async fn answer_body(response: &web_sys::Response) -> Result<Bytes, OriginError> {
    let Some(stream) = response.body() else { return Ok(Bytes::new()) };
    let body = read_bounded(Body::new(worker::Body::new(stream)), MAX_ORIGIN_ANSWER_BYTES).await;
    body.map_err(|error| match error {
        BodyError::TooLarge => OriginError::AnswerTooLarge,
        BodyError::Broken(problem) => OriginError::NoAnswer(problem),
    })
}

/// The colo's cache. Its keys are URLs below the origin's address, which belong to the operator.
struct ColoCache(Arc<str>);

impl ColoCache {
    fn url(&self, key: &str) -> String {
        format!("{}/.gailou/edge/1{key}", self.0)
    }
}

impl PageStore for ColoCache {
    fn get<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<Option<Bytes>, PageStoreError>> {
        store_future(async move {
            let Some(found) = worker::Cache::default().get(self.url(key), false).await? else { return Ok(None) };
            let found: web_sys::Response = found.into();
            Ok(Some(whole_body(&found).await?))
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> PortFuture<'a, Result<(), PageStoreError>> {
        store_future(async move {
            let headers = web_sys::Headers::new()?;
            headers.set("cache-control", &format!("public, max-age={STORE_TTL_SECONDS}"))?;
            headers.set("content-type", "application/octet-stream")?;
            let init = web_sys::ResponseInit::new();
            init.set_headers(&headers);
            let response = web_sys::Response::new_with_opt_js_u8_array_and_init(Some(&js_bytes(&value)), &init)?;
            worker::Cache::default().put(self.url(key), response.into()).await
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<(), PageStoreError>> {
        store_future(async move { worker::Cache::default().delete(self.url(key), false).await.map(|_| ()) })
    }
}

/// The global store on KV; without a binding it is empty.
struct KvPageStore(SendWrapper<Option<worker::KvStore>>);

impl KvPageStore {
    /// The name of `key` in KV; `None` when it is too long.
    fn name(key: &str) -> Option<String> {
        match key.strip_prefix('/') {
            None => Some(key.to_owned()),
            Some(_) => (key.len() <= MAX_KV_KEY_BYTES).then(|| format!("page:{key}")),
        }
    }
}

impl PageStore for KvPageStore {
    fn get<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<Option<Bytes>, PageStoreError>> {
        store_future(async move {
            let (Some(kv), Some(name)) = (&self.0.0, Self::name(key)) else { return Ok(None) };
            Ok(kv.get(&name).cache_ttl(KV_CACHE_SECONDS).bytes().await?.map(Bytes::from))
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> PortFuture<'a, Result<(), PageStoreError>> {
        store_future(async move {
            let (Some(kv), Some(name)) = (&self.0.0, Self::name(key)) else { return Ok(()) };
            Ok(kv.put_bytes(&name, &value)?.expiration_ttl(STORE_TTL_SECONDS).execute().await?)
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<(), PageStoreError>> {
        store_future(async move {
            let (Some(kv), Some(name)) = (&self.0.0, Self::name(key)) else { return Ok(()) };
            Ok(kv.delete(&name).await?)
        })
    }
}

fn store_future<'a, T>(
    work: impl Future<Output = worker::Result<T>> + 'a,
) -> PortFuture<'a, Result<T, PageStoreError>> {
    Box::pin(SendFuture::new(async move { work.await.map_err(|error| PageStoreError(error.to_string())) }))
}
