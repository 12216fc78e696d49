//! Answers that every reader shares, kept in memory and served for a quarter of a second at most; in an
//! overload, for some seconds.
//!
//! A commit that changes a subject makes its pages stale at once. A stale page is served only while it
//! is younger than a few times the cost of its build, so that a flood of writes cannot make the origin
//! build pages and nothing else. Callers that wait for one page share its build, and builds are admitted
//! ([`crate::state::admission`]).
//!
//! Not here: how a page is sent. Texts that become headers are kept as they are sent.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::FutureExt;
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::id::SubjectKey;
use sha2::{Digest, Sha256};
use tokio::time::Instant;

use crate::clock::Clock;
use crate::domain::content_coding::{self, ContentCoding};
use crate::domain::operation::{ChangedSubject, LoggedOperation, PersistedBatch};
use crate::ports::journal::CommitListener;
use crate::ports::popularity::ReadLists;
use crate::state::admission::{Admission, NotAdmitted};
use crate::state::compressed_bodies::CompressedBodies;
use crate::state::read_counters::{ReadCounter, ReadCounters};
use crate::state::visitor_writes::VisitorWrites;
use crate::telemetry::measure_call;

/// How long a page is served.
const PAGE_TTL: Duration = Duration::from_millis(250);
/// How long a page is served in an overload, although its subject has changed.
const PAGE_TTL_IN_OVERLOAD: Duration = Duration::from_secs(2);
/// How long a page is kept, to be served where the build of the next one is refused: a takedown is in force
/// within 5 s.
const MAX_PAGE_AGE: Duration = Duration::from_secs(4);
/// Memory for pages.
const MAX_CACHE_BYTES: u64 = 32 * 1024 * 1024;
/// How long the result of a build stays among the builds where all of its callers have left.
const ENDED_BUILD_TTL: Duration = Duration::from_millis(1);
/// Such results at a time.
const MAX_ENDED_BUILDS: u64 = 100;
/// What a page takes beside its texts.
const PAGE_OVERHEAD_BYTES: usize = 256;
/// A stale page is served while it is younger than this many times its build took.
const MAX_STALE_AGE_IN_BUILDS: u32 = 4;
/// Buckets for the last commits of subjects, 8 bytes each: half a megabyte.
const CHANGE_BUCKETS: usize = 65_536;
/// Bytes of the digest in an entity tag: 96 bits.
const ETAG_DIGEST_BYTES: usize = 12;
/// What makes an entity tag weak (RFC 9110, 8.8.3).
const WEAK_PREFIX: &str = "W/";

/// A page as it is built.
#[derive(Debug)]
pub struct BuiltPage {
    pub body: Vec<u8>,
    pub content_type: &'static str,
    /// Headers of this page beside those of every page: names in small letters, values.
    pub headers: &'static [(&'static str, &'static str)],
    /// The subjects whose changes make it stale; none for a page that no commit changes.
    pub subjects: Vec<SubjectKey>,
    /// The comments it shows; `None` when they are too many, then the edge keeps no copy.
    pub cache_tags: Option<CacheTags>,
    /// The version of the subject it is about; 0 where it is about none, or did not read that.
    pub version: u64,
    /// The lists that a read of it counts for; `None` where a read is not counted.
    pub reads: Option<ReadLists>,
    /// Whether it is of an overload and will look otherwise without any change: the edge asks for the next one soon.
    pub is_passing: bool,
}

/// A page, ready to be sent.
#[derive(Debug)]
pub struct ReadyPage {
    pub body: Bytes,
    /// Shared with the page before it where that had the same body.
    compressed: Arc<CompressedBodies>,
    /// A strong validator of the body, in quotes.
    pub etag: Bytes,
    /// The same as a weak one: of the body in another coding.
    pub weak_etag: Bytes,
    pub content_type: &'static str,
    /// See [`BuiltPage::headers`].
    pub headers: &'static [(&'static str, &'static str)],
    /// See [`BuiltPage::cache_tags`].
    pub cache_tags: Option<Bytes>,
    /// See [`BuiltPage::version`].
    pub version: u64,
    /// The moment before its rows were read, in Unix milliseconds.
    pub made: u64,
    /// The counters of its subjects; see [`BuiltPage::reads`].
    counters: Vec<Arc<ReadCounter>>,
    /// See [`BuiltPage::is_passing`].
    pub is_passing: bool,
    reads: ReadLists,
    /// The buckets of its subjects.
    buckets: Vec<usize>,
    /// Commits before it was built.
    commits: u64,
    built_at: Instant,
    build_time: Duration,
}

