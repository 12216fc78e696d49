//! Pushes what is read most to the edge: pages of hot subjects when they change, the dictionary.
//!
//! A subject's pages go together, the next ones after the last were answered. In a cluster one
//! process pushes a subject, by a lease; should two do so for a moment, the edge keeps the newer
//! pages. Promise: what changed is pushed until the edge has answered, and nothing is pushed that
//! does not look as the origin's own answer does.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use metrics::{counter, describe_counter};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use tokio::task::{
    JoinSet, {self},
};
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::ports::edge::{EdgeClient, EdgeError, PushedDictionary, PushedPage};
use crate::ports::popularity::{HOT, PopularSubject, Popularity, PopularityError, ReadCounters, ReadLists, hot};
use crate::ports::store::StoreError;
use crate::telemetry::Collector;

/// How often it is looked for what changed. The edge's store takes one write a second of a key.
const EVERY: Duration = Duration::from_secs(1);
/// Subjects that are pushed at the same time.
const AT_ONCE: usize = 8;
/// How long a subject belongs to the process that pushes it: longer than a push may take.
const LEASE: Duration = Duration::from_secs(10);
/// How often the dictionary is looked at, and after how long it is pushed again.
const WORDS: Duration = Duration::from_secs(2);
const WORDS_AGAIN: Duration = Duration::from_secs(3_600);
/// Bytes of pages that go together: half of what the edge takes, for in JSON a page is at most twice
/// as long.
const TOGETHER: usize = 4 * 1_024 * 1_024 - 64 * 1_024;
/// How long nothing is pushed after the edge failed: at first, doubled with each further failure, and at most.
const REST: Duration = Duration::from_secs(1);
const LONGEST_REST: Duration = Duration::from_secs(30);
/// The dictionary's name among the leases; subjects have a slash in theirs.
const DICTIONARY: &str = "words";
/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// What there is to be pushed, as the origin answers it.
#[async_trait]
pub trait PageSource: Send + Sync + std::fmt::Debug {
    /// The subjects' versions now, in their order.
    async fn versions(&self, subjects: &[SubjectKey]) -> Result<Vec<u64>, PushError>;
    /// The page at this path; `Ok(None)` where the edge must keep no copy of it.
    async fn page(&self, path_query: &str) -> Result<Option<PushedPage>, PushError>;
    /// The dictionary's version now.
    async fn words_version(&self) -> Result<u64, PushError>;
    async fn words(&self) -> Result<PushedDictionary, PushError>;
}

/// Why something was not pushed now. It is tried again.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    #[error(transparent)]
    Edge(#[from] EdgeError),
    #[error(transparent)]
    Heat(#[from] PopularityError),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("the origin answers {0} with {1}")]
    Page(String, u16),
    #[error("the origin is stopping")]
    Stopping,
}

/// What has been pushed by this process.
#[derive(Debug, Default)]
pub struct PushMetrics {
    pub stored: AtomicU64,
    pub older: AtomicU64,
    pub failed: AtomicU64,
}

impl Collector for PushMetrics {
    fn collect(&self) {
        describe_counter!("gailou_pushed_pages_total", "Pages given to the edge, by what it did with them.");
        for (result, count) in [("stored", &self.stored), ("older", &self.older)] {
            counter!("gailou_pushed_pages_total", "result" => result).absolute(count.load(Ordering::Relaxed));
        }
        describe_counter!("gailou_push_failures_total", "Pushes that the edge did not accept.");
        counter!("gailou_push_failures_total").absolute(self.failed.load(Ordering::Relaxed));
    }
}

/// What the loop needs.
#[derive(Debug)]
pub struct Pusher {
    pub edge: Arc<dyn EdgeClient>,
    pub heat: Arc<dyn Popularity>,
    pub source: Arc<dyn PageSource>,
    /// Told which subjects are hot before their pages are rendered, which say so.
    pub readers: Arc<ReadCounters>,
    /// Reads a minute that make a subject hot.
    pub hot_per_minute: u32,
    /// For how many seconds its pages are fresh then.
    pub fresh_for: u8,
    pub figures: Arc<PushMetrics>,
}

/// What the edge has of a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Pushed {
    version: u64,
    lists: ReadLists,
}

