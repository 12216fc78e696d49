//! Public reads: the isolate's memory, then the colo's cache, then the store all colos share,
//! then the origin.
//!
//! **Promises.** What the origin calls fresh is served without asking; a little older is served
//! while the next copy is fetched; when the origin fails, what there is of the last 24 h is served
//! and marked stale. Only 200s are stored. An older copy never replaces a newer one (a copy is as
//! old as the request that fetched it). The shared store is minutes behind, so it is read only
//! when the origin fails, or where the origin declared the subject hot and for as long as it said.
//!
//! Not here: what depends on the reader, and any look into a page's JSON.

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use gailou_shared::wire::Code;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, AGE, CACHE_CONTROL, ETAG, HeaderMap, HeaderName,
    HeaderValue, IF_NONE_MATCH, WARNING,
};
use http::{Method, StatusCode};

use crate::answer::{EXPOSED, REQUEST_ID, problem};
use crate::forward::{self, Asker, Message, Outcome, READ_MS};
use crate::key::Key;
use crate::memory::Bounded;
use crate::page::{Age, MEMORY_PAGE_BYTES, Page};
use crate::ports::{FromOrigin, PageStore, Want, World};
use crate::{Edge, lock};

/// What browsers may do with a page: keep it, and ask each time.
pub const BROWSERS: HeaderValue = HeaderValue::from_static("public, no-cache");
/// The header that marks a page whose origin does not answer.
pub const STALE: HeaderName = HeaderName::from_static("x-gailou-stale");

/// How long a refresh may be under way before another is begun, in milliseconds: the deadline of
/// a read, after which it has surely ended.
const REFRESH_MS: u64 = READ_MS as u64;
/// How often a key is read past the caches, in milliseconds.
const BYPASS_MS: u64 = 1_000;
/// How often a key is written to the shared store, in milliseconds. It takes one write a second
/// and shows the old value for a minute, so more often would change nothing.
const SHARE_MS: u64 = 60_000;
/// Keys whose marks an isolate keeps.
const MARKS: usize = 8_192;

/// A reader's request for a page.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The page.
    pub key: Key,
    /// Tags the reader has.
    pub if_none_match: Option<String>,
    /// The reader wants it from the origin.
    pub no_cache: bool,
    /// Who asks.
    pub asker: Asker,
}

/// When an isolate last did things that must not be done too often, by key.
#[derive(Debug)]
pub struct Marks(Mutex<Bounded<[u64; 3]>>);

/// What must not be done too often.
#[derive(Debug, Clone, Copy)]
enum Deed {
    Refresh,
    Bypass,
    Share,
}

impl Default for Marks {
    fn default() -> Self {
        Self(Mutex::new(Bounded::new(usize::MAX, MARKS)))
    }
}

impl Marks {
    /// Whether `deed` may be done for `key` now, and if so, that it is being done.
    fn claim(&self, key: &str, deed: Deed, now_ms: u64, every_ms: u64) -> bool {
        let mut marks = lock(&self.0);
        let mut times = marks.get(key).unwrap_or_default();
        let Some(last) = times.get_mut(deed as usize) else { return false };
        if *last != 0 && now_ms.saturating_sub(*last) < every_ms {
            return false;
        }
        *last = now_ms.max(1);
        marks.put(key.into(), times, 0);
        true
    }

    fn release(&self, key: &str, deed: Deed) {
        let mut marks = lock(&self.0);
        let Some(mut times) = marks.get(key) else { return };
        if let Some(last) = times.get_mut(deed as usize) {
            *last = 0;
        }
        marks.put(key.into(), times, 0);
    }
}

/// The page when it is in memory and fresh: the way that most requests take, without a future.
#[must_use]
pub fn at_hand(edge: &Edge, key: &str, now_ms: u64) -> Option<Arc<Page>> {
    lock(&edge.memory).get(key).filter(|page| page.age(now_ms) == Age::Fresh)
}

