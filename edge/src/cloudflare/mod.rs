//! The platform: the fetch event, and the fast path of a page that is fresh in memory. Nothing is
//! decided here; [`adapters`] implements the ports on Cloudflare's APIs, [`convert`] translates requests
//! and responses.
//!
//! A page that is fresh in memory is answered before the router, from the JavaScript objects that were
//! made of it the first time. Objects that belong to one request (streams, responses, promises) never
//! outlive it; bytes and headers may.

mod adapters;
mod convert;
mod prepared_page;

use std::sync::{Arc, OnceLock};

use gailou_shared::http_headers::accepts_coding;
use gailou_shared::wire::Code;
use http::HeaderMap;
use worker::js_sys;
use worker::send::SendFuture;
use worker::{Context, Env, event, web_sys};

use crate::cached_page::CachedPage;
use crate::forward::Requester;
use crate::page_key::PageKey;
use crate::page_service;
use crate::rate_limits::network_of;
use crate::response::{RequestIds, problem};
use crate::{EdgeConfig, Isolate, handle, router, routes};
use convert::{incoming_request, js_headers, outgoing_response};
use prepared_page::PreparedPage;

/// What one instance of the Worker keeps between requests.
struct WorkerInstance {
    isolate: Arc<Isolate>,
    router: axum::Router,
    /// The origin's address, without a slash at the end.
    origin: Arc<str>,
}

/// The instance, or what is wrong with the Worker's variables.
static WORKER_INSTANCE: OnceLock<Result<WorkerInstance, String>> = OnceLock::new();

#[event(fetch)]
async fn fetch(request: web_sys::Request, env: Env, context: Context) -> worker::Result<web_sys::Response> {
    let instance = match WORKER_INSTANCE.get_or_init(|| start_instance(&env)) {
        Ok(instance) => instance,
        Err(detail) => {
            let id =
                RequestIds::new(now_ms()).accept(request.headers().get("x-request-id").ok().flatten().as_deref(), 0);
            return outgoing_response(problem(&id, Code::Internal, detail.as_str(), Vec::new())).await;
        }
    };
    let (method, url, headers) = (request.method(), request.url(), request.headers());
    let header = |name: &str| headers.get(name).ok().flatten();
    let id = instance.isolate.request_id(header("x-request-id").as_deref());
    let path_query = path_query(&url);
    let (path, query) = path_query.split_once('?').map_or((path_query, None), |(path, query)| (path, Some(query)));

    let is_moderator_read = |key: &str| {
        page_service::is_moderator_read(&instance.isolate, key, header("authorization").as_deref(), now_ms())
    };
    let client = header("cf-connecting-ip");
    if method == "GET"
        && let Some(key) = PageKey::parse(path, query)
        && let Some(page) = page_service::fresh_in_memory(&instance.isolate, &key.path_query, now_ms())
        && !header("cache-control").is_some_and(|list| routes::has_no_cache(&list))
        && !is_moderator_read(&key.path_query)
        && !instance.isolate.recent_writers.has_written(path, network_of(client.as_deref()), now_ms())
    {
        let accepts_gzip = header("accept-encoding").is_some_and(|codings| accepts_coding(&codings, "gzip"));
        let reader = MemoryRead { id: id.as_str(), if_none_match: header("if-none-match"), accepts_gzip };
        return respond_from_memory(&page, &reader, &context);
    }

    let requester = Requester { id, client };
    let Ok(request) = incoming_request(&request, path_query, &method) else {
        let (code, detail) = (Code::InvalidRequest, "The request cannot be read.");
        return outgoing_response(problem(&requester.id, code, detail, Vec::new())).await;
    };
    let ports = adapters::ports(&instance.origin, env, context);
    let answer = handle(instance.router.clone(), &instance.isolate, ports, requester, request);
    outgoing_response(SendFuture::new(answer).await).await
}

fn start_instance(env: &Env) -> Result<WorkerInstance, String> {
    let config = EdgeConfig::from_variables(|name| env.var(name).ok().map(|value| value.to_string()));
    let config = config.map_err(|invalid| {
        let problem = invalid.to_string();
        worker::console_error!("{problem}");
        problem
    })?;
    // Not a secret: it only sets request ids and probes apart from those of other isolates.
    let seed = (js_sys::Math::random() * (1u64 << 53) as f64) as u64;
    let origin = config.origin.as_str().into();
    let isolate = Arc::new(Isolate::new(config, seed));
    Ok(WorkerInstance { router: router(Arc::clone(&isolate)), isolate, origin })
}

/// Path and query of an absolute URL.
fn path_query(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or(url, |(_, after)| after);
    after_scheme.find('/').and_then(|at| after_scheme.get(at..)).unwrap_or("/")
}

fn now_ms() -> u64 {
    js_sys::Date::now() as u64
}

/// What the answer from memory depends on.
struct MemoryRead<'a> {
    id: &'a str,
    if_none_match: Option<String>,
    accepts_gzip: bool,
}

/// The response of a page that is fresh in memory.
fn respond_from_memory(
    page: &Arc<CachedPage>,
    reader: &MemoryRead,
    context: &Context,
) -> worker::Result<web_sys::Response> {
    let is_unchanged = reader.if_none_match.as_deref().is_some_and(|tags| page.matches_etag(tags));
    let response = if is_unchanged {
        let mut headers = HeaderMap::new();
        page_service::insert_common_headers(page, &mut headers);
        let init = web_sys::ResponseInit::new();
        init.set_status(304);
        init.set_headers(js_headers(&headers)?.as_ref());
        web_sys::Response::new_with_opt_str_and_init(None, &init)?
    } else {
        PreparedPage::respond(&PreparedPage::of(page)?, reader.accepts_gzip, context)?
    };
    let headers = response.headers();
    headers.set("x-request-id", reader.id)?;
    headers.set("age", &page.age_seconds(now_ms()).to_string())?;
    Ok(response)
}
