//! The ranks of replies, computed again: their keys depend on the configured weights.

use gailou_shared::rank::{self, EngagementCounts, HotWeights, Sort};
use rusqlite::{Connection, OptionalExtension, Params, Transaction, TransactionBehavior};

use crate::adapters::sqlite::rows::{count, damaged};
use crate::domain::row::WeightsByType;
use crate::ports::store::Result;

/// Ranks every reply again when the weights differ from those that the stored ranks were made with.
pub(crate) fn rank_replies_again(writer: &mut Connection, weights: &WeightsByType) -> Result<()> {
    let mut named: Vec<_> = weights.iter().collect();
    named.sort_by_key(|(kind, _)| kind.as_str());
    let configured = format!("{named:?}");
    let stored: Option<String> =
        writer.query_row("SELECT value FROM setting WHERE name = 'weights'", [], |r| r.get(0)).optional()?;
    if stored.as_deref() == Some(&configured) {
        return Ok(());
    }
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute("DELETE FROM reply_rank", [])?;
    insert_reply_ranks(&tx, "1", [], |kind| weights.get(kind).copied().unwrap_or_default())?;
    tx.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('weights', ?1)", [configured])?;
    tx.commit()?;
    Ok(())
}

/// Inserts the ranks of the listed replies that fulfil a condition on the comment `c`.
pub(crate) fn insert_reply_ranks(
    tx: &Transaction<'_>,
    condition: &str,
    params: impl Params,
    weights_of: impl Fn(&str) -> HotWeights,
) -> Result<()> {
    let mut replies = tx.prepare(&format!(
        "SELECT c.root_id, c.id, c.likes, c.dislikes, c.replies, c.created_at, s.type \
         FROM comment c JOIN subject s ON s.id = c.subject WHERE c.depth > 1 AND c.listed = 1 AND {condition}"
    ))?;
    let mut insert = tx.prepare("INSERT INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?;
    let mut found = replies.query(params)?;
    while let Some(r) = found.next()? {
        let counts =
            EngagementCounts { likes: count(r.get(2)?), dislikes: count(r.get(3)?), replies: count(r.get(4)?) };
        let weights = weights_of(r.get_ref(6)?.as_str().map_err(damaged)?);
        let hot = rank::sort_key(Sort::Hot, counts, count(r.get(5)?), &weights);
        insert.execute([r.get::<_, i64>(0)?, hot, r.get(1)?])?;
    }
    Ok(())
}
