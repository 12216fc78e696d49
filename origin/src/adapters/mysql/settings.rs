//! Single values, which are in the first database: the dictionary of the word filter, and secrets.

use async_trait::async_trait;
use gailou_shared::word_filter::Term;
use serde_json::Value;
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{count_at, damaged};
use crate::adapters::mysql::statement::sql;
use crate::domain::row::StoredDictionary;
use crate::ports::store::{Result, StoredSettings};

#[async_trait]
impl StoredSettings for MysqlStore {
    async fn read_dictionary(&self) -> Result<StoredDictionary> {
        // A dictionary that is replaced in between has an older version here, and is read again.
        let version = self.read_dictionary_version().await?;
        let text = "SELECT term, category, action FROM word ORDER BY term";
        let mut terms = Vec::new();
        for r in self.first_pool().session("read_dictionary").await?.fetch_all(sql(text)).await? {
            let action = serde_json::from_value(Value::String(r.try_get(2)?)).map_err(damaged)?;
            let term = String::from_utf8(r.try_get(0)?).map_err(damaged)?;
            terms.push(Term { term, category: r.try_get(1)?, action });
        }
        Ok(StoredDictionary { version, terms })
    }

    async fn read_dictionary_version(&self) -> Result<u64> {
        let text = "SELECT CAST(value AS SIGNED) FROM setting WHERE name = 'words_version'";
        let found = self.first_pool().session("read_dictionary_version").await?.fetch_first(sql(text)).await?;
        Ok(found.map(|r| count_at(&r, 0)).transpose()?.unwrap_or(0))
    }

    async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>> {
        let mut session = self.first_pool().session("read_secret").await?;
        let put = "INSERT IGNORE INTO setting (name, value) VALUES (?, ?)";
        session.execute(sql(put).bind(name).bind(&fresh[..])).await?;
        let found = session.fetch_first(sql("SELECT value FROM setting WHERE name = ?").bind(name)).await?;
        let missing = || damaged(format_args!("the secret {name} is missing after it was stored"));
        Ok(found.ok_or_else(missing)?.try_get(0)?)
    }
}
