//! The change feed as an isolate knows it: which comments were edited, removed or restored, and at
//! which version, so that no page is served that shows what readers must no longer see.
//!
//! **Promise.** A page that is served from a cache and not marked stale was checked against a feed that
//! was at most 3 s behind the origin's tables when the reader asked, or was refreshed for this request:
//! younger than 2 s it is used as it is, up to 3 s it is refreshed after the answer, beyond that before
//! the answer. A page is *void* when the feed has a larger version of a comment it shows, when the feed
//! holds a subject of these void before a larger version, or when the page was made before the time the
//! feed reaches back to. A void page is never served. While a database of the origin is away, the feed of other slots
//! goes on ([`gailou_shared::wire::SlotsAhead`]): a page is marked stale only when it shows a comment of the others.
//!
//! **Without the origin** pages are checked against the latest feed in memory, in the colo's cache and
//! in the global store, and marked stale. A takedown that is newer than all of these, or in a gap
//! between a day's page and a tail, is then still shown, marked.
//!
//! **Cost.** A request: one comparison of numbers; after a change, one look-up of each comment a page
//! shows, once. An isolate: one read of the colo's cache in 2 s while it serves pages from caches, and
//! in a minute one read of the global store and at most one write; while it knows nothing and the origin
//! does not answer, one read of the global store at each attempt. A colo: one small request to the
//! origin in 2 s, and one for the whole day in two minutes. One request of an isolate refreshes the
//! feed; the others cannot await its future, so they poll memory.
//!
//! **Bound.** A page of the feed has at most 10,000 comments and subjects: where more comments change, their
//! subject stands for them. From [`MAX_KNOWN_CHANGES`] on an isolate starts over with a day's page. While
//! none comes it keeps twice as many; then it drops them all and holds every page void that was made before.

mod known_changes;
mod refresh;
mod stored_page;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use crate::cached_page::CachedPage;
use crate::forward::{OriginHealth, Requester};
use crate::ports::Ports;
use crate::{Isolate, lock};
use known_changes::KnownChanges;
use refresh::{refresh, wait_for_refresh};

pub use known_changes::MAX_KNOWN_CHANGES;
pub use stored_page::StoredFeedPage;

/// Below this age the feed, and a colo's copy of it, is used as it is, in milliseconds.
const FEED_CURRENT_MS: u64 = 2_000;
/// Below this age it is used, and refreshed after the answer, in milliseconds.
const FEED_USABLE_MS: u64 = 3_000;
/// How long the origin may take to answer a page of the feed, in milliseconds.
const FEED_TIMEOUT_MS: u32 = 1_000;
/// A refresh makes at most three calls with [`FEED_TIMEOUT_MS`]; one that takes longer was killed by the
/// platform, in milliseconds.
const REFRESH_TIMEOUT_MS: u64 = 3 * FEED_TIMEOUT_MS as u64;
/// How often a request that does not refresh the feed polls memory, in milliseconds.
const REFRESH_POLL_INTERVAL_MS: u32 = 50;
/// How often an isolate writes the day's page to the global store, and how often it reads the page while
/// the origin does not answer, in milliseconds. The store shows a value for a minute.
const DAY_SHARE_INTERVAL_MS: u64 = 60_000;

/// The change feed of one isolate.
#[derive(Debug)]
pub struct ChangeFeedReplica {
    known: Mutex<KnownChanges>,
    health: OriginHealth,
    /// When the refresh in progress started, else 0.
    refreshing_ms: AtomicU64,
    /// When the day's page was last written to the global store, else 0.
    day_shared_ms: AtomicU64,
    /// When the stored day's page was last read, else 0.
    day_read_ms: AtomicU64,
}

