//! Invalidation: what commits changed is applied to this process, the shared cache and the counters.
//!
//! Bounded in time, because a request or the job waits. What the cache does not acknowledge is retried in
//! the background. A change that is never applied, because its process died, ends with the freshness of
//! the cached values ([`crate::ports::cache::CACHE_FRESHNESS`]).

mod changes;
mod queue;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join_all, try_join_all};
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use tokio::time::timeout;

use crate::cluster::cached_store::CachedStore;
use crate::cluster::cached_store::invalidation::changes::{changes_of_batch, changes_of_rows, changes_of_subjects};
pub(super) use crate::cluster::cached_store::invalidation::queue::InvalidationQueue;
use crate::cluster::settle::settle_batch;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::ports::cache::{CacheChanges, CacheKey};
use crate::ports::failure::Failure;
use crate::ports::journal::CommitListener;
use crate::ports::pending::PendingEnd;
use crate::ports::store::{Result, StoreError};

/// How long the cache and the counters may take.
const INVALIDATION_TIMEOUT: Duration = Duration::from_secs(1);

#[async_trait]
impl CommitListener for CachedStore {
    /// After this returns, no read of this process answers with what was before; no read of another does,
    /// except from the memory of that process for a quarter of a second. While the cache does not answer,
    /// this becomes true within seconds after it answers again.
    async fn on_commit(&self, batch: &[LoggedOperation], persisted: &PersistedBatch) {
        let slots = changes_of_batch(persisted);
        self.invalidate_cache(&slots).await;
        // After that: counters that are settled may be dropped, and the rows in the cache count without them.
        let settled = timeout(INVALIDATION_TIMEOUT, settle_batch(&*self.counters, &*self.tables, batch, persisted));
        let ended: Vec<_> = batch.iter().zip(&persisted.outcomes).filter_map(pending_end).collect();
        let (settled, ()) = tokio::join!(settled, self.end_pending(ended));
        if let Ok(Err(error)) = settled {
            tracing::debug!(%error, "Could not settle a batch of reactions in the counters");
        }
        // Their first writer may have died before it invalidated.
        let seen: Vec<_> = batch.iter().zip(&persisted.outcomes).filter_map(published_before).collect();
        if let Err(error) = self.invalidate_comments(&seen, false).await {
            tracing::debug!(%error, "Could not invalidate {} comments that were written before", seen.len());
        }
        // Last: values that were read from the cache until now may be old.
        self.raise_local_versions(&slots);
    }
}

impl CachedStore {
    /// Invalidates comments and their ancestors by their current rows. `takedown` says that what they
    /// show was changed or removed.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn invalidate_comments(&self, ids: &[CommentId], takedown: bool) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut rows = self.tables.read_comments(ids).await?;
        let ancestors: BTreeSet<_> = rows.values().flat_map(|row| row.path.ids()).collect();
        let ancestors: Vec<_> = ancestors.into_iter().filter(|id| !rows.contains_key(id)).collect();
        rows.extend(self.tables.read_comments(&ancestors).await?);
        let slots = changes_of_rows(rows.values(), takedown);
        let gone = if takedown {
            ids.iter().filter(|id| rows.contains_key(id)).map(|id| (*id, PendingEnd::Changed)).collect()
        } else {
            vec![]
        };
        tokio::join!(self.invalidate_cache(&slots), self.end_pending(gone));
        self.raise_local_versions(&slots);
        Ok(())
    }

    /// Invalidates subjects that changed as a whole, with the version of the change.
    pub async fn invalidate_subjects(&self, subjects: &HashMap<SubjectKey, u64>) {
        let slots = changes_of_subjects(subjects);
        self.invalidate_cache(&slots).await;
        self.raise_local_versions(&slots);
    }

    /// Forgets everything of these slots: their database has gone back.
    ///
    /// # Errors
    /// When the cache does not answer.
    pub async fn forget_slots(&self, slots: &[Slot]) -> Result<()> {
        let forgotten = try_join_all(slots.iter().map(|slot| self.cache.forget_slot(*slot))).await;
        forgotten.map(drop).map_err(|error| StoreError::Unavailable(Failure::of_driver(error)))
    }

    /// Applies changes to the shared cache, or queues them.
    async fn invalidate_cache(&self, slots: &BTreeMap<Slot, CacheChanges>) {
        join_all(slots.iter().map(async |(slot, changes)| {
            let applied = timeout(INVALIDATION_TIMEOUT, self.cache.apply_changes(*slot, changes)).await;
            let error = match applied {
                Ok(Ok(())) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => format!("no answer in {} ms", INVALIDATION_TIMEOUT.as_millis()),
            };
            self.invalidation_queue.enqueue(*slot, changes.clone(), &error);
        }))
        .await;
    }

    /// Ends pending comments, or queues their ends.
    async fn end_pending(&self, comments: Vec<(CommentId, PendingEnd)>) {
        if comments.is_empty() {
            return;
        }
        let ended = timeout(INVALIDATION_TIMEOUT, self.pending.end_comments(&comments)).await;
        if !matches!(ended, Ok(Ok(()))) {
            self.invalidation_queue.enqueue_ends(comments);
        }
    }

    /// Invalidates the values of this process.
    fn raise_local_versions(&self, slots: &BTreeMap<Slot, CacheChanges>) {
        for (slot, changes) in slots {
            self.local_versions.raise(*slot, changes);
            for (key, _) in changes.values.iter().filter(|(_, invalidation)| invalidation.is_gone) {
                if let CacheKey::Comment(id) = key {
                    self.comments.evict(id);
                }
            }
        }
    }
}

/// The end of a pending comment by an operation that made it a row or changed its row.
fn pending_end((logged, outcome): (&LoggedOperation, &OperationOutcome)) -> Option<(CommentId, PendingEnd)> {
    match (&logged.operation, outcome) {
        (Operation::Publish(row), _) => {
            row.imported.is_none().then(|| (row.path.id(), PendingEnd::Stored(row.author.id)))
        }
        (Operation::Change { .. }, OperationOutcome::NoComment) => None,
        (Operation::Change { id, .. }, _) => Some((*id, PendingEnd::Changed)),
        _ => None,
    }
}

/// The comment of an operation that publishes it, if it was written before.
fn published_before((logged, outcome): (&LoggedOperation, &OperationOutcome)) -> Option<CommentId> {
    match (&logged.operation, outcome) {
        (Operation::Publish(row), OperationOutcome::Seen) => Some(row.path.id()),
        _ => None,
    }
}
