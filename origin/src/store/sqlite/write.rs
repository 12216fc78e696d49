//! Batches into rows: what a fold wants is read, what it changes is written, each row once.
//!
//! A batch is one transaction: all of it is stored or none. What the rows become is decided in
//! [`crate::store::fold`].

mod flush;
mod load;
mod rekey;

use gailou_shared::limits;
use gailou_shared::rank::Weights;
use gailou_shared::words::Term;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

pub(super) use rekey::rekey;

use super::rows::damaged;
use crate::store::fold::{Fold, Loaded, Positions, Reach};
use crate::store::{Event, FEED_MS, Persisted, Result, Stamped, StoreError};

/// Writes a batch. See [`crate::store::Store::persist`].
pub(super) fn persist(
    writer: &mut Connection,
    weights: impl Fn(&str) -> Weights,
    batch: &[Stamped],
) -> Result<Persisted> {
    if batch.iter().any(|stamped| stamped.position.is_some()) {
        return Err(StoreError::Database("no log stands before these tables".into()));
    }
    let batch: Vec<&Stamped> = batch.iter().collect();
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut loaded = Loaded::new(Reach::Whole, Positions::default());
    while let Some(wanted) = loaded.wants(&batch) {
        load::load(&tx, &wanted, &mut loaded)?;
    }
    let mut fold = Fold::new(loaded)?;
    let outcomes = batch.iter().map(|stamped| fold.apply(stamped)).collect::<Result<_>>()?;
    let (persisted, changes) = fold.finish(weights);
    flush::flush(&tx, &changes)?;
    for stamped in batch {
        aside(&tx, stamped)?;
    }
    tx.commit()?;
    Ok(Persisted { outcomes, ..persisted })
}

/// What no fold is needed for.
fn aside(tx: &Transaction<'_>, stamped: &Stamped) -> Result<()> {
    match &stamped.event {
        Event::Publish(_) | Event::React { .. } | Event::Change { .. } | Event::Subject { .. } => {}
        Event::Snapshot { snapshot, .. } => {
            tx.prepare_cached(
                "INSERT INTO snapshot (id, ids, used_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET used_at = excluded.used_at",
            )?
            .execute(params![snapshot.id(), snapshot.to_bytes(), stamped.at])?;
        }
        Event::Words(terms) => words(tx, terms)?,
        Event::Sweep => {
            let before = |age| stamped.at.saturating_sub(age);
            tx.execute("DELETE FROM snapshot WHERE used_at < ?1", [before(limits::SNAPSHOT_MS)])?;
            tx.execute("DELETE FROM idempotency WHERE created_at < ?1", [before(limits::IDEMPOTENCY_MS)])?;
            tx.execute("DELETE FROM feed WHERE at < ?1", [before(FEED_MS)])?;
        }
    }
    Ok(())
}

fn words(tx: &Transaction<'_>, terms: &[Term]) -> Result<()> {
    tx.execute("DELETE FROM word", [])?;
    let mut insert = tx.prepare("INSERT OR REPLACE INTO word (term, category, action) VALUES (?1, ?2, ?3)")?;
    for term in terms {
        let action = serde_json::to_value(term.action).map_err(damaged)?;
        insert.execute(params![term.term, term.category, action.as_str()])?;
    }
    tx.execute(
        "INSERT INTO setting (name, value) VALUES ('words_version', 1) ON CONFLICT DO UPDATE SET value = value + 1",
        [],
    )?;
    Ok(())
}
