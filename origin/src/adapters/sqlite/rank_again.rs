//! The ranks of comments, made again: their keys depend on the configured weights.
//!
//! It goes through the rank rows and then through the comments, a chunk in a transaction, which also stores where it
//! goes on. So it continues an interrupted run, also in the middle of a subject, and several callers may do it at once.
//! Writers come in between two chunks. Until it ends, lists have keys of both kinds.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::CommentId;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use crate::adapters::sqlite::rank_rows::{find_rank_keys, put_ranks, read_rank_rows, read_ranked_comments};
use crate::adapters::sqlite::rows::{count, damaged};
use crate::adapters::sqlite::{SqliteStore, closed_error};
use crate::domain::reconcile::{RankKey, RankRow, RankStage, RankedChunk, StoredRank};
use crate::domain::row::{WeightsByType, describe_weights};
use crate::ports::store::{RerankProgress, Reranker, Result, StoreError};
use crate::telemetry::measure_here;

/// The longest pause between two chunks. It lasts as long as the chunk before, so that writers and readers have the
/// file and a core for half of the time.
const MAX_RERANK_PAUSE: Duration = Duration::from_millis(250);

/// Where ranking again goes on.
#[derive(Debug, Serialize, Deserialize)]
struct StoredRankStage {
    /// The weights that the rows before are ranked by.
    weights: String,
    stage: RankStage,
    /// Rank rows and comments that were read.
    #[serde(default)]
    walked: u64,
    /// Comments that got another rank.
    #[serde(default)]
    ranked: u64,
}

impl StoredRankStage {
    fn begin(weights: String) -> Self {
        Self { weights, stage: RankStage::Replies(None), walked: 0, ranked: 0 }
    }
}

/// What was done behind a chunk, with all chunks before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RerankedChunk {
    walked: u64,
    ranked: u64,
    is_last: bool,
}

#[async_trait]
impl Reranker for SqliteStore {
    async fn rank_again(&self, report: &(dyn Fn(RerankProgress) + Send + Sync)) -> Result<u64> {
        let total = self.read("count_ranks", count_walk).await?;
        loop {
            let (writer, weights, ranked_again) =
                (self.writer.clone(), self.weights.clone(), self.ranked_again.clone());
            let chunk = spawn_blocking(move || {
                let mut writer = writer.lock();
                let began = Instant::now();
                let chunk = measure_here("sqlite", "rank_again", || rank_chunk_again(&mut writer, &weights))?;
                if let Some(RerankedChunk { ranked, is_last: true, .. }) = chunk {
                    ranked_again.store(ranked, Ordering::Relaxed);
                }
                Ok::<_, StoreError>((chunk, began.elapsed()))
            });
            let (chunk, duration) = chunk.await.map_err(|_| closed_error())??;
            // Another caller has done the last one.
            let Some(chunk) = chunk else { return Ok(self.ranked_again.load(Ordering::Relaxed)) };
            report(RerankProgress { done: chunk.walked.min(total), total });
            if chunk.is_last {
                return Ok(chunk.ranked);
            }
            sleep(duration.min(MAX_RERANK_PAUSE)).await;
        }
    }
}

/// How many rows the whole walk reads. Rows that are moved ahead of it are read twice.
fn count_walk(c: &Connection) -> Result<u64> {
    let sql =
        "SELECT (SELECT count(*) FROM reply_rank) + (SELECT count(*) FROM root_rank) + (SELECT count(*) FROM comment)";
    Ok(count(c.query_row(sql, [], |r| r.get(0))?))
}

/// Whether the stored ranks were made with these weights, all of them.
pub(super) fn is_ranked_by(connection: &Connection, weights: &WeightsByType) -> Result<bool> {
    let is_configured = read_setting(connection, "weights")?.as_deref() == Some(&*describe_weights(weights));
    // Ranks are being made by others where they were interrupted before these weights came back.
    Ok(is_configured && read_setting(connection, "rank_progress")?.is_none())
}

/// Stores that comments have to be ranked again when the weights have changed, before anyone writes ranks by them.
pub(super) fn begin(writer: &mut Connection, weights: &WeightsByType) -> Result<()> {
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let configured = describe_weights(weights);
    if is_ranked_by(&tx, weights)? || read_progress(&tx)?.is_some_and(|stored| stored.weights == configured) {
        return Ok(());
    }
    if tx.query_row("SELECT EXISTS (SELECT 1 FROM comment)", [], |r| r.get(0))? {
        put_progress(&tx, &StoredRankStage::begin(configured))?;
    } else {
        finish(&tx, &configured)?;
    }
    Ok(tx.commit()?)
}

/// Ranks one chunk; `None` when there was nothing to do.
pub(super) fn rank_chunk_again(writer: &mut Connection, weights: &WeightsByType) -> Result<Option<RerankedChunk>> {
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if is_ranked_by(&tx, weights)? {
        return Ok(None);
    }
    let configured = describe_weights(weights);
    let interrupted = read_progress(&tx)?.filter(|stored| stored.weights == configured);
    let mut stored = interrupted.unwrap_or_else(|| StoredRankStage::begin(configured));
    let next = rank_stage(&tx, weights, &mut stored)?;
    let is_last = next.is_none();
    match next {
        Some(stage) => {
            stored.stage = stage;
            put_progress(&tx, &stored)?;
        }
        None => finish(&tx, &stored.weights)?,
    }
    tx.commit()?;
    Ok(Some(RerankedChunk { walked: stored.walked, ranked: stored.ranked, is_last }))
}

