//! Pushes the most read pages to the edge: pages of popular subjects when they change, and the dictionary.
//!
//! The pages of a subject are pushed together, the next ones after the last were answered. In a
//! cluster one process pushes a subject, by a lease; if two do so for a moment, the edge keeps the
//! newer pages. The edge's store is paid by the write: beyond `edge.max_writes_per_day` only the dictionary
//! is pushed, and readers are served from the edge's other caches and the origin. Promise: within that, a change is pushed until the edge has acknowledged it, and every pushed page
//! equals the origin's own answer.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};
use gailou_shared::edge_protocol::{PushedDictionary, PushedPage};
use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::list_view::ListView;
use gailou_shared::page_key::{page_key, subject_segments, unless_default};
use gailou_shared::rank::Sort;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::task::{self, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::outage_log::OutageLog;
use crate::ports::edge::{EdgeClient, EdgeError};
use crate::ports::popularity::{PopularSubject, Popularity, PopularityError, ReadLists};
use crate::ports::store::StoreError;
use crate::state::read_counters::{MAX_POPULAR_SUBJECTS, ReadCounters, select_popular};
use crate::telemetry::Collector;

/// How often changes are pushed. The edge's store accepts one write per key and second.
const PUSH_INTERVAL: Duration = Duration::from_secs(1);
/// Subjects that are pushed at the same time.
const MAX_CONCURRENT_PUSHES: usize = 8;
/// How long a process owns a subject: longer than a push may take.
const PUSH_LEASE: Duration = Duration::from_secs(10);
/// How often the dictionary's version is read.
const DICTIONARY_POLL_INTERVAL: Duration = Duration::from_secs(2);
/// After how long an unchanged dictionary is pushed again.
const DICTIONARY_REFRESH_INTERVAL: Duration = Duration::from_secs(3_600);
/// Bytes of pages in one push: half of what the edge accepts, because JSON at most doubles a page.
const MAX_PUSH_BYTES: usize = 4 * 1_024 * 1_024 - 64 * 1_024;
/// How long nothing is pushed after a failure of the edge; doubled by each further failure. Jitter adds
/// up to as much again.
const FIRST_PUSH_BACKOFF: Duration = Duration::from_secs(1);
/// The longest pause after failures of the edge, without jitter.
const MAX_PUSH_BACKOFF: Duration = Duration::from_secs(15);
/// The dictionary's name among the leases; the names of subjects contain a slash.
const DICTIONARY_LEASE_NAME: &str = "dictionary";

/// Renders what is pushed, as the origin answers it.
#[async_trait]
pub trait PageSource: Send + Sync + std::fmt::Debug {
    /// The current versions of the subjects, in their order.
    async fn versions(&self, subjects: &[SubjectKey]) -> Result<Vec<u64>, PushError>;
    /// The page at this path; `Ok(None)` when the edge must keep no copy of it.
    async fn page(&self, path_query: &str) -> Result<Option<PushedPage>, PushError>;
    /// The current version of the dictionary.
    async fn dictionary_version(&self) -> Result<u64, PushError>;
    async fn dictionary(&self) -> Result<PushedDictionary, PushError>;
}

/// Why a push failed. It is retried.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error(transparent)]
    Edge(#[from] EdgeError),
    #[error(transparent)]
    Popularity(#[from] PopularityError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the origin answers {0} with {1}")]
    Page(String, u16),
    #[error("the origin is stopping")]
    Stopping,
}

/// What this process has pushed.
#[derive(Debug, Default)]
pub struct PushMetrics {
    pub stored: AtomicU64,
    pub older: AtomicU64,
    pub failed: AtomicU64,
    /// Writes of all processes this day, as far as this process knows.
    pub writes_today: AtomicU64,
    /// Writes that a day may have.
    pub max_writes_per_day: u64,
}

impl Collector for PushMetrics {
    fn collect(&self) {
        describe_counter!("gailou_pushed_pages_total", "Pages given to the edge, by what it did with them.");
        for (result, count) in [("stored", &self.stored), ("older", &self.older)] {
            counter!("gailou_pushed_pages_total", "result" => result).absolute(count.load(Ordering::Relaxed));
        }
        describe_gauge!("gailou_push_writes_today", "Writes to the edge's store this day, of all processes.");
        gauge!("gailou_push_writes_today").set(self.writes_today.load(Ordering::Relaxed) as f64);
        describe_gauge!("gailou_push_writes_max", "Writes that a day may have, by edge.max_writes_per_day.");
        gauge!("gailou_push_writes_max").set(self.max_writes_per_day as f64);
        describe_counter!("gailou_push_failures_total", "Pushes that the edge did not accept.");
        counter!("gailou_push_failures_total").absolute(self.failed.load(Ordering::Relaxed));
    }
}

/// What the loop needs.
#[derive(Debug)]
pub struct Pusher {
    pub edge: Arc<dyn EdgeClient>,
    pub popularity: Arc<dyn Popularity>,
    pub source: Arc<dyn PageSource>,
    /// Marks popular subjects before their pages are rendered, because the pages say so.
    pub read_counters: Arc<ReadCounters>,
    /// Networks per minute that make a subject popular.
    pub hot_per_minute: u32,
    /// For how many seconds the pages of a popular subject are fresh.
    pub fresh_for: u8,
    pub metrics: Arc<PushMetrics>,
}

/// What the edge has of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PushedVersion {
    version: u64,
    lists: ReadLists,
}

/// A push that has finished.
enum FinishedPush {
    Subject(SubjectKey, Result<PushedVersion, PushError>),
    Dictionary(Result<u64, PushError>),
}

/// Pushes until it is dropped.
pub async fn run(pusher: Arc<Pusher>) {
    let mut state = PushLoop {
        pusher,
        popular: vec![],
        pushed: HashMap::new(),
        dictionary: None,
        dictionary_checked_at: None,
        backoff: None,
        outage: OutageLog::default(),
        spent: OutageLog::default(),
    };
    let mut running = RunningPushes::default();
    let mut tick = interval(PUSH_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            Some(finished) = running.next_finished() => state.finish(finished),
            _ = tick.tick() => {
                if let Err(error) = state.start_pushes(&mut running).await {
                    tracing::debug!(%error, "Could not find out what to push");
                }
            }
        }
    }
}

