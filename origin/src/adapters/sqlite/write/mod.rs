//! Writes batches: reads the rows that a fold requests, and writes the rows that it changes, each once.
//!
//! A batch is one transaction: all of it is stored or none. [`crate::domain::fold`] decides what the
//! rows become.

mod flush;
mod load;
pub(super) mod moderation;
mod standing;

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, Slot};
use gailou_shared::limits;
use gailou_shared::wire::AuditTargetKind;
use gailou_shared::word_filter::Term;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use crate::adapters::sqlite::rows::{damaged, role_number};
use crate::adapters::sqlite::settings::dictionary_version;
use crate::adapters::sqlite::webhooks;
use crate::adapters::sqlite::{BUSY_TIMEOUT, LOG_CUT_BYTES, LOG_LIMIT_BYTES, SqliteStore};
use crate::domain::activity::ActivityStep;
use crate::domain::audit::UNDO_WINDOW_MS;
use crate::domain::fold::{BatchFold, LoadedRows, TableLayout};
use crate::domain::name_digest::NAME_TAKEN_MS;
use crate::domain::network_digest::NETWORK_KNOWN_MS;
use crate::domain::operation::{
    CHANGE_FEED_RETENTION_MS, ErasureStep, LoggedOperation, MergeStep, Operation, OperationOutcome, PersistedBatch,
    WebhookChange,
};
use crate::domain::positions::NextPositions;
use crate::domain::sign_in::{LINK_LIFETIME_MS, REFRESH_IDLE_MS};
use crate::ports::store::{BatchWriter, Result, StoreError};
use crate::telemetry::measure_here;

/// Old texts that one transaction deletes, so that others need not wait for it.
const TEXTS_PER_DELETE: usize = 500;

#[async_trait]
impl BatchWriter for SqliteStore {
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch> {
        if batch.iter().any(|logged| logged.position.is_some()) {
            return Err(StoreError::Database("an operation has a position, but these tables have no log".into()));
        }
        let batch: Vec<&LoggedOperation> = batch.iter().collect();
        let mut writer = self.writer();
        measure_here("sqlite", "persist", || self.persist_batch(&mut writer, &batch))
    }
}

impl SqliteStore {
    fn persist_batch(&self, writer: &mut Connection, batch: &[&LoggedOperation]) -> Result<PersistedBatch> {
        self.limit_log(writer)?;
        let tx = writer.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut loaded = LoadedRows::new(TableLayout::Embedded, NextPositions::default());
        while let Some(request) = loaded.next_request(batch) {
            load::load(&tx, &request, &mut loaded)?;
        }
        let mut fold = BatchFold::new(loaded)?;
        let mut outcomes = batch.iter().map(|logged| Ok(fold.apply(logged)?)).collect::<Result<Vec<_>>>()?;
        let (persisted, changes) = fold.finish(|kind| self.weights_of(kind));
        flush::flush(&tx, &changes)?;
        for (logged, outcome) in batch.iter().zip(&mut outcomes) {
            if let Some(unfolded) = apply_unfolded(&tx, logged)? {
                *outcome = unfolded;
            }
        }
        tx.commit()?;
        if batch.iter().any(|logged| is_end_of_erasure(&logged.operation)) {
            self.log_to_empty.store(true, Ordering::Relaxed);
        }
        self.empty_log(writer)?;
        Ok(PersistedBatch { outcomes, ..persisted })
    }

    /// Lets the file of the log become smaller step by step.
    fn limit_log(&self, writer: &Connection) -> Result<()> {
        // There is no file before the first write.
        let bytes = std::fs::metadata(self.log_file()).map_or(0, |file| file.len());
        let limit = LOG_LIMIT_BYTES.max(bytes.saturating_sub(LOG_CUT_BYTES));
        if self.log_limit.swap(limit, Ordering::Relaxed) != limit {
            writer.pragma_update(None, "journal_size_limit", limit)?;
        }
        Ok(())
    }

