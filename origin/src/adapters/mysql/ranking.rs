//! The best of a list, from which a snapshot is made.

use std::collections::HashMap;

use gailou_shared::id::{CommentId, ID_EPOCH_MS, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{count_at, id_at, optional_number_at};
use crate::adapters::mysql::threads::{BY_PATH, IS_SUBJECT, bind_below, bind_subject};
use crate::ports::store::Result;

/// About how many engaged roots one statement compares.
const ROOTS_PER_RANGE: u64 = 1_000_000;

/// How many of the best by [`approximate_key_sql`] one statement returns. The 200 beyond a snapshot
/// contain those near its last place that the approximation may put in another order.
const CANDIDATES_PER_READ: usize = limits::MAX_SNAPSHOT_IDS + 200;

/// A range of comment ids, both ends included.
type IdRange = (i64, i64);

impl MysqlStore {
    /// The best of the roots with engagement, and the newest roots: roots without engagement come after
    /// these in every order.
    pub(super) async fn rank_roots(&self, key: &SubjectKey, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        let (slot, weights, subject) = (key.slot(), self.weights_of(key.kind()), subject_number(key));
        let part = self.part(slot);
        let text = format!(
            "SELECT c.id, 0, 0, 0, c.created_at, (SELECT s.roots FROM subject_{{n}} s WHERE s.id = c.list) \
             FROM comment_{{n}} c FORCE INDEX (comment_list) \
             WHERE {IS_SUBJECT} AND c.list = ? AND c.listed_floor > 0 ORDER BY c.listed_floor DESC LIMIT ?"
        );
        let statement = bind_subject(part.sql(&text), key).bind(subject).bind(limits::MAX_SNAPSHOT_IDS as i64);
        let (mut newest, mut roots) = (HashMap::new(), 0);
        for r in &self.rows_of("list_ranked", slot, statement).await? {
            let (rank, id) = with_key(r, sort, &weights)?;
            newest.insert(id, rank);
            roots = count_at(r, 5)?;
        }
        let mut all = Vec::new();
        let text = format!(
            "SELECT id, likes, dislikes, replies, created_at FROM root_rank_{{n}} \
             WHERE subject = ? AND id BETWEEN ? AND ? ORDER BY {} DESC, id DESC LIMIT ?",
            approximate_key_sql(sort, &weights)
        );
        for (first, last) in self.ranges_of_roots(key, roots).await? {
            let statement = part.sql(&text).bind(subject).bind(first).bind(last).bind(CANDIDATES_PER_READ as i64);
            for r in &self.rows_of("list_ranked", slot, statement).await? {
                let (rank, id) = with_key(r, sort, &weights)?;
                newest.remove(&id);
                all.push((rank, id));
            }
            keep_best(&mut all);
        }
        all.extend(newest.into_iter().map(|(id, rank)| (rank, id)));
        keep_best(&mut all);
        Ok(all)
    }

    /// Ranges that contain the engaged roots of a subject, not too many in one.
    async fn ranges_of_roots(&self, key: &SubjectKey, roots: u64) -> Result<Vec<IdRange>> {
        let parts = i64::try_from(roots / ROOTS_PER_RANGE + 1).unwrap_or(i64::MAX);
        if roots == 0 {
            return Ok(vec![]);
        }
        if parts == 1 {
            return Ok(vec![(0, i64::MAX)]);
        }
        let text = "SELECT MIN(id), MAX(id) FROM root_rank_{n} WHERE subject = ?";
        let statement = self.part(key.slot()).sql(text).bind(subject_number(key));
        let found = self.rows_of("list_ranked", key.slot(), statement).await?;
        let end = |column: usize| -> Result<i64> {
            Ok(found.first().map_or(Ok(None), |r| optional_number_at(r, column))?.unwrap_or(0))
        };
        let (first, last) = (end(0)?, end(1)?);
        let step = (last - first) / parts + 1;
        Ok((0..parts).map(|n| (first + n * step, first + (n + 1) * step - 1)).collect())
    }

    /// The best descendants of a comment. Replies have one key, that of [`Sort::Hot`].
    pub(super) async fn rank_replies(&self, top: &Path) -> Result<Vec<(i64, CommentId)>> {
        let (slot, limit) = (top.root_id().slot(), limits::MAX_SNAPSHOT_IDS as i64);
        let part = self.part(slot);
        let statement = if top.depth() == 1 {
            let text = "SELECT hot, id FROM reply_rank_{n} WHERE root_id = ? ORDER BY hot DESC, id DESC LIMIT ?";
            part.sql(text).bind(top.id().signed()).bind(limit)
        } else {
            let counts = self.read_descendant_counts(top).await?;
            if counts.is_empty() {
                return Ok(vec![]);
            }
            if !counts.is_ranked_by_thread() {
                return self.rank_by_path(top).await;
            }
            let text = "SELECT r.hot, r.id FROM reply_rank_{n} r FORCE INDEX (PRIMARY) \
                        STRAIGHT_JOIN comment_{n} c FORCE INDEX (PRIMARY) ON c.id = r.id \
                        WHERE c.path > ? AND c.path < ? AND r.root_id = ? ORDER BY r.hot DESC, r.id DESC LIMIT ?";
            bind_below(part.sql(text), top).bind(top.root_id().signed()).bind(limit)
        };
        let found = self.rows_of("list_ranked", slot, statement).await?;
        found.iter().map(|r| Ok((r.try_get(0)?, id_at(r, 1)?))).collect()
    }

    /// The best of what is under a comment, among all of it.
    async fn rank_by_path(&self, top: &Path) -> Result<Vec<(i64, CommentId)>> {
        let (slot, root) = (top.root_id().slot(), top.root_id().signed());
        let text = "SELECT s.type FROM comment_{n} c STRAIGHT_JOIN subject_{n} s FORCE INDEX (PRIMARY) \
                    ON s.id = c.subject WHERE c.id = ?";
        let found = self.rows_of("list_ranked", slot, self.part(slot).sql(text).bind(root)).await?;
        let Some(r) = found.first() else { return Ok(vec![]) };
        let weights = self.weights_of(r.try_get(0)?);
        let text = format!(
            "SELECT id, likes, dislikes, replies, created_at \
             FROM (SELECT c.id, c.likes, c.dislikes, c.replies, c.created_at FROM {BY_PATH} \
             WHERE r.id = ? AND c.path > ? AND c.path < ? AND c.listed_floor IS NOT NULL) below \
             ORDER BY {} DESC, id DESC LIMIT ?",
            approximate_key_sql(Sort::Hot, &weights)
        );
        let statement = bind_below(self.part(slot).sql(&text).bind(root), top).bind(CANDIDATES_PER_READ as i64);
        let mut all = Vec::new();
        for r in &self.rows_of("list_ranked", slot, statement).await? {
            all.push(with_key(r, Sort::Hot, &weights)?);
        }
        keep_best(&mut all);
        Ok(all)
    }
}

/// The order of [`rank::sort_key`] in the server's floating point, exact but for differences that fixed point
/// does not have either. With it the server sends a thousand rows instead of a million.
fn approximate_key_sql(sort: Sort, weights: &HotWeights) -> String {
    match sort {
        Sort::Hot => {
            let HotWeights { like, reply, dislike, half_life_ms } = weights;
            let sum = format!("GREATEST(1000, 1000 + {like} * likes + {reply} * replies - {dislike} * dislikes)");
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
fn with_key(r: &MySqlRow, sort: Sort, weights: &HotWeights) -> Result<(i64, CommentId)> {
    let counts = EngagementCounts { likes: count_at(r, 1)?, dislikes: count_at(r, 2)?, replies: count_at(r, 3)? };
    Ok((rank::sort_key(sort, counts, count_at(r, 4)?, weights), id_at(r, 0)?))
}

/// Sorts a list and truncates it to the size of a snapshot.
fn keep_best(all: &mut Vec<(i64, CommentId)>) {
    all.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
    all.truncate(limits::MAX_SNAPSHOT_IDS);
}
