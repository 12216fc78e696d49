//! Single values: the dictionary of the word filter, what admins have changed of the settings, and secrets.

use async_trait::async_trait;
use gailou_shared::word_filter::Term;
use rusqlite::{Connection, OptionalExtension};
use serde_json::Value;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{count, damaged};
use crate::domain::row::{StoredDictionary, StoredSettingChanges};
use crate::ports::store::{Result, StoredSettings};

#[async_trait]
impl StoredSettings for SqliteStore {
    async fn read_dictionary(&self) -> Result<StoredDictionary> {
        self.read("read_dictionary", |c| {
            let version = dictionary_version(c)?;
            let terms = fetch_all(c, "SELECT term, category, action FROM word ORDER BY term", [], |r| {
                let action = serde_json::from_value(Value::String(r.get(2)?)).map_err(damaged)?;
                Ok(Term { term: r.get(0)?, category: r.get(1)?, action })
            })?;
            Ok(StoredDictionary { version, terms })
        })
        .await
    }

    async fn read_dictionary_version(&self) -> Result<u64> {
        self.read("read_dictionary_version", dictionary_version).await
    }

    async fn read_setting_changes(&self) -> Result<StoredSettingChanges> {
        self.read("read_setting_changes", |c| {
            let text = "SELECT version, changes FROM setting_changes WHERE id = 1";
            let found = c.query_row(text, [], |r| Ok((count(r.get(0)?), r.get::<_, String>(1)?))).optional()?;
            let Some((version, json)) = found else { return Ok(StoredSettingChanges::default()) };
            Ok(StoredSettingChanges { version, changes: serde_json::from_str(&json).map_err(damaged)? })
        })
        .await
    }

    async fn copy_setting_changes(&self, _: &StoredSettingChanges) {
        // There is one database.
    }

    async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>> {
        self.write("read_secret", move |c| {
            c.execute("INSERT OR IGNORE INTO setting (name, value) VALUES (?1, ?2)", (name, &fresh[..]))?;
            Ok(c.query_row("SELECT value FROM setting WHERE name = ?1", [name], |r| r.get(0))?)
        })
        .await
    }

    async fn read_backup_time(&self) -> Result<Option<u64>> {
        let sql = "SELECT value FROM setting WHERE name = 'backup_at'";
        self.read("read_backup_time", move |c| Ok(c.query_row(sql, [], |r| r.get(0)).optional()?.map(count))).await
    }

    async fn store_backup_time(&self, made_at: u64) -> Result<()> {
        let sql = "INSERT OR REPLACE INTO setting (name, value) VALUES ('backup_at', ?1)";
        self.write_rows("store_backup_time", sql, [made_at]).await.map(drop)
    }
}

pub(super) fn dictionary_version(c: &Connection) -> Result<u64> {
    let sql = "SELECT value FROM setting WHERE name = 'words_version'";
    Ok(c.query_row(sql, [], |r| r.get(0)).optional()?.map_or(0, count))
}
