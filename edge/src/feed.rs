//! The change feed as an isolate knows it: which comments were edited, taken away or given back,
//! and at which version, so that no page is served that shows what a reader must no longer see.
//!
//! **What it promises.** A page that is served from a cache in place of the origin's answer, and not
//! marked stale, was looked at with a feed that was at most 3 s behind the origin's tables when the
//! reader asked, or became so since: younger than 2 s it is used as it is, until 3 s it
//! is refreshed after the answer, beyond that before it (an isolate that slept ten minutes asks
//! before its first answer). A page is *void* when a comment it shows has a larger version in the
//! feed, or when it was made before the time the feed reaches back to. A void page is served by
//! nobody, and a change that an isolate knows it forgets only together with all pages older than it.
//!
//! **Without the origin** pages are served by what is known, and marked stale: by what memory, the
//! copies of the colo and the day's document in the store all colos share say, whichever goes on for
//! longest. That store is a minute behind and more. What was taken down after all of that, or in a
//! gap between a day's document and a tail, is shown, marked. So is everything where there is none.
//!
//! **What it costs.** A request: one comparison of numbers while nothing has changed; after a
//! change each page looks up, once, the comments it shows. An isolate: one read of the colo's cache
//! in 2 s while it serves pages from caches, none while it does not; in a minute one read of
//! the shared store, and one write where the copy there looks a minute old; it reads the store at
//! each look while the origin cannot be asked and it knows nothing at all. A colo: one small
//! request to the origin in 2 s and what its isolates ask at the same moment, and in two minutes one
//! for the whole day, which isolates need that begin or have slept. Within an isolate one request
//! refreshes the feed. The others may not wait for its future: they look at memory, for as long as
//! the origin may take, and then do without.
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
use gailou_shared::id::CommentId;
use gailou_shared::wire::{Changed, ChangesDoc};
use http::{HeaderMap, Method, StatusCode};

use crate::forward::{self, Asker, Health, Message, Outcome};
use crate::page::Page;
use crate::ports::{Body, PageStore, Want, World};
use crate::{Edge, lock};

/// Comments an isolate keeps: a whole day's document, and as many again.
pub const MOST: usize = 2 * ChangesDoc::MOST_ROWS;
/// Up to this age the feed is used as it is, and a colo's copy too, in milliseconds.
const CURRENT_MS: u64 = 2_000;
/// Up to this age it is used and refreshed after the answer, in milliseconds.
const USABLE_MS: u64 = 3_000;
/// How long the origin may take to answer it, in milliseconds.
const DEADLINE_MS: u32 = 1_000;
/// How often who does not refresh it looks whether it has been, in milliseconds.
const LOOK_MS: u32 = 50;
/// How often an isolate writes the day's document to the shared store, and how often it reads it
/// while the origin cannot be asked, in milliseconds. The store shows a value for a minute.
const SHARE_MS: u64 = 60_000;
/// How far a document for the shared store must reach back, in milliseconds: as far as pages are kept.
const DAY_MS: u64 = 24 * 3_600_000;
/// The largest document, in bytes: [`ChangesDoc::MOST_ROWS`] rows of two numbers of 20 digits.
const MOST_BYTES: usize = 512 << 10;

/// The feed of one isolate.
#[derive(Debug)]
pub struct Feed {
    known: Mutex<Known>,
    health: Health,
    /// When a refresh was begun that has not ended, else 0.
    refreshing_ms: AtomicU64,
    /// When the day's document was last written to the shared store, else 0.
    shared_ms: AtomicU64,
    /// When what is stored was last looked through for it, else 0.
    looked_ms: AtomicU64,
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
    /// How far the documents went on of which there are rows in `rows`, by the origin's clock: beyond
    /// `now_ms`, where a gap lies between them.
    seen_ms: u64,
    /// Grows when a page may have become void.
    generation: u64,
}

impl Feed {
    /// A feed nothing is known of. `seed` sets its probes apart from other isolates'.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let known = Known { generation: 1, ..Known::default() };
        Self {
            known: Mutex::new(known),
            health: Health::new(seed),
            refreshing_ms: AtomicU64::new(0),
            shared_ms: AtomicU64::new(0),
            looked_ms: AtomicU64::new(0),
        }
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

    /// Whether this caller is the one to refresh it now, and if so, since when.
    fn claim(&self, now_ms: u64) -> Option<u64> {
        let begun = self.refreshing_ms.load(Ordering::Relaxed);
        // One that takes longer than its deadlines was stopped by the platform.
        let free = begun == 0 || now_ms.saturating_sub(begun) > 3 * u64::from(DEADLINE_MS);
        free.then(|| {
            self.refreshing_ms.store(now_ms.max(1), Ordering::Relaxed);
            now_ms.max(1)
        })
    }