/// Ranks the rows of one chunk; the stage that follows, `None` at the end.
fn rank_stage(
    tx: &Transaction<'_>,
    weights: &WeightsByType,
    stored: &mut StoredRankStage,
) -> Result<Option<RankStage>> {
    if let RankStage::Comments(after) = &stored.stage {
        let RankedChunk { ranks, read, last } = read_ranked_comments(tx, weights, None, after.as_ref())?;
        let keys: Vec<RankKey> = ranks.iter().map(RankRow::key).collect();
        let found = find_rank_keys(tx, &keys)?;
        let missing: BTreeSet<CommentId> = keys.iter().filter(|key| !found.contains(key)).map(RankKey::id).collect();
        put_ranks(tx, weights, missing.iter().copied(), &[])?;
        stored.walked += read as u64;
        stored.ranked += missing.len() as u64;
        return Ok(last.map(|last| RankStage::Comments(Some(last))));
    }
    let (rows, next) = read_rank_rows(tx, weights, &stored.stage)?;
    let stale: Vec<RankKey> = StoredRank::stale_rows(&rows).map(|stored| stored.row.key()).collect();
    put_ranks(tx, weights, std::iter::empty(), &stale)?;
    stored.walked += rows.len() as u64;
    stored.ranked += StoredRank::count_stale_comments(&rows);
    Ok(Some(next))
}

fn read_progress(connection: &Connection) -> Result<Option<StoredRankStage>> {
    let json = read_setting(connection, "rank_progress")?;
    Ok(json.and_then(|json| serde_json::from_str(&json).ok()))
}

fn put_progress(tx: &Transaction<'_>, stored: &StoredRankStage) -> Result<()> {
    put_setting(tx, "rank_progress", &serde_json::to_string(stored).map_err(damaged)?)
}

/// Stores that every comment is ranked by these weights.
fn finish(tx: &Transaction<'_>, weights: &str) -> Result<()> {
    put_setting(tx, "weights", weights)?;
    tx.execute("DELETE FROM setting WHERE name = 'rank_progress'", [])?;
    Ok(())
}

fn read_setting(connection: &Connection, name: &str) -> Result<Option<String>> {
    let read = "SELECT value FROM setting WHERE name = ?1";
    Ok(connection.query_row(read, [name], |r| r.get(0)).optional()?)
}

fn put_setting(tx: &Transaction<'_>, name: &str, value: &str) -> Result<()> {
    tx.execute("INSERT OR REPLACE INTO setting (name, value) VALUES (?1, ?2)", params![name, value])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::Slot;
    use gailou_shared::path::Path;
    use gailou_shared::rank::HotWeights;

    use super::*;
    use crate::adapters::sqlite::SqliteStore;

    const NOW: u64 = 1_700_000_000_000;

    #[tokio::test]
    async fn ranking_that_is_interrupted_in_a_subject_goes_on_behind_its_last_chunk() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gailou.db");
        let store = SqliteStore::open(&file, WeightsByType::new()).unwrap();
        let root = Path::root(CommentId::from_parts(NOW, Slot::FIRST, 0, 0));
        {
            let mut writer = store.writer();
            let tx = writer.transaction().unwrap();
            tx.execute("INSERT INTO subject (id, type, obj_id, key) VALUES (1, 'article', 5, '5')", []).unwrap();
            for n in 1..=2_500 {
                let path = root.child(CommentId::from_parts(NOW + n, Slot::FIRST, 0, 0)).unwrap();
                let (root, id) = (root.id().signed(), path.id().signed());
                tx.prepare_cached(
                    "INSERT INTO comment (id, subject, root_id, path, depth, floor, state, visibility, listed, author_id, \
                     author_name, author_level, created_at) VALUES (?1, 1, ?2, ?3, 2, ?4, 0, 0, 1, 7, 'reader', 1, ?4)",
                )
                .unwrap()
                .execute(params![id, root, path.as_bytes(), n])
                .unwrap();
                // Below every key that there is.
                tx.prepare_cached("INSERT INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")
                    .unwrap()
                    .execute(params![root, i64::MIN + n as i64 + 1, id])
                    .unwrap();
            }
            tx.commit().unwrap();
        }
        let weights = HotWeights { like: 50, reply: 0, dislike: 1_000, half_life_ms: None };
        let weights = WeightsByType::from([("article".to_owned(), weights)]);
        let count = |store: &SqliteStore| -> (i64, i64) {
            let sql = "SELECT count(*) FILTER (WHERE hot < 0), count(*) FILTER (WHERE hot >= 0) FROM reply_rank";
            store.writer().query_row(sql, [], |r| Ok((r.get(0)?, r.get(1)?))).unwrap()
        };
        let chunk = rank_chunk_again(&mut store.writer(), &weights).unwrap();
        assert_eq!(chunk, Some(RerankedChunk { walked: 1_000, ranked: 1_000, is_last: false }));
        assert_eq!(count(&store), (1_500, 1_000), "one chunk is committed");
        // A row before the place where it goes on is not read again.
        store.execute(&format!("INSERT INTO reply_rank (root_id, hot, id) VALUES ({}, {}, 5)", root.id(), i64::MIN));
        drop(store);
        let store = SqliteStore::open(&file, weights.clone()).unwrap();
        assert_eq!(count(&store), (1_501, 1_000), "a store that opens does not rank");
        assert!(!is_ranked_by(&store.writer(), &weights).unwrap());
        assert_eq!(store.rank_again(&|_| {}).await.unwrap(), 2_500);
        assert_eq!(count(&store), (1, 2_500));
        assert!(is_ranked_by(&store.writer(), &weights).unwrap());
        assert_eq!(read_setting(&store.writer(), "rank_progress").unwrap(), None);
    }
}
