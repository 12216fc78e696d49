//! The keys of a root with engagement, as the tables store them for the indexes of ranked lists.

use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};

/// The keys that have columns of their own. Those of [`Sort::Top`] and [`Sort::Replies`] are the counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RootKeys {
    pub hot: i64,
    pub best: i64,
    pub controversial: i64,
}

impl RootKeys {
    pub(crate) fn of(counts: EngagementCounts, created_at: u64, weights: &HotWeights) -> Self {
        let key = |sort| rank::sort_key(sort, counts, created_at, weights);
        Self { hot: key(Sort::Hot), best: key(Sort::Best), controversial: key(Sort::Controversial) }
    }
}

/// The column of `root_rank` with the keys of a sort; its index is `root_rank_` and this name. `None` for
/// the sorts by floor.
pub(crate) const fn rank_column(sort: Sort) -> Option<&'static str> {
    match sort {
        Sort::Hot => Some("hot"),
        Sort::Top => Some("likes"),
        Sort::Best => Some("best"),
        Sort::Replies => Some("replies"),
        Sort::Controversial => Some("controversial"),
        Sort::New | Sort::Old => None,
    }
}
