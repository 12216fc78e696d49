//! The change feed as an isolate knows it: which comments were edited, taken away or given back,
//! and at which version, so that no page is served that shows what a reader must no longer see.
//!
//! **What it promises.** Before a page is served from any cache, the feed is at most 3 s behind the
//! origin's tables: younger than 2 s it is used as it is, until 3 s it is refreshed after the
//! answer, beyond that before it (an isolate that slept ten minutes asks before its first answer).
//! A page is *void* when a comment it shows has a larger version in the feed, or when it was made
//! before the time the feed reaches back to. A void page is served by nobody. When the origin cannot
//! be asked, pages are served by what is known, and marked stale.
//!
//! **What it costs.** A request: one comparison of numbers while nothing has changed; after a
//! change each page looks up, once, the comments it shows. An isolate: one read of the colo's cache
//! in 2 s while it serves pages from caches, none while it does not. A colo: one small request to
//! the origin in 2 s, however many isolates and readers it has, and in two minutes at most one
//! for the whole day, which isolates need that begin or have slept. Requests that find the feed too
//! old at the same time each ask for it: none may wait for another.
//!
//! **What bounds it.** An isolate keeps [`MOST`] comments. When more change, it forgets them and
//! holds everything void that was made before that moment.
//!
//! Times of the origin (`since`, `now`, when a page was made) are compared with each other alone,
//! and so are those of the edge; the two clocks may differ.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gailou_shared::wire::ChangesDoc;
use http::{HeaderMap, Method, StatusCode};

use crate::forward::{self, Asker, Health, Message, Outcome};
use crate::page::Page;
use crate::ports::{Body, Want, World};
use crate::{Edge, lock};

/// Comments an isolate keeps: a whole day's document, and as many again.
pub const MOST: usize = 2 * ChangesDoc::MOST_ROWS;
/// Up to this age the feed is used as it is, and a colo's copy too, in milliseconds.
const CURRENT_MS: u64 = 2_000;
/// Up to this age it is used and refreshed after the answer, in milliseconds.
const USABLE_MS: u64 = 3_000;
/// How long the origin may take to answer it, in milliseconds.
const DEADLINE_MS: u32 = 1_000;
/// The largest document, in bytes: [`ChangesDoc::MOST_ROWS`] rows of two numbers of 20 digits.
const MOST_BYTES: usize = 512 << 10;

/// The feed of one isolate.
#[derive(Debug)]
pub struct Feed {
    known: Mutex<Known>,
    health: Health,
    /// When a refresh was begun that has not ended, else 0.
    refreshing_ms: AtomicU64,
}

#[derive(Debug, Default)]
struct Known {
    /// The version of the last change of a comment.
    rows: HashMap<u64, u64>,
    /// `rows` has everything that was committed from this moment on, by the origin's clock.
    since_ms: u64,
    /// … and before this one.
    now_ms: u64,
    /// The same moment by the edge's clock, or earlier; 0 before the first document.
    as_of_ms: u64,
    /// Grows when a page may have become void.
    generation: u64,
}

impl Feed {
    /// A feed nothing is known of. `seed` sets its probes apart from other isolates'.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let known = Known { generation: 1, ..Known::default() };
        Self { known: Mutex::new(known), health: Health::new(seed), refreshing_ms: AtomicU64::new(0) }
    }

    /// Whether it is young enough to be used as it is.
    #[must_use]
    pub fn is_current(&self, now_ms: u64) -> bool {
        self.age_ms(now_ms) < CURRENT_MS
    }

    /// Whether `page` shows nothing that the feed says has changed since. A page that was looked at
    /// before costs a comparison while the feed stays as it is.
    #[must_use]
    pub fn passes(&self, page: &Page) -> bool {
        let known = lock(&self.known);
        if page.checked.load(Ordering::Relaxed) == known.generation {
            return true;
        }
        let changed = |(id, version): &(u64, u64)| known.rows.get(id).is_some_and(|last| last > version);
        if page.made_ms < known.since_ms || page.shows.entries().iter().any(changed) {
            return false;
        }
        page.checked.store(known.generation, Ordering::Relaxed);
        true
    }

    fn age_ms(&self, now_ms: u64) -> u64 {
        now_ms.saturating_sub(lock(&self.known).as_of_ms)
    }

    /// Whether this caller is the one to refresh it now.
    fn claim(&self, now_ms: u64) -> bool {
        let begun = self.refreshing_ms.load(Ordering::Relaxed);
        // One that takes longer than its deadlines was stopped by the platform.
        let free = begun == 0 || now_ms.saturating_sub(begun) > 3 * u64::from(DEADLINE_MS);
        if free {
            self.refreshing_ms.store(now_ms.max(1), Ordering::Relaxed);
        }
        free
    }
}

impl Known {
    fn is_unknown(&self) -> bool {
        self.now_ms == 0
    }

    /// Whether a document that reaches back to `since_ms` leaves no gap.
    fn reaches(&self, since_ms: u64) -> bool {
        self.now_ms >= since_ms
    }

    /// Takes over what `copy` says. Its rows are true in any case; it makes the feed younger only
    /// when nothing lies between the two.
    fn merge(&mut self, copy: &Copy) {
        let document = &copy.document;
        let mut changed = false;
        for row in &document.rows {
            let last = self.rows.entry(row.id.get()).or_insert(0);
            if *last < row.version {
                *last = row.version;
                changed = true;
            }
        }
        if self.reaches(document.since) {
            self.now_ms = self.now_ms.max(document.now);
            self.as_of_ms = self.as_of_ms.max(copy.as_of_ms());
        }
        if self.rows.len() > MOST {
            self.rows.clear();
            self.since_ms = self.since_ms.max(document.now);
        }
        self.generation += u64::from(changed);
    }