impl ChangeFeedReplica {
    /// An empty feed. `seed` sets its probes apart from those of other isolates.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self {
            known: Mutex::new(KnownChanges::new()),
            health: OriginHealth::new(seed),
            refreshing_ms: AtomicU64::new(0),
            day_shared_ms: AtomicU64::new(0),
            day_read_ms: AtomicU64::new(0),
        }
    }

    /// Whether the feed of what `page` shows is young enough to be used as it is.
    #[must_use]
    pub fn is_current(&self, page: &CachedPage, now_ms: u64) -> bool {
        let known = lock(&self.known);
        // Usually all slots are as young.
        let is_current = |as_of_ms: u64| now_ms.saturating_sub(as_of_ms) < FEED_CURRENT_MS;
        is_current(known.as_of_ms) || is_current(known.reach_of_page(page).as_of_ms)
    }

    /// Whether a feed that is young enough for some slots is so for what `page` shows.
    #[must_use]
    pub fn covers(&self, page: &CachedPage, now_ms: u64) -> bool {
        let known = lock(&self.known);
        known.ahead.is_none() || now_ms.saturating_sub(known.reach_of_page(page).as_of_ms) < FEED_USABLE_MS
    }

    /// Whether the feed has no newer version of any comment that `page` shows. For a page that was
    /// checked before, this is one comparison until the feed changes.
    #[must_use]
    pub fn allows(&self, page: &CachedPage) -> bool {
        let known = lock(&self.known);
        if page.checked_generation.load(Ordering::Relaxed) == known.generation {
            return true;
        }
        if known.voids(page) {
            return false;
        }
        page.checked_generation.store(known.generation, Ordering::Relaxed);
        true
    }

    fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(lock(&self.known).latest_as_of_ms())
    }

    /// Claims the refresh for this request: the time it started, or `None` when another is in progress.
    fn claim_refresh(&self, now_ms: u64) -> Option<u64> {
        let started = self.refreshing_ms.load(Ordering::Relaxed);
        let is_free = started == 0 || now_ms.saturating_sub(started) > REFRESH_TIMEOUT_MS;
        is_free.then(|| {
            self.refreshing_ms.store(now_ms.max(1), Ordering::Relaxed);
            now_ms.max(1)
        })
    }

    /// Ends the refresh that started at `started_ms`, and not the one that may have replaced it.
    fn release_refresh(&self, started_ms: u64) {
        let _ = self.refreshing_ms.compare_exchange(started_ms, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether to read the stored day's page: it may know more than memory, and its reading is due.
    fn may_read_stored_day(&self, now_ms: u64) -> bool {
        let is_empty = lock(&self.known).is_empty();
        let is_old = self.age_ms(now_ms) >= DAY_SHARE_INTERVAL_MS;
        is_old && (claim_once_a_minute(&self.day_read_ms, now_ms) || is_empty)
    }

    /// Claims the write of the day's page to the global store, once in [`DAY_SHARE_INTERVAL_MS`].
    fn claim_day_share(&self, now_ms: u64) -> bool {
        claim_once_a_minute(&self.day_shared_ms, now_ms)
    }
}

/// Whether `last` is at least [`DAY_SHARE_INTERVAL_MS`] ago; if so, it is set to now.
fn claim_once_a_minute(last: &AtomicU64, now_ms: u64) -> bool {
    let last_ms = last.load(Ordering::Relaxed);
    let is_due = last_ms == 0 || now_ms.saturating_sub(last_ms) >= DAY_SHARE_INTERVAL_MS;
    if is_due {
        last.store(now_ms.max(1), Ordering::Relaxed);
    }
    is_due
}

/// Makes the feed young enough to serve pages by, of some slots at least ([`ChangeFeedReplica::covers`]). False when
/// that failed: what is served then must be marked stale.
pub async fn ensure_current(isolate: &Arc<Isolate>, ports: &Ports, requester: &Requester) -> bool {
    let (feed, now) = (&isolate.change_feed, ports.clock.now_ms());
    let age = feed.age_ms(now);
    if age < FEED_CURRENT_MS {
        return true;
    }
    let is_down = feed.health.is_down(now);
    let may_ask = !is_down || feed.health.may_probe(now);
    let claimed = if may_ask { feed.claim_refresh(now) } else { None };
    if age >= FEED_USABLE_MS && !is_down {
        let Some(started) = claimed else { return wait_for_refresh(isolate, ports).await };
        let is_usable = refresh(isolate, ports, requester).await;
        feed.release_refresh(started);
        return is_usable;
    }
    if let Some(started) = claimed {
        let (isolate, task_ports, requester) = (Arc::clone(isolate), ports.clone(), requester.clone());
        ports.wait_until.spawn(Box::pin(async move {
            refresh(&isolate, &task_ports, &requester).await;
            isolate.change_feed.release_refresh(started);
        }));
    }
    age < FEED_USABLE_MS
}

#[cfg(test)]
mod tests;