    /// The refresh begun then has ended. One that was given up must not end its successor's.
    fn release(&self, begun: u64) {
        let _ = self.refreshing_ms.compare_exchange(begun, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether what is stored may say more than memory, and may be read now.
    fn may_look(&self, now_ms: u64) -> bool {
        let is_unknown = lock(&self.known).is_unknown();
        let is_old = self.age_ms(now_ms) >= SHARE_MS;
        is_old && (is_due(&self.looked_ms, now_ms) || is_unknown)
    }
}

/// Whether `last` was a minute ago; then it is now.
fn is_due(last: &AtomicU64, now_ms: u64) -> bool {
    let before = last.load(Ordering::Relaxed);
    let due = before == 0 || now_ms.saturating_sub(before) >= SHARE_MS;
    if due {
        last.store(now_ms.max(1), Ordering::Relaxed);
    }
    due
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
        self.seen_ms = self.seen_ms.max(document.now);
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
            self.since_ms = self.since_ms.max(self.seen_ms);
        }
        self.generation += u64::from(changed);
    }

    /// Begins anew with a document that has the whole day.
    fn begin(&mut self, day: &Copy) {
        if self.seen_ms <= day.document.now {
            // What it leaves out, only pages show that it makes void.
            self.rows.clear();
            self.since_ms = day.document.since;
        } else {
            self.since_ms = self.since_ms.max(day.document.since);
        }
        self.now_ms = day.document.since;
        self.as_of_ms = 0;
        self.generation += 1;
        self.merge(day);
    }

    /// Takes over a tail, and a day's document that was read for it. Others may have learnt more
    /// while it was: then the day's document is not needed any more.
    fn learn(&mut self, day: Option<&Copy>, tail: Option<&Copy>) {
        let reaches = tail.is_some_and(|tail| self.reaches(tail.document.since));
        if let Some(day) = day.filter(|day| !reaches && day.document.now > self.now_ms) {
            self.begin(day);
        }
        if let Some(tail) = tail {
            self.merge(tail);
        }
    }

    /// All of it as a day's document; `None` when it is too long for one, or reaches back less.
    fn day(&self, words: u64) -> Option<Copy> {
        if self.rows.len() > ChangesDoc::MOST_ROWS || self.since_ms + DAY_MS > self.now_ms {
            return None;
        }
        let rows = self.rows.iter();
        let rows = rows.filter_map(|(id, version)| Some(Changed { id: CommentId::new(*id).ok()?, version: *version }));
        let document = ChangesDoc::new(self.now_ms, self.since_ms, 0, words, rows.collect());
        Some(Copy { asked_ms: self.as_of_ms, document })
    }
}

/// A document and when it was asked for: what a colo keeps for its isolates, and the shared
/// store for all.
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
        let (asked_ms, document) = Self::split(bytes)?;
        let document = ChangesDoc::parse(document)?;
        // Machines of a colo may differ by some milliseconds, which the clamp makes harmless.
        (asked_ms <= now_ms + 1_000).then(|| Self { asked_ms: asked_ms.min(now_ms), document })
    }

    fn split(bytes: &[u8]) -> Option<(u64, &[u8])> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        Some((std::str::from_utf8(bytes.get(..end)?).ok()?.parse().ok()?, bytes.get(end + 1..)?))
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
    let may = !is_down || feed.health.may_probe(now);
    let begun = if may { feed.claim(now) } else { None };
    if age >= USABLE_MS && !is_down {
        let Some(begun) = begun else { return watch(edge, world).await };
        let usable = refresh(edge, world, asker).await;
        feed.release(begun);
        return usable;
    }
    if let Some(begun) = begun {
        let (edge, world_, asker) = (Arc::clone(edge), world.clone(), asker.clone());
        world.later.run(Box::pin(async move {
            refresh(&edge, &world_, &asker).await;
            edge.feed.release(begun);
        }));
    }
    age < USABLE_MS
}

/// Looks at memory until another request has refreshed the feed, or was long enough about it.
async fn watch(edge: &Edge, world: &World) -> bool {
    let feed = &edge.feed;
    for _ in 0..DEADLINE_MS / LOOK_MS {
        world.clock.pause(LOOK_MS).await;
        let now = world.clock.now_ms();
        if feed.age_ms(now) < USABLE_MS {
            return true;
        }
        if feed.health.is_down(now) {
            return false;
        }
    }
    if lock(&feed.known).is_unknown() {
        let day = kept_day(world).await;
        lock(&feed.known).learn(day.as_ref(), None);
    }
    feed.age_ms(world.clock.now_ms()) < USABLE_MS
}

