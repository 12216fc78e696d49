//! The port to the popularity of subjects: one sum of reads over all processes.
//!
//! A sum halves every minute, so that it represents the readers of the last minutes. Which subjects
//! are popular, and what follows from it, is decided in [`crate::state::read_counters`].

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;
use gailou_shared::list_view::ListView;
use gailou_shared::rank::Sort;

use crate::ports::failure::Failure;

/// Subjects whose sums are kept.
pub const MAX_SUBJECTS_COUNTED: usize = 10_000;
/// How long a list counts as requested after the last request.
pub const LIST_MEMORY: Duration = Duration::from_secs(600);
/// How long writes to the edge's store count.
pub(crate) const STORE_WRITES_DAY: Duration = Duration::from_secs(86_400);
/// The time in which a sum halves.
pub(crate) const HALF_LIFE: Duration = Duration::from_secs(60);

/// The sums could not be reached.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the read counts cannot be reached: {0}")]
pub struct PopularityError(pub Failure);

/// A set of lists of one subject. Only the first pages of these lists are pushed to the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReadLists(u16);

impl ReadLists {
    const PUSHED_SORTS: [Sort; 2] = [Sort::Hot, Sort::New];
    const PUSHED_LIMITS: [usize; 4] = [10, 20, 50, 100];
    /// The lists that may be pushed, a bit each: two sorts and four limits, in two views.
    pub(crate) const LIST_COUNT: usize = 2 * 4 * 2;
    /// The list of a request without parameters: [`Sort::Hot`], 20 comments.
    pub const DEFAULT_LIST: Self = Self(1 << 1);
    /// The list that the element asks for: the same in the compact view.
    pub const ELEMENT_LIST: Self = Self(1 << 9);

    /// The set of this list alone; empty when it is none of those that are pushed.
    pub fn of(sort: Sort, limit: usize, view: ListView) -> Self {
        let sort = Self::PUSHED_SORTS.iter().position(|s| *s == sort);
        let limit = Self::PUSHED_LIMITS.iter().position(|l| *l == limit);
        let first_of_view = match view {
            ListView::Full => 0,
            ListView::Compact => Self::PUSHED_SORTS.len() * Self::PUSHED_LIMITS.len(),
        };
        let bit = sort.zip(limit).map(|(sort, limit)| first_of_view + sort * Self::PUSHED_LIMITS.len() + limit);
        bit.map_or(Self(0), |bit| Self(1 << bit))
    }

    pub(crate) const fn from_bits(bits: u16) -> Self {
        Self(bits)
    }

    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether this set contains all of the others.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    pub fn iter(self) -> impl Iterator<Item = (Sort, usize, ListView)> {
        let of_view = |view| Self::PUSHED_SORTS.map(|sort| Self::PUSHED_LIMITS.map(|limit| (sort, limit, view)));
        let all = ListView::ALL.iter().flat_map(move |view| of_view(*view)).flatten();
        all.filter(move |(sort, limit, view)| self.has(Self::of(*sort, *limit, *view)))
    }
}

/// Reads of the pages of a subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubjectReads {
    pub subject: SubjectKey,
    /// How many networks read them that have not counted before.
    pub count: u64,
    /// The lists that were read.
    pub lists: ReadLists,
}

/// A subject that is read often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PopularSubject {
    pub subject: SubjectKey,
    /// The decayed sum of the networks that read it: one of a minute ago counts half.
    pub reads: u64,
    /// The lists that were requested within [`LIST_MEMORY`].
    pub lists: ReadLists,
}

/// The sums over all processes. A call is one round trip.
#[async_trait]
pub trait Popularity: Send + Sync + std::fmt::Debug {
    /// Adds reads to the sums.
    async fn add_reads(&self, reads: &[SubjectReads]) -> Result<(), PopularityError>;
    /// The most read subjects, most read first.
    async fn most_read(&self, count: usize) -> Result<Vec<PopularSubject>, PopularityError>;
    /// Claims names for this process for `lease` from now on, and says which of them it holds. No
    /// other process holds them before the lease ends. A repeated claim prolongs it.
    async fn claim(&self, names: &[String], lease: Duration) -> Result<Vec<bool>, PopularityError>;
    /// Adds writes to the edge's store, and answers how many it took from all processes this day.
    async fn add_store_writes(&self, writes: u64) -> Result<u64, PopularityError>;
}
