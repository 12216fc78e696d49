//! Keeps the search index up to date, and builds it.
//!
//! The tables write an entry into a queue with each change of a comment's text or state, in the same transaction, so
//! no change is missed. This job reads the comments of the entries from their rows, puts them into the index, and
//! removes the entries when the index has them. No post waits for it.
//!
//! An index that is missing, or of another format, is built from all rows beside the one that answers, which it then
//! replaces; the queues are followed meanwhile. One process indexes at a time: doing it twice changes nothing, since a
//! document never replaces one of a larger version.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::CommentId;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use tokio::time::{Instant, MissedTickBehavior};

use crate::clock::Clock;
use crate::domain::row::ExportCursor;
use crate::domain::search_index::{INDEX_FORMAT, IndexBuild, IndexStatus, SearchDocument, SearchIndexState};
use crate::outage_log::OutageLog;
use crate::ports::search_index::{SearchError, SearchIndex};
use crate::ports::store::{CommentReader, IndexQueues, StoreError};
use crate::state::erased_members::ErasedMembers;
use crate::telemetry::Collector;

/// How often the queues are read.
const INDEX_QUEUE_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Entries that are indexed and removed at once: an index is written with each, into files of its own.
const ENTRIES_PER_COMMIT: usize = 4_000;
/// Entries that wait from which on there is no pause between two commits, once they do not become more: those of a burst, or
/// of an import, wait for its end, because to index a comment costs a quarter of what it costs to post one.
const CATCH_UP_ENTRIES: u64 = 50_000;
/// Entries that wait at most for the end of a burst.
const MAX_BURST_ENTRIES: u64 = 500_000;
/// Comments that are read from the rows at once: 4 MB of the longest texts.
const COMMENTS_PER_READ: usize = 200;
/// Comments that are put between two commits of a build. The queues are followed after each.
const COMMENTS_PER_BUILD_STEP: usize = 4_000;
/// Most entries of a queue, 40 MB. Beyond them the queue is given up, and the index is built again.
pub const MAX_QUEUED_COMMENTS: u64 = 1_000_000;
/// Entries that are kept although no index needs them.
const MAX_UNNEEDED_ENTRIES: u64 = 10_000;
/// For how long a process indexes without saying so again. Another one takes over later.
const INDEXER_LEASE_MS: u64 = 15_000;
/// How often deleted documents are removed from the files of the index.
const COMPACTION_INTERVAL: Duration = Duration::from_secs(6 * 3_600);

/// What the job reads.
pub trait IndexSource: CommentReader + IndexQueues {}

impl<T: CommentReader + IndexQueues + ?Sized> IndexSource for T {}

/// Indexes the comments of an installation.
#[derive(Debug)]
pub struct CommentIndexer<S: ?Sized> {
    /// `None`: this process has no index.
    pub index: Option<Arc<dyn SearchIndex>>,
    pub tables: Arc<S>,
    pub databases: usize,
    pub erased_members: Arc<ErasedMembers>,
    /// Which process indexes is a matter of real time.
    pub clock: Clock,
    /// Which process this is.
    pub name: String,
    pub metrics: Arc<IndexMetrics>,
}

/// Why a step was not done.
#[derive(Debug, thiserror::Error)]
pub enum IndexingError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Index(#[from] SearchError),
}

/// Whether there is more to do at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexingStep {
    Done,
    Unfinished,
}

