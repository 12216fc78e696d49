//! The cache in the memory of a test: the same promises as Redis, and a way to lose things.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, Slot};
use tokio::time::Instant;

use crate::ports::cache::{
    Cache, CacheError, Changes, End, Filling, Floors, Found, Key, ListKey, Lives, Loaded, Part, Put, Range, Result,
    Stamp, WINDOW,
};

#[derive(Debug)]
struct Value {
    /// A stamp alone.
    claim: bool,
    void: bool,
    stamp: u64,
    version: u64,
    generation: u64,
    fresh_until: Instant,
    kept_until: Instant,
    bytes: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Window {
    low: u64,
    high: u64,
    version: u64,
    fresh_until: Instant,
    kept_until: Instant,
    floors: BTreeSet<(u64, CommentId)>,
}

#[derive(Debug, Default)]
struct Inside {
    values: HashMap<(Slot, Key), Value>,
    generations: HashMap<Slot, u64>,
    windows: HashMap<(ListKey, End), Window>,
    filling: HashMap<ListKey, (u64, Instant)>,
    firsts: HashMap<ListKey, Instant>,
}

#[derive(Debug)]
pub(crate) struct Memory {
    inside: Mutex<Inside>,
    stamps: AtomicU64,
    lives: Lives,
    /// Whether nothing answers.
    pub(crate) down: AtomicBool,
    /// Calls so far: each is a round trip.
    pub(crate) calls: AtomicUsize,
}

impl Memory {
    pub(crate) fn new() -> Self {
        Self::living(Lives::DEFAULT)
    }

    pub(crate) fn living(lives: Lives) -> Self {
        Self {
            inside: Mutex::default(),
            stamps: AtomicU64::new(1),
            lives,
            down: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
        }
    }

    /// Loses every `nth` thing (from `first`): with 1, all.
    pub(crate) fn lose(&self, first: usize, nth: usize) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = first;
        let mut stays = || {
            at += 1;
            !at.is_multiple_of(nth)
        };
        inside.values.retain(|_, _| stays());
        inside.generations.retain(|_, _| stays());
        inside.windows.retain(|_, _| stays());
        inside.filling.retain(|_, _| stays());
        inside.firsts.retain(|_, _| stays());
    }

    pub(crate) fn lose_one(&self, slot: Slot, key: &Key) {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).values.remove(&(slot, key.clone()));
    }

    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }

    fn inside(&self) -> Result<MutexGuard<'_, Inside>> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if self.down.load(Ordering::SeqCst) {
            return Err(CacheError("down".into()));
        }
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        inside.values.retain(|_, v| v.kept_until > now);
        inside.windows.retain(|_, w| w.kept_until > now);
        inside.filling.retain(|_, (_, until)| *until > now);
        inside.firsts.retain(|_, until| *until > now);
        Ok(inside)
    }
}

impl Window {
    fn read(&self, range: Range) -> Option<Floors> {
        let whole = if range.ascending { self.high == u64::MAX } else { self.low == 0 };
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
        (whole || floors.len() == range.count).then(|| Floors { floors, fresh: self.fresh_until > Instant::now() })
    }

    fn loaded(&self) -> Option<Loaded> {
        let high = (self.high != u64::MAX).then_some(self.high);
        (self.fresh_until > Instant::now()).then_some(Loaded { low: self.low, high, entries: self.floors.len() })
    }

    /// False when nothing is known any more.
    fn take(&mut self, moves: &HashMap<CommentId, crate::ports::cache::Move>, end: End) -> bool {
        if moves.values().any(|m| m.version < self.version) {
            return false;
        }
        for (id, moved) in moves {
            self.floors.retain(|(_, here)| here != id);
            if moved.listed && (self.low..=self.high).contains(&moved.floor) {
                self.floors.insert((moved.floor, *id));
            }
            self.version = self.version.max(moved.version);
        }
        if self.floors.len() > 2 * WINDOW {
            if end == End::Oldest {
                return false;
            }
            while self.floors.len() > WINDOW {
                self.floors.pop_first();
            }
            self.low = self.floors.first().map_or(0, |(floor, _)| *floor);
        }
        true
    }
}

#[async_trait]
impl Cache for Memory {
    async fn get(&self, slot: Slot, keys: &[Key]) -> Result<Vec<Found>> {
        let (mut inside, now) = (self.inside()?, Instant::now());
        let generation = *inside.generations.entry(slot).or_insert_with(|| self.stamp());
        let mut found = Vec::with_capacity(keys.len());
        for key in keys {
            let value = inside.values.entry((slot, key.clone())).or_insert_with(|| Value {
                claim: true,
                void: true,
                stamp: self.stamp(),
                version: 0,
                generation: 0,
                fresh_until: now,
                kept_until: now + self.lives.claim,
                bytes: None,
            });
            let current = value.generation == 0 || value.generation == generation;
            found.push(Found {
                value: value.bytes.clone(),
                fresh: !value.void && current && value.fresh_until > now,
                stamp: Stamp { own: value.stamp, generation },
            });
        }
        Ok(found)
    }

