//! What commits changed, told to this process, the shared cache and the counters.
//!
//! Bounded in time: who waits is a request or the job. What the cache could not be told is told again
//! in the background; what is never told, because the process died, ages out ([`crate::ports::cache::FRESH`]).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::id::{CommentId, Slot};
use tokio::time::{Instant, sleep, timeout};

use crate::cluster::cached_store::CachedStore;
use crate::cluster::settle::tell;
use crate::domain::operation::{LoggedOperation, Operation, OperationOutcome, PersistedBatch};
use crate::domain::row::CommentRow;
use crate::ports::cache::{Cache, Changes, Invalidation, Key, ListKey, Move};
use crate::ports::store::Result;

/// How long the cache and the counters are waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long after a failure the cache is told again.
const AGAIN: Duration = Duration::from_millis(250);
/// Values and moves that wait for one slot. Where there are more, the slot's comments are void
/// together, and its lists age out.
const WAITING: usize = 2_000;

impl CachedStore {
    /// Tells what `batch` has changed. When this returns, no read here answers with what was before,
    /// nor elsewhere but from the memory of that process, for a quarter of a second. That holds while
    /// the cache answers; else within seconds after it does again.
    pub async fn committed(&self, batch: &[LoggedOperation], persisted: &PersistedBatch) {
        let slots = changes(persisted);
        let caches = self.tell(&slots);
        let counters = timeout(PATIENCE, tell(&*self.counters, &*self.tables, batch, persisted));
        let (_, told) = tokio::join!(caches, counters);
        if let Ok(Err(error)) = told {
            tracing::debug!(%error, "the counters were not told");
        }
        let seen: Vec<_> = batch.iter().zip(&persisted.outcomes).filter_map(published_before).collect();
        if let Err(error) = self.tell_again(&seen, false).await {
            tracing::debug!(%error, "comments that were written before are not told again");
        }
        // Only now: what was read from the cache meanwhile may be old.
        self.mark(&slots);
    }

    /// Tells of comments as they are now, and of those above them: who wrote them may have died
    /// before it told. `takedown` says that what they showed was changed or taken away.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn tell_again(&self, ids: &[CommentId], takedown: bool) -> Result<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut rows = self.tables.read_comments(ids).await?;
        let above: BTreeSet<_> = rows.values().flat_map(|row| row.path.ids()).collect();
        let above: Vec<_> = above.into_iter().filter(|id| !rows.contains_key(id)).collect();
        rows.extend(self.tables.read_comments(&above).await?);
        let slots = standing(rows.values(), takedown);
        self.tell(&slots).await;
        self.mark(&slots);
        Ok(())
    }

    async fn tell(&self, slots: &HashMap<Slot, Changes>) {
        join_all(slots.iter().map(async |(slot, changes)| {
            let told = timeout(PATIENCE, self.cache.change(*slot, changes)).await;
            let failed = match told {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(error.to_string()),
                Err(_) => Some("it does not answer in time".to_owned()),
            };
            if let Some(error) = failed {
                self.untold.keep(*slot, changes.clone(), &error);
            }
        }))
        .await;
    }

    fn mark(&self, slots: &HashMap<Slot, Changes>) {
        for (slot, changes) in slots {
            self.marks.note(*slot, changes);
            for (key, _) in changes.values.iter().filter(|(_, void)| void.gone) {
                if let Key::Comment(id) = key {
                    self.comments.forget(id);
                }
            }
        }
    }
}

/// The comment of an event that publishes it and was written before.
fn published_before((stamped, outcome): (&LoggedOperation, &OperationOutcome)) -> Option<CommentId> {
    match (&stamped.operation, outcome) {
        (Operation::Publish(row), OperationOutcome::Seen) => Some(row.path.id()),
        _ => None,
    }
}

/// What there is to tell of rows, slot by slot.
fn standing<'a>(rows: impl Iterator<Item = &'a CommentRow>, takedown: bool) -> HashMap<Slot, Changes> {
    let mut slots: HashMap<Slot, Changes> = HashMap::new();
    for row in rows {
        let (id, root, version) = (row.id(), row.path.root_id(), row.version);
        let changes = slots.entry(id.slot()).or_default();
        changes.takedown |= takedown;
        changes.values.insert(Key::Comment(id), Invalidation { version, gone: takedown });
        changes.values.insert(Key::Subject(row.subject.clone()), Invalidation { version, gone: false });
        if id != root {
            changes.values.insert(Key::TopReplies(root), Invalidation { version, gone: false });
        }
        if let Some(floor) = row.floor {
            let list = if id == root { ListKey::Roots(row.subject.clone()) } else { ListKey::Replies(root) };
            let moved = Move { floor, listed: row.listed(), version };
            changes.lists.entry(list).or_default().insert(id, moved);
        }
    }
    slots
}

