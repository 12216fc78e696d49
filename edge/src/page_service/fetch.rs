//! Fetching a page from the origin, for a reader or after the answer.
//!
//! Only a 200 is stored. A 301, 403, 404 … without `application/problem+json` comes from something
//! between edge and origin (a proxy, the platform), so it counts as an unreachable origin.

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, HeaderMap, HeaderValue, IF_NONE_MATCH};
use http::{Method, StatusCode};

use super::PageRequest;
use super::cooldowns::{CooldownAction, RefreshGuard};
use super::copies::{admit, get_from_memory, load_page, remove_copies, store_copies};
use crate::Isolate;
use crate::cached_page::{CachedPage, PageState};
use crate::forward::{self, ForwardRequest, OriginOutcome, READ_TIMEOUT_MS};
use crate::ports::{BodyMode, OriginResponse, Ports};

/// How long the origin may keep answering with a page it had ready, in milliseconds, and a little more.
const READY_PAGE_MS: u32 = 300;

/// How long a page whose answer was too large is not asked for again, in milliseconds: each attempt reads
/// as many bytes as the edge reads of one answer.
pub(super) const TOO_LARGE_COOLDOWN_MS: u64 = 5_000;

/// The result of fetching a page.
pub(super) enum FetchOutcome {
    /// A page, stored by now or soon.
    Page(Arc<CachedPage>),
    /// An answer that may not be stored.
    NotStorable(OriginResponse),
    /// A page that may not be served: it was made before a change that the feed contains.
    Void,
    /// The origin's answer for this page is too large.
    TooLarge,
    /// The origin failed; its own answer, if it gave one.
    Failed(Option<OriginResponse>),
}

/// Fetches the next copy after the answer, unless a refresh is in progress.
pub(super) fn refresh_later(isolate: &Arc<Isolate>, ports: &Ports, request: &PageRequest) {
    let Some(guard) = RefreshGuard::start(isolate, &request.key.path_query, ports.clock.now_ms()) else { return };
    let (isolate, task_ports, request) = (Arc::clone(isolate), ports.clone(), request.clone());
    ports.wait_until.spawn(Box::pin(async move {
        let key = &request.key.path_query;
        if !is_fresh_elsewhere(&isolate, &task_ports, key).await {
            let known = get_from_memory(&isolate, key);
            fetch_page(&isolate, &task_ports, &request, known, false).await;
        }
        drop(guard);
    }));
}

/// Whether another isolate of the colo has already fetched the page, or the origin has pushed it; if
/// so, it is in memory afterwards.
async fn is_fresh_elsewhere(isolate: &Isolate, ports: &Ports, key: &str) -> bool {
    let now = ports.clock.now_ms();
    let is_fresh = |page: Option<Arc<CachedPage>>| {
        let page = page.and_then(|page| admit(isolate, key, &page));
        page.is_some_and(|page| page.state(now) == PageState::Fresh)
    };
    if is_fresh(load_page(&*ports.colo_cache, key, now).await) {
        return true;
    }
    let is_popular = get_from_memory(isolate, key).is_some_and(|page| page.freshness.popular_seconds > 0);
    is_popular && is_fresh(load_page(&*ports.global_store, key, now).await)
}

/// Fetches a page from the origin. When the answer is older than the feed or than what was served, it
/// asks a second time, past the origin's ready pages and after they expire, unless another request has
/// fetched the page meanwhile.
pub(super) async fn fetch_page(
    isolate: &Arc<Isolate>,
    ports: &Ports,
    request: &PageRequest,
    known: Option<Arc<CachedPage>>,
    past_caches: bool,
) -> FetchOutcome {
    let known = known.filter(|page| isolate.change_feed.allows(page));
    let (key, now) = (&request.key.path_query, ports.clock.now_ms());
    if isolate.cooldowns.is_claimed(key, CooldownAction::ReadTooLarge, now, TOO_LARGE_COOLDOWN_MS) {
        return FetchOutcome::TooLarge;
    }
    match fetch_once(isolate, ports, request, known, past_caches).await {
        FetchOutcome::Void => {
            ports.clock.pause(READY_PAGE_MS).await;
            let now = ports.clock.now_ms();
            let in_memory = get_from_memory(isolate, &request.key.path_query);
            let in_memory = in_memory.filter(|page| page.state(now) == PageState::Fresh);
            match in_memory.filter(|page| isolate.change_feed.allows(page)) {
                Some(page) => FetchOutcome::Page(page),
                None => fetch_once(isolate, ports, request, None, true).await,
            }
        }
        outcome => outcome,
    }
}

