//! Refreshing the change feed: which copy to read, when to ask the origin, and what to store for other
//! isolates and colos. What a feed page means is decided in `state`.

use std::sync::Arc;

use bytes::Bytes;
use gailou_shared::wire::ChangeFeedPage;
use http::{HeaderMap, Method, StatusCode};

use super::stored_page::{MAX_STORED_SKEW_MS, StoredFeedPage};
use super::{DAY_SHARE_INTERVAL_MS, FEED_CURRENT_MS, FEED_TIMEOUT_MS, FEED_USABLE_MS, REFRESH_POLL_INTERVAL_MS};
use crate::forward::{self, ForwardRequest, OriginOutcome, Requester};
use crate::ports::{BodyMode, OriginBody, PageStore, Ports};
use crate::{Isolate, lock};

/// The largest page of the feed, in bytes: [`ChangeFeedPage::MAX_ROWS`] rows of two numbers of 20 digits.
const MAX_FEED_PAGE_BYTES: usize = 512 << 10;

/// Where a feed page comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FeedSource {
    /// The colo's copy, young enough.
    Colo,
    /// The origin, just asked.
    Origin,
    /// The colo's copy of whatever age, if there is one: the origin did not answer.
    StaleColo,
}

/// Polls memory until another request has refreshed the feed, at most as long as the origin may take.
/// Returns whether the feed is usable.
pub(super) async fn wait_for_refresh(isolate: &Isolate, ports: &Ports) -> bool {
    let feed = &isolate.change_feed;
    for _ in 0..FEED_TIMEOUT_MS / REFRESH_POLL_INTERVAL_MS {
        ports.clock.pause(REFRESH_POLL_INTERVAL_MS).await;
        let now = ports.clock.now_ms();
        if feed.age_ms(now) < FEED_USABLE_MS {
            return true;
        }
        if feed.health.is_down(now) {
            return false;
        }
    }
    if lock(&feed.known).is_empty() {
        let day = load_stored_day(ports).await;
        lock(&feed.known).apply(day.as_ref(), None);
    }
    feed.age_ms(ports.clock.now_ms()) < FEED_USABLE_MS
}

/// Reads the tail of the feed, and the whole day when the tail leaves a gap or too much is known. Returns whether the feed is
/// usable.
pub(super) async fn refresh(isolate: &Arc<Isolate>, ports: &Ports, requester: &Requester) -> bool {
    let feed = &isolate.change_feed;
    let is_young =
        |copy: &StoredFeedPage| ports.clock.now_ms().saturating_sub(copy.latest_as_of_ms()) < FEED_CURRENT_MS;
    let (tail, source) = read_feed_page(isolate, ports, requester, ChangeFeedPage::ROUTE_PATH, is_young).await;
    let (is_connected, replaceable_from) = {
        let known = lock(&feed.known);
        (tail.as_ref().is_some_and(|tail| known.connects_to(&tail.document)), known.replaceable_from())
    };
    let mut day = None;
    if let Some(tail) = tail.as_ref().filter(|_| source != FeedSource::StaleColo)
        && (!is_connected || replaceable_from.is_some())
    {
        let reaches = |day: &ChangeFeedPage| {
            let is_enough = replaceable_from.is_none() || lock(&feed.known).is_replaceable_by(day);
            is_enough && reaches_tail(day, &tail.document)
        };
        day = read_day(isolate, ports, requester, reaches).await;
    }
    let is_cut_off = source == FeedSource::StaleColo || !is_connected && day.is_none();
    if is_cut_off && feed.may_read_stored_day(ports.clock.now_ms()) {
        // Old but true: an isolate that starts or wakes up in an outage learns what others stored.
        day = load_stored_day(ports).await;
    }
    lock(&feed.known).apply(day.as_ref(), tail.as_ref());
    let now = ports.clock.now_ms();
    let is_usable = feed.age_ms(now) < FEED_USABLE_MS;
    feed.health.record(is_usable, now);
    if let Some(tail) = tail.filter(|_| is_usable && source == FeedSource::Origin && feed.claim_day_share(now)) {
        let (isolate, task_ports, requester) = (Arc::clone(isolate), ports.clone(), requester.clone());
        let task = async move { share_day(&isolate, &task_ports, &requester, &tail.document).await };
        ports.wait_until.spawn(Box::pin(task));
    }
    is_usable
}