/// The running pushes by name.
#[derive(Default)]
struct RunningPushes {
    tasks: JoinSet<FinishedPush>,
    names: HashMap<task::Id, String>,
}

impl RunningPushes {
    /// Whether another push may start, and none of this name is running.
    fn admits(&self, name: &str) -> bool {
        self.names.len() < MAX_CONCURRENT_PUSHES && self.names.values().all(|flying| flying != name)
    }

    fn start(&mut self, name: String, push: impl Future<Output = FinishedPush> + Send + 'static) {
        let task = self.tasks.spawn(push);
        self.names.insert(task.id(), name);
    }

    /// The next finished push; `None` when none is running.
    async fn next_finished(&mut self) -> Option<FinishedPush> {
        let joined = self.tasks.join_next_with_id().await?;
        let id = joined.as_ref().map_or_else(task::JoinError::id, |(id, _)| *id);
        self.names.remove(&id);
        joined.ok().map(|(_, finished)| finished)
    }
}

struct PushLoop {
    pusher: Arc<Pusher>,
    popular: Vec<PopularSubject>,
    /// What the edge has of the subjects that this process owns.
    pushed: HashMap<SubjectKey, PushedVersion>,
    /// The dictionary's version at the edge, and when it was pushed.
    dictionary: Option<(u64, Instant)>,
    /// When the dictionary's version was last read.
    dictionary_checked_at: Option<Instant>,
    /// The pauses since the last success.
    backoff: Option<PushBackoff>,
    outage: OutageLog,
    /// The days on which the budget of writes is spent.
    spent: OutageLog,
}

/// The pauses after failures of the edge.
struct PushBackoff {
    delays: ExponentialBackoff,
    until: Instant,
}

impl PushBackoff {
    fn new() -> Self {
        let delays = ExponentialBuilder::default().with_min_delay(FIRST_PUSH_BACKOFF).with_max_delay(MAX_PUSH_BACKOFF);
        Self { delays: delays.with_jitter().without_max_times().build(), until: Instant::now() }
    }

    /// Begins the next pause.
    fn extend(&mut self) {
        self.until = Instant::now() + self.delays.next().unwrap_or(MAX_PUSH_BACKOFF);
    }
}