/// Reads the tail of the feed, and the whole day where the tail does not reach back far enough.
/// Whether the feed can be served by now.
async fn refresh(edge: &Arc<Edge>, world: &World, asker: &Asker) -> bool {
    let feed = &edge.feed;
    let is_young = |copy: &Copy| world.clock.now_ms().saturating_sub(copy.as_of_ms()) < CURRENT_MS;
    let (tail, source) = read(edge, world, asker, ChangesDoc::PATH, is_young).await;
    let since = tail.as_ref().map(|tail| tail.document.since);
    let reaches = since.is_some_and(|since| lock(&feed.known).reaches(since));
    let mut day = None;
    if let Some(since) = since.filter(|_| !reaches && source != Source::Old) {
        day = read_day(edge, world, asker, since).await;
    }
    let is_alone = source == Source::Old || !reaches && day.is_none();
    if is_alone && feed.may_look(world.clock.now_ms()) {
        // Old, and true: an isolate that begins or wakes in an outage learns what others know.
        day = kept_day(world).await;
    }
    lock(&feed.known).learn(day.as_ref(), tail.as_ref());
    let now = world.clock.now_ms();
    let usable = feed.age_ms(now) < USABLE_MS;
    feed.health.note(usable, now);
    if let Some(tail) = tail.filter(|_| usable && source == Source::Origin && is_due(&feed.shared_ms, now)) {
        let (edge, world_, asker) = (Arc::clone(edge), world.clone(), asker.clone());
        world.later.run(Box::pin(async move { share(&edge, &world_, &asker, &tail.document).await }));
    }
    usable
}

/// Puts the day's document into the store all colos share, unless another isolate just has.
async fn share(edge: &Edge, world: &World, asker: &Asker, tail: &ChangesDoc) {
    let path = day_path();
    let stored = world.global.get(&path).await.ok().flatten();
    let stored_ms = stored.and_then(|bytes| Copy::split(&bytes).map(|(asked_ms, _)| asked_ms)).unwrap_or(0);
    let now = world.clock.now_ms();
    // What comes from the future would be read by nobody.
    if (now.saturating_sub(SHARE_MS) + 1..=now + 1_000).contains(&stored_ms) {
        return;
    }
    let own = lock(&edge.feed.known).day(tail.words);
    let day = match own {
        None => read_day(edge, world, asker, tail.since).await,
        own => own,
    };
    if let Some(day) = day.filter(|day| day.asked_ms > stored_ms || stored_ms > now) {
        // Without it, colos without a copy of their own know less in an outage.
        let _ = world.global.put(&path, day.encode()).await;
    }
}

fn day_path() -> String {
    format!("{}?day=1", ChangesDoc::PATH)
}

/// The copy that `store` has.
async fn stored(store: &dyn PageStore, path: &str, now_ms: u64) -> Option<Copy> {
    // A store that fails is a store without the copy.
    let bytes = store.get(path).await.ok()??;
    Copy::decode(&bytes, now_ms)
}

/// The stored document of a day that goes on for longest, of whatever age.
async fn kept_day(world: &World) -> Option<Copy> {
    let (path, now) = (day_path(), world.clock.now_ms());
    let near = stored(&*world.colo, &path, now).await;
    if near.as_ref().is_some_and(|copy| now.saturating_sub(copy.as_of_ms()) < SHARE_MS) {
        return near;
    }
    let far = stored(&*world.global, &path, now).await;
    near.into_iter().chain(far).max_by_key(|copy| copy.document.now)
}

/// A day's document to which a tail that reaches back to `since` can be added.
async fn read_day(edge: &Edge, world: &World, asker: &Asker, since: u64) -> Option<Copy> {
    let (day, source) = read(edge, world, asker, &day_path(), |day| day.document.now >= since).await;
    day.filter(|_| source != Source::Old)
}

/// Where a copy comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// From the colo, and it will do.
    Colo,
    /// From the origin, now.
    Origin,
    /// From the colo, if at all, since the origin did not answer.
    Old,
}

/// The colo's copy when it will do, else the origin's answer; when that does not come, the colo's
/// copy as it is.
async fn read(
    edge: &Edge,
    world: &World,
    asker: &Asker,
    path: &str,
    will_do: impl Fn(&Copy) -> bool,
) -> (Option<Copy>, Source) {
    let old = stored(&*world.colo, path, world.clock.now_ms()).await;
    if old.as_ref().is_some_and(will_do) {
        return (old, Source::Colo);
    }
    match ask(edge, world, asker, path).await {
        None => (old, Source::Old),
        copy => (copy, Source::Origin),
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
pub(crate) mod held;
#[cfg(test)]
mod tests;
