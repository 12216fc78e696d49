//! Writes what belongs to the installation and to no slot, in the first database: the dictionary, what admins have
//! changed of the settings, and imports in the audit log. And copies of them in the others.

use gailou_shared::wire::AuditTargetKind;
use gailou_shared::word_filter::Term;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::{count_at, damaged, number_at};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::{self, BatchScript, RowValues};
use crate::adapters::mysql::write::moderation_rows::write_installation_audit;
use crate::domain::audit::AuditEntry;
use crate::domain::operation::OperationOutcome;
use crate::domain::row::{StoredDictionary, StoredSettingChanges};
use crate::ports::store::Result;

/// Replaces the dictionary.
pub(super) async fn replace_dictionary(
    db: &MysqlStore,
    terms: &[Term],
    expected_version: Option<u64>,
    audit: Option<&AuditEntry>,
    at: u64,
) -> Result<OperationOutcome> {
    let mut session = db.first_pool().session("replace_dictionary").await?;
    session.begin().await?;
    let done = async {
        // The version first: its lock puts concurrent replacements one after the other.
        session.execute_text("INSERT IGNORE INTO setting (name, value) VALUES ('words_version', '0')").await?;
        let find = "SELECT CAST(value AS SIGNED) FROM setting WHERE name = 'words_version' FOR UPDATE";
        let stored = session.fetch_first(sql(find)).await?.map_or(Ok(0), |row| count_at(&row, 0))?;
        if expected_version.is_some_and(|expected| expected != stored) {
            return Ok(OperationOutcome::Conflict);
        }
        let mut script = BatchScript::new(&mut session);
        script.add("UPDATE setting SET value = CAST(value AS SIGNED) + 1 WHERE name = 'words_version'").await?;
        replace_terms(&mut script, terms).await?;
        if let Some(audit) = audit {
            write_installation_audit(&mut script, audit, AuditTargetKind::Words, at).await?;
        }
        script.send().await?;
        Ok(OperationOutcome::Done)
    };
    let done = done.await;
    session.finish(done).await
}

/// Copies the dictionary to a database that has an older one.
pub(in crate::adapters::mysql) async fn copy_dictionary(pool: &MysqlPool, dictionary: &StoredDictionary) -> Result<()> {
    let mut session = pool.session("copy_dictionary").await?;
    session.begin().await?;
    let done = async {
        // The row that is locked puts concurrent copies one after the other.
        session.execute_text("INSERT IGNORE INTO setting (name, value) VALUES ('words_version', '-1')").await?;
        let find = "SELECT CAST(value AS SIGNED) FROM setting WHERE name = 'words_version' FOR UPDATE";
        let copied = session.fetch_first(sql(find)).await?.map_or(Ok(-1), |row| number_at(&row, 0))?;
        if copied >= batch_sql::signed(dictionary.version) {
            return Ok(());
        }
        let mut script = BatchScript::new(&mut session);
        script
            .add(&format!("UPDATE setting SET value = '{}' WHERE name = 'words_version'", dictionary.version))
            .await?;
        replace_terms(&mut script, &dictionary.terms).await?;
        script.send().await
    };
    let done = done.await;
    session.finish(done).await
}

async fn replace_terms(script: &mut BatchScript<'_>, terms: &[Term]) -> Result<()> {
    script.add("DELETE FROM word").await?;
    let mut rows = Vec::with_capacity(terms.len());
    for term in terms {
        let action = serde_json::to_value(term.action).map_err(damaged)?;
        let row = RowValues::new().text(term.term.as_str()).text(term.category.as_str()).text(action.as_str());
        rows.push(row.end());
    }
    if rows.is_empty() {
        return Ok(());
    }
    let statement = "INSERT INTO word (term, category, action) VALUES {rows} \
                     ON DUPLICATE KEY UPDATE category = VALUES(category), action = VALUES(action)";
    script.add_rows(statement, [(0, rows)].into()).await
}

/// Stores the changes of the settings, where the stored ones are those just before them.
pub(super) async fn change_settings(
    db: &MysqlStore,
    new: &StoredSettingChanges,
    audit: &AuditEntry,
    at: u64,
) -> Result<OperationOutcome> {
    let mut session = db.first_pool().session("change_settings").await?;
    session.begin().await?;
    let done = async {
        // The row that is locked puts concurrent changes one after the other.
        session
            .execute_text("INSERT IGNORE INTO setting_changes (id, version, changes_json) VALUES (1, 0, '{}')")
            .await?;
        let find = sql("SELECT version FROM setting_changes WHERE id = 1 FOR UPDATE");
        let stored = session.fetch_first(find).await?.map_or(Ok(0), |row| count_at(&row, 0))?;
        if stored.checked_add(1) != Some(new.version) {
            return Ok(OperationOutcome::Conflict);
        }
        let mut script = BatchScript::new(&mut session);
        let row = changes_row(new)?;
        script.add(&format!("REPLACE INTO setting_changes (id, version, changes_json) VALUES {row}")).await?;
        write_installation_audit(&mut script, audit, AuditTargetKind::Settings, at).await?;
        script.send().await?;
        Ok(OperationOutcome::Done)
    };
    let done = done.await;
    session.finish(done).await
}

/// Writes the entry of an import into the audit log.
pub(super) async fn record_import(db: &MysqlStore, audit: &AuditEntry, at: u64) -> Result<()> {
    let mut session = db.first_pool().session("record_import").await?;
    session.begin().await?;
    let done = async {
        let mut script = BatchScript::new(&mut session);
        write_installation_audit(&mut script, audit, AuditTargetKind::Import, at).await?;
        script.send().await
    };
    let done = done.await;
    session.finish(done).await
}

/// Copies the changes of the settings to a database that has older ones.
pub(in crate::adapters::mysql) async fn copy_settings(pool: &MysqlPool, changes: &StoredSettingChanges) -> Result<()> {
    let row = changes_row(changes)?;
    // The version is assigned last: an assignment is seen by those after it.
    let text = format!(
        "INSERT INTO setting_changes (id, version, changes_json) VALUES {row} ON DUPLICATE KEY UPDATE \
         changes_json = IF(VALUES(version) > version, VALUES(changes_json), changes_json), \
         version = GREATEST(version, VALUES(version))"
    );
    pool.session("copy_settings").await?.execute_text(text).await
}

fn changes_row(stored: &StoredSettingChanges) -> Result<String> {
    let json = serde_json::to_string(&stored.changes).map_err(damaged)?;
    Ok(RowValues::new().number(1).count(stored.version).text(json.as_str()).end())
}
