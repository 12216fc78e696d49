//! Changes that the shared cache did not acknowledge, until it does; and the ends of pending comments.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ConstantBuilder};
use futures_util::future::join_all;
use gailou_shared::id::{CommentId, Slot};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::{sleep, timeout};

use crate::cluster::cached_store::invalidation::INVALIDATION_TIMEOUT;
use crate::cluster::cached_store::invalidation::changes::merge_changes;
use crate::outage_log::OutageLog;
use crate::ports::cache::{Cache, CacheChanges};
use crate::ports::pending::{Pending, PendingEnd};

/// How long to wait before a retry; jitter adds up to as much again.
const INVALIDATION_RETRY_DELAY: Duration = Duration::from_millis(200);
/// Values and moves that wait for one slot. More become one takedown of the slot.
const MAX_QUEUED_CHANGES: usize = 2_000;
/// Ends of pending comments that wait: 24 bytes each. Beyond that the oldest comments are left, which are kept for a
/// day.
const MAX_QUEUED_ENDS: usize = 100_000;
/// Ends that are retried together.
const ENDS_PER_RETRY: usize = 1_000;

/// The queue, and the task that drains it while it is not empty.
pub(in crate::cluster::cached_store) struct InvalidationQueue {
    cache: Arc<dyn Cache>,
    pending: Arc<dyn Pending>,
    queued: Mutex<QueuedChanges>,
    outage: OutageLog,
}

#[derive(Default)]
struct QueuedChanges {
    slots: BTreeMap<Slot, CacheChanges>,
    /// Comments that are not pending any more.
    ends: BTreeMap<CommentId, PendingEnd>,
    /// Whether a task drains the queue.
    is_draining: bool,
}

impl InvalidationQueue {
    pub(in crate::cluster::cached_store) fn new(cache: Arc<dyn Cache>, pending: Arc<dyn Pending>) -> Self {
        Self { cache, pending, queued: Mutex::default(), outage: OutageLog::default() }
    }

    /// A mutex that is held for one merge, never across an await.
    fn queued(&self) -> MutexGuard<'_, QueuedChanges> {
        self.queued.lock()
    }

    /// Queues changes that the cache did not acknowledge because of `error`.
    pub(super) fn enqueue(self: &Arc<Self>, slot: Slot, changes: CacheChanges, error: &str) {
        let mut queued = self.queued();
        merge_changes(queued.slots.entry(slot).or_default(), changes, MAX_QUEUED_CHANGES);
        self.outage.begin(|| {
            let slot = slot.get();
            tracing::warn!(slot, error, "Could not invalidate slot {slot} in the cache; retrying all that fail");
        });
        self.start_draining(queued);
    }

    /// Queues ends of pending comments that were not acknowledged.
    pub(super) fn enqueue_ends(self: &Arc<Self>, comments: Vec<(CommentId, PendingEnd)>) {
        let mut queued = self.queued();
        queued.add_ends(comments);
        self.start_draining(queued);
    }

    fn start_draining(self: &Arc<Self>, mut queued: MutexGuard<'_, QueuedChanges>) {
        if !std::mem::replace(&mut queued.is_draining, true) {
            drop(queued);
            tokio::spawn(self.clone().drain());
        }
    }

    /// Retries until the queue is empty.
    async fn drain(self: Arc<Self>) {
        let delays = ConstantBuilder::default().with_delay(INVALIDATION_RETRY_DELAY).with_jitter().without_max_times();
        for delay in delays.build() {
            sleep(delay).await;
            self.retry_ends().await;
            let slots = {
                let mut queued = self.queued();
                if queued.slots.is_empty() && queued.ends.is_empty() {
                    queued.is_draining = false;
                    self.outage.end(|| tracing::info!("Invalidated every queued slot in the cache"));
                    return;
                }
                std::mem::take(&mut queued.slots)
            };
            let retried = join_all(slots.into_iter().map(async |(slot, changes)| {
                let applied = timeout(INVALIDATION_TIMEOUT, self.cache.apply_changes(slot, &changes)).await;
                (!matches!(applied, Ok(Ok(())))).then_some((slot, changes))
            }));
            let failed: Vec<_> = retried.await.into_iter().flatten().collect();
            let mut queued = self.queued();
            for (slot, mut changes) in failed {
                merge_changes(&mut changes, queued.slots.remove(&slot).unwrap_or_default(), MAX_QUEUED_CHANGES);
                queued.slots.insert(slot, changes);
            }
        }
    }

    /// Ends queued comments until one attempt fails.
    async fn retry_ends(&self) {
        loop {
            let comments = self.queued().take_ends();
            if comments.is_empty() {
                return;
            }
            let ended = timeout(INVALIDATION_TIMEOUT, self.pending.end_comments(&comments)).await;
            if !matches!(ended, Ok(Ok(()))) {
                self.queued().add_ends(comments);
                return;
            }
        }
    }
}

impl QueuedChanges {
    fn add_ends(&mut self, comments: Vec<(CommentId, PendingEnd)>) {
        for (id, end) in comments {
            let known = self.ends.entry(id).or_insert(end);
            if end == PendingEnd::Changed {
                *known = end;
            }
        }
        while self.ends.len() > MAX_QUEUED_ENDS {
            self.ends.pop_first();
        }
    }

    /// The ends of the newest comments, which the next attempt is for.
    fn take_ends(&mut self) -> Vec<(CommentId, PendingEnd)> {
        std::iter::from_fn(|| self.ends.pop_last()).take(ENDS_PER_RETRY).collect()
    }
}