    /// Begins anew with a document that has the whole day.
    fn begin(&mut self, day: &Copy) {
        self.rows.clear();
        self.since_ms = day.document.since;
        self.now_ms = day.document.since;
        self.generation += 1;
        self.merge(day);
    }
}

/// A document and when it was asked for: what a colo keeps for its isolates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// By the edge's clock, in Unix milliseconds.
    pub asked_ms: u64,
    /// What the origin answered.
    pub document: ChangesDoc,
}

impl Copy {
    /// The moment up to which the document is complete, by the edge's clock, or a little earlier.
    fn as_of_ms(&self) -> u64 {
        self.asked_ms.saturating_sub(self.document.behind)
    }

    /// As it is stored: the time, a line break, the document.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        format!("{}\n{}", self.asked_ms, self.document.to_json()).into()
    }

    /// What [`Copy::encode`] wrote; `None` for anything else, and for what comes from the future.
    #[must_use]
    pub fn decode(bytes: &[u8], now_ms: u64) -> Option<Self> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let asked_ms: u64 = std::str::from_utf8(bytes.get(..end)?).ok()?.parse().ok()?;
        let document = ChangesDoc::parse(bytes.get(end + 1..)?)?;
        // Machines of a colo may differ by some milliseconds, which the clamp makes harmless.
        (asked_ms <= now_ms + 1_000).then(|| Self { asked_ms: asked_ms.min(now_ms), document })
    }
}

/// Makes the feed young enough to serve by, if it is not. False when the origin could not be asked:
/// what is served then is to be marked stale.
pub async fn current(edge: &Arc<Edge>, world: &World, asker: &Asker) -> bool {
    let (feed, now) = (&edge.feed, world.clock.now_ms());
    let age = feed.age_ms(now);
    if age < CURRENT_MS {
        return true;
    }
    let is_down = feed.health.is_down(now);
    if age >= USABLE_MS && !is_down {
        return refresh(edge, world, asker).await;
    }
    let may = if is_down { feed.health.may_probe(now) } else { feed.claim(now) };
    if may {
        let (edge, world_, asker) = (Arc::clone(edge), world.clone(), asker.clone());
        world.later.run(Box::pin(async move {
            refresh(&edge, &world_, &asker).await;
            edge.feed.refreshing_ms.store(0, Ordering::Relaxed);
        }));
    }
    age < USABLE_MS
}

/// Reads the tail of the feed, and the whole day where the tail does not reach back far enough.
/// Whether the feed can be served by now.
async fn refresh(edge: &Edge, world: &World, asker: &Asker) -> bool {
    let is_young = |copy: &Copy| world.clock.now_ms().saturating_sub(copy.as_of_ms()) < CURRENT_MS;
    let known = &edge.feed.known;
    match read(edge, world, asker, ChangesDoc::PATH, is_young).await {
        Ok(tail) => {
            let since = tail.document.since;
            if !lock(known).reaches(since)
                && let Ok(day) = read(edge, world, asker, &day_path(), |day| day.document.now >= since).await
            {
                lock(known).begin(&day);
            }
            lock(known).merge(&tail);
        }
        // What the colo still knows is old, and true: an isolate that begins in an outage shows
        // nothing that was taken down before it.
        Err(old) => {
            if lock(known).is_unknown()
                && let Some(day) = stored(world, &day_path()).await
            {
                lock(known).begin(&day);
            }
            if let Some(old) = old {
                lock(known).merge(&old);
            }
        }
    }
    let now = world.clock.now_ms();
    let usable = edge.feed.age_ms(now) < USABLE_MS;
    edge.feed.health.note(usable, now);
    usable
}

fn day_path() -> String {
    format!("{}?day=1", ChangesDoc::PATH)
}

/// The colo's copy.
async fn stored(world: &World, path: &str) -> Option<Copy> {
    let bytes = world.colo.get(path).await.ok()??;
    Copy::decode(&bytes, world.clock.now_ms())
}

/// The colo's copy when it will do, else the origin's answer; when that does not come, the colo's
/// copy as it is.
async fn read(
    edge: &Edge,
    world: &World,
    asker: &Asker,
    path: &str,
    will_do: impl Fn(&Copy) -> bool,
) -> Result<Copy, Option<Copy>> {
    match stored(world, path).await {
        Some(copy) if will_do(&copy) => Ok(copy),
        old => ask(edge, world, asker, path).await.ok_or(old),
    }
}

/// The origin's answer, which the colo then gets.
async fn ask(edge: &Edge, world: &World, asker: &Asker, path: &str) -> Option<Copy> {
    let asked_ms = world.clock.now_ms();
    let message = Message {
        method: Method::GET,
        path_query: path.to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        want: Want::Whole,
        deadline_ms: DEADLINE_MS,
    };
    let Outcome::Answered(answer) = forward::send(edge, world, asker, message).await else { return None };
    let Body::Whole(body) = answer.body else { return None };
    if answer.status != StatusCode::OK || body.len() > MOST_BYTES {
        return None;
    }
    let copy = Copy { asked_ms, document: ChangesDoc::parse(&body)? };
    let (colo, path, bytes) = (Arc::clone(&world.colo), path.to_owned(), copy.encode());
    world.later.run(Box::pin(async move {
        // Without the copy the next isolate asks the origin itself.
        let _ = colo.put(&path, bytes).await;
    }));
    Some(copy)
}

#[cfg(test)]
mod tests;
