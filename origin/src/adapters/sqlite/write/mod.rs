//! Batches into rows: what a fold wants is read, what it changes is written, each row once.
//!
//! A batch is one transaction: all of it is stored or none. What the rows become is decided in
//! [`crate::domain::fold`].

mod flush;
mod load;
mod rekey;

use gailou_shared::limits;
use gailou_shared::rank::HotWeights;
use gailou_shared::word_filter::Term;
pub(super) use rekey::rekey;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::adapters::sqlite::rows::damaged;
use crate::domain::fold::{Fold, Loaded, Reach};
use crate::domain::operation::{CHANGE_FEED_RETENTION_MS, LoggedOperation, Operation, PersistedBatch};
use crate::domain::positions::NextPositions;
use crate::ports::store::{Result, StoreError};

/// Writes a batch. See [`BatchWriter::persist`].
pub(super) fn persist(
    writer: &mut Connection,
    weights: impl Fn(&str) -> HotWeights,
    batch: &[LoggedOperation],
) -> Result<PersistedBatch> {
    if batch.iter().any(|stamped| stamped.position.is_some()) {
        return Err(StoreError::Database("no log stands before these tables".into()));
    }
    let batch: Vec<&LoggedOperation> = batch.iter().collect();
    let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut loaded = Loaded::new(Reach::Whole, NextPositions::default());
    while let Some(wanted) = loaded.wants(&batch) {
        load::load(&tx, &wanted, &mut loaded)?;
    }
    let mut fold = Fold::new(loaded)?;
    let outcomes = batch.iter().map(|stamped| Ok(fold.apply(stamped)?)).collect::<Result<_>>()?;
    let (persisted, changes) = fold.finish(weights);
    flush::flush(&tx, &changes)?;
    for stamped in batch {
        aside(&tx, stamped)?;
    }
    tx.commit()?;
    Ok(PersistedBatch { outcomes, ..persisted })
}

/// What no fold is needed for.
fn aside(tx: &Transaction<'_>, stamped: &LoggedOperation) -> Result<()> {
    match &stamped.operation {
        Operation::Publish(_) | Operation::React { .. } | Operation::Change { .. } | Operation::Subject { .. } => {}
        Operation::Snapshot { snapshot, .. } => {
            tx.prepare_cached(
                "INSERT INTO snapshot (id, ids, used_at) VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET used_at = excluded.used_at",
            )?
            .execute(params![snapshot.id(), snapshot.to_bytes(), stamped.at])?;
        }
        Operation::Words(terms) => words(tx, terms)?,
        Operation::Sweep => {
            let before = |age| stamped.at.saturating_sub(age);
            tx.execute("DELETE FROM snapshot WHERE used_at < ?1", [before(limits::SNAPSHOT_LIFETIME_MS)])?;
            tx.execute("DELETE FROM idempotency WHERE created_at < ?1", [before(limits::IDEMPOTENCY_WINDOW_MS)])?;
            tx.execute("DELETE FROM feed WHERE at < ?1", [before(CHANGE_FEED_RETENTION_MS)])?;
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

#[cfg(test)]
mod tests {
    use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
    use gailou_shared::path::Path;
    use gailou_shared::wire::{Author, CommentState, Visibility};

    use crate::adapters::sqlite::SqliteStore;
    use crate::domain::operation::{CHANGE_FEED_RETENTION_MS, CommentChange, LoggedOperation, Operation};
    use crate::domain::row::NewCommentRow;
    use crate::ports::store::{BatchWriter, ChangeFeedReader, StoreError};

    const NOW: u64 = 1_700_000_000_000;

    #[tokio::test]
    async fn the_feed_is_kept_for_its_time_and_nothing_comes_from_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
        let id = CommentId::from_parts(NOW, Slot::FIRST, 0, 0);
        let new = NewCommentRow {
            subject: SubjectKey::new("article", "a").unwrap(),
            path: Path::root(id),
            parent_id: None,
            reply_to: None,
            state: CommentState::Published,
            visibility: Visibility::Everyone,
            author: Author { id: MemberId::new(7).unwrap(), name: "reader".into(), avatar: None, level: 1 },
            created_at: NOW,
            content: "text".into(),
            html: String::new(),
            written: None,
            mentions: vec![],
            idempotency: None,
            imported: None,
        };
        let publish = LoggedOperation::new(NOW, Operation::Publish(Box::new(new)));
        let logged = LoggedOperation { position: Some(0), ..publish.clone() };
        assert!(matches!(store.persist(&[logged]).await, Err(StoreError::Database(_))));
        let change = |state| {
            LoggedOperation::new(NOW, Operation::Change { id, change: CommentChange::State(state), audit: None })
        };
        store.persist(&[publish]).await.unwrap();
        assert_eq!(store.read_changes(0, 0, 10).await.unwrap(), []);
        store.persist(&[change(CommentState::Deleted)]).await.unwrap();
        store.persist(&[change(CommentState::Published)]).await.unwrap();
        let feed = store.read_changes(0, 0, 10).await.unwrap();
        let seen: Vec<_> = feed.iter().map(|taken| (taken.seq, taken.at, taken.version, taken.id)).collect();
        assert_eq!(seen, [(1, NOW, 2, id), (2, NOW, 3, id)]);
        assert_eq!(store.read_changes(0, 1, 10).await.unwrap(), feed[1..]);
        assert_eq!(store.read_changes(1, 0, 10).await.unwrap(), []);
        store.persist(&[LoggedOperation::new(NOW + CHANGE_FEED_RETENTION_MS + 1, Operation::Sweep)]).await.unwrap();
        assert_eq!(store.read_changes(0, 0, 10).await.unwrap(), []);
        // Its numbers go on.
        store.persist(&[change(CommentState::Hidden)]).await.unwrap();
        assert_eq!(store.read_changes(0, 2, 10).await.unwrap()[0].seq, 3);
    }
}