    async fn put(&self, slot: Slot, values: &[Put]) -> Result<()> {
        let (mut inside, now) = (self.inside()?, Instant::now());
        let generation = inside.generations.get(&slot).copied();
        for put in values {
            let bound = matches!(put.key, Key::Comment(_));
            let Some(value) = inside.values.get_mut(&(slot, put.key.clone())) else { continue };
            let older = !value.claim && value.version < put.version;
            if (bound && generation != Some(put.stamp.generation)) || !(older || value.stamp == put.stamp.own) {
                continue;
            }
            let (fresh, kept) = self.lives.of(&put.key);
            *value = Value {
                claim: false,
                void: false,
                stamp: self.stamp(),
                version: put.version,
                generation: if bound { put.stamp.generation } else { 0 },
                fresh_until: now + fresh,
                kept_until: now + kept,
                bytes: Some(put.value.clone()),
            };
        }
        Ok(())
    }

    async fn change(&self, slot: Slot, changes: &Changes) -> Result<()> {
        let mut inside = self.inside()?;
        let inside = &mut *inside;
        if changes.takedown {
            inside.generations.insert(slot, self.stamp());
        }
        for (key, void) in &changes.values {
            let Some(value) = inside.values.get_mut(&(slot, key.clone())) else { continue };
            if value.claim || value.version <= void.version {
                (value.claim, value.void) = (false, true);
                (value.stamp, value.version) = (self.stamp(), void.version);
                value.bytes = value.bytes.take().filter(|_| !void.gone);
            }
        }
        for (list, moves) in changes.lists.iter().filter(|(_, moves)| !moves.is_empty()) {
            if let Some((stamp, _)) = inside.filling.get_mut(list) {
                *stamp = self.stamp();
            }
            for end in [End::Newest, End::Oldest] {
                let key = (list.clone(), end);
                if inside.windows.get_mut(&key).is_some_and(|window| !window.take(moves, end)) {
                    inside.windows.remove(&key);
                }
            }
        }
        Ok(())
    }

    async fn range(&self, list: &ListKey, range: Range) -> Result<Option<Floors>> {
        let inside = self.inside()?;
        let ends = if range.ascending { [End::Oldest, End::Newest] } else { [End::Newest, End::Oldest] };
        let found: Vec<_> =
            ends.iter().filter_map(|end| inside.windows.get(&(list.clone(), *end))?.read(range)).collect();
        Ok(found.iter().find(|floors| floors.fresh).or(found.first()).cloned())
    }

    async fn begin(&self, list: &ListKey) -> Result<Filling> {
        let mut inside = self.inside()?;
        let until = Instant::now() + self.lives.claim;
        let (stamp, _) = *inside.filling.entry(list.clone()).or_insert_with(|| (self.stamp(), until));
        let loaded = |end| inside.windows.get(&(list.clone(), end)).and_then(Window::loaded);
        Ok(Filling { stamp, newest: loaded(End::Newest), oldest: loaded(End::Oldest) })
    }

    async fn fill(&self, list: &ListKey, filling: &Filling, part: &Part) -> Result<bool> {
        let (mut inside, now) = (self.inside()?, Instant::now());
        if inside.filling.get(list).is_none_or(|(stamp, _)| *stamp != filling.stamp) {
            return Ok(false);
        }
        let (low, high) = (part.low, part.high.unwrap_or(u64::MAX));
        let floors: BTreeSet<_> = part.floors.iter().copied().collect();
        let key = (list.clone(), part.end);
        match inside.windows.get_mut(&key) {
            Some(window)
                if window.fresh_until > now
                    && low <= window.high.saturating_add(1)
                    && high.saturating_add(1) >= window.low =>
            {
                (window.low, window.high) = (low.min(window.low), high.max(window.high));
                window.version = window.version.max(part.version);
                window.floors.extend(floors);
            }
            _ => {
                let (fresh_until, kept_until) = (now + self.lives.fresh, now + self.lives.kept);
                let window = Window { low, high, version: part.version, fresh_until, kept_until, floors };
                inside.windows.insert(key, window);
            }
        }
        Ok(true)
    }

    async fn first(&self, list: &ListKey, life: Duration) -> Result<bool> {
        let mut inside = self.inside()?;
        if inside.firsts.contains_key(list) {
            return Ok(false);
        }
        inside.firsts.insert(list.clone(), Instant::now() + life);
        Ok(true)
    }
}