impl ReadyPage {
    /// Whether the body is compressed for whom takes that.
    pub fn is_compressible(&self) -> bool {
        content_coding::is_compressible(self.body.len())
    }

    /// The body in this coding; `None` where it is too short or too long for any.
    pub fn body_in(&self, coding: ContentCoding) -> Option<Bytes> {
        if self.is_compressible() { self.compressed.get_or_make(coding, &self.body) } else { None }
    }

    /// Counts a read of this network. A page of many subjects is a read of none of them.
    pub fn count_read(&self, network: Option<IpAddr>) {
        if let [counter] = &self.counters[..] {
            counter.count_read(self.reads, network);
        }
    }

    /// For how many seconds the edge may serve it without asking: all of its subjects are popular.
    pub fn fresh_for_seconds(&self) -> Option<u8> {
        if self.is_passing {
            return None;
        }
        self.counters.iter().map(|counter| counter.fresh_for_seconds()).min().filter(|seconds| *seconds > 0)
    }

    /// With room for the body in both codings: a third of a long one, and up to as much as a short one.
    fn weight(&self) -> usize {
        self.body.len() * 2 + self.cache_tags.as_ref().map_or(0, Bytes::len) + PAGE_OVERHEAD_BYTES
    }
}

/// The pages in memory.
#[derive(Debug)]
pub struct PageCache {
    /// The newest of each key, also a stale one: it is there until the next one is.
    pages: moka::future::Cache<String, Arc<ReadyPage>>,
    /// The builds in progress. Their results go to `pages`, and end here.
    builds: moka::future::Cache<String, Arc<ReadyPage>>,
    /// The last commit that changed a subject, by hash. Subjects that share a bucket make each other's
    /// pages stale now and then, which costs a build and nothing else.
    changes: Box<[AtomicU64]>,
    commits: AtomicU64,
    hasher: RandomState,
    clock: Clock,
    counters: Arc<ReadCounters>,
    admission: Arc<Admission>,
    visitor_writes: VisitorWrites,
}