/// What has ended: a subject's push, or the dictionary's.
enum Ended {
    Subject(SubjectKey, Result<Pushed, PushError>),
    Words(Result<u64, PushError>),
}

/// Pushes until it is dropped.
pub async fn run(pusher: Arc<Pusher>) {
    let mut state = Loop { pusher, hot: vec![], pushed: HashMap::new(), words: None, looked: None, rest: None };
    let mut flights = Flights::default();
    let mut tick = interval(EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            biased;
            Some(ended) = flights.land() => state.land(ended),
            _ = tick.tick() => {
                if let Err(error) = state.launch(&mut flights).await {
                    tracing::debug!(%error, "nothing is pushed");
                }
            }
        }
    }
}

/// What is under way, each under a name.
#[derive(Default)]
struct Flights {
    tasks: JoinSet<Ended>,
    names: HashMap<task::Id, String>,
}

impl Flights {
    /// Whether there is room for one of this name, and none under way.
    fn admits(&self, name: &str) -> bool {
        self.names.len() < AT_ONCE && self.names.values().all(|flying| flying != name)
    }

    fn launch(&mut self, name: String, push: impl Future<Output = Ended> + Send + 'static) {
        let task = self.tasks.spawn(push);
        self.names.insert(task.id(), name);
    }

    /// The next that has ended; `None` while there is none.
    async fn land(&mut self) -> Option<Ended> {
        let joined = self.tasks.join_next_with_id().await?;
        let id = joined.as_ref().map_or_else(task::JoinError::id, |(id, _)| *id);
        self.names.remove(&id);
        joined.ok().map(|(_, ended)| ended)
    }
}

struct Loop {
    pusher: Arc<Pusher>,
    hot: Vec<PopularSubject>,
    /// What the edge has of the subjects that are this process's.
    pushed: HashMap<SubjectKey, Pushed>,
    /// The dictionary's version at the edge, and since when.
    words: Option<(u64, Instant)>,
    /// When the dictionary was last looked at.
    looked: Option<Instant>,
    /// How long after the last failure nothing is pushed, and until when that is.
    rest: Option<(Duration, Instant)>,
}

impl Loop {
    /// Sends what is to be sent.
    async fn launch(&mut self, flights: &mut Flights) -> Result<(), PushError> {
        let pusher = self.pusher.clone();
        self.hot = hot(pusher.heat.most_read(HOT).await?, &self.hot, pusher.hot_per_minute);
        pusher.readers.declare(&self.hot, pusher.fresh_for);
        let names: Vec<_> =
            self.hot.iter().map(|warm| warm.subject.to_string()).chain([DICTIONARY.to_owned()]).collect();
        let owned = pusher.heat.claim(&names, LEASE).await?;
        let owns_words = owned.last() == Some(&true);
        let mine: Vec<_> = self.hot.iter().zip(owned).filter(|(_, mine)| *mine).map(|(warm, _)| warm.clone()).collect();
        self.pushed.retain(|subject, _| mine.iter().any(|warm| warm.subject == *subject));
        if self.rest.is_some_and(|(_, until)| Instant::now() < until) {
            return Ok(());
        }
        if !owns_words {
            self.words = None;
        } else if self.looked.is_none_or(|then| then.elapsed() >= WORDS) && flights.admits(DICTIONARY) {
            self.looked = Some(Instant::now());
            let version = pusher.source.words_version().await?;
            if self.words.is_none_or(|(known, since)| known != version || since.elapsed() >= WORDS_AGAIN) {
                let pusher = pusher.clone();
                flights.launch(DICTIONARY.to_owned(), async move { Ended::Words(push_words(&pusher).await) });
            }
        }
        let subjects: Vec<_> = mine.iter().map(|warm| warm.subject.clone()).collect();
        let versions = pusher.source.versions(&subjects).await?;
        for (warm, version) in mine.into_iter().zip(versions) {
            let wanted = Pushed { version, lists: warm.lists.and(ReadLists::DEFAULT) };
            let has = self.pushed.get(&warm.subject);
            let has = has.is_some_and(|has| has.version >= wanted.version && has.lists.has(wanted.lists));
            let name = warm.subject.to_string();
            if !has && flights.admits(&name) {
                let pusher = pusher.clone();
                flights.launch(name, async move {
                    let pushed = push_subject(&pusher, &warm.subject, wanted).await;
                    Ended::Subject(warm.subject, pushed)
                });
            }
        }
        Ok(())
    }

