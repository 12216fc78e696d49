//! Changed weights: the keys of replies, made again.

use gailou_shared::rank::{
    EngagementCounts, Sort, {self},
};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior};

use crate::adapters::sqlite::rows::{count, damaged};
use crate::domain::row::WeightsByType;
use crate::ports::store::Result;

/// Computes every reply's key again when the weights are not those the keys were made with.
pub(crate) fn rekey(writer: &mut Connection, weights: &WeightsByType) -> Result<()> {
    let mut named: Vec<_> = weights.iter().collect();
    named.sort_by_key(|(kind, _)| kind.as_str());
    let wanted = format!("{named:?}");
    let stored: Option<String> =
        writer.query_row("SELECT value FROM setting WHERE name = 'weights'", [], |r| r.get(0)).optional()?;
    if stored.as_deref() == Some(&wanted) {
        return Ok(());
    }
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    tx.execute("DELETE FROM reply_rank", [])?;
    {
        let mut replies = tx.prepare(
            "SELECT c.root_id, c.id, c.likes, c.dislikes, c.replies, c.created_at, s.type \
             FROM comment c JOIN subject s ON s.id = c.subject WHERE c.depth > 1 AND c.listed = 1",
        )?;
        let mut insert = tx.prepare("INSERT INTO reply_rank (root_id, hot, id) VALUES (?1, ?2, ?3)")?;
        let mut found = replies.query([])?;
        while let Some(r) = found.next()? {
            let counts =
                EngagementCounts { likes: count(r.get(2)?), dislikes: count(r.get(3)?), replies: count(r.get(4)?) };
            let weights = weights.get(r.get_ref(6)?.as_str().map_err(damaged)?).copied().unwrap_or_default();
            let hot = rank::sort_key(Sort::Hot, counts, count(r.get(5)?), &weights);
            insert.execute([r.get::<_, i64>(0)?, hot, r.get(1)?])?;
        }
    }
    tx.execute("INSERT OR REPLACE INTO setting (name, value) VALUES ('weights', ?1)", [wanted])?;
    tx.commit()?;
    Ok(())
}
