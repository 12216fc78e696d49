//! What is read most: every process counts ([`Readers`]), one sum is kept of all ([`Heat`]).
//!
//! A sum halves every minute, so that it stands for the reads of the last minutes. Which subjects
//! are hot, and what follows from it, is not decided here.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use gailou_shared::rank::Sort;

/// Subjects whose heat is kept.
pub const HEATED: usize = 10_000;
/// How long it is remembered that a list was asked for.
pub const ASKED: Duration = Duration::from_secs(600);
/// Subjects that can be hot at a time.
pub const HOT: usize = 100;
/// How often a process tells what it was asked for.
pub const EVERY: Duration = Duration::from_secs(2);
/// Half-life of heat.
pub(crate) const HALF: Duration = Duration::from_secs(60);

/// What keeps the sums does not answer.
#[derive(Debug, Clone, thiserror::Error)]
#[error("what is read most is not known: {0}")]
pub struct PopularityError(pub String);

/// The first pages of a subject's lists that may be pushed; a set of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadLists(u8);

impl ReadLists {
    const SORTS: [Sort; 2] = [Sort::Hot, Sort::New];
    const LIMITS: [usize; 4] = [10, 20, 50, 100];
    /// What a reader sees who asks for nothing in particular.
    pub const DEFAULT: Self = Self(2);

    /// This list alone; nothing where it is none of those that may be pushed.
    pub fn of(sort: Sort, limit: usize) -> Self {
        let sort = Self::SORTS.iter().position(|s| *s == sort);
        let limit = Self::LIMITS.iter().position(|l| *l == limit);
        sort.zip(limit).map_or(Self(0), |(sort, limit)| Self(1 << (sort * Self::LIMITS.len() + limit)))
    }

    pub(crate) const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u8 {
        self.0
    }

    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether all of the others are in here.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    pub fn iter(self) -> impl Iterator<Item = (Sort, usize)> {
        let all = Self::SORTS.into_iter().flat_map(|sort| Self::LIMITS.map(|limit| (sort, limit)));
        all.filter(move |(sort, limit)| self.has(Self::of(*sort, *limit)))
    }
}

/// Reads of a subject's pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reads {
    pub subject: SubjectKey,
    pub count: u64,
    /// Which lists were among them.
    pub lists: ReadLists,
}

/// A subject that is read much.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PopularSubject {
    pub subject: SubjectKey,
    /// Reads, those of a minute ago counted half.
    pub heat: u64,
    /// The lists asked for within [`ASKED`].
    pub lists: ReadLists,
}

/// The sum over all processes. A call is one round trip.
#[async_trait]
pub trait Popularity: Send + Sync + std::fmt::Debug {
    async fn add(&self, reads: &[Reads]) -> Result<(), PopularityError>;
    /// The hottest subjects, hottest first.
    async fn most_read(&self, count: usize) -> Result<Vec<PopularSubject>, PopularityError>;
    /// Which of these are this process's to push for `life` from now on: nobody else is told so
    /// before that has ended. Asked again, it is prolonged.
    async fn claim(&self, names: &[String], life: Duration) -> Result<Vec<bool>, PopularityError>;
}

/// One subject in this process. Pages hold it, so that counting a read is one addition.
#[derive(Debug, Default)]
pub struct ReadCounter {
    count: AtomicU64,
    lists: AtomicU8,
    hot_for: AtomicU8,
}

impl ReadCounter {
    /// Counts a read.
    pub fn read(&self, lists: ReadLists) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.lists.fetch_or(lists.bits(), Ordering::Relaxed);
    }

    /// For how many seconds a page of it may be served without asking; 0 where it is not hot.
    pub fn hot_for(&self) -> u8 {
        self.hot_for.load(Ordering::Relaxed)
    }
}

/// The subjects that this process was asked for lately.
#[derive(Debug)]
pub struct ReadCounters(moka::sync::Cache<SubjectKey, Arc<ReadCounter>>);

impl ReadCounters {
    pub fn new() -> Self {
        Self(moka::sync::Cache::builder().max_capacity(HEATED as u64).time_to_idle(ASKED).build())
    }

    pub fn of(&self, subject: &SubjectKey) -> Arc<ReadCounter> {
        self.0.get_with_by_ref(subject, Arc::default)
    }

    /// What was read since this was last asked.
    pub fn take(&self) -> Vec<Reads> {
        let taken = self.0.iter().map(|(subject, reader)| Reads {
            subject: SubjectKey::clone(&subject),
            count: reader.count.swap(0, Ordering::Relaxed),
            lists: ReadLists::from_bits(reader.lists.swap(0, Ordering::Relaxed)),
        });
        taken.filter(|reads| reads.count > 0).collect()
    }

    /// Says which subjects are hot now, and for how long their pages are fresh; no other is.
    pub fn declare(&self, hot: &[PopularSubject], fresh_for: u8) {
        let subjects: HashSet<_> = hot.iter().map(|warm| &warm.subject).collect();
        for (subject, reader) in &self.0 {
            let is_hot = subjects.contains(&*subject);
            reader.hot_for.store(if is_hot { fresh_for } else { 0 }, Ordering::Relaxed);
        }
        for warm in hot {
            self.of(&warm.subject).hot_for.store(fresh_for, Ordering::Relaxed);
        }
    }
}

impl Default for ReadCounters {
    fn default() -> Self {
        Self::new()
    }
}

/// Which of the hottest are hot: read at least `per_minute` times a minute, or at least half as
/// often where they were hot before, so that none changes its mind with every look.
///
/// What halves every minute and is added to evenly stands at 1.44 times what is added in a minute.
pub fn hot(hottest: Vec<PopularSubject>, before: &[PopularSubject], per_minute: u32) -> Vec<PopularSubject> {
    let enough = |warm: &PopularSubject| {
        let was = before.iter().any(|b| b.subject == warm.subject);
        let needed = if was { u64::from(per_minute) / 2 } else { per_minute.into() };
        warm.heat * 100 >= needed * 144
    };
    hottest.into_iter().filter(enough).collect()
}