/// Answers a reader.
pub async fn read(edge: &Arc<Edge>, world: &World, ask: Ask) -> Response {
    let now = world.clock.now_ms();
    let key = ask.key.path_query.as_str();
    let mut found = lock(&edge.memory).get(key);
    let past_caches = ask.no_cache && edge.marks.claim(key, Deed::Bypass, now, BYPASS_MS);
    if !past_caches {
        if let Some(page) = found.as_ref().filter(|page| may_serve(edge, world, &ask, page, now)) {
            return serve(page, &ask, now, is_marked(edge, page, now));
        }
        found = newer(found, load(&*world.colo, key, now).await);
        if let Some(page) = found.as_ref().filter(|page| may_serve(edge, world, &ask, page, now)) {
            remember(edge, key, page);
            return serve(page, &ask, now, is_marked(edge, page, now));
        }
        if found.as_ref().is_some_and(|page| page.freshness.hot > 0)
            && let Some(mut page) = load(&*world.global, key, now).await
        {
            page.from_shared = true;
            let page = Arc::new(page);
            if page.age(now) == Age::Fresh {
                remember(edge, key, &page);
                return serve(&page, &ask, now, false);
            }
        }
    }
    if let Some(page) = found.as_ref().filter(|page| page.age(now) != Age::Dead && edge.health.is_down(now)) {
        if edge.health.may_probe(now) {
            refresh(edge, world, &ask, page);
        }
        return serve(page, &ask, now, true);
    }
    let (page, failure) = match fetch(edge, world, &ask, found.as_ref(), past_caches).await {
        Fetched::Page(page) => return serve(&page, &ask, world.clock.now_ms(), false),
        Fetched::Other(answer) if answer.status != StatusCode::INTERNAL_SERVER_ERROR => {
            return forward::hand_on(answer, &ask.asker.id);
        }
        Fetched::Other(answer) => (found, Some(answer)),
        Fetched::Failed(answer) => (found, answer),
    };
    let now = world.clock.now_ms();
    let page = match page.filter(|page| page.age(now) != Age::Dead) {
        Some(page) => Some(page),
        None => load(&*world.global, key, now).await.filter(|page| page.age(now) != Age::Dead).map(Arc::new),
    };
    match (page, failure) {
        (Some(page), _) => {
            remember(edge, key, &page);
            serve(&page, &ask, now, true)
        }
        (None, Some(answer)) => forward::hand_on(answer, &ask.asker.id),
        (None, None) => {
            let detail = "The origin does not answer and nothing is stored of this page. Try again.";
            problem(&ask.asker.id, Code::OriginUnreachable, detail, Vec::new())
        }
    }
}

/// Whether `page` can be the answer; when it is a little old, its next copy is on the way.
fn may_serve(edge: &Arc<Edge>, world: &World, ask: &Ask, page: &Arc<Page>, now_ms: u64) -> bool {
    match page.age(now_ms) {
        Age::Fresh => true,
        Age::Revalidate => {
            if !edge.health.is_down(now_ms) || edge.health.may_probe(now_ms) {
                refresh(edge, world, ask, page);
            }
            true
        }
        Age::OnError | Age::Dead => false,
    }
}

fn is_marked(edge: &Edge, page: &Page, now_ms: u64) -> bool {
    page.age(now_ms) != Age::Fresh && edge.health.is_down(now_ms)
}

/// Fetches the next copy after the answer, unless that is under way.
fn refresh(edge: &Arc<Edge>, world: &World, ask: &Ask, page: &Arc<Page>) {
    let now = world.clock.now_ms();
    if !edge.marks.claim(&ask.key.path_query, Deed::Refresh, now, REFRESH_MS) {
        return;
    }
    let (edge, world_, ask, page) = (Arc::clone(edge), world.clone(), ask.clone(), Arc::clone(page));
    world.later.run(Box::pin(async move {
        let key = &ask.key.path_query;
        // Another isolate of the colo may have fetched it already.
        let other = load(&*world_.colo, key, now).await.filter(|other| other.age(now) == Age::Fresh);
        match other {
            Some(other) => remember(&edge, key, &Arc::new(other)),
            None => {
                fetch(&edge, &world_, &ask, Some(&page), false).await;
            }
        }
        edge.marks.release(key, Deed::Refresh);
    }));
}

enum Fetched {
    /// A page, stored by now or soon.
    Page(Arc<Page>),
    /// The origin's answer, which is not to be stored.
    Other(FromOrigin),
    /// The origin failed; its own words, if it had any.
    Failed(Option<FromOrigin>),
}

