//! A shared cache in memory, with the promises of the port, and a way to lose entries.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use tokio::time::Instant;

use crate::domain::row::FloorRange;
use crate::ports::cache::{
    Cache, CacheChanges, CacheError, CacheKey, CacheLifetimes, CachePut, CacheStamp, CachedFloors, CachedList,
    CachedValue, ListEnd, ListFilling, ListMove, ListPart, LoadedWindow, MAX_WINDOW_ENTRIES, Result,
};

#[derive(Debug)]
struct StoredValue {
    /// Whether it is a stamp alone.
    is_stamp: bool,
    is_invalidated: bool,
    stamp: u64,
    version: u64,
    generation: u64,
    fresh_until: Instant,
    kept_until: Instant,
    bytes: Option<Vec<u8>>,
}

#[derive(Debug)]
struct StoredWindow {
    low: u64,
    high: u64,
    version: u64,
    /// The version of the subject that it contained when it was filled.
    contained: u64,
    fresh_until: Instant,
    kept_until: Instant,
    floors: BTreeSet<(u64, CommentId)>,
}

/// Commits that may be applied before an earlier one of their subject.
const MAX_EARLY_COMMITS: usize = 64;

/// The commits of a subject that were applied: all above `low` up to `high`, and some that came early.
#[derive(Debug)]
struct AppliedCommits {
    low: u64,
    high: u64,
    early: BTreeSet<u64>,
}

#[derive(Debug, Default)]
struct CacheState {
    values: HashMap<(Slot, CacheKey), StoredValue>,
    generations: HashMap<Slot, u64>,
    windows: HashMap<(CachedList, ListEnd), StoredWindow>,
    commits: HashMap<SubjectKey, AppliedCommits>,
    filling: HashMap<CachedList, (u64, Instant)>,
    rebuild_claims: HashMap<CachedList, Instant>,
}

#[derive(Debug)]
pub(crate) struct MemoryCache {
    state: Mutex<CacheState>,
    stamps: AtomicU64,
    lifetimes: CacheLifetimes,
    /// Whether every call fails.
    pub(crate) is_down: AtomicBool,
    /// Calls so far. Each is a round trip.
    pub(crate) calls: AtomicUsize,
}

impl MemoryCache {
    pub(crate) fn new() -> Self {
        Self::with_lifetimes(CacheLifetimes::DEFAULT)
    }

    pub(crate) fn with_lifetimes(lifetimes: CacheLifetimes) -> Self {
        Self {
            state: Mutex::default(),
            stamps: AtomicU64::new(1),
            lifetimes,
            is_down: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
        }
    }

    /// Loses every `nth` entry, counted from `first`; with 1, all.
    pub(crate) fn lose(&self, first: usize, nth: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = first;
        let mut is_kept = || {
            at += 1;
            !at.is_multiple_of(nth)
        };
        state.values.retain(|_, _| is_kept());
        state.generations.retain(|_, _| is_kept());
        state.windows.retain(|_, _| is_kept());
        state.commits.retain(|_, _| is_kept());
        state.filling.retain(|_, _| is_kept());
        state.rebuild_claims.retain(|_, _| is_kept());
    }

    pub(crate) fn delete(&self, slot: Slot, key: &CacheKey) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).values.remove(&(slot, key.clone()));
    }

    fn new_stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }

    fn state(&self) -> Result<MutexGuard<'_, CacheState>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.is_down.load(Ordering::SeqCst) {
            return Err(CacheError("down".into()));
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        state.values.retain(|_, v| v.kept_until > now);
        state.windows.retain(|_, w| w.kept_until > now);
        state.filling.retain(|_, (_, until)| *until > now);
        state.rebuild_claims.retain(|_, until| *until > now);
        Ok(state)
    }
}

impl StoredWindow {
    fn read(&self, range: FloorRange) -> Option<CachedFloors> {
        let reaches_end = if range.ascending { self.high == u64::MAX } else { self.low == 0 };
        let floors: Vec<_> = if range.ascending {
            let from = range.beyond.map_or(0, |beyond| beyond + 1);
            if from < self.low {
                return None;
            }
            self.floors.iter().filter(|(floor, _)| *floor >= from).take(range.count).copied().collect()
        } else {
            let below = range.beyond.unwrap_or(u64::MAX);
            if below.saturating_sub(1) > self.high || (range.beyond.is_none() && self.high != u64::MAX) {
                return None;
            }
            self.floors.iter().rev().filter(|(floor, _)| *floor < below).take(range.count).copied().collect()
        };
        (reaches_end || floors.len() == range.count).then(|| CachedFloors {
            floors,
            is_fresh: self.fresh_until > Instant::now(),
            version: self.contained,
        })
    }

