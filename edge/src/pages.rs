//! Public reads: the isolate's memory, then the colo's cache, then the store all colos share,
//! then the origin.
//!
//! **Promises.** What the origin calls fresh is served without asking; a little older is served
//! while the next copy is fetched; older still, one reader of an isolate waits for the next copy, and
//! those who come meanwhile get this one, marked stale, as long as it is not void; when the origin
//! fails, what there is of the last 24 h is served and marked stale, and when it is back it is asked
//! once for each page. Only 200s are stored. The shared store is minutes behind, so it is read only
//! when the origin fails, or where the origin declared the subject hot and for as long as it said.
//!
//! **Order.** While an isolate remembers a page, it serves no older one after it, whichever of the
//! places it comes from: every page goes through `admit` on its way out, and between there and
//! the answer nothing waits. Memory, colo and shared store never take an older page for a newer one
//! (the last two as far as they show what they hold).
//!
//! **Takedown.** No page is served that the change feed holds void, not even when that leaves
//! nothing to serve; see [`crate::feed`], also for what it costs.
//!
//! Not here: what depends on the reader, and any look into a page's JSON.

use std::sync::Arc;

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
use crate::page::{Age, MEMORY_PAGE_BYTES, Page};
use crate::ports::{FromOrigin, PageStore, Want, World};
use crate::{Edge, feed, limits, lock};

pub use marks::Marks;
use marks::{Deed, UnderWay};

/// What browsers may do with a page: keep it, and ask each time.
pub const BROWSERS: HeaderValue = HeaderValue::from_static("public, no-cache");
/// The header that marks a page whose origin does not answer.
pub const STALE: HeaderName = HeaderName::from_static("x-gailou-stale");

/// For how long the origin may answer with a page it has ready, in milliseconds, and a little more.
const READY_MS: u32 = 300;
/// How often a key is read past the caches, in milliseconds.
const BYPASS_MS: u64 = 1_000;
/// How often a key is written to the shared store, in milliseconds. It takes one write a second
/// and shows the old value for a minute, so more often would change nothing.
const SHARE_MS: u64 = 60_000;

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

/// The page when it is in memory, fresh, and the feed has nothing against it: the way that most
/// requests take, without a future.
#[must_use]
pub fn at_hand(edge: &Edge, key: &str, now_ms: u64) -> Option<Arc<Page>> {
    if !edge.feed.is_current(now_ms) {
        return None;
    }
    let page = lock(&edge.memory).get(key)?;
    (page.age(now_ms) == Age::Fresh && edge.feed.passes(&page)).then_some(page)
}

/// Answers a reader.
pub async fn read(edge: &Arc<Edge>, world: &World, ask: Ask) -> Response {
    let key = ask.key.path_query.as_str();
    let past_caches = ask.no_cache && edge.marks.claim(key, Deed::Bypass, world.clock.now_ms(), BYPASS_MS);
    let mut search = Search { edge, world, ask: &ask, spare: None, is_current: None };
    if past_caches {
        search.spare = recall(edge, key);
    } else if let Some(answer) = search.caches().await {
        return answer;
    }

    let now = world.clock.now_ms();
    let is_down = edge.health.is_down(now);
    if (is_down || edge.health.is_just_back(now) && !past_caches)
        && let Some(answer) = search.stale().await
    {
        if !is_down || edge.health.may_probe(now) {
            refresh(edge, world, &ask);
        }
        return answer;
    }

    let under_way = search.spare.as_ref().and_then(|_| UnderWay::begin(edge, key, world.clock.now_ms()));
    if under_way.is_none()
        && !past_caches
        && let Some(answer) = search.stale().await
    {
        // An origin that is slow must not get every reader of an old page at once.
        return answer;
    }

    if let Err(exceeded) = limits::read(world, &ask.asker).await {
        return limits::refusal(exceeded, &ask.asker.id);
    }
    let fetched = fetch(edge, world, &ask, search.spare.clone(), past_caches).await;
    drop(under_way);
    let failure = match fetched {
        Fetched::Page(page) => return serve(&page, &ask, world.clock.now_ms(), false),
        Fetched::Other(answer) if answer.status != StatusCode::INTERNAL_SERVER_ERROR => {
            return forward::hand_on(answer, &ask.asker.id);
        }
        Fetched::Void => {
            let detail = "This page is changing. Try again.";
            return problem(&ask.asker.id, Code::Unavailable, detail, Vec::new());
        }
        Fetched::Other(answer) => Some(answer),
        Fetched::Failed(answer) => answer,
    };
    if let Some(answer) = search.stale().await {
        return answer;
    }
    search.spare = load(&*world.global, key, world.clock.now_ms()).await;
    match (search.stale().await, failure) {
        (Some(answer), _) => answer,
        (None, Some(answer)) => forward::hand_on(answer, &ask.asker.id),
        (None, None) => {
            let detail = "The origin does not answer and nothing is stored of this page. Try again.";
            problem(&ask.asker.id, Code::OriginUnreachable, detail, Vec::new())
        }
    }
}

