//! The best of a list, from which a snapshot is made.

use gailou_shared::id::{CommentId, ID_EPOCH_MS, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Path;
use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::row_numbers::subject_number;
use crate::adapters::mysql::rows::{count_at, id_at};
use crate::adapters::mysql::threads::{BY_PATH, IS_SUBJECT, bind_below, bind_subject};
use crate::domain::root_keys::rank_column;
use crate::ports::store::Result;

/// How many of the best by [`approximate_hot_sql`] one statement returns. The 200 beyond a snapshot
/// contain those near its last place that the approximation may put in another order.
const CANDIDATES_PER_READ: usize = limits::MAX_SNAPSHOT_IDS + 200;

impl MysqlStore {
    /// The best of the roots with engagement, and the newest roots. Together they contain the best of the
    /// list: roots without engagement are ordered by age.
    pub(super) async fn rank_roots(&self, key: &SubjectKey, sort: Sort) -> Result<Vec<(i64, CommentId)>> {
        let Some(column) = rank_column(sort) else { return Ok(vec![]) };
        let (slot, weights, subject) = (key.slot(), self.weights_of(key.kind()), subject_number(key));
        let (part, limit) = (self.part(slot), limits::MAX_SNAPSHOT_IDS as i64);
        let text = format!(
            "SELECT {column}, id FROM root_rank_{{n}} FORCE INDEX (root_rank_{column}) \
             WHERE subject = ? AND {column} > 0 ORDER BY {column} DESC, id DESC LIMIT ?"
        );
        let statement = part.sql(&text).bind(subject).bind(limit);
        let mut all = Vec::new();
        for r in &self.rows_of("list_ranked", slot, statement).await? {
            all.push((r.try_get(0)?, id_at(r, 1)?));
        }
        let text = format!(
            "SELECT c.id, c.created_at FROM comment_{{n}} c FORCE INDEX (comment_list) \
             WHERE {IS_SUBJECT} AND c.list = ? AND c.listed_floor > 0 ORDER BY c.listed_floor DESC LIMIT ?"
        );
        let statement = bind_subject(part.sql(&text), key).bind(subject).bind(limit);
        for r in &self.rows_of("list_ranked", slot, statement).await? {
            // An engaged root among them has its own key as well, which is not less.
            let hot = rank::sort_key(sort, EngagementCounts::default(), count_at(r, 1)?, &weights);
            all.push((hot, id_at(r, 0)?));
        }
        Ok(all)
    }

    /// The best descendants of a comment. Replies have one key, that of [`Sort::Hot`].
    pub(super) async fn rank_replies(&self, top: &Path) -> Result<Vec<(i64, CommentId)>> {
        let (slot, limit) = (top.root_id().slot(), limits::MAX_SNAPSHOT_IDS as i64);
        let part = self.part(slot);
        let statement = if top.depth() == 1 {
            let text =
                "SELECT hot, id FROM reply_rank_{n} WHERE slot = ? AND root_id = ? ORDER BY hot DESC, id DESC LIMIT ?";
            part.sql(text).bind(slot.get()).bind(top.id().signed()).bind(limit)
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
                        WHERE c.path > ? AND c.path < ? AND r.slot = ? AND r.root_id = ? ORDER BY r.hot DESC, r.id DESC LIMIT ?";
            bind_below(part.sql(text), top).bind(slot.get()).bind(top.root_id().signed()).bind(limit)
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
            approximate_hot_sql(&weights)
        );
        let statement = bind_below(self.part(slot).sql(&text).bind(root), top).bind(CANDIDATES_PER_READ as i64);
        let mut all = Vec::new();
        for r in &self.rows_of("list_ranked", slot, statement).await? {
            all.push(with_hot(r, &weights)?);
        }
        all.sort_unstable_by(|a, b| rank::compare_ranked(*a, *b));
        all.truncate(limits::MAX_SNAPSHOT_IDS);
        Ok(all)
    }
}

/// The order of [`Sort::Hot`] in the server's floating point, exact but for differences that fixed point
/// does not have either. With it the server sends a thousand rows instead of a million.
fn approximate_hot_sql(weights: &HotWeights) -> String {
    let HotWeights { like, reply, dislike, half_life_ms } = weights;
    let sum = format!("GREATEST(1000, 1000 + {like} * likes + {reply} * replies - {dislike} * dislikes)");
    let age = half_life_ms.map_or(String::new(), |ms| {
        format!(" + (created_at - {ID_EPOCH_MS}) / {}e0", ms.max(HotWeights::MIN_HALF_LIFE_MS))
    });
    format!("LOG2({sum}){age}")
}

/// A comment of `id, likes, dislikes, replies, created_at` with its key.
fn with_hot(r: &MySqlRow, weights: &HotWeights) -> Result<(i64, CommentId)> {
    let counts = EngagementCounts { likes: count_at(r, 1)?, dislikes: count_at(r, 2)?, replies: count_at(r, 3)? };
    Ok((rank::sort_key(Sort::Hot, counts, count_at(r, 4)?, weights), id_at(r, 0)?))
}