impl PushLoop {
    /// Starts every push that is due.
    async fn start_pushes(&mut self, running: &mut RunningPushes) -> Result<(), PushError> {
        let (owned, owns_dictionary) = self.claim_popular().await?;
        self.pushed.retain(|subject, _| owned.iter().any(|popular| popular.subject == *subject));
        if self.backoff.as_ref().is_some_and(|backoff| Instant::now() < backoff.until) {
            return Ok(());
        }
        if owns_dictionary {
            self.start_dictionary_push(running).await?;
        } else {
            self.dictionary = None;
        }
        if self.is_budget_spent().await? {
            return Ok(());
        }
        self.start_subject_pushes(owned, running).await
    }

    /// Whether the edge's store has taken all writes of this day.
    async fn is_budget_spent(&self) -> Result<bool, PushError> {
        let (pusher, max) = (&self.pusher, self.pusher.metrics.max_writes_per_day);
        if pusher.metrics.writes_today.load(Ordering::Relaxed) < max {
            return Ok(false);
        }
        // The day may have ended.
        let writes = count_writes(pusher, 0).await?;
        if writes < max {
            self.spent.end(|| tracing::info!("The edge's store takes writes again; pushing pages"));
            return Ok(false);
        }
        self.spent.begin(|| {
            tracing::warn!(
                writes,
                max,
                "The edge's store took {writes} writes today, and edge.max_writes_per_day is {max}; pushing only the dictionary until tomorrow"
            );
        });
        Ok(true)
    }

    /// Finds the popular subjects and claims them. Returns those that this process owns, and whether it
    /// owns the dictionary.
    async fn claim_popular(&mut self) -> Result<(Vec<PopularSubject>, bool), PushError> {
        let pusher = &self.pusher;
        let most_read = pusher.popularity.most_read(MAX_POPULAR_SUBJECTS).await?;
        self.popular = select_popular(most_read, &self.popular, pusher.hot_per_minute);
        pusher.read_counters.declare_popular(&self.popular, pusher.fresh_for);
        let subjects = self.popular.iter().map(|popular| popular.subject.to_string());
        let names: Vec<_> = subjects.chain([DICTIONARY_LEASE_NAME.to_owned()]).collect();
        let owned = pusher.popularity.claim(&names, PUSH_LEASE).await?;
        let owns_dictionary = owned.last() == Some(&true);
        let owned = self.popular.iter().zip(owned).filter(|(_, is_owned)| *is_owned);
        Ok((owned.map(|(popular, _)| popular.clone()).collect(), owns_dictionary))
    }

    async fn start_dictionary_push(&mut self, running: &mut RunningPushes) -> Result<(), PushError> {
        let is_checked = self.dictionary_checked_at.is_some_and(|then| then.elapsed() < DICTIONARY_POLL_INTERVAL);
        if is_checked || !running.admits(DICTIONARY_LEASE_NAME) {
            return Ok(());
        }
        self.dictionary_checked_at = Some(Instant::now());
        let version = self.pusher.source.dictionary_version().await?;
        let is_pushed = |(pushed, at): (u64, Instant)| pushed == version && at.elapsed() < DICTIONARY_REFRESH_INTERVAL;
        if !self.dictionary.is_some_and(is_pushed) {
            let pusher = self.pusher.clone();
            running.start(DICTIONARY_LEASE_NAME.to_owned(), async move {
                FinishedPush::Dictionary(push_dictionary(&pusher).await)
            });
        }
        Ok(())
    }

    async fn start_subject_pushes(
        &self,
        owned: Vec<PopularSubject>,
        running: &mut RunningPushes,
    ) -> Result<(), PushError> {
        let subjects: Vec<_> = owned.iter().map(|popular| popular.subject.clone()).collect();
        let versions = self.pusher.source.versions(&subjects).await?;
        for (popular, version) in owned.into_iter().zip(versions) {
            // Most readers come by the element, so its list is always pushed. Another one, also the same in the full
            // view, costs the edge's store one write more for each change: it is pushed where it was asked for lately.
            let wanted = PushedVersion { version, lists: popular.lists.and(ReadLists::ELEMENT_LIST) };
            let has = self.pushed.get(&popular.subject);
            let has = has.is_some_and(|has| has.version >= wanted.version && has.lists.has(wanted.lists));
            let name = popular.subject.to_string();
            if !has && running.admits(&name) {
                let pusher = self.pusher.clone();
                running.start(name, async move {
                    let pushed = push_subject(&pusher, &popular.subject, wanted).await;
                    FinishedPush::Subject(popular.subject, pushed)
                });
            }
        }
        Ok(())
    }