    /// Empties the log where it may have texts that were erased. It waits for no reader: a backup reads for minutes. Where
    /// one is there, the next batch tries again.
    fn empty_log(&self, writer: &Connection) -> Result<()> {
        if !self.log_to_empty.load(Ordering::Relaxed) {
            return Ok(());
        }
        writer.busy_timeout(Duration::ZERO)?;
        let is_busy = writer.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |r| r.get(0));
        writer.busy_timeout(BUSY_TIMEOUT)?;
        self.log_to_empty.store(is_busy?, Ordering::Relaxed);
        Ok(())
    }
}

fn is_end_of_erasure(operation: &Operation) -> bool {
    matches!(operation, Operation::Erasure { step: ErasureStep::Finish, .. })
}

/// Applies an operation that touches no folded row. Returns its outcome where that is another than `Done`.
fn apply_unfolded(tx: &Transaction<'_>, logged: &LoggedOperation) -> Result<Option<OperationOutcome>> {
    match &logged.operation {
        Operation::Publish(_) | Operation::React { .. } | Operation::Change { .. } | Operation::Subject { .. } => {}
        Operation::LeaseReviews { ids, holder, until, .. } => {
            return Ok(Some(OperationOutcome::Leased(moderation::lease(tx, ids, holder, *until, logged.at)?)));
        }
        Operation::Snapshot { snapshot, .. } => {
            tx.prepare_cached(
                "INSERT INTO snapshot (id, ids, used_at) VALUES (?1, ?2, ?3) \
                 ON CONFLICT DO UPDATE SET used_at = excluded.used_at",
            )?
            .execute(params![snapshot.id(), snapshot.to_bytes(), logged.at])?;
        }
        Operation::Dictionary { terms, expected_version, audit } => {
            if expected_version.is_some_and(|expected| dictionary_version(tx).is_ok_and(|stored| stored != expected)) {
                return Ok(Some(OperationOutcome::Conflict));
            }
            replace_dictionary(tx, terms)?;
            if let Some(audit) = audit {
                moderation::write_installation_audit(tx, audit, AuditTargetKind::Words, logged.at)?;
            }
        }
        Operation::Settings { stored, audit } => {
            let current = "SELECT COALESCE(MAX(version), 0) + 1 FROM setting_changes";
            if tx.query_row(current, [], |r| r.get::<_, u64>(0))? != stored.version {
                return Ok(Some(OperationOutcome::Conflict));
            }
            let json = serde_json::to_string(&stored.changes).map_err(damaged)?;
            let put = "INSERT OR REPLACE INTO setting_changes (id, version, changes) VALUES (1, ?1, ?2)";
            tx.execute(put, params![stored.version, json])?;
            moderation::write_installation_audit(tx, audit, AuditTargetKind::Settings, logged.at)?;
        }
        Operation::Webhook { change, audit } => {
            let (id, is_done) = match change {
                WebhookChange::Add(row) => (row.id, webhooks::insert(tx, row)?),
                WebhookChange::Remove(id) => (*id, webhooks::delete(tx, *id)?),
            };
            if !is_done {
                return Ok(Some(OperationOutcome::Conflict));
            }
            let target = (AuditTargetKind::Webhook, None, &*id.to_string());
            moderation::insert_audit(tx, audit, logged.at, target, (audit.before.clone(), audit.after.clone()))?;
        }
        Operation::Import { audit } => {
            moderation::write_installation_audit(tx, audit, AuditTargetKind::Import, logged.at)?;
        }
        Operation::MemberNames(names) => {
            let mut record = tx.prepare_cached(
                "INSERT INTO member_name (digest, member_id, seen_at) SELECT ?1, ?2, ?3 \
                 WHERE NOT EXISTS (SELECT 1 FROM erased_member WHERE member_id = ?2) \
                 ON CONFLICT DO UPDATE SET seen_at = excluded.seen_at",
            )?;
            for (digest, member) in names {
                record.execute(params![digest.as_bytes(), member.signed(), logged.at])?;
            }
        }
        Operation::DeleteExpired => {
            let before = |age| logged.at.saturating_sub(age);
            tx.execute("DELETE FROM snapshot WHERE used_at < ?1", [before(limits::SNAPSHOT_LIFETIME_MS)])?;
            tx.execute("DELETE FROM idempotency WHERE created_at < ?1", [before(limits::IDEMPOTENCY_WINDOW_MS)])?;
            let oldest_undo = CommentId::from_parts(before(UNDO_WINDOW_MS), Slot::FIRST, 0, 0);
            tx.execute("DELETE FROM undo WHERE audit_id < ?1", [oldest_undo.signed()])?;
            let oldest_known = CommentId::from_parts(before(NETWORK_KNOWN_MS), Slot::FIRST, 0, 0);
            tx.execute("DELETE FROM author_network WHERE comment_id < ?1", [oldest_known.signed()])?;
            tx.execute("DELETE FROM feed WHERE at < ?1", [before(CHANGE_FEED_RETENTION_MS)])?;
            tx.execute("DELETE FROM member_name WHERE seen_at < ?1", [before(NAME_TAKEN_MS)])?;
            tx.execute("DELETE FROM refresh_family WHERE used_at < ?1", [before(REFRESH_IDLE_MS)])?;
            tx.execute("DELETE FROM sign_in_link WHERE created_at < ?1", [before(LINK_LIFETIME_MS)])?;
            for (step, before) in ActivityStep::expired_at(logged.at) {
                tx.execute("DELETE FROM activity WHERE step = ?1 AND at < ?2", params![step.number(), before])?;
            }
        }
        Operation::Standing { member, patch, audit } => {
            let after = standing::write(tx, *member, patch, audit, logged.at)?;
            return Ok(Some(OperationOutcome::Standing(Box::new(after))));
        }
        Operation::Erasure { member: erased, step, audit } => {
            let member = erased.signed();
            if let Some(audit) = audit {
                let target = (AuditTargetKind::Member, None, &*erased.to_string());
                moderation::insert_audit(tx, audit, logged.at, target, (None, None))?;
            }
            match step {
                ErasureStep::Begin => tx.execute(
                    "INSERT INTO erased_member (member_id, at) VALUES (?1, ?2) ON CONFLICT DO NOTHING",
                    params![member, logged.at],
                )?,
                ErasureStep::Name => {
                    standing::erase(tx, *erased)?;
                    tx.execute("DELETE FROM member_name WHERE member_id = ?1", [member])?;
                    tx.execute("UPDATE audit SET actor_name = '' WHERE actor_id = ?1", [member])?;
                    tx.execute(
                        "UPDATE merged_guest SET name = '', avatar = NULL, level = 0, role = 0 WHERE member_id = ?1",
                        [member],
                    )?;
                    tx.execute(
                        "UPDATE member SET name = '', avatar = NULL, level = 0, name_key = x'' WHERE id = ?1",
                        [member],
                    )?
                }
                ErasureStep::Finish => {
                    tx.execute("UPDATE erased_member SET done = 1 WHERE member_id = ?1", [member])?
                }
            };
        }
        Operation::Merge { guest, step: MergeStep::Begin(author) } => {
            let role = role_number(author.role);
            tx.execute(
                "INSERT INTO merged_guest (guest_id, member_id, name, avatar, level, role, at) \
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
                params![guest.signed(), author.id.signed(), author.name, author.avatar, author.level, role, logged.at],
            )?;
            let heir = "SELECT member_id FROM merged_guest WHERE guest_id = ?1";
            if tx.query_row(heir, [guest.signed()], |r| r.get::<_, i64>(0))? != author.id.signed() {
                return Ok(Some(OperationOutcome::Conflict));
            }
        }
        // The history of a member is an index.
        Operation::Merge { step: MergeStep::History, .. } => {}
        Operation::Merge { guest, step: MergeStep::Finish } => {
            tx.execute("UPDATE merged_guest SET done = 1 WHERE guest_id = ?1", [guest.signed()])?;
        }
        Operation::DeleteEditHistory { before } => {
            let oldest = "SELECT comment_id, edit, edited_at FROM content_history INDEXED BY content_history_age \
                          WHERE edited_at < ?1 ORDER BY edited_at LIMIT ?2";
            let delete = format!("DELETE FROM content_history WHERE (comment_id, edit, edited_at) IN ({oldest})");
            if tx.execute(&delete, params![before, TEXTS_PER_DELETE])? == TEXTS_PER_DELETE {
                return Ok(Some(OperationOutcome::Unfinished));
            }
        }
    }
    Ok(None)
}