async fn fetch_once(
    isolate: &Arc<Isolate>,
    ports: &Ports,
    request: &PageRequest,
    known: Option<Arc<CachedPage>>,
    past_caches: bool,
) -> FetchOutcome {
    let started_ms = ports.clock.now_ms();
    let mut headers = HeaderMap::new();
    if let Some(etag) = known.as_ref().and_then(|page| page.etag.clone()) {
        headers.insert(IF_NONE_MATCH, etag);
    }
    if past_caches {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    let answer = match ask_origin(isolate, ports, request, headers).await {
        OriginOutcome::Answered(answer) => answer,
        OriginOutcome::TooLarge => {
            let (key, now) = (&request.key.path_query, ports.clock.now_ms());
            isolate.cooldowns.claim(key, CooldownAction::ReadTooLarge, now, TOO_LARGE_COOLDOWN_MS);
            return FetchOutcome::TooLarge;
        }
        OriginOutcome::Unavailable(answer) => return FetchOutcome::Failed(Some(answer)),
        OriginOutcome::Unreachable => return FetchOutcome::Failed(None),
    };
    let page = match (answer.status, &known) {
        (StatusCode::NOT_MODIFIED, Some(known)) => Some(known.revalidated(&answer.headers, started_ms)),
        _ => CachedPage::from_origin(&answer, started_ms),
    };
    if let Some(page) = page {
        let page = Arc::new(page);
        let Some(newest) = admit(isolate, &request.key.path_query, &page) else { return FetchOutcome::Void };
        if Arc::ptr_eq(&newest, &page) {
            store_copies(isolate, ports, &request.key, &page, true);
        }
        return FetchOutcome::Page(newest);
    }
    if matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::GONE) && known.is_some() {
        remove_copies(isolate, ports, &request.key);
    }
    FetchOutcome::NotStorable(answer)
}

/// Sends the request for a page with these headers, and records whether the origin is up. Only pages, 304s
/// and problems are the origin's own answers.
pub(super) async fn ask_origin(
    isolate: &Isolate,
    ports: &Ports,
    request: &PageRequest,
    headers: HeaderMap,
) -> OriginOutcome {
    let forwarded = ForwardRequest {
        method: Method::GET,
        path_query: request.key.path_query.clone(),
        headers,
        body: Bytes::new(),
        body_mode: BodyMode::Whole,
        timeout_ms: READ_TIMEOUT_MS,
    };
    let outcome = match forward::send(isolate, ports, &request.requester, forwarded).await {
        OriginOutcome::Answered(answer)
            if !matches!(answer.status, StatusCode::OK | StatusCode::NOT_MODIFIED)
                && !forward::is_problem(&answer.headers) =>
        {
            OriginOutcome::Unreachable
        }
        outcome => outcome,
    };
    // An answer that is too large is an answer: it says nothing about other pages.
    let is_up = matches!(outcome, OriginOutcome::Answered(_) | OriginOutcome::TooLarge);
    isolate.origin_health.record(is_up, ports.clock.now_ms());
    outcome
}

/// Whether an answer with this status is about the page. A page needs no right: 403 says that the origin
/// refuses this edge's signature.
pub(super) fn is_about_page(status: StatusCode) -> bool {
    !matches!(status, StatusCode::INTERNAL_SERVER_ERROR | StatusCode::FORBIDDEN)
}