/// One reader's way through the caches.
struct Search<'a> {
    edge: &'a Arc<Edge>,
    world: &'a World,
    ask: &'a Ask,
    /// The newest copy seen so far, of whatever age, perhaps void.
    spare: Option<Arc<Page>>,
    /// Whether the feed could be asked, once it was needed: what comes from the origin needs none.
    is_current: Option<bool>,
}

impl Search<'_> {
    async fn caches(&mut self) -> Option<Response> {
        let (edge, world, key) = (self.edge, self.world, &self.ask.key);
        let now = world.clock.now_ms();
        if let Some(page) = recall(edge, &key.path_query)
            && let Some(answer) = self.offer(page).await
        {
            return Some(answer);
        }
        if let Some(page) = load(&*world.colo, &key.path_query, now).await
            && let Some(answer) = self.offer(page).await
        {
            return Some(answer);
        }
        if self.spare.as_ref().is_none_or(|page| page.freshness.hot == 0) {
            return None;
        }
        let page = load(&*world.global, &key.path_query, now).await?;
        let answer = self.offer(Arc::clone(&page)).await?;
        keep(edge, world, key, &page, false);
        Some(answer)
    }

    /// The answer, when `page` or a newer one in memory can be it; when that is a little old, its
    /// next copy is on the way.
    async fn offer(&mut self, page: Arc<Page>) -> Option<Response> {
        let age = page.age(self.world.clock.now_ms());
        if self.spare.as_ref().is_none_or(|spare| page.replaces(spare)) {
            self.spare = Some(Arc::clone(&page));
        }
        if !matches!(age, Age::Fresh | Age::Revalidate) {
            return None;
        }
        let is_current = self.feed().await;
        let page = admit(self.edge, &self.ask.key.path_query, &page)?;
        let now = self.world.clock.now_ms();
        let is_down = self.edge.health.is_down(now);
        match page.age(now) {
            Age::Fresh => Some(serve(&page, self.ask, now, !is_current)),
            Age::Revalidate => {
                if !is_down || self.edge.health.may_probe(now) {
                    refresh(self.edge, self.world, self.ask);
                }
                Some(serve(&page, self.ask, now, !is_current || is_down))
            }
            Age::OnError | Age::Dead => None,
        }
    }

    /// The answer from what was found, however old, marked.
    async fn stale(&mut self) -> Option<Response> {
        let page = self.spare.clone()?;
        self.feed().await;
        let page = admit(self.edge, &self.ask.key.path_query, &page)?;
        let now = self.world.clock.now_ms();
        (page.age(now) != Age::Dead).then(|| serve(&page, self.ask, now, true))
    }

    async fn feed(&mut self) -> bool {
        match self.is_current {
            Some(is_current) => is_current,
            None => *self.is_current.insert(feed::current(self.edge, self.world, &self.ask.asker).await),
        }
    }
}

/// Fetches the next copy after the answer, unless that is under way.
fn refresh(edge: &Arc<Edge>, world: &World, ask: &Ask) {
    let Some(under_way) = UnderWay::begin(edge, &ask.key.path_query, world.clock.now_ms()) else { return };
    let (edge, world_, ask) = (Arc::clone(edge), world.clone(), ask.clone());
    world.later.run(Box::pin(async move {
        let key = &ask.key.path_query;
        if !is_elsewhere(&edge, &world_, key).await {
            let known = recall(&edge, key);
            fetch(&edge, &world_, &ask, known, false).await;
        }
        drop(under_way);
    }));
}

/// Whether another isolate of the colo has fetched the page already, or the origin has pushed it;
/// it is in memory then.
async fn is_elsewhere(edge: &Edge, world: &World, key: &str) -> bool {
    let now = world.clock.now_ms();
    let admitted = |page: Option<Arc<Page>>| {
        let page = page.and_then(|page| admit(edge, key, &page));
        page.is_some_and(|page| page.age(now) == Age::Fresh)
    };
    if admitted(load(&*world.colo, key, now).await) {
        return true;
    }
    let is_hot = recall(edge, key).is_some_and(|page| page.freshness.hot > 0);
    is_hot && admitted(load(&*world.global, key, now).await)
}

enum Fetched {
    /// A page, stored by now or soon.
    Page(Arc<Page>),
    /// The origin's answer, which is not to be stored.
    Other(FromOrigin),
    /// A page that must not be shown: it was made before what the feed already says.
    Void,
    /// The origin failed; its own words, if it had any.
    Failed(Option<FromOrigin>),
}

/// Asks the origin, and once more when its answer is behind the feed or behind what was served:
/// after as long as the origin serves pages it has ready, unless another reader has it by then.
async fn fetch(edge: &Arc<Edge>, world: &World, ask: &Ask, known: Option<Arc<Page>>, past_caches: bool) -> Fetched {
    let known = known.filter(|page| edge.feed.passes(page));
    match fetch_once(edge, world, ask, known, past_caches).await {
        Fetched::Void => {
            world.clock.pause(READY_MS).await;
            let now = world.clock.now_ms();
            let others = recall(edge, &ask.key.path_query).filter(|page| page.age(now) == Age::Fresh);
            match others.filter(|page| edge.feed.passes(page)) {
                Some(page) => Fetched::Page(page),
                None => fetch_once(edge, world, ask, None, true).await,
            }
        }
        fetched => fetched,
    }
}

