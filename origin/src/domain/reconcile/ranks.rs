//! The rank rows that comments have, and where a walk over them goes on.

use std::collections::{BTreeSet, HashMap, HashSet};

use gailou_shared::id::CommentId;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use serde::{Deserialize, Serialize};

use crate::domain::reconcile::{Difference, FoundDifference, RankFault};
use crate::domain::root_keys::RootKeys;

/// A row of `root_rank` or of `reply_rank`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RankRow {
    Root { subject: i64, id: CommentId, counts: EngagementCounts, created_at: u64, keys: RootKeys },
    Reply { root: CommentId, hot: i64, id: CommentId },
}

/// Its primary key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum RankKey {
    Root { subject: i64, id: CommentId },
    Reply { root: CommentId, hot: i64, id: CommentId },
}

impl RankRow {
    /// The row of a listed comment: a root is ranked while it has any engagement, a reply always.
    pub(crate) fn of_listed(
        subject: i64,
        root: CommentId,
        id: CommentId,
        counts: EngagementCounts,
        created_at: u64,
        weights: &HotWeights,
    ) -> Option<Self> {
        if id != root {
            return Some(Self::Reply { root, hot: rank::sort_key(Sort::Hot, counts, created_at, weights), id });
        }
        let keys = RootKeys::of(counts, created_at, weights);
        counts.has_any().then_some(Self::Root { subject, id, counts, created_at, keys })
    }

    pub(crate) fn key(&self) -> RankKey {
        match *self {
            Self::Root { subject, id, .. } => RankKey::Root { subject, id },
            Self::Reply { root, hot, id } => RankKey::Reply { root, hot, id },
        }
    }
}

impl RankKey {
    /// The comment that is ranked.
    pub(crate) fn id(&self) -> CommentId {
        match self {
            Self::Root { id, .. } | Self::Reply { id, .. } => *id,
        }
    }

    /// The difference that its row is superfluous.
    pub(crate) fn found_superfluous(&self, repaired: bool) -> FoundDifference {
        FoundDifference { difference: Difference::Rank(self.id(), RankFault::Superfluous), repaired }
    }

    /// Whether two rows rank one comment in one list.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Root { .. }, Self::Root { .. }) => self == other,
            (Self::Reply { root, id, .. }, Self::Reply { root: other_root, id: other_id, .. }) => {
                (root, id) == (other_root, other_id)
            }
            _ => false,
        }
    }
}

/// Where a walk over the rank rows, slot by slot, goes on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankWalk {
    pub(crate) slot: u16,
    pub(crate) stage: RankStage,
}

/// The rows that a walk reads in a slot, each stage behind a primary key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RankStage {
    /// Rows of replies: root, key, id.
    Replies(Option<[i64; 3]>),
    /// Rows of roots: subject, id.
    Roots(Option<[i64; 2]>),
    /// Comments: subject and path.
    Comments(Option<(i64, Vec<u8>)>),
}

impl RankWalk {
    /// The beginning of a slot.
    pub(crate) fn of_slot(slot: u16) -> Self {
        Self { slot, stage: RankStage::Replies(None) }
    }
}

/// The rank rows that comments must have, in the order of subjects and paths.
#[derive(Debug)]
pub(crate) struct RankedChunk {
    pub(crate) ranks: Vec<RankRow>,
    /// The comments that were read, also those without a rank.
    pub(crate) read: usize,
    /// Subject and path of the last comment.
    pub(crate) last: Option<(i64, Vec<u8>)>,
}

/// A rank row, and the rank row that its comment must have.
#[derive(Debug)]
pub(crate) struct StoredRank {
    pub(crate) row: RankRow,
    pub(crate) expected: Option<RankRow>,
}

/// A comment whose rank is not what it must be, and the keys of the rows that it has instead.
#[derive(Debug)]
pub(crate) struct WrongRank {
    pub(crate) id: CommentId,
    pub(crate) fault: RankFault,
    pub(crate) stale: Vec<RankKey>,
}

impl WrongRank {
    /// The ranks that are missing or wrong, by the rows that exist: the roots, which of the expected keys of replies,
    /// and all keys of the replies whose expected one does not.
    pub(crate) fn find(
        expected: &[RankRow],
        roots: &HashMap<RankKey, RankRow>,
        right: &HashSet<RankKey>,
        others: Vec<RankKey>,
    ) -> Vec<Self> {
        let mut by_id: HashMap<CommentId, Vec<RankKey>> = HashMap::new();
        for key in others {
            by_id.entry(key.id()).or_default().push(key);
        }
        let mut wrong = Vec::new();
        for row in expected {
            let (key, stored) = (row.key(), roots.get(&row.key()));
            let stale: Vec<RankKey> = match row {
                RankRow::Root { .. } if stored == Some(row) => continue,
                RankRow::Root { .. } => stored.map(RankRow::key).into_iter().collect(),
                RankRow::Reply { .. } if right.contains(&key) => continue,
                RankRow::Reply { id, .. } => {
                    let beside = by_id.remove(id).unwrap_or_default();
                    beside.into_iter().filter(|other| other.is_beside(&key)).collect()
                }
            };
            let fault = if stale.is_empty() { RankFault::Missing } else { RankFault::Wrong };
            wrong.push(Self { id: key.id(), fault, stale });
        }
        wrong
    }

    pub(crate) fn found(&self, repaired: bool) -> FoundDifference {
        FoundDifference { difference: Difference::Rank(self.id, self.fault), repaired }
    }
}

impl StoredRank {
    /// The rows that are not what they must be.
    pub(crate) fn stale_rows(rows: &[Self]) -> impl Iterator<Item = &Self> {
        rows.iter().filter(|stored| stored.expected != Some(stored.row))
    }

    /// How many comments have a rank other than that of a row.
    pub(crate) fn count_stale_comments(rows: &[Self]) -> u64 {
        let ranked = Self::stale_rows(rows).filter_map(|stored| stored.expected);
        ranked.map(|expected| expected.key().id()).collect::<BTreeSet<_>>().len() as u64
    }

    /// The keys of rows that are not where they belong, and those that must exist instead.
    pub(crate) fn stale_keys(rows: &[Self]) -> Vec<(RankKey, Option<RankKey>)> {
        let keys = rows.iter().map(|stored| (stored.row.key(), stored.expected.as_ref().map(RankRow::key)));
        keys.filter(|(key, expected)| *expected != Some(*key)).collect()
    }

    /// The stale keys whose comment has no rank in their list, or has the right row as well. A row that is there
    /// instead of the right one is wrong: the comparison of the comments finds it.
    pub(crate) fn superfluous(stale: &[(RankKey, Option<RankKey>)], right: &HashSet<RankKey>) -> Vec<RankKey> {
        let is_superfluous = |(key, expected): &&(RankKey, Option<RankKey>)| {
            expected.is_none_or(|expected| !expected.is_beside(key) || right.contains(&expected))
        };
        stale.iter().filter(is_superfluous).map(|(key, _)| *key).collect()
    }
}