    fn land(&mut self, ended: Ended) {
        let failed = match ended {
            Ended::Subject(subject, Ok(pushed)) => {
                self.pushed.insert(subject, pushed);
                None
            }
            Ended::Words(Ok(version)) => {
                self.words = Some((version, Instant::now()));
                None
            }
            Ended::Subject(_, Err(error)) => Some(error),
            Ended::Words(Err(error)) => {
                self.looked = None;
                Some(error)
            }
        };
        match failed {
            None => {
                if self.rest.take().is_some() {
                    tracing::info!("the edge takes what is pushed again");
                }
            }
            Some(PushError::Edge(error)) => {
                self.pusher.figures.failed.fetch_add(1, Ordering::Relaxed);
                if self.rest.is_none() {
                    tracing::warn!(%error, "nothing can be pushed");
                }
                // Those that were under way together fail together, and count as one.
                let (last, until) = self.rest.unwrap_or((REST / 2, Instant::now()));
                if Instant::now() >= until {
                    let rest = (last * 2).min(LONGEST_REST);
                    self.rest = Some((rest, Instant::now() + rest));
                }
            }
            Some(error) => tracing::debug!(%error, "a subject is not pushed"),
        }
    }
}

/// Renders a subject's pages and pushes them; what the edge has then.
async fn push_subject(pusher: &Pusher, subject: &SubjectKey, wanted: Pushed) -> Result<Pushed, PushError> {
    let (mut pages, mut version, mut bytes) = (Vec::new(), None, 0);
    for key in keys(subject, wanted.lists) {
        let Some(page) = pusher.source.page(&key).await? else { continue };
        // A page may come from a memory that is a moment behind: then it is looked at again. Those
        // that do not say their version do not count.
        if page.version > 0 {
            version = Some(version.map_or(page.version, |least: u64| least.min(page.version)));
        }
        let size = page.body.len() + page.shows.len();
        if size > TOGETHER {
            tracing::warn!(key, size, "a page is too large to be pushed");
            continue;
        }
        if bytes + size > TOGETHER {
            send(pusher, &pages).await?;
            (pages, bytes) = (Vec::new(), 0);
        }
        bytes += size;
        pages.push(page);
    }
    send(pusher, &pages).await?;
    Ok(Pushed { version: version.unwrap_or(wanted.version), lists: wanted.lists })
}

async fn send(pusher: &Pusher, pages: &[PushedPage]) -> Result<(), PushError> {
    if pages.is_empty() {
        return Ok(());
    }
    let stored = pusher.edge.push(pages, None).await?;
    pusher.figures.stored.fetch_add(stored.stored, Ordering::Relaxed);
    pusher.figures.older.fetch_add(stored.older, Ordering::Relaxed);
    Ok(())
}

async fn push_words(pusher: &Pusher) -> Result<u64, PushError> {
    let words = pusher.source.words().await?;
    pusher.edge.push(&[], Some(&words)).await?;
    Ok(words.version)
}

/// The pages of a subject that are pushed, by the names the edge has for them.
fn keys(subject: &SubjectKey, lists: ReadLists) -> Vec<String> {
    if matches!(subject.key(), "." | "..") {
        // In a path these mean another one, so the edge has no name for them.
        return vec![];
    }
    let [kind, key] = [subject.kind(), subject.key()].map(|text| utf8_percent_encode(text, RESERVED));
    let path = format!("/v1/subjects/{kind}/{key}");
    let list = |(sort, limit): (Sort, usize)| {
        let sort = (sort != Sort::default()).then(|| format!("sort={}", sort.name()));
        let limit = (limit != limits::DEFAULT_PAGE_SIZE).then(|| format!("limit={limit}"));
        let query: Vec<_> = sort.into_iter().chain(limit).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{path}/comments{mark}{}", query.join("&"))
    };
    let counts = format!("/v1/counts?subject={kind}%2F{key}");
    lists.iter().map(list).chain([path.clone(), counts]).collect()
}