async fn fetch(edge: &Arc<Edge>, world: &World, ask: &Ask, known: Option<&Arc<Page>>, past_caches: bool) -> Fetched {
    let started = world.clock.now_ms();
    let mut headers = HeaderMap::new();
    if let Some(etag) = known.and_then(|page| page.etag.clone()) {
        headers.insert(IF_NONE_MATCH, etag);
    }
    if past_caches {
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    }
    let message = Message {
        method: Method::GET,
        path_query: ask.key.path_query.clone(),
        headers,
        body: Bytes::new(),
        want: Want::Whole,
        deadline_ms: READ_MS,
    };
    let outcome = forward::send(edge, world, &ask.asker, message).await;
    edge.health.note(matches!(outcome, Outcome::Answered(_)), world.clock.now_ms());
    let answer = match outcome {
        Outcome::Answered(answer) => answer,
        Outcome::Troubled(answer) => return Fetched::Failed(Some(answer)),
        Outcome::Unreachable => return Fetched::Failed(None),
    };
    let page = match (answer.status, known) {
        (StatusCode::NOT_MODIFIED, Some(known)) => Some(known.confirmed(&answer.headers, started)),
        _ => Page::from_origin(&answer, started),
    };
    if let Some(page) = page {
        let page = Arc::new(page);
        keep(edge, world, &ask.key, &page);
        return Fetched::Page(page);
    }
    if matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::GONE) && known.is_some() {
        forget(edge, world, &ask.key);
    }
    Fetched::Other(answer)
}

fn keep(edge: &Edge, world: &World, key: &Key, page: &Arc<Page>) {
    remember(edge, &key.path_query, page);
    let share = key.shared && edge.marks.claim(&key.path_query, Deed::Share, page.fetched_ms, SHARE_MS);
    let (colo, global) = (Arc::clone(&world.colo), Arc::clone(&world.global));
    let (key, page) = (key.path_query.clone(), Arc::clone(page));
    world.later.run(Box::pin(async move {
        let Some(bytes) = page.encode() else { return };
        // A store that fails leaves an older copy, which its age gives away.
        let _ = colo.put(&key, bytes.clone()).await;
        if share {
            let _ = global.put(&key, bytes).await;
        }
    }));
}

fn forget(edge: &Edge, world: &World, key: &Key) {
    lock(&edge.memory).remove(&key.path_query);
    let (colo, global) = (Arc::clone(&world.colo), Arc::clone(&world.global));
    let Key { path_query, shared } = key.clone();
    world.later.run(Box::pin(async move {
        let _ = colo.remove(&path_query).await;
        if shared {
            let _ = global.remove(&path_query).await;
        }
    }));
}

fn remember(edge: &Edge, key: &str, page: &Arc<Page>) {
    if page.body.len() > MEMORY_PAGE_BYTES {
        return;
    }
    let mut memory = lock(&edge.memory);
    if memory.get(key).is_none_or(|old| old.fetched_ms <= page.fetched_ms) {
        memory.put(key.into(), Arc::clone(page), page.weight(key));
    }
}

async fn load(store: &dyn PageStore, key: &str, now_ms: u64) -> Option<Page> {
    // A store that fails is a store without the page.
    let bytes = store.get(key).await.ok()??;
    Page::decode(&bytes, now_ms)
}

fn newer(a: Option<Arc<Page>>, b: Option<Page>) -> Option<Arc<Page>> {
    match (a, b) {
        (Some(a), Some(b)) if a.fetched_ms >= b.fetched_ms => Some(a),
        (a, b) => b.map(Arc::new).or(a),
    }
}

fn serve(page: &Page, ask: &Ask, now_ms: u64, stale: bool) -> Response {
    let mut response = Response::new(Body::empty());
    let known = ask.if_none_match.as_deref().is_some_and(|tags| page.matches(tags));
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    } else {
        *response.body_mut() = Body::from(page.body.clone());
    }
    let headers = response.headers_mut();
    if known {
        put_common(page, headers);
    } else {
        put_all(page, headers);
    }
    headers.insert(AGE, HeaderValue::from(page.age_seconds(now_ms)));
    headers.insert(REQUEST_ID, ask.asker.id.header());
    if stale {
        headers.insert(STALE, HeaderValue::from_static("1"));
        headers.insert(WARNING, HeaderValue::from_static("110 gailou \"Response is Stale\""));
    }
    response
}

/// The headers of a page that are the same for every reader.
pub fn put_all(page: &Page, headers: &mut HeaderMap) {
    headers.extend(page.headers.iter().cloned());
    put_common(page, headers);
}

/// Those of them that a 304 carries.
pub fn put_common(page: &Page, headers: &mut HeaderMap) {
    if let Some(etag) = &page.etag {
        headers.insert(ETAG, etag.clone());
    }
    headers.insert(CACHE_CONTROL, BROWSERS);
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
}

#[cfg(test)]
mod tests;
