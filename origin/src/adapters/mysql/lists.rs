//! The queries that walk a list: each goes through one index in its order from where the walk
//! stands, so that page 5,000 costs what page 1 costs.
//!
//! The index is named in every statement: statistics would choose another for some parameters, and
//! scan.

use std::collections::HashMap;

use gailou_shared::id::{CommentId, ID_EPOCH_MS, Slot, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{
    EngagementCounts, HotWeights, Sort, {self},
};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::pool::Statement;
use crate::adapters::mysql::read::{IDS, Part};
use crate::adapters::mysql::rows::{COLUMNS, JOINS, comment_id, count_at, id_at};
use crate::adapters::mysql::{MysqlStore, rows};
use crate::domain::row::{CommentList, CommentRow};
use crate::ports::store::Result;

/// Whether the subject's row is that of the key: another key may have its number.
const IS_SUBJECT: &str = "EXISTS (SELECT 1 FROM subject_{n} s WHERE s.id = ? AND s.type = ? AND s.`key` = ?)";

/// The comments `c` of a root's subject by path. The root's row is read before the plan is made, so
/// its subject begins a range.
const BY_PATH: &str = "comment_{n} r STRAIGHT_JOIN comment_{n} c FORCE INDEX (comment_path) ON c.subject = r.subject";

/// A part of a thread up to this size is read as a whole and sorted, a larger one is found along
/// the order of the whole thread.
const NARROW: u64 = 20_000;

/// Engaged roots looked through by one statement, about.
const RANKED: u64 = 1_000_000;

/// How many are taken of those that are best by [`roughly`]: those near the last place that it may
/// put in another order are among them.
const BEST: usize = limits::MAX_SNAPSHOT_IDS + 200;

fn bind_subject(statement: Statement, key: &SubjectKey) -> Statement {
    statement.bind(MysqlStore::subject_id(key)).bind(key.kind().to_owned()).bind(key.key().as_bytes().to_vec())
}

fn by_floor(rows: &[MySqlRow]) -> Result<Vec<(u64, CommentId)>> {
    rows.iter().map(|r| Ok((count_at(r, 0)?, id_at(r, 1)?))).collect()
}

fn by_heat(rows: &[MySqlRow]) -> Result<Vec<(i64, CommentId)>> {
    rows.iter().map(|r| Ok((r.try_get(0)?, id_at(r, 1)?))).collect()
}

/// The order of [`rank::sort_key`] in the server's floating point, exact but for differences that fixed
/// point does not have either: so that a thousand rows are sent and not a million.
fn roughly(sort: Sort, weights: &HotWeights) -> String {
    match sort {
        Sort::Hot => {
            let HotWeights { like, reply, dislike: hate, half_life_ms } = weights;
            let sum = format!("GREATEST(1000, 1000 + {like} * likes + {reply} * replies - {hate} * dislikes)");
            let age = half_life_ms.map_or(String::new(), |ms| {
                format!(" + (created_at - {ID_EPOCH_MS}) / {}e0", ms.max(HotWeights::MIN_HALF_LIFE_MS))
            });
            format!("LOG2({sum}){age}")
        }
        Sort::Best => {
            let n = "(likes + dislikes + 0e0)";
            format!(
                "IF(likes + dislikes = 0, 0, (2e0 * likes + 3.8416e0 - 1.96e0 * SQRT(3.8416e0 + 4e0 * likes * dislikes / {n})) \
                 / (2 * ({n} + 3.8416e0)))"
            )
        }
        Sort::Controversial => "IF(LEAST(likes, dislikes) = 0, 0, \
             LOG2(likes + dislikes) * LEAST(likes, dislikes) / (GREATEST(likes, dislikes) + 0e0))"
            .into(),
        Sort::Top => "likes".into(),
        Sort::Replies => "replies".into(),
        Sort::New | Sort::Old => "0".into(),
    }
}

/// A comment of `id, likes, dislikes, replies, created_at` with its key.
fn keyed(r: &MySqlRow, sort: Sort, weights: &HotWeights) -> Result<(i64, CommentId)> {
    let counts = EngagementCounts { likes: count_at(r, 1)?, dislikes: count_at(r, 2)?, replies: count_at(r, 3)? };
    Ok((rank::sort_key(sort, counts, count_at(r, 4)?, weights), id_at(r, 0)?))
}

/// Leaves the best of a list that grows.
fn keep_best(all: &mut Vec<(i64, CommentId)>) {
    all.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
    all.truncate(limits::MAX_SNAPSHOT_IDS);
}

impl MysqlStore {
    fn place(&self, slot: Slot) -> (Part, Slot) {
        (self.part(slot), slot)
    }

    async fn at(&self, (part, slot): (Part, Slot), statement: Statement) -> Result<Vec<MySqlRow>> {
        self.reading(part.shard, &[slot]).await?.all(statement).await
    }

    /// Whether a part of a thread is small; the whole thread never counts as such.
    async fn narrow(&self, top: &Path) -> Result<bool> {
        if top.depth() == 1 {
            return Ok(false);
        }
        let place = self.place(top.root_id().slot());
        let statement = place.0.sql("SELECT replies FROM comment_{n} WHERE id = ?").bind(top.id().signed());
        let found = self.at(place, statement).await?;
        Ok(found.first().map(|r| count_at(r, 0)).transpose()?.unwrap_or(0) <= NARROW)
    }

    pub(super) async fn read_floors(
        &self,
        list: &CommentList,
        ascending: bool,
        beyond: Option<u64>,
        count: usize,
    ) -> Result<Vec<(u64, CommentId)>> {
        let (compare, order) = if ascending { (">", "ASC") } else { ("<", "DESC") };
        let start = if ascending { 0 } else { i64::MAX };
        let beyond = beyond.map_or(start, |b| i64::try_from(b).unwrap_or(i64::MAX));
        let place = self.place(list.slot());
        let select = "SELECT c.listed_floor, c.id FROM";
        let by_list = "comment_{n} c FORCE INDEX (comment_list)";
        let end = format!("c.listed_floor {compare} ? ORDER BY c.listed_floor {order} LIMIT ?");
        let statement = match list {
            CommentList::Roots(key) => {
                let text = format!("{select} {by_list} WHERE {IS_SUBJECT} AND c.list = ? AND {end}");
                bind_subject(place.0.sql(&text), key).bind(Self::subject_id(key))
            }
            CommentList::Under(top) if self.narrow(top).await? => {
                let text = format!("{select} {BY_PATH} WHERE r.id = ? AND c.path > ? AND c.path < ? AND {end}");
                bind_below(place.0.sql(&text).bind(top.root_id().signed()), top)
            }
            CommentList::Under(top) if top.depth() > 1 => {
                let text = format!("{select} {by_list} WHERE c.path > ? AND c.path < ? AND c.list = ? AND {end}");
                bind_below(place.0.sql(&text), top).bind(top.root_id().signed())
            }
            CommentList::Under(top) => {
                let text = format!("{select} {by_list} WHERE c.list = ? AND {end}");
                place.0.sql(&text).bind(top.root_id().signed())
            }
        };
        by_floor(&self.at(place, statement.bind(beyond).bind(count as i64)).await?)
    }

    pub(super) async fn read_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        let place = self.place(list.slot());
        let most = limits::MAX_SNAPSHOT_IDS as i64;
        match list {
            CommentList::Roots(key) => self.ranked_roots(key, sort).await,
            CommentList::Under(top) if top.depth() == 1 => {
                let text = "SELECT hot, id FROM reply_rank_{n} WHERE root_id = ? ORDER BY hot DESC, id DESC LIMIT ?";
                by_heat(&self.at(place, place.0.sql(text).bind(top.id().signed()).bind(most)).await?)
            }
            CommentList::Under(top) if self.narrow(top).await? => {
                // The key every reply is kept by is its heat, whatever is asked for.
                let text = format!(
                    "SELECT c.id, c.likes, c.dislikes, c.replies, c.created_at, s.type \
                     FROM {BY_PATH} STRAIGHT_JOIN subject_{{n}} s FORCE INDEX (PRIMARY) ON s.id = c.subject \
                     WHERE r.id = ? AND c.path > ? AND c.path < ? AND c.listed_floor IS NOT NULL"
                );
                let statement = bind_below(place.0.sql(&text).bind(top.root_id().signed()), top);
                let mut all = Vec::new();
                for r in &self.at(place, statement).await? {
                    all.push(keyed(r, Sort::Hot, &self.weights(r.try_get(5)?))?);
                }
                keep_best(&mut all);
                Ok(all)
            }
            CommentList::Under(top) => {
                let text = "SELECT r.hot, r.id FROM reply_rank_{n} r FORCE INDEX (PRIMARY) STRAIGHT_JOIN comment_{n} c FORCE INDEX (PRIMARY) ON c.id = r.id \
                     WHERE c.path > ? AND c.path < ? AND r.root_id = ? ORDER BY r.hot DESC, r.id DESC LIMIT ?";
                let statement = bind_below(place.0.sql(text), top).bind(top.root_id().signed()).bind(most);
                by_heat(&self.at(place, statement).await?)
            }
        }
    }

    /// The best of the roots with any engagement, and the newest ones: whatever has none comes after
    /// these in every order.
    async fn ranked_roots(&self, key: &SubjectKey, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        let (place, weights, subject) = (self.place(key.slot()), self.weights(key.kind()), Self::subject_id(key));
        let text = format!(
            "SELECT c.id, 0, 0, 0, c.created_at, (SELECT s.roots FROM subject_{{n}} s WHERE s.id = c.list) \
             FROM comment_{{n}} c FORCE INDEX (comment_list) \
             WHERE {IS_SUBJECT} AND c.list = ? AND c.listed_floor > 0 ORDER BY c.listed_floor DESC LIMIT ?"
        );
        let statement = bind_subject(place.0.sql(&text), key).bind(subject).bind(limits::MAX_SNAPSHOT_IDS as i64);
        let (mut newest, mut roots) = (HashMap::new(), 0);
        for r in &self.at(place, statement).await? {
            let (rank, id) = keyed(r, sort, &weights)?;
            newest.insert(id, rank);
            roots = count_at(r, 5)?;
        }
        let mut all = Vec::new();
        let text = format!(
            "SELECT id, likes, dislikes, replies, created_at FROM root_rank_{{n}} \
             WHERE subject = ? AND id BETWEEN ? AND ? ORDER BY {} DESC, id DESC LIMIT ?",
            roughly(sort, &weights)
        );
        for (first, last) in self.ranges(place, subject, roots).await? {
            let statement = place.0.sql(&text).bind(subject).bind(first).bind(last).bind(BEST as i64);
            for r in &self.at(place, statement).await? {
                let (rank, id) = keyed(r, sort, &weights)?;
                newest.remove(&id);
                all.push((rank, id));
            }
            keep_best(&mut all);
        }
        all.extend(newest.into_iter().map(|(id, rank)| (rank, id)));
        keep_best(&mut all);
        Ok(all)
    }

    /// Ranges of ids that hold the engaged roots of a subject, not too many in one.
    async fn ranges(&self, place: (Part, Slot), subject: i64, roots: u64) -> Result<Vec<(i64, i64)>> {
        let parts = i64::try_from(roots / RANKED + 1).unwrap_or(i64::MAX);
        if roots == 0 {
            return Ok(vec![]);
        }
        if parts == 1 {
            return Ok(vec![(0, i64::MAX)]);
        }
        let text = "SELECT MIN(id), MAX(id) FROM root_rank_{n} WHERE subject = ?";
        let found = self.at(place, place.0.sql(text).bind(subject)).await?;
        let end = |n: usize| -> Result<i64> { Ok(found.first().map_or(Ok(None), |r| r.try_get(n))?.unwrap_or(0)) };
        let (first, last) = (end(0)?, end(1)?);
        let step = (last - first) / parts + 1;
        Ok((0..parts).map(|n| (first + n * step, first + (n + 1) * step - 1)).collect())
    }

    pub(super) async fn read_top_replies(
        &self,
        roots: &[CommentId],
        each: usize,
    ) -> Result<HashMap<CommentId, Vec<CommentId>>> {
        // One seek a reply: no statement both servers understand limits the rows of each root.
        let columns: Vec<String> = (0..each)
            .map(|n| {
                format!(
                    "(SELECT t.id FROM reply_rank_{{n}} t WHERE t.root_id = j.id ORDER BY t.hot DESC, t.id DESC LIMIT 1 OFFSET {n})"
                )
            })
            .collect();
        if columns.is_empty() {
            return Ok(HashMap::new());
        }
        let text = format!("SELECT j.id, {} FROM {IDS}", columns.join(", "));
        let mut by_root = HashMap::new();
        for r in self.rows_by_id(roots.iter().map(|id| (id.slot(), id.signed())), &text, |s| s).await? {
            let mut replies = Vec::new();
            for n in 1..=each {
                replies.extend(r.try_get::<Option<i64>, _>(n)?.map(comment_id).transpose()?);
            }
            if !replies.is_empty() {
                by_root.insert(id_at(&r, 0)?, replies);
            }
        }
        Ok(by_root)
    }

    pub(super) async fn read_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>> {
        let place = self.place(top.root_id().slot());
        let text = format!(
            "SELECT {COLUMNS} FROM {BY_PATH} {JOINS} \
             WHERE r.id = ? AND c.path > ? AND c.path < ? AND c.listed_floor IS NOT NULL AND c.depth <= ? \
             ORDER BY c.path LIMIT ?"
        );
        let statement = place.0.sql(&text).bind(top.root_id().signed());
        let statement = statement.bind(after.unwrap_or(top.as_bytes()).to_vec()).bind(top.subtree_end());
        let found = self.at(place, statement.bind(max_depth as i64).bind(count as i64)).await?;
        found.iter().map(rows::row).collect()
    }

    pub(super) async fn read_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>> {
        let Some(parent) = path.parent_id() else { return Ok(vec![]) };
        let place = self.place(path.root_id().slot());
        let text = format!(
            "SELECT c.id FROM {BY_PATH} \
             WHERE r.id = ? AND c.path > ? AND c.path < ? AND c.parent_id = ? AND c.listed_floor IS NOT NULL AND c.id <> ? \
             ORDER BY c.path DESC LIMIT ?"
        );
        let above = path.truncated(path.depth() - 1);
        let statement = bind_below(place.0.sql(&text).bind(path.root_id().signed()), &above);
        let statement = statement.bind(parent.signed()).bind(path.id().signed()).bind(count as i64);
        self.at(place, statement).await?.iter().map(|r| id_at(r, 0)).collect()
    }
}

/// The paths below `top`.
fn bind_below(statement: Statement, top: &Path) -> Statement {
    statement.bind(top.as_bytes().to_vec()).bind(top.subtree_end())
}