/// What a batch changed, slot by slot.
fn changes(persisted: &PersistedBatch) -> HashMap<Slot, Changes> {
    let mut slots: HashMap<Slot, Changes> = HashMap::new();
    let mut touched_in = HashSet::new();
    for touched in &persisted.touched {
        touched_in.insert(&touched.subject);
        let changes = slots.entry(touched.id.slot()).or_default();
        let version = touched.version;
        changes.values.insert(Key::Comment(touched.id), Invalidation { version, gone: touched.takedown });
        changes.takedown |= touched.takedown;
        let is_root = touched.id == touched.root;
        if !is_root {
            changes.values.insert(Key::TopReplies(touched.root), Invalidation { version, gone: false });
        }
        if let Some(floor) = touched.floor.filter(|_| touched.was_listed != touched.listed) {
            let list = if is_root { ListKey::Roots(touched.subject.clone()) } else { ListKey::Replies(touched.root) };
            let moved = Move { floor, listed: touched.listed, version };
            changes.lists.entry(list).or_default().insert(touched.id, moved);
        }
    }
    for (subject, version) in &persisted.changed {
        let changes = slots.entry(subject.slot()).or_default();
        changes.values.insert(Key::Subject(subject.clone()), Invalidation { version: *version, gone: false });
        // One that changed by itself may have another mode, which all its comments carry.
        changes.takedown |= !touched_in.contains(subject);
    }
    slots
}

/// Adds what came later.
fn merge(into: &mut Changes, later: Changes) {
    into.takedown |= later.takedown;
    for (key, void) in later.values {
        let known = into.values.entry(key).or_insert(void);
        *known = Invalidation { version: known.version.max(void.version), gone: known.gone || void.gone };
    }
    for (list, moves) in later.lists {
        let known = into.lists.entry(list).or_default();
        for (id, moved) in moves {
            let known = known.entry(id).or_insert(moved);
            if known.version <= moved.version {
                *known = moved;
            }
        }
    }
    let waiting = into.values.len() + into.lists.values().map(HashMap::len).sum::<usize>();
    if waiting > WAITING {
        *into = Changes { takedown: true, ..Changes::default() };
    }
}

/// What the cache was not told yet.
pub(super) struct InvalidationQueue {
    cache: Arc<dyn Cache>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    slots: HashMap<Slot, Changes>,
    /// Whether somebody is at it.
    telling: bool,
    /// When that was last said aloud.
    warned: Option<Instant>,
}

impl InvalidationQueue {
    pub(super) fn new(cache: Arc<dyn Cache>) -> Self {
        Self { cache, waiting: Mutex::default() }
    }

    /// Keeps what could not be told, and tells it later.
    fn keep(self: &Arc<Self>, slot: Slot, changes: Changes, error: &str) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        merge(waiting.slots.entry(slot).or_default(), changes);
        if waiting.warned.is_none_or(|at| at.elapsed() >= Duration::from_secs(1)) {
            waiting.warned = Some(Instant::now());
            tracing::warn!(slots = waiting.slots.len(), error, "the cache is told later what has changed");
        }
        if !std::mem::replace(&mut waiting.telling, true) {
            drop(waiting);
            tokio::spawn(self.clone().tell_again());
        }
    }

    async fn tell_again(self: Arc<Self>) {
        loop {
            sleep(AGAIN).await;
            let slots = {
                let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
                if waiting.slots.is_empty() {
                    waiting.telling = false;
                    return;
                }
                std::mem::take(&mut waiting.slots)
            };
            let told = join_all(slots.into_iter().map(async |(slot, changes)| {
                let failed = !matches!(timeout(PATIENCE, self.cache.change(slot, &changes)).await, Ok(Ok(())));
                failed.then_some((slot, changes))
            }));
            let failed: Vec<_> = told.await.into_iter().flatten().collect();
            let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            for (slot, mut changes) in failed {
                merge(&mut changes, waiting.slots.remove(&slot).unwrap_or_default());
                waiting.slots.insert(slot, changes);
            }
        }
    }
}