    fn finish(&mut self, finished: FinishedPush) {
        let failed = match finished {
            FinishedPush::Subject(subject, Ok(pushed)) => {
                self.pushed.insert(subject, pushed);
                None
            }
            FinishedPush::Dictionary(Ok(version)) => {
                self.dictionary = Some((version, Instant::now()));
                None
            }
            FinishedPush::Subject(_, Err(error)) => Some(error),
            FinishedPush::Dictionary(Err(error)) => {
                self.dictionary_checked_at = None;
                Some(error)
            }
        };
        match failed {
            None => {
                self.backoff = None;
                self.outage.end(|| tracing::info!("The edge accepts pushes again"));
            }
            Some(PushError::Edge(error)) => {
                self.pusher.metrics.failed.fetch_add(1, Ordering::Relaxed);
                self.outage.begin(|| {
                    let dependency = "edge";
                    tracing::warn!(dependency, %error, "Could not push to the {dependency}; retrying until it accepts a push");
                });
                // Pushes that ran together fail together, and count as one failure.
                let backoff = self.backoff.get_or_insert_with(PushBackoff::new);
                if Instant::now() >= backoff.until {
                    backoff.extend();
                }
            }
            Some(error) => tracing::debug!(%error, "Could not push a subject"),
        }
    }
}

/// Renders and pushes the pages of a subject; returns what the edge has afterwards.
async fn push_subject(
    pusher: &Pusher,
    subject: &SubjectKey,
    wanted: PushedVersion,
) -> Result<PushedVersion, PushError> {
    let (mut pages, mut version, mut bytes) = (Vec::new(), None, 0);
    for key in keys(subject, wanted.lists) {
        let Some(page) = pusher.source.page(&key).await? else { continue };
        // A page may come from a cache that is a moment old: then it is pushed again. Pages without a
        // version do not count.
        if page.version > 0 {
            version = Some(version.map_or(page.version, |least: u64| least.min(page.version)));
        }
        let size = page.body.len() + page.cache_tags.len();
        if size > MAX_PUSH_BYTES {
            tracing::warn!(key, size_bytes = size, "The page {key} is too large to be pushed: {size} bytes");
            continue;
        }
        if bytes + size > MAX_PUSH_BYTES {
            send(pusher, &pages).await?;
            (pages, bytes) = (Vec::new(), 0);
        }
        bytes += size;
        pages.push(page);
    }
    send(pusher, &pages).await?;
    Ok(PushedVersion { version: version.unwrap_or(wanted.version), lists: wanted.lists })
}

async fn send(pusher: &Pusher, pages: &[PushedPage]) -> Result<(), PushError> {
    if pages.is_empty() {
        return Ok(());
    }
    let stored = pusher.edge.push(pages, None).await?;
    pusher.metrics.stored.fetch_add(stored.stored, Ordering::Relaxed);
    pusher.metrics.older.fetch_add(stored.older, Ordering::Relaxed);
    count_writes(pusher, stored.stored).await.map(drop)
}

/// Adds writes to those of all processes; returns how many there are this day.
async fn count_writes(pusher: &Pusher, writes: u64) -> Result<u64, PushError> {
    let writes = pusher.popularity.add_store_writes(writes).await?;
    pusher.metrics.writes_today.store(writes, Ordering::Relaxed);
    Ok(writes)
}

async fn push_dictionary(pusher: &Pusher) -> Result<u64, PushError> {
    let dictionary = pusher.source.dictionary().await?;
    pusher.edge.push(&[], Some(&dictionary)).await?;
    count_writes(pusher, 1).await?;
    Ok(dictionary.version)
}

/// The pages of a subject that are pushed, by their keys at the edge: none for a subject that no path
/// can name.
fn keys(subject: &SubjectKey, lists: ReadLists) -> Vec<String> {
    let Some(segments) = subject_segments(subject) else { return vec![] };
    let path = format!("/v1/subjects/{segments}");
    let list = |(sort, limit, view): (Sort, usize, ListView)| {
        let sort = (sort != Sort::default()).then(|| sort.name().to_owned());
        let limit = unless_default(limit, limits::DEFAULT_PAGE_SIZE);
        page_key(&format!("{path}/comments"), &[("sort", sort), ("limit", limit), view.key_parameter()])
    };
    let counts = page_key("/v1/counts", &[("subject", Some(format!("{}/{}", subject.kind(), subject.key())))]);
    lists.iter().map(list).chain([path.clone(), counts]).collect()
}