fn replace_dictionary(tx: &Transaction<'_>, terms: &[Term]) -> Result<()> {
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
    use crate::domain::operation::{
        CHANGE_FEED_RETENTION_MS, CommentChange, LoggedOperation, Operation, OperationOutcome,
    };
    use crate::domain::row::NewCommentRow;
    use crate::ports::store::{BatchWriter, ChangeFeedReader, IdempotencyReader, IndexQueues, StoreError};

    const NOW: u64 = 1_700_000_000_000;

    #[tokio::test]
    async fn every_text_of_one_moment_is_kept_until_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
        let id = CommentId::from_parts(NOW, Slot::FIRST, 0, 0);
        let edit = |text: String| {
            let (html, state) = (String::new(), CommentState::Published);
            let change =
                CommentChange::Edit { content: text, html, original_text: None, state, reasons: vec![], max_edits: 0 };
            LoggedOperation::new(NOW + 1, Operation::Change { id, change, audit: None })
        };
        store.persist(&[publish(id)]).await.unwrap();
        // The second edit changes nothing.
        let texts = (0..=1_200).map(|n| format!("text {}", n.max(1)));
        store.persist(&texts.map(edit).collect::<Vec<_>>()).await.unwrap();
        let history = || -> Vec<String> {
            let writer = store.writer();
            let mut rows = writer.prepare("SELECT content FROM content_history ORDER BY edit").unwrap();
            rows.query_map([], |r| r.get(0)).unwrap().map(Result::unwrap).collect()
        };
        let kept = history();
        assert_eq!((kept.len(), kept[0].as_str(), kept[1].as_str()), (1_200, "text", "text 1"));
        assert_eq!(store.read_first_text(id).await.unwrap().unwrap(), "text");
        let sweep = async |before| {
            let delete = LoggedOperation::new(NOW, Operation::DeleteEditHistory { before });
            store.persist(&[delete]).await.unwrap().outcomes.remove(0)
        };
        assert!(matches!(sweep(NOW + 1).await, OperationOutcome::Done));
        assert_eq!(history().len(), 1_200);
        let mut steps = 1;
        while let OperationOutcome::Unfinished = sweep(NOW + 2).await {
            steps += 1;
        }
        assert_eq!((steps, history().len()), (3, 0));
        assert_eq!(store.estimate_comments().await.unwrap(), 1);
    }

    fn publish(id: CommentId) -> LoggedOperation {
        let new = NewCommentRow {
            subject: SubjectKey::new("article", "a").unwrap(),
            path: Path::root(id),
            parent_id: None,
            reply_to: None,
            state: CommentState::Published,
            visibility: Visibility::Everyone,
            author: Author::new(MemberId::new(7).unwrap(), "reader".into(), None, 1, None),
            created_at: NOW,
            content: "text".into(),
            html: String::new(),
            original_text: None,
            mentions: vec![],
            media: vec![],
            reasons: vec![],
            idempotency: None,
            imported: None,
            network: None,
        };
        LoggedOperation::new(NOW, Operation::Publish(Box::new(new)))
    }

    #[tokio::test]
    async fn change_feed_expires_and_a_logged_operation_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(&folder.path().join("gailou.db"), Default::default()).unwrap();
        let id = CommentId::from_parts(NOW, Slot::FIRST, 0, 0);
        let publish = publish(id);
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
        let seen: Vec<_> = feed.iter().map(|row| (row.seq, row.at, row.version, row.id.unwrap())).collect();
        assert_eq!(seen, [(1, NOW, 2, id), (2, NOW, 3, id)]);
        assert_eq!(store.read_changes(0, 1, 10).await.unwrap(), feed[1..]);
        assert_eq!(store.read_changes(1, 0, 10).await.unwrap(), []);
        store
            .persist(&[LoggedOperation::new(NOW + CHANGE_FEED_RETENTION_MS + 1, Operation::DeleteExpired)])
            .await
            .unwrap();
        assert_eq!(store.read_changes(0, 0, 10).await.unwrap(), []);
        // Sequence numbers are never used again.
        store.persist(&[change(CommentState::Hidden)]).await.unwrap();
        assert_eq!(store.read_changes(0, 2, 10).await.unwrap()[0].seq, 3);
    }
}
