//! Public reads: the isolate's memory, then the colo's cache, then the global store, then the origin.
//!
//! **Promises.** A page is served without asking for as long as the origin calls it fresh. A little
//! later it is served while the next copy is fetched. Later still, one reader of an isolate waits for
//! the next copy, and the others get the old one, marked stale, unless it is void. When the origin
//! fails, any copy of the last 24 h is served, marked stale; when the origin is back, each page is
//! fetched once. An answer of the origin that is too large is that page's failure alone. The global store is minutes behind, so it is read only when the origin fails, or for a
//! subject that the origin declared hot and as long as that declaration says.
//!
//! **Order.** While an isolate remembers a page it serves no older copy of it, from whichever place:
//! every page passes `admit` on its way out, and nothing awaits between there and the answer.
//!
//! **Takedown.** A page that the change feed holds void is not served, even when nothing else is left
//! to serve; see [`crate::change_feed`], also for its cost.
//!
//! What depends on the reader is in `moderator_read` alone, which stores nothing. Not here: any look into a
//! page's JSON.

mod cooldowns;
mod copies;
mod fetch;
mod moderator_read;
mod page_response;

use std::sync::Arc;

use axum::response::Response;
use gailou_shared::wire::Code;
use http::header::RETRY_AFTER;

use crate::cached_page::{CachedPage, PageState};
use crate::forward::{self, Requester};
use crate::page_key::PageKey;
use crate::ports::Ports;
use crate::response::{insert_header, problem};
use crate::{Isolate, change_feed, lock, rate_limits};

pub use cooldowns::Cooldowns;
pub use moderator_read::{answer_moderator, is_moderator_read};
pub use page_response::{BROWSER_CACHE_CONTROL, STALE_HEADER, insert_common_headers, insert_page_headers};

pub(crate) use copies::{admit, get_from_memory, load_page, store_copies};

use cooldowns::{CooldownAction, RefreshGuard};
use copies::keep_in_colo;
use fetch::{FetchOutcome, TOO_LARGE_COOLDOWN_MS, fetch_page, is_about_page, refresh_later};
use page_response::page_response;

/// How often one page is read past the caches, in milliseconds.
const BYPASS_INTERVAL_MS: u64 = 1_000;

/// A reader's request for a page.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// The page.
    pub key: PageKey,
    /// The entity tags that the reader has.
    pub if_none_match: Option<String>,
    /// Whether the reader asked for the origin's copy (`Cache-Control: no-cache`).
    pub no_cache: bool,
    /// Whether the reader has just written, and must see it: no copy from before, unless the origin fails.
    pub has_written: bool,
    /// The client.
    pub requester: Requester,
}

/// The page when it is in memory, fresh, and allowed by a current change feed: the path that most
/// requests take, without a future.
#[must_use]
pub fn fresh_in_memory(isolate: &Isolate, key: &str, now_ms: u64) -> Option<Arc<CachedPage>> {
    let page = lock(&isolate.pages).get(key)?;
    let is_fresh = page.state(now_ms) == PageState::Fresh && isolate.change_feed.is_current(&page, now_ms);
    (is_fresh && isolate.change_feed.allows(&page)).then_some(page)
}

/// Answers a reader's request for a page.
pub async fn answer_page(isolate: &Arc<Isolate>, ports: &Ports, request: PageRequest) -> Response {
    let key = request.key.path_query.as_str();
    let claim_bypass = |now| isolate.cooldowns.claim(key, CooldownAction::Bypass, now, BYPASS_INTERVAL_MS);
    let past_caches = request.has_written || request.no_cache && claim_bypass(ports.clock.now_ms());
    let mut search = CacheSearch { isolate, ports, request: &request, best_copy: None, is_feed_current: None };
    if past_caches {
        search.best_copy = get_from_memory(isolate, key);
    } else if let Some(answer) = search.try_caches().await {
        return answer;
    }

    let now = ports.clock.now_ms();
    let is_down = isolate.origin_health.is_down(now);
    if (is_down || isolate.origin_health.is_just_back(now) && !past_caches)
        && let Some(answer) = search.answer_stale().await
    {
        if !is_down || isolate.origin_health.may_probe(now) {
            refresh_later(isolate, ports, &request);
        }
        return answer;
    }

    let has_copy = search.best_copy.is_some();
    let guard = if has_copy { RefreshGuard::start(isolate, key, ports.clock.now_ms()) } else { None };
    if guard.is_none()
        && !past_caches
        && let Some(answer) = search.answer_stale().await
    {
        // A slow origin must not receive every reader of a stale page at once.
        return answer;
    }

    if let Err(exceeded) = rate_limits::count_read(ports, &request.requester).await {
        return rate_limits::refuse(exceeded, &request.requester.id);
    }
    let fetched = fetch_page(isolate, ports, &request, search.best_copy.clone(), past_caches).await;
    drop(guard);
    let id = &request.requester.id;
    let failure = match fetched {
        FetchOutcome::Page(page) => return page_response(&page, &request, ports.clock.now_ms(), false),
        FetchOutcome::NotStorable(answer) if is_about_page(answer.status) => {
            return forward::client_response(answer, id);
        }
        FetchOutcome::Void => return problem(id, Code::Unavailable, "This page is changing. Try again.", Vec::new()),
        failure => failure,
    };
    if let Some(answer) = search.answer_stale().await {
        return answer;
    }
    search.best_copy = load_page(&*ports.global_store, key, ports.clock.now_ms()).await;
    if let Some(answer) = search.answer_stale().await {
        return answer;
    }
    match failure {
        FetchOutcome::NotStorable(answer) | FetchOutcome::Failed(Some(answer)) => forward::client_response(answer, id),
        FetchOutcome::TooLarge => {
            let mut response = problem(id, Code::Unavailable, forward::TOO_LARGE_DETAIL, Vec::new());
            insert_header(&mut response, RETRY_AFTER, (TOO_LARGE_COOLDOWN_MS / 1_000).to_string());
            response
        }
        _ => {
            let detail = "The origin does not answer, and no copy of this page is stored. Try again.";
            problem(id, Code::OriginUnreachable, detail, Vec::new())
        }
    }
}