    fn loaded(&self) -> Option<LoadedWindow> {
        let high = (self.high != u64::MAX).then_some(self.high);
        (self.fresh_until > Instant::now()).then_some(LoadedWindow { low: self.low, high, entries: self.floors.len() })
    }

    /// Applies moves. False if the window must be dropped.
    fn apply(&mut self, moves: &HashMap<CommentId, ListMove>, end: ListEnd) -> bool {
        if moves.values().any(|m| m.version < self.version) {
            return false;
        }
        for (id, moved) in moves {
            self.floors.retain(|(_, listed)| listed != id);
            if moved.is_listed && (self.low..=self.high).contains(&moved.floor) {
                self.floors.insert((moved.floor, *id));
            }
            self.version = self.version.max(moved.version);
        }
        if self.floors.len() > 2 * MAX_WINDOW_ENTRIES {
            if end == ListEnd::Oldest {
                return false;
            }
            while self.floors.len() > MAX_WINDOW_ENTRIES {
                self.floors.pop_first();
            }
            self.low = self.floors.first().map_or(0, |(floor, _)| *floor);
        }
        true
    }
}

#[async_trait]
impl Cache for MemoryCache {
    async fn get_values(&self, slot: Slot, keys: &[CacheKey]) -> Result<Vec<CachedValue>> {
        let (mut state, now) = (self.state()?, Instant::now());
        let generation = *state.generations.entry(slot).or_insert_with(|| self.new_stamp());
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let value = state.values.entry((slot, key.clone())).or_insert_with(|| StoredValue {
                is_stamp: true,
                is_invalidated: true,
                stamp: self.new_stamp(),
                version: 0,
                generation: 0,
                fresh_until: now,
                kept_until: now + self.lifetimes.stamp,
                bytes: None,
            });
            let is_current = value.generation == 0 || value.generation == generation;
            found.push(CachedValue {
                value: value.bytes.clone(),
                is_fresh: !value.is_invalidated && is_current && value.fresh_until > now,
                stamp: CacheStamp { own: value.stamp, generation },
            });
        }
        Ok(found)
    }

    async fn put_values(&self, slot: Slot, values: &[CachePut]) -> Result<()> {
        let (mut state, now) = (self.state()?, Instant::now());
        let generation = state.generations.get(&slot).copied();
        for put in values {
            let depends_on_generation = matches!(put.key, CacheKey::Comment(_));
            let Some(value) = state.values.get_mut(&(slot, put.key.clone())) else { continue };
            let is_older = !value.is_stamp && value.version < put.version;
            let is_of_before = !value.is_stamp && put.version > 0 && put.version < value.version;
            if (depends_on_generation && generation != Some(put.stamp.generation))
                || is_of_before
                || !(is_older || value.stamp == put.stamp.own)
            {
                continue;
            }
            // Without jitter, so that a run can be repeated.
            let CacheLifetimes { freshness, retention, .. } = self.lifetimes;
            let freshness = if matches!(put.key, CacheKey::Snapshot(_)) { retention } else { freshness };
            *value = StoredValue {
                is_stamp: false,
                is_invalidated: false,
                stamp: self.new_stamp(),
                version: put.version,
                generation: if depends_on_generation { put.stamp.generation } else { 0 },
                fresh_until: now + freshness,
                kept_until: now + retention,
                bytes: Some(put.value.clone()),
            };
        }
        Ok(())
    }

    async fn apply_changes(&self, slot: Slot, changes: &CacheChanges) -> Result<()> {
        let mut state = self.state()?;
        let state = &mut *state;
        if changes.takedown {
            state.generations.insert(slot, self.new_stamp());
        }
        for (key, invalidation) in &changes.values {
            let Some(value) = state.values.get_mut(&(slot, key.clone())) else { continue };
            if value.is_stamp || value.version <= invalidation.version {
                (value.is_stamp, value.is_invalidated) = (false, true);
                (value.stamp, value.version) = (self.new_stamp(), invalidation.version);
                value.bytes = value.bytes.take().filter(|_| !invalidation.is_gone);
            }
        }
        for (subject, versions) in &changes.commits {
            let first = versions.first().map_or(0, |version| version - 1);
            let new = || AppliedCommits { low: first, high: first, early: BTreeSet::new() };
            let applied = state.commits.entry(subject.clone()).or_insert_with(new);
            applied.early.extend(versions.iter().filter(|version| **version > applied.high));
            while applied.early.remove(&(applied.high + 1)) {
                applied.high += 1;
            }
            if applied.early.len() > MAX_EARLY_COMMITS
                && let Some(last) = applied.early.pop_last()
            {
                *applied = AppliedCommits { low: last - 1, high: last, early: BTreeSet::new() };
            }
        }
        for (list, moves) in changes.lists.iter().filter(|(_, moves)| !moves.is_empty()) {
            if let Some((stamp, _)) = state.filling.get_mut(list) {
                *stamp = self.new_stamp();
            }
            for end in [ListEnd::Newest, ListEnd::Oldest] {
                let key = (list.clone(), end);
                if state.windows.get_mut(&key).is_some_and(|window| !window.apply(moves, end)) {
                    state.windows.remove(&key);
                }
            }
        }
        Ok(())
    }

    async fn forget_slot(&self, slot: Slot) -> Result<()> {
        let mut state = self.state()?;
        state.values.retain(|(of, _), _| *of != slot);
        state.generations.remove(&slot);
        state.windows.retain(|(list, _), _| list.slot() != slot);
        state.filling.retain(|list, _| list.slot() != slot);
        Ok(())
    }

    async fn read_floors(
        &self,
        subject: Option<&SubjectKey>,
        list: &CachedList,
        range: FloorRange,
    ) -> Result<Option<CachedFloors>> {
        let state = self.state()?;
        let ends =
            if range.ascending { [ListEnd::Oldest, ListEnd::Newest] } else { [ListEnd::Newest, ListEnd::Oldest] };
        let found: Vec<_> =
            ends.iter().filter_map(|end| state.windows.get(&(list.clone(), *end))?.read(range)).collect();
        let mut floors = found.iter().find(|floors| floors.is_fresh).or(found.first()).cloned();
        if let (Some(floors), Some(applied)) = (&mut floors, subject.and_then(|subject| state.commits.get(subject))) {
            floors.is_fresh &= floors.version >= applied.low;
            if (applied.low..=applied.high).contains(&floors.version) {
                floors.version = applied.high;
            }
        }
        Ok(floors)
    }

    async fn begin_fill(&self, list: &CachedList) -> Result<ListFilling> {
        let mut state = self.state()?;
        let until = Instant::now() + self.lifetimes.stamp;
        let (stamp, _) = *state.filling.entry(list.clone()).or_insert_with(|| (self.new_stamp(), until));
        let loaded = |end| state.windows.get(&(list.clone(), end)).and_then(StoredWindow::loaded);
        Ok(ListFilling { era: 0, stamp, newest: loaded(ListEnd::Newest), oldest: loaded(ListEnd::Oldest) })
    }

    async fn fill_part(&self, list: &CachedList, filling: &ListFilling, part: &ListPart) -> Result<bool> {
        let (mut state, now) = (self.state()?, Instant::now());
        if state.filling.get(list).is_none_or(|(stamp, _)| *stamp != filling.stamp) {
            return Ok(false);
        }
        let (low, high) = (part.low, part.high.unwrap_or(u64::MAX));
        let floors: BTreeSet<_> = part.floors.iter().copied().collect();
        let key = (list.clone(), part.end);
        match state.windows.get_mut(&key) {
            Some(window)
                if window.fresh_until > now
                    && low <= window.high.saturating_add(1)
                    && high.saturating_add(1) >= window.low =>
            {
                (window.low, window.high) = (low.min(window.low), high.max(window.high));
                window.version = window.version.max(part.version);
                window.contained = window.contained.min(part.version);
                window.floors.extend(floors);
            }
            _ => {
                let (fresh_until, kept_until) = (now + self.lifetimes.freshness, now + self.lifetimes.retention);
                let (version, contained) = (part.version, part.version);
                let window = StoredWindow { low, high, version, contained, fresh_until, kept_until, floors };
                state.windows.insert(key, window);
            }
        }
        Ok(true)
    }

    async fn claim_rebuild(&self, list: &CachedList, lease: Duration) -> Result<bool> {
        let mut state = self.state()?;
        if state.rebuild_claims.contains_key(list) {
            return Ok(false);
        }
        state.rebuild_claims.insert(list.clone(), Instant::now() + lease);
        Ok(true)
    }
}
