//! Single values, which are in the first database and copied to the others: the dictionary of the word filter, what
//! admins have changed of the settings, and secrets.

use async_trait::async_trait;
use gailou_shared::word_filter::Term;
use serde_json::Value;
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::copies::{read_copied, read_setting};
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::rows::{count_at, damaged, json_at};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::installation_rows::{copy_dictionary, copy_settings};
use crate::domain::row::{StoredDictionary, StoredSettingChanges};
use crate::ports::store::{Result, StoredSettings};

/// When the last backup was made, in Unix milliseconds.
const BACKUP_SETTING: &str = "backup_at";

#[async_trait]
impl StoredSettings for MysqlStore {
    async fn read_dictionary(&self) -> Result<StoredDictionary> {
        match read_dictionary_of(self.first_pool()).await {
            Ok(found) => {
                let dictionary = found.unwrap_or(StoredDictionary { version: 0, terms: vec![] });
                let dictionary_to_copy = &dictionary;
                self.copy("the dictionary", |pool| async move { copy_dictionary(&pool, dictionary_to_copy).await })
                    .await;
                Ok(dictionary)
            }
            Err(away) => self.read_copy(away, |pool| async move { read_dictionary_of(&pool).await }).await,
        }
    }

    async fn read_dictionary_version(&self) -> Result<u64> {
        Ok(read_version_of(self.first_pool()).await?.unwrap_or(0))
    }

    async fn read_setting_changes(&self) -> Result<StoredSettingChanges> {
        match read_changes_of(self.first_pool()).await {
            Ok(found) => Ok(found.unwrap_or_default()),
            Err(away) => self.read_copy(away, |pool| async move { read_changes_of(&pool).await }).await,
        }
    }

    async fn copy_setting_changes(&self, changes: &StoredSettingChanges) {
        self.copy("the changes of settings", |pool| async move { copy_settings(&pool, changes).await }).await;
    }

    async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>> {
        let make_and_read = async {
            let mut session = self.first_pool().session("read_secret").await?;
            let put = "INSERT IGNORE INTO setting (name, value) VALUES (?, ?)";
            session.execute(sql(put).bind(name).bind(&fresh[..])).await?;
            let missing = || damaged(format_args!("the secret {name} is missing after it was stored"));
            read_setting(self.first_pool(), name).await?.ok_or_else(missing)
        };
        match make_and_read.await {
            Ok(secret) => {
                self.copy_setting(name, &secret).await;
                Ok(secret)
            }
            // Only the first database makes a secret: two processes never make different ones.
            Err(away) => self.read_copy(away, |pool| read_copied(pool, name)).await,
        }
    }

    async fn read_backup_time(&self) -> Result<Option<u64>> {
        let found = read_setting(self.first_pool(), BACKUP_SETTING).await?;
        let parse = |text: Vec<u8>| std::str::from_utf8(&text).map_err(damaged)?.parse().map_err(damaged);
        found.map(parse).transpose()
    }

    async fn store_backup_time(&self, made_at: u64) -> Result<()> {
        let put = "INSERT INTO setting (name, value) VALUES (?, ?) ON DUPLICATE KEY UPDATE value = VALUES(value)";
        let put = sql(put).bind(BACKUP_SETTING).bind(made_at.to_string().into_bytes());
        self.first_pool().session("store_backup_time").await?.execute(put).await.map(drop)
    }
}

/// The dictionary in one database; `None` where it was never stored.
async fn read_dictionary_of(pool: &MysqlPool) -> Result<Option<StoredDictionary>> {
    // A dictionary that is replaced in between has an older version here, and is read again.
    let Some(version) = read_version_of(pool).await? else { return Ok(None) };
    let text = "SELECT term, category, action FROM word ORDER BY term";
    let mut terms = Vec::new();
    for r in pool.session("read_dictionary").await?.fetch_all(sql(text)).await? {
        let action = serde_json::from_value(Value::String(r.try_get(2)?)).map_err(damaged)?;
        let term = String::from_utf8(r.try_get(0)?).map_err(damaged)?;
        terms.push(Term { term, category: r.try_get(1)?, action });
    }
    Ok(Some(StoredDictionary { version, terms }))
}

async fn read_changes_of(pool: &MysqlPool) -> Result<Option<StoredSettingChanges>> {
    let text = "SELECT version, changes_json FROM setting_changes WHERE id = 1";
    let found = pool.session("read_setting_changes").await?.fetch_first(sql(text)).await?;
    found.map(|r| Ok(StoredSettingChanges { version: count_at(&r, 0)?, changes: json_at(&r, 1)? })).transpose()
}

async fn read_version_of(pool: &MysqlPool) -> Result<Option<u64>> {
    let text = "SELECT CAST(value AS SIGNED) FROM setting WHERE name = 'words_version'";
    let found = pool.session("read_dictionary_version").await?.fetch_first(sql(text)).await?;
    found.map(|r| count_at(&r, 0)).transpose()
}
