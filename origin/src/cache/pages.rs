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
use gailou_shared::id::SubjectKey;
use sha2::{Digest, Sha256};

use crate::error::ApiError;

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
pub struct Built {
    pub body: Vec<u8>,
    pub content_type: &'static str,
    /// The subjects whose changes make it old; none for what never changes by a commit.
    pub subjects: Vec<SubjectKey>,
}

/// A page, ready to be sent.
#[derive(Debug)]
pub struct Ready {
    pub body: Bytes,
    pub etag: HeaderValue,
    pub content_type: &'static str,
    /// Their places among the changed.
    subjects: Vec<usize>,
    /// Commits that had happened before it was built.
    mark: u64,
    built: Instant,
    cost: Duration,
}

/// The pages in memory.
#[derive(Debug)]
pub struct Pages {
    pages: moka::future::Cache<String, Arc<Ready>>,
    /// The last commit that changed a subject, by hash. Subjects that share a place make each
    /// other's pages old now and then, which costs a build and nothing else.
    changed: Box<[AtomicU64]>,
    commits: AtomicU64,
    hasher: RandomState,
}

impl Pages {
    pub fn new() -> Self {
        Self {
            pages: moka::future::Cache::builder()
                .max_capacity(BYTES)
                .weigher(|key: &String, page: &Arc<Ready>| {
                    (key.len() + page.body.len() + 256).try_into().unwrap_or(u32::MAX)
                })
                .time_to_live(LIFE)
                .build(),
            changed: (0..SUBJECTS).map(|_| AtomicU64::new(0)).collect(),
            commits: AtomicU64::new(0),
            hasher: RandomState::new(),
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

    fn old(&self, page: &Ready) -> bool {
        page.subjects.iter().any(|place| self.changed[*place].load(Ordering::SeqCst) > page.mark)
    }

    /// The page under this key if it may be served and is to be had without waiting.
    pub fn get_now(&self, key: &str) -> Option<Arc<Ready>> {
        self.get(key).now_or_never().flatten()
    }

    /// The page under this key if it may be served.
    pub async fn get(&self, key: &str) -> Option<Arc<Ready>> {
        let page = self.pages.get(key).await?;
        (!self.old(&page) || page.built.elapsed() < page.cost * COSTS).then_some(page)
    }

    /// The page under this key, built when it is missing or old.
    ///
    /// # Errors
    /// The builder's.
    pub async fn get_or_build<F: Future<Output = Result<Built, ApiError>>>(
        &self,
        key: &str,
        build: impl Fn() -> F,
    ) -> Result<Arc<Ready>, ApiError> {
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

    async fn build(&self, build: impl Future<Output = Result<Built, ApiError>>) -> Result<Arc<Ready>, ApiError> {
        let (mark, began) = (self.commits.load(Ordering::SeqCst), Instant::now());
        let built = build.await?;
        let digest = Sha256::digest(&built.body);
        let tag = digest.iter().take(12).fold(String::from("\""), |tag, b| format!("{tag}{b:02x}")) + "\"";
        Ok(Arc::new(Ready {
            body: built.body.into(),
            etag: HeaderValue::try_from(tag).map_err(ApiError::internal)?,
            content_type: built.content_type,
            subjects: built.subjects.iter().map(|s| self.place(s)).collect(),
            mark,
            built: Instant::now(),
            cost: began.elapsed(),
        }))
    }
}

impl Default for Pages {
    fn default() -> Self {
        Self::new()
    }
}