/// The search of one request through the caches.
struct CacheSearch<'a> {
    isolate: &'a Arc<Isolate>,
    ports: &'a Ports,
    request: &'a PageRequest,
    /// The newest copy found so far, of any age; it may be void.
    best_copy: Option<Arc<CachedPage>>,
    /// Whether the change feed is current; `None` until it is needed. A page from the origin needs none.
    is_feed_current: Option<bool>,
}

impl CacheSearch<'_> {
    /// The answer from memory, the colo's cache, or for a popular page the global store.
    async fn try_caches(&mut self) -> Option<Response> {
        let (isolate, ports, key) = (self.isolate, self.ports, &self.request.key);
        let now = ports.clock.now_ms();
        if let Some(page) = get_from_memory(isolate, &key.path_query)
            && let Some(answer) = self.try_copy(page).await
        {
            return Some(answer);
        }
        if let Some(page) = load_page(&*ports.colo_cache, &key.path_query, now).await
            && let Some(answer) = self.try_copy(page).await
        {
            return Some(answer);
        }
        if self.best_copy.as_ref().is_none_or(|page| page.freshness.popular_seconds == 0) {
            return None;
        }
        let stored = ports.global_store.get(&key.path_query).await.ok()??;
        let page = Arc::new(CachedPage::decode(&stored, now)?);
        let answer = self.try_copy(Arc::clone(&page)).await?;
        let is_page = |copy: &Arc<CachedPage>| Arc::ptr_eq(copy, &page);
        let is_newest = self.best_copy.as_ref().is_some_and(is_page)
            && get_from_memory(isolate, &key.path_query).is_none_or(|copy| is_page(&copy));
        if is_newest {
            keep_in_colo(ports, key, stored);
        }
        Some(answer)
    }

    /// The answer, when `page` or a newer copy in memory is young enough; for a page to revalidate, the
    /// next copy is being fetched.
    async fn try_copy(&mut self, page: Arc<CachedPage>) -> Option<Response> {
        let state = page.state(self.ports.clock.now_ms());
        if self.best_copy.as_ref().is_none_or(|best| page.replaces(best)) {
            self.best_copy = Some(Arc::clone(&page));
        }
        if !matches!(state, PageState::Fresh | PageState::Revalidate) {
            return None;
        }
        let is_current = self.ensure_feed().await;
        let page = admit(self.isolate, &self.request.key.path_query, &page)?;
        let now = self.ports.clock.now_ms();
        let is_down = self.isolate.origin_health.is_down(now);
        let is_current = is_current && self.isolate.change_feed.covers(&page, now);
        match page.state(now) {
            PageState::Fresh => Some(page_response(&page, self.request, now, !is_current)),
            PageState::Revalidate => {
                if !is_down || self.isolate.origin_health.may_probe(now) {
                    refresh_later(self.isolate, self.ports, self.request);
                }
                Some(page_response(&page, self.request, now, !is_current || is_down))
            }
            PageState::OnError | PageState::Expired => None,
        }
    }

    /// The answer from the best copy, of any age up to a day, marked stale.
    async fn answer_stale(&mut self) -> Option<Response> {
        let page = self.best_copy.clone()?;
        self.ensure_feed().await;
        let page = admit(self.isolate, &self.request.key.path_query, &page)?;
        let now = self.ports.clock.now_ms();
        (page.state(now) != PageState::Expired).then(|| page_response(&page, self.request, now, true))
    }

    /// Makes the change feed current, once in a request. False when that failed.
    async fn ensure_feed(&mut self) -> bool {
        match self.is_feed_current {
            Some(is_current) => is_current,
            None => {
                let is_current = change_feed::ensure_current(self.isolate, self.ports, &self.request.requester).await;
                *self.is_feed_current.insert(is_current)
            }
        }
    }
}

#[cfg(test)]
mod tests;
