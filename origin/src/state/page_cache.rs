//! Ready answers in memory: bytes and headers of pages, for a quarter of a second at most.
//!
//! A commit that changes a subject makes its pages old at once; only while a page is younger than
//! a few times what it cost to build it is served all the same, so that a flood of writes cannot
//! make the origin build pages and nothing else. Builds of one page are shared by all who wait.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use axum::http::HeaderValue;
use bytes::Bytes;
use futures_util::FutureExt;
use gailou_shared::cache_tags::CacheTags;
use gailou_shared::id::SubjectKey;
use sha2::{Digest, Sha256};

use crate::clock::Clock;
use crate::error::ApiError;
use crate::ports::popularity::{ReadCounter, ReadCounters, ReadLists};

/// Longest life of a page.
const LIFE: Duration = Duration::from_millis(250);
/// Memory for pages, in bytes.
const BYTES: u64 = 32 * 1024 * 1024;
/// A page is served although it is old while it is younger than this many times its cost.
const COSTS: u32 = 4;

/// Places for subjects: half a megabyte.
const SUBJECTS: usize = 65_536;

/// What a builder makes.
#[derive(Debug)]
pub struct BuiltPage {
    pub body: Vec<u8>,
    pub content_type: &'static str,
    /// The subjects whose changes make it old; none for what never changes by a commit.
    pub subjects: Vec<SubjectKey>,
    /// The comments it shows; `None` when they are too many to be told: then the edge keeps no copy.
    pub shows: Option<CacheTags>,
    /// The version of the subject it is about; 0 where it is about none, or did not look at that.
    pub version: u64,
    /// What of its subjects it counts as a read of, where the edge is told when they are hot.
    pub reads: Option<ReadLists>,
}

/// A page, ready to be sent.
#[derive(Debug)]
pub struct ReadyPage {
    pub body: Bytes,
    pub etag: HeaderValue,
    pub content_type: &'static str,
    /// See [`Built::shows`].
    pub shows: Option<HeaderValue>,
    /// See [`Built::version`].
    pub version: u64,
    /// The moment before its rows were read, in Unix milliseconds.
    pub made: u64,
    /// Who is counted when it is read; see [`Built::reads`].
    readers: Vec<Arc<ReadCounter>>,
    reads: ReadLists,
    /// Their places among the changed.
    subjects: Vec<usize>,
    /// Commits that had happened before it was built.
    mark: u64,
    built: Instant,
    cost: Duration,
}

impl ReadyPage {
    /// Counts that somebody reads it. A page of many subjects is a read of none of them.
    pub fn read(&self) {
        if let [reader] = &self.readers[..] {
            reader.read(self.reads);
        }
    }

    /// For how many seconds what stands between may serve it without asking: all of its subjects
    /// are hot.
    pub fn hot_for(&self) -> Option<u8> {
        self.readers.iter().map(|reader| reader.hot_for()).min().filter(|seconds| *seconds > 0)
    }
}

/// The pages in memory.
#[derive(Debug)]
pub struct PageCache {
    pages: moka::future::Cache<String, Arc<ReadyPage>>,
    /// The last commit that changed a subject, by hash. Subjects that share a place make each
    /// other's pages old now and then, which costs a build and nothing else.
    changed: Box<[AtomicU64]>,
    commits: AtomicU64,
    hasher: RandomState,
    clock: Clock,
    readers: Arc<ReadCounters>,
}

impl PageCache {
    pub fn new(clock: Clock, readers: Arc<ReadCounters>) -> Self {
        Self {
            pages: moka::future::Cache::builder()
                .max_capacity(BYTES)
                .weigher(|key: &String, page: &Arc<ReadyPage>| {
                    (key.len() + page.body.len() + page.shows.as_ref().map_or(0, HeaderValue::len) + 256)
                        .try_into()
                        .unwrap_or(u32::MAX)
                })
                .time_to_live(LIFE)
                .build(),
            changed: (0..SUBJECTS).map(|_| AtomicU64::new(0)).collect(),
            commits: AtomicU64::new(0),
            hasher: RandomState::new(),
            clock,
            readers,
        }
    }

    /// Notes what a commit has changed. Called after the commit.
    pub fn committed(&self, changed: &[(SubjectKey, u64)]) {
        let commit = self.commits.fetch_add(1, Ordering::SeqCst) + 1;
        for (subject, _) in changed {
            self.changed[self.place(subject)].store(commit, Ordering::SeqCst);
        }
    }

    fn place(&self, subject: &SubjectKey) -> usize {
        self.hasher.hash_one(subject) as usize % SUBJECTS
    }

    fn old(&self, page: &ReadyPage) -> bool {
        page.subjects.iter().any(|place| self.changed[*place].load(Ordering::SeqCst) > page.mark)
    }

    /// The page under this key if it may be served and is to be had without waiting.
    pub fn get_now(&self, key: &str) -> Option<Arc<ReadyPage>> {
        self.get(key).now_or_never().flatten()
    }

    /// The page under this key if it may be served.
    pub async fn get(&self, key: &str) -> Option<Arc<ReadyPage>> {
        let page = self.pages.get(key).await?;
        (!self.old(&page) || page.built.elapsed() < page.cost * COSTS).then_some(page)
    }

    /// The page under this key, built when it is missing or old.
    ///
    /// # Errors
    /// The builder's.
    pub async fn get_or_build<F: Future<Output = Result<BuiltPage, ApiError>>>(
        &self,
        key: &str,
        build: impl Fn() -> F,
    ) -> Result<Arc<ReadyPage>, ApiError> {
        if let Some(page) = self.get(key).await {
            return Ok(page);
        }
        // Twice: the first may join a build that began before the caller's own write.
        for _ in 0..2 {
            let begun = self.commits.load(Ordering::SeqCst);
            if self.pages.get(key).await.is_some_and(|page| self.old(&page)) {
                self.pages.invalidate(key).await;
            }
            let page = self.pages.try_get_with_by_ref(key, self.build(build())).await.map_err(|e| (*e).clone())?;
            if page.mark >= begun || !self.old(&page) {
                return Ok(page);
            }
        }
        self.build(build()).await
    }

    async fn build(
        &self,
        build: impl Future<Output = Result<BuiltPage, ApiError>>,
    ) -> Result<Arc<ReadyPage>, ApiError> {
        let (mark, began, made) = (self.commits.load(Ordering::SeqCst), Instant::now(), self.clock.now());
        let built = build.await?;
        let digest = Sha256::digest(&built.body);
        let tag = digest.iter().take(12).fold(String::from("\""), |tag, b| format!("{tag}{b:02x}")) + "\"";
        Ok(Arc::new(ReadyPage {
            body: built.body.into(),
            etag: HeaderValue::try_from(tag).map_err(ApiError::internal)?,
            content_type: built.content_type,
            shows: built
                .shows
                .map(|shows| HeaderValue::try_from(shows.encode()))
                .transpose()
                .map_err(ApiError::internal)?,
            version: built.version,
            made,
            readers: built.reads.map_or(vec![], |_| built.subjects.iter().map(|s| self.readers.of(s)).collect()),
            reads: built.reads.unwrap_or_default(),
            subjects: built.subjects.iter().map(|s| self.place(s)).collect(),
            mark,
            built: Instant::now(),
            cost: began.elapsed(),
        }))
    }
}