impl PageCache {
    pub fn new(clock: Clock, counters: Arc<ReadCounters>, admission: Arc<Admission>) -> Self {
        let weigh = |key: &String, page: &Arc<ReadyPage>| (key.len() + page.weight()).try_into().unwrap_or(u32::MAX);
        Self {
            pages: moka::future::Cache::builder()
                .max_capacity(MAX_CACHE_BYTES)
                .weigher(weigh)
                .time_to_live(MAX_PAGE_AGE)
                .build(),
            builds: moka::future::Cache::builder().max_capacity(MAX_ENDED_BUILDS).time_to_live(ENDED_BUILD_TTL).build(),
            changes: (0..CHANGE_BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            commits: AtomicU64::new(0),
            hasher: RandomState::new(),
            clock,
            counters,
            admission,
            visitor_writes: VisitorWrites::default(),
        }
    }

    /// Makes the pages of these subjects stale. Called after the commit that changed them.
    pub fn invalidate_subjects(&self, changed: &[ChangedSubject]) {
        let commit = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        for ChangedSubject { subject, .. } in changed {
            self.changes[self.bucket_of(subject)].store(commit, Ordering::SeqCst);
        }
    }

    fn bucket_of(&self, subject: &SubjectKey) -> usize {
        self.hasher.hash_one(subject) as usize % CHANGE_BUCKETS
    }

    fn is_stale(&self, page: &ReadyPage) -> bool {
        page.buckets.iter().any(|bucket| self.changes[*bucket].load(Ordering::SeqCst) > page.commits)
    }

    /// The page under this key, if it may be served and needs no wait.
    pub fn get_now(&self, key: &str) -> Option<Arc<ReadyPage>> {
        self.get(key).now_or_never().flatten()
    }

    /// The page under this key, if it may be served.
    pub async fn get(&self, key: &str) -> Option<Arc<ReadyPage>> {
        self.pages.get(key).await.filter(|page| self.may_be_served(page))
    }

    /// The page under this key, if it may be served to this network: made after what a visitor of it wrote last.
    pub async fn get_for(&self, network: Option<IpAddr>, key: &str) -> Option<Arc<ReadyPage>> {
        let written = self.visitor_writes.last_of(network);
        self.get(key).await.filter(|page| written.is_none_or(|written| page.made > written))
    }

    /// Remembers that a visitor of this network has written by a widget of another system.
    pub fn note_visitor_write(&self, network: Option<IpAddr>) {
        self.visitor_writes.note(network, self.clock.now());
    }

    fn may_be_served(&self, page: &ReadyPage) -> bool {
        let age = page.built_at.elapsed();
        if age < PAGE_TTL && (age < page.build_time * MAX_STALE_AGE_IN_BUILDS || !self.is_stale(page)) {
            return true;
        }
        age < PAGE_TTL_IN_OVERLOAD && self.admission.is_overloaded()
    }

    /// The page under this key, built when it is missing or stale.
    ///
    /// # Errors
    /// The builder's, and [`NotAdmitted`]; callers that shared the build share its error.
    pub async fn get_or_build<F, E>(&self, key: &str, build: impl Fn() -> F) -> Result<Arc<ReadyPage>, Arc<E>>
    where
        F: Future<Output = Result<BuiltPage, E>>,
        E: From<NotAdmitted> + Send + Sync + 'static,
    {
        match self.get(key).await {
            Some(page) => Ok(page),
            None => self.build_missing(key, build).await,
        }
    }

    /// The page under this key, built, where [`PageCache::get`] found none a moment ago.
    ///
    /// # Errors
    /// As [`PageCache::get_or_build`].
    pub async fn build_missing<F, E>(&self, key: &str, build: impl Fn() -> F) -> Result<Arc<ReadyPage>, Arc<E>>
    where
        F: Future<Output = Result<BuiltPage, E>>,
        E: From<NotAdmitted> + Send + Sync + 'static,
    {
        // Twice: the first may join a build that began before the caller's own write.
        for _ in 0..2 {
            let commits = self.commits.load(Ordering::SeqCst);
            let before = self.pages.get(key).await;
            let page = self.builds.try_get_with_by_ref(key, self.build_into_memory(key, build())).await?;
            self.builds.invalidate(key).await;
            let is_refused = before.is_some_and(|before| Arc::ptr_eq(&before, &page));
            if is_refused || page.commits >= commits || !self.is_stale(&page) {
                return Ok(page);
            }
        }
        self.build_into_memory(key, build()).await.map_err(Arc::new)
    }

    async fn build_into_memory<E: From<NotAdmitted>>(
        &self,
        key: &str,
        build: impl Future<Output = Result<BuiltPage, E>>,
    ) -> Result<Arc<ReadyPage>, E> {
        let before = self.pages.get(key).await;
        let page = self.build(build, before.clone()).await?;
        if before.is_none_or(|before| !Arc::ptr_eq(&before, &page)) {
            self.pages.insert(key.to_owned(), page.clone()).await;
        }
        Ok(page)
    }

    /// A new page; the one before it where the build is not admitted.
    async fn build<E: From<NotAdmitted>>(
        &self,
        build: impl Future<Output = Result<BuiltPage, E>>,
        before: Option<Arc<ReadyPage>>,
    ) -> Result<Arc<ReadyPage>, E> {
        // The wait is no part of the build: it makes no page old.
        let admitted = match &before {
            // It was read a moment ago, so it probably has many readers.
            Some(_) => self.admission.admit_patiently().await,
            None => self.admission.admit().await,
        };
        let unchanged = before.as_ref().map(|before| (before.etag.clone(), before.compressed.clone()));
        let _place = match (admitted, before) {
            (Ok(place), _) => place,
            (Err(_), Some(before)) if before.built_at.elapsed() < MAX_PAGE_AGE => return Ok(before),
            (Err(not_admitted), _) => return Err(not_admitted.into()),
        };
        let (commits, begun_at, made) = (self.commits.load(Ordering::SeqCst), Instant::now(), self.clock.now());
        let built = measure_call("page_cache", "build", build).await?;
        let weak_etag = Bytes::from(weak_etag(&built.body));
        let etag = weak_etag.slice(WEAK_PREFIX.len()..);
        Ok(Arc::new(ReadyPage {
            compressed: unchanged.filter(|(before, _)| *before == etag).map(|(_, bodies)| bodies).unwrap_or_default(),
            etag,
            weak_etag,
            body: built.body.into(),
            content_type: built.content_type,
            headers: built.headers,
            cache_tags: built.cache_tags.map(|tags| tags.encode().into()),
            version: built.version,
            made,
            counters: built
                .reads
                .map_or(vec![], |_| built.subjects.iter().map(|s| self.counters.counter_of(s)).collect()),
            is_passing: built.is_passing,
            reads: built.reads.unwrap_or_default(),
            buckets: built.subjects.iter().map(|s| self.bucket_of(s)).collect(),
            commits,
            built_at: Instant::now(),
            build_time: begun_at.elapsed(),
        }))
    }
}

fn weak_etag(body: &[u8]) -> String {
    let digest = Sha256::digest(body);
    format!("{WEAK_PREFIX}\"{}\"", hex::encode(&digest[..ETAG_DIGEST_BYTES]))
}

#[async_trait]
impl CommitListener for PageCache {
    async fn on_commit(&self, _: &[LoggedOperation], persisted: &PersistedBatch) {
        self.invalidate_subjects(&persisted.changed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use super::*;
    use crate::testing::manual_clock::ManualClock;

    fn cache() -> PageCache {
        PageCache::new(Clock::system(), Arc::new(ReadCounters::new()), Arc::new(Admission::new("reads", 1)))
    }

    fn subject(key: &str) -> SubjectKey {
        SubjectKey::new("article", key).unwrap()
    }

    fn page(subject: &SubjectKey) -> BuiltPage {
        BuiltPage {
            body: b"{}".to_vec(),
            content_type: "application/json",
            headers: &[],
            subjects: vec![subject.clone()],
            cache_tags: None,
            version: 1,
            reads: None,
            is_passing: false,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_has_written_gets_no_page_from_before_however_slow_its_build_was() {
        const BUILD_TIME: Duration = Duration::from_millis(50);
        let (clock, subject) = (ManualClock::at(1_000), subject("a"));
        let cache = PageCache::new(clock.clock(), Arc::new(ReadCounters::new()), Arc::new(Admission::new("reads", 1)));
        let slow = || async {
            tokio::time::sleep(BUILD_TIME).await;
            Ok::<_, NotAdmitted>(page(&subject))
        };
        cache.get_or_build("k", slow).await.unwrap();
        cache.invalidate_subjects(&[ChangedSubject { subject: subject.clone(), version: 2, is_new: true }]);
        let (writer, reader) = (Some([192, 0, 2, 1].into()), Some([192, 0, 2, 2].into()));
        cache.note_visitor_write(writer);
        assert!(cache.get_for(reader, "k").await.is_some(), "others do not wait for the next build");
        assert!(cache.get_for(writer, "k").await.is_none());
        clock.advance(Duration::from_millis(1));
        cache.build_missing("k", slow).await.unwrap();
        assert!(cache.get_for(writer, "k").await.is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn body_is_compressed_once_while_builds_make_the_same() {
        let (cache, subject) = (cache(), subject("a"));
        let get = async |text: &'static str| {
            let build =
                || async { Ok::<_, NotAdmitted>(BuiltPage { body: text.repeat(500).into(), ..page(&subject) }) };
            let built = cache.get_or_build("k", build).await.unwrap();
            tokio::time::advance(PAGE_TTL).await;
            built.body_in(ContentCoding::Gzip).unwrap()
        };
        let (first, second, other) = (get("[0]").await, get("[0]").await, get("[1]").await);
        assert_eq!(first.as_ptr(), second.as_ptr(), "the second build made the same page");
        assert_ne!(first, other);
    }

    /// Gets the page `k` of a subject, counting its builds.
    async fn get(cache: &PageCache, subject: &SubjectKey, builds: &AtomicUsize) -> Arc<ReadyPage> {
        let build = || async {
            builds.fetch_add(1, Ordering::SeqCst);
            Ok::<_, NotAdmitted>(page(subject))
        };
        cache.get_or_build("k", build).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn page_is_built_once_until_its_subject_changes() {
        let (cache, subject, builds) = (cache(), subject("1"), AtomicUsize::new(0));
        get(&cache, &subject, &builds).await;
        get(&cache, &subject, &builds).await;
        assert_eq!(builds.load(Ordering::SeqCst), 1);
        cache.invalidate_subjects(&[ChangedSubject { subject: subject.clone(), version: 2, is_new: true }]);
        // Longer than a stale page of such a cheap build is served.
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(cache.get_now("k").is_none(), "a stale page is not served");
        get(&cache, &subject, &builds).await;
        assert_eq!(builds.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn page_before_is_served_while_builds_are_refused() {
        let (cache, subject, builds) = (cache(), subject("1"), AtomicUsize::new(0));
        let before = get(&cache, &subject, &builds).await;
        let running = cache.admission.admit().await.unwrap();
        cache.invalidate_subjects(&[ChangedSubject { subject: subject.clone(), version: 2, is_new: true }]);
        tokio::time::advance(PAGE_TTL).await;
        assert!(cache.get_now("k").is_none(), "it is old, and no build was refused yet");
        for _ in 0..2 {
            assert!(Arc::ptr_eq(&before, &get(&cache, &subject, &builds).await), "it is better than nothing");
        }
        assert!(cache.get_now("k").is_some(), "in an overload it is served at once");
        tokio::time::advance(MAX_PAGE_AGE).await;
        let build = || async { Ok::<_, NotAdmitted>(page(&subject)) };
        assert!(cache.get_or_build("k", build).await.is_err(), "it is too old");
        drop(running);
        assert!(!Arc::ptr_eq(&before, &get(&cache, &subject, &builds).await));
        assert_eq!(builds.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn reader_who_comes_while_others_ask_for_a_build_meets_the_page_before_too() {
        const TRIED_FOR: Duration = Duration::from_millis(300);
        let (cache, subject, begun) = (Arc::new(cache()), subject("1"), Instant::now());
        get(&cache, &subject, &AtomicUsize::new(0)).await;
        let _running = cache.admission.admit().await.unwrap();
        // So many wait that all others are refused at once.
        let waiting: Vec<_> = std::iter::repeat_with(|| {
            let cache = cache.clone();
            tokio::spawn(async move { cache.admission.admit_patiently().await.is_err() })
        })
        .take(600)
        .collect();
        while !cache.admission.is_overloaded() {
            tokio::task::yield_now().await;
        }
        let readers = (0..4).map(|_| {
            let (cache, subject) = (cache.clone(), subject.clone());
            tokio::spawn(async move {
                while begun.elapsed() < TRIED_FOR {
                    cache.invalidate_subjects(&[ChangedSubject { subject: subject.clone(), version: 2, is_new: true }]);
                    let build = || async { Ok::<_, NotAdmitted>(page(&subject)) };
                    let answer = cache.build_missing("k", build).await;
                    assert!(answer.is_ok() || begun.elapsed() >= MAX_PAGE_AGE);
                }
            })
        });
        for reader in futures_util::future::join_all(readers).await {
            reader.unwrap();
        }
        for waiting in waiting {
            assert!(waiting.await.unwrap());
        }
    }

    #[tokio::test]
    async fn equal_bodies_have_equal_tags() {
        let (cache, subject) = (cache(), subject("1"));
        let tag = async |key: &str, body: &'static str| {
            let build = || async { Ok::<_, NotAdmitted>(BuiltPage { body: body.into(), ..page(&subject) }) };
            cache.get_or_build(key, build).await.unwrap().etag.clone()
        };
        assert_eq!(tag("a", "x").await, tag("b", "x").await);
        assert_ne!(tag("c", "x").await, tag("d", "y").await);
        let etag = tag("e", "x").await;
        assert!(etag.len() == 26 && etag.starts_with(b"\"") && etag.ends_with(b"\""), "{etag:?}");
    }

    #[tokio::test]
    async fn failed_build_is_not_kept() {
        let (cache, subject) = (cache(), subject("1"));
        let failed = cache.get_or_build("k", || async { Err::<BuiltPage, _>(NotAdmitted) }).await;
        assert_eq!(failed.map(|_| ()), Err(Arc::new(NotAdmitted)));
        get(&cache, &subject, &AtomicUsize::new(0)).await;
        assert!(cache.get_now("k").is_some());
    }
}