/// Indexes for as long as it is polled.
pub async fn run<S: IndexSource + ?Sized>(indexer: CommentIndexer<S>) {
    let mut tick = tokio::time::interval(INDEX_QUEUE_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (outage, mut compacted) = (OutageLog::default(), Instant::now());
    loop {
        tick.tick().await;
        let mut step = indexer.step().await;
        while let Ok(IndexingStep::Unfinished) = step {
            step = indexer.step().await;
        }
        if step.is_ok() && compacted.elapsed() >= COMPACTION_INTERVAL {
            step = indexer.compact().await.map(|()| IndexingStep::Done);
            compacted = Instant::now();
        }
        match step {
            Ok(_) => outage.end(|| tracing::info!("The search index is kept up to date again")),
            Err(error) => outage.begin(|| {
                let retry_ms = INDEX_QUEUE_POLL_INTERVAL.as_millis();
                tracing::warn!(retry_ms, %error, "Could not bring the search index up to date; retrying every {retry_ms} ms");
            }),
        }
    }
}

/// Whether all that waits is indexed at once, where `before` entries waited a step ago.
const fn catches_up(before: u64, waiting: u64) -> bool {
    waiting >= MAX_BURST_ENTRIES || (waiting >= CATCH_UP_ENTRIES && waiting <= before)
}

impl<S: IndexSource + ?Sized> CommentIndexer<S> {
    /// Indexes what waits, and a part of what is to be built.
    ///
    /// # Errors
    /// When the tables or the index do not answer. Nothing is lost then.
    pub async fn step(&self) -> Result<IndexingStep, IndexingError> {
        let mut held = HeldState::read(&*self.tables).await?;
        let before = self.metrics.entries.load(Ordering::Relaxed);
        let waiting = self.bound_queues(&mut held).await?;
        let catches_up = catches_up(before, waiting);
        let Some(index) = &self.index else { return Ok(IndexingStep::Done) };
        if !self.claim(&mut held).await? {
            return Ok(IndexingStep::Done);
        }
        let mut failed = None;
        for database in 0..self.databases {
            // A database that does not answer holds up no other.
            if let Err(error) = self.follow_queue(&**index, database, catches_up).await {
                failed = Some(error);
            }
        }
        let step = self.build(&**index, &mut held).await?;
        failed.map_or(Ok(step), Err)
    }

    async fn compact(&self) -> Result<(), IndexingError> {
        match &self.index {
            Some(index) => Ok(index.compact().await?),
            None => Ok(()),
        }
    }

    /// Gives up queues that are too long, and those that no index needs. The entries that wait.
    async fn bound_queues(&self, held: &mut HeldState) -> Result<u64, IndexingError> {
        let (mut entries, mut age_ms) = (0, 0);
        for database in 0..self.databases {
            let Ok(backlog) = self.tables.read_index_backlog(database).await else { continue };
            (entries, age_ms) = (entries + backlog.entries, age_ms.max(backlog.age_ms));
            let is_needed = held.state.complete.is_some() || held.state.build.is_some();
            if is_needed && backlog.entries > MAX_QUEUED_COMMENTS {
                tracing::warn!(
                    database,
                    entries = backlog.entries,
                    "The queue of the search index in database {database} is too long; the index is built again"
                );
                held.state = SearchIndexState { indexer: held.state.indexer.take(), ..SearchIndexState::default() };
                if !held.store(&*self.tables).await? {
                    return Ok(entries);
                }
            }
            let is_needed = held.state.complete.is_some() || held.state.build.is_some();
            if !is_needed && backlog.entries > MAX_UNNEEDED_ENTRIES {
                self.tables.clear_index_queue(database, backlog.last).await?;
            }
        }
        self.metrics.entries.store(entries, Ordering::Relaxed);
        self.metrics.age_ms.store(age_ms, Ordering::Relaxed);
        Ok(entries)
    }

    /// Whether this process indexes.
    async fn claim(&self, held: &mut HeldState) -> Result<bool, IndexingError> {
        let now = self.clock.now();
        match &held.state.indexer {
            Some((name, until)) if *name != self.name && now < *until => return Ok(false),
            Some((name, until)) if *name == self.name && now + INDEXER_LEASE_MS / 2 < *until => return Ok(true),
            _ => {}
        }
        held.state.indexer = Some((self.name.clone(), now + INDEXER_LEASE_MS));
        Ok(held.store(&*self.tables).await?)
    }

    /// Indexes the oldest entries of a queue, or all of it.
    async fn follow_queue(
        &self,
        index: &dyn SearchIndex,
        database: usize,
        catches_up: bool,
    ) -> Result<(), IndexingError> {
        loop {
            let entries = self.tables.read_index_queue(database, ENTRIES_PER_COMMIT).await?;
            if entries.is_empty() {
                return Ok(());
            }
            // The index looks only now which indexes there are. One that is begun later reads these rows later.
            let mut ids: Vec<CommentId> = entries.iter().map(|entry| entry.id).collect();
            ids.sort_unstable();
            ids.dedup();
            self.put(index, &ids).await?;
            index.commit().await?;
            self.tables.remove_from_index_queue(database, &entries).await?;
            self.metrics.indexed.fetch_add(ids.len() as u64, Ordering::Relaxed);
            if entries.len() < ENTRIES_PER_COMMIT || !catches_up {
                return Ok(());
            }
        }
    }

    async fn put(&self, index: &dyn SearchIndex, ids: &[CommentId]) -> Result<(), IndexingError> {
        for ids in ids.chunks(COMMENTS_PER_READ) {
            let mut rows = self.tables.read_comments(ids).await?;
            rows.values_mut().for_each(|row| self.erased_members.redact(row));
            let documents: Vec<SearchDocument> = rows.values().map(SearchDocument::of).collect();
            index.put(&documents).await?;
        }
        Ok(())
    }

    /// A step of building an index, where one is needed.
    async fn build(&self, index: &dyn SearchIndex, held: &mut HeldState) -> Result<IndexingStep, IndexingError> {
        let status = index.status().await?;
        let Some(mut build) = self.current_build(held, &status) else { return Ok(IndexingStep::Done) };
        if status.answering.as_ref() == Some(&build.id) {
            return self.finish(held, build).await;
        }
        if status.building.as_ref() != Some(&build.id) {
            tracing::info!(index = build.id, "Building the search index {}", build.id);
            build = IndexBuild { id: build.id, ..IndexBuild::default() };
            held.state.build = Some(build.clone());
            // Before the index is made: what is begun twice is begun by who has stored it last.
            if !held.store(&*self.tables).await? {
                return Ok(IndexingStep::Unfinished);
            }
            index.begin_build(&build.id).await?;
        }
        let until = build.comments + COMMENTS_PER_BUILD_STEP as u64;
        while build.comments < until {
            let after = build.after.as_ref().map(ExportCursor::from);
            let listed = self.tables.list_all_comments(after.as_ref(), COMMENTS_PER_READ).await?;
            let ids: Vec<CommentId> = listed.iter().map(|(_, id)| *id).collect();
            self.put(index, &ids).await?;
            build.comments += ids.len() as u64;
            build.after = listed.last().map(|(cursor, _)| cursor.into()).or(build.after);
            if listed.len() < COMMENTS_PER_READ {
                index.finish_build().await?;
                return self.finish(held, build).await;
            }
        }
        index.commit().await?;
        held.state.build = Some(build);
        held.state.indexer = Some((self.name.clone(), self.clock.now() + INDEXER_LEASE_MS));
        held.store(&*self.tables).await?;
        Ok(IndexingStep::Unfinished)
    }

    /// The build that is under way, or that is needed.
    fn current_build(&self, held: &mut HeldState, status: &IndexStatus) -> Option<IndexBuild> {
        let current = held.state.build.clone().filter(|build| build.id.starts_with(INDEX_FORMAT));
        if current.is_none() && !held.state.is_complete(status) {
            return Some(IndexBuild { id: new_index_id(), ..IndexBuild::default() });
        }
        current
    }

    async fn finish(&self, held: &mut HeldState, build: IndexBuild) -> Result<IndexingStep, IndexingError> {
        let (index, comments) = (build.id, build.comments);
        tracing::info!(index, comments, "Built the search index {index} of {comments} comments");
        held.state.complete = Some(index);
        held.state.build = None;
        held.store(&*self.tables).await?;
        Ok(IndexingStep::Done)
    }
}

/// The id of an index that is to be built.
pub fn new_index_id() -> String {
    format!("{INDEX_FORMAT}{}", hex::encode(rand::random::<[u8; 8]>()))
}

/// What the tables know of the index, and the bytes in which they know it.
#[derive(Debug)]
pub struct HeldState {
    stored: Option<Vec<u8>>,
    pub state: SearchIndexState,
}

impl HeldState {
    /// Reads it.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn read(tables: &(impl IndexQueues + ?Sized)) -> Result<Self, StoreError> {
        let stored = tables.read_index_state().await?;
        Ok(Self { state: SearchIndexState::decode(stored.as_deref()), stored })
    }

    /// Stores it, unless another process has stored something since. Whether it did.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn store(&mut self, tables: &(impl IndexQueues + ?Sized)) -> Result<bool, StoreError> {
        let bytes = self.state.encode();
        let is_stored = tables.swap_index_state(self.stored.as_deref(), &bytes).await?;
        if is_stored {
            self.stored = Some(bytes);
        }
        Ok(is_stored)
    }
}

/// What waits for the index, and what it was given.
#[derive(Debug, Default)]
pub struct IndexMetrics {
    entries: AtomicU64,
    age_ms: AtomicU64,
    indexed: AtomicU64,
}

impl Collector for IndexMetrics {
    fn collect(&self) {
        describe_gauge!("gailou_search_queue_comments", "Changes of comments that the search index does not have yet.");
        gauge!("gailou_search_queue_comments").set(self.entries.load(Ordering::Relaxed) as f64);
        describe_gauge!("gailou_search_queue_age_seconds", "How long the oldest of them has waited.");
        gauge!("gailou_search_queue_age_seconds").set(self.age_ms.load(Ordering::Relaxed) as f64 / 1_000.0);
        describe_counter!(
            "gailou_search_indexed_total",
            "Changed comments that this process put into the search index."
        );
        counter!("gailou_search_indexed_total").absolute(self.indexed.load(Ordering::Relaxed));
    }
}
