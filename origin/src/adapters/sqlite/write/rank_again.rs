//! The ranks of comments, computed again: their keys depend on the configured weights.

use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use rusqlite::{Connection, OptionalExtension, Params, Transaction, TransactionBehavior, params};

use crate::adapters::sqlite::rows::{count, damaged};
use crate::domain::root_keys::RootKeys;
use crate::domain::row::{WeightsByType, describe_weights};
use crate::ports::store::Result;

/// Ranks every comment again when the weights differ from those that the stored ranks were made with.
pub(crate) fn rank_again(writer: &mut Connection, weights: &WeightsByType) -> Result<()> {
    let configured = describe_weights(weights);
    let stored: Option<String> =
        writer.query_row("SELECT value FROM setting WHERE name = 'weights'", [], |r| r.get(0)).optional()?;
    if stored.as_deref() == Some(&configured) {
        return Ok(());
    }
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute_batch("DELETE FROM root_rank; DELETE FROM reply_rank;")?;
    insert_ranks(&tx, "1", [], |kind| weights.get(kind).copied().unwrap_or_default())?;
    tx.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('weights', ?1)", [configured])?;
    tx.commit()?;
    Ok(())
}

/// Inserts the ranks of the listed comments that fulfil a condition on the comment `c`.
pub(crate) fn insert_ranks(
    tx: &Transaction<'_>,
    condition: &str,
    params: impl Params,
    weights_of: impl Fn(&str) -> HotWeights,
) -> Result<()> {
    let mut comments = tx.prepare(&format!(
        "SELECT c.subject, c.root_id, c.id, c.likes, c.dislikes, c.replies, c.created_at, s.type \
         FROM comment c JOIN subject s ON s.id = c.subject WHERE c.listed = 1 AND {condition}"
    ))?;
    let mut insert_reply = tx.prepare("INSERT INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?;
    let mut insert_root = tx.prepare(PUT_ROOT_RANK_SQL)?;
    let mut found = comments.query(params)?;
    while let Some(r) = found.next()? {
        let (subject, root, id): (i64, i64, i64) = (r.get(0)?, r.get(1)?, r.get(2)?);
        let counts =
            EngagementCounts { likes: count(r.get(3)?), dislikes: count(r.get(4)?), replies: count(r.get(5)?) };
        let (created_at, weights) = (count(r.get(6)?), weights_of(r.get_ref(7)?.as_str().map_err(damaged)?));
        if id != root {
            insert_reply.execute([root, rank::sort_key(Sort::Hot, counts, created_at, &weights), id])?;
        } else if counts.has_any() {
            let EngagementCounts { likes, dislikes, replies } = counts;
            let RootKeys { hot, best, controversial } = RootKeys::of(counts, created_at, &weights);
            let values = params![subject, id, likes, dislikes, replies, created_at, hot, best, controversial];
            insert_root.execute(values)?;
        }
    }
    Ok(())
}

/// Inserts or replaces the rank of a root.
pub(super) const PUT_ROOT_RANK_SQL: &str = "INSERT INTO root_rank \
     (subject, id, likes, dislikes, replies, created_at, hot, best, controversial) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (subject, id) DO UPDATE SET likes = excluded.likes, \
     dislikes = excluded.dislikes, replies = excluded.replies, hot = excluded.hot, best = excluded.best, \
     controversial = excluded.controversial";