async fn fetch_once(
    edge: &Arc<Edge>,
    world: &World,
    ask: &Ask,
    known: Option<Arc<Page>>,
    past_caches: bool,
) -> Fetched {
    let started = world.clock.now_ms();
    let mut headers = HeaderMap::new();
    if let Some(etag) = known.as_ref().and_then(|page| page.etag.clone()) {
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
    let outcome = match forward::send(edge, world, &ask.asker, message).await {
        // Something between answers in the origin's place: it gives pages, tags and problems.
        Outcome::Answered(answer)
            if !matches!(answer.status, StatusCode::OK | StatusCode::NOT_MODIFIED)
                && !forward::is_problem(&answer.headers) =>
        {
            Outcome::Unreachable
        }
        outcome => outcome,
    };
    edge.health.note(matches!(outcome, Outcome::Answered(_)), world.clock.now_ms());
    let answer = match outcome {
        Outcome::Answered(answer) => answer,
        Outcome::Troubled(answer) => return Fetched::Failed(Some(answer)),
        Outcome::Unreachable => return Fetched::Failed(None),
    };
    let page = match (answer.status, &known) {
        (StatusCode::NOT_MODIFIED, Some(known)) => Some(known.confirmed(&answer.headers, started)),
        _ => Page::from_origin(&answer, started),
    };
    if let Some(page) = page {
        let page = Arc::new(page);
        let Some(newest) = admit(edge, &ask.key.path_query, &page) else { return Fetched::Void };
        if Arc::ptr_eq(&newest, &page) {
            keep(edge, world, &ask.key, &page, true);
        }
        return Fetched::Page(newest);
    }
    if matches!(answer.status, StatusCode::NOT_FOUND | StatusCode::GONE) && known.is_some() {
        forget(edge, world, &ask.key);
    }
    Fetched::Other(answer)
}

/// Puts a page into the colo's cache, and into the shared store when that is due.
pub(crate) fn keep(edge: &Arc<Edge>, world: &World, key: &Key, page: &Arc<Page>, share: bool) {
    // Of addresses where nobody wrote anything there is no end.
    let holds_something = page.version > 0 || !page.shows.entries().is_empty();
    let share = share
        && key.shared
        && holds_something
        && edge.marks.claim(&key.path_query, Deed::Share, page.fetched_ms, SHARE_MS);
    let (edge, colo, global) = (Arc::clone(edge), Arc::clone(&world.colo), Arc::clone(&world.global));
    let (key, page, now) = (key.path_query.clone(), Arc::clone(page), world.clock.now_ms());
    world.later.run(Box::pin(async move {
        let Some(bytes) = page.encode() else { return };
        // A store that fails leaves an older copy, which its age gives away.
        if load(&*colo, &key, now).await.is_none_or(|old| page.replaces(&old)) {
            let _ = colo.put(&key, bytes.clone()).await;
        }
        if !share {
            return;
        }
        // Others share it too, and the origin pushes it: one of all is enough.
        let is_due = |old: Arc<Page>| {
            let is_old = old.fetched_ms + SHARE_MS <= page.fetched_ms || !edge.feed.passes(&old);
            is_old && page.replaces(&old)
        };
        if load(&*global, &key, now).await.is_none_or(is_due) {
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

/// What is in memory under `key`, perhaps void.
pub(crate) fn recall(edge: &Edge, key: &str) -> Option<Arc<Page>> {
    lock(&edge.memory).get(key)
}

/// The newer of `page` and what is in memory, which it then is; `None` when the feed holds that void.
/// A page that has become void stays in memory, so that nothing older takes its place.
pub(crate) fn admit(edge: &Edge, key: &str, page: &Arc<Page>) -> Option<Arc<Page>> {
    if !edge.feed.passes(page) {
        return None;
    }
    let mut memory = lock(&edge.memory);
    if let Some(known) = memory.get(key).filter(|known| !page.replaces(known)) {
        return edge.feed.passes(&known).then_some(known);
    }
    if page.body.len() > MEMORY_PAGE_BYTES {
        memory.remove(key);
    } else {
        memory.put(key.into(), Arc::clone(page), page.weight(key));
    }
    Some(Arc::clone(page))
}

/// What `store` has under `key`.
pub(crate) async fn load(store: &dyn PageStore, key: &str, now_ms: u64) -> Option<Arc<Page>> {
    // A store that fails is a store without the page.
    let bytes = store.get(key).await.ok()??;
    Page::decode(&bytes, now_ms).map(Arc::new)
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

mod marks;
#[cfg(test)]
mod tests;