/// Writes the day's page to the global store, unless another isolate has just done so. Without it a
/// colo that has no copy of its own knows less in an outage.
async fn share_day(isolate: &Isolate, ports: &Ports, requester: &Requester, tail: &ChangeFeedPage) {
    let path = day_path();
    let stored = ports.global_store.get(&path).await.ok().flatten();
    let stored_ms = stored.and_then(|bytes| StoredFeedPage::stored_asked_ms(&bytes)).unwrap_or(0);
    let now = ports.clock.now_ms();
    // A page from the future is replaced, because nothing reads it.
    if (now.saturating_sub(DAY_SHARE_INTERVAL_MS) + 1..=now + MAX_STORED_SKEW_MS).contains(&stored_ms) {
        return;
    }
    let known = lock(&isolate.change_feed.known).to_day_page(tail.words);
    let day = match known {
        None => read_day(isolate, ports, requester, |day| reaches_tail(day, tail)).await,
        known => known,
    };
    if let Some(day) = day.filter(|day| day.asked_ms > stored_ms || stored_ms > now) {
        let _ = ports.global_store.put(&path, day.encode()).await;
    }
}

fn day_path() -> String {
    format!("{}?day=1", ChangeFeedPage::ROUTE_PATH)
}

/// The copy that `store` has. A store that fails counts as a store without the copy.
async fn load_copy(store: &dyn PageStore, path: &str, now_ms: u64) -> Option<StoredFeedPage> {
    let bytes = store.get(path).await.ok()??;
    StoredFeedPage::decode(&bytes, now_ms)
}

/// The stored page of a day that is complete for longest, of any age.
async fn load_stored_day(ports: &Ports) -> Option<StoredFeedPage> {
    let (path, now) = (day_path(), ports.clock.now_ms());
    let in_colo = load_copy(&*ports.colo_cache, &path, now).await;
    if in_colo.as_ref().is_some_and(|copy| now.saturating_sub(copy.latest_as_of_ms()) < DAY_SHARE_INTERVAL_MS) {
        return in_colo;
    }
    let global = load_copy(&*ports.global_store, &path, now).await;
    in_colo.into_iter().chain(global).max_by_key(|copy| copy.document.latest())
}

/// Whether no gap lies between a day's page and a tail.
fn reaches_tail(day: &ChangeFeedPage, tail: &ChangeFeedPage) -> bool {
    day.now >= tail.since && tail.ahead.as_ref().is_none_or(|ahead| day.latest() >= ahead.since)
}

/// A day's page that reaches as far as is needed.
async fn read_day(
    isolate: &Isolate,
    ports: &Ports,
    requester: &Requester,
    reaches: impl Fn(&ChangeFeedPage) -> bool,
) -> Option<StoredFeedPage> {
    let connects = |day: &StoredFeedPage| reaches(&day.document);
    let (day, source) = read_feed_page(isolate, ports, requester, &day_path(), connects).await;
    day.filter(|_| source != FeedSource::StaleColo)
}

/// The colo's copy when it is `acceptable`, else the origin's answer; when the origin does not answer,
/// the colo's copy as it is.
async fn read_feed_page(
    isolate: &Isolate,
    ports: &Ports,
    requester: &Requester,
    path: &str,
    acceptable: impl Fn(&StoredFeedPage) -> bool,
) -> (Option<StoredFeedPage>, FeedSource) {
    let in_colo = load_copy(&*ports.colo_cache, path, ports.clock.now_ms()).await;
    if in_colo.as_ref().is_some_and(acceptable) {
        return (in_colo, FeedSource::Colo);
    }
    match fetch_feed_page(isolate, ports, requester, path).await {
        None => (in_colo, FeedSource::StaleColo),
        page => (page, FeedSource::Origin),
    }
}

/// The origin's answer, which is then written to the colo's cache.
async fn fetch_feed_page(
    isolate: &Isolate,
    ports: &Ports,
    requester: &Requester,
    path: &str,
) -> Option<StoredFeedPage> {
    let asked_ms = ports.clock.now_ms();
    let request = ForwardRequest {
        method: Method::GET,
        path_query: path.to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        body_mode: BodyMode::Whole,
        timeout_ms: FEED_TIMEOUT_MS,
    };
    let OriginOutcome::Answered(answer) = forward::send(isolate, ports, requester, request).await else { return None };
    let OriginBody::Whole(body) = answer.body else { return None };
    if answer.status != StatusCode::OK || body.len() > MAX_FEED_PAGE_BYTES {
        return None;
    }
    let page = StoredFeedPage { asked_ms, document: ChangeFeedPage::parse(&body)? };
    let (colo_cache, path, bytes) = (Arc::clone(&ports.colo_cache), path.to_owned(), page.encode());
    ports.wait_until.spawn(Box::pin(async move {
        // Without the copy the next isolate asks the origin itself.
        let _ = colo_cache.put(&path, bytes).await;
    }));
    Some(page)
}
