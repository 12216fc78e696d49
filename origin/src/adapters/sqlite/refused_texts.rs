//! Texts that the word filter refused.

use async_trait::async_trait;
use gailou_shared::id::{MemberId, RefusedTextId};
use gailou_shared::limits::{MAX_REFUSED_TEXTS, MAX_REFUSED_TEXTS_PER_HOUR};
use gailou_shared::wire::RefusedText;
use rusqlite::params;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{damaged, parse_json};
use crate::ports::store::{RefusedTexts, Result};

const HOUR_MS: u64 = 3_600_000;

#[async_trait]
impl RefusedTexts for SqliteStore {
    async fn keep_refused(&self, text: &RefusedText) -> Result<bool> {
        let record = serde_json::to_string(text).map_err(damaged)?;
        let (id, at, author) = (text.id.signed(), text.at as i64, text.author.id.signed());
        let since = text.at.saturating_sub(HOUR_MS) as i64;
        self.write("keep_refused", move |c| {
            let transaction = c.transaction()?;
            let sql = "INSERT OR IGNORE INTO refused_text (id, at, author_id, record) SELECT ?1, ?2, ?3, ?4 \
                       WHERE (SELECT count(*) FROM refused_text WHERE author_id = ?3 AND at > ?5) < ?6";
            let values = params![id, at, author, record, since, MAX_REFUSED_TEXTS_PER_HOUR as i64];
            let is_kept = transaction.prepare_cached(sql)?.execute(values)? > 0;
            let sql = "DELETE FROM refused_text WHERE at <= \
                       (SELECT at FROM refused_text INDEXED BY refused_text_age ORDER BY at DESC LIMIT 1 OFFSET ?1)";
            transaction.prepare_cached(sql)?.execute([MAX_REFUSED_TEXTS as i64])?;
            transaction.commit()?;
            Ok(is_kept)
        })
        .await
    }

    async fn list_refused(&self, below: Option<RefusedTextId>, count: usize) -> Result<Vec<RefusedText>> {
        let below = below.map_or(i64::MAX, RefusedTextId::signed);
        self.read("list_refused", move |c| {
            let sql = "SELECT record FROM refused_text WHERE id < ?1 ORDER BY id DESC LIMIT ?2";
            fetch_all(c, sql, [below, count as i64], |r| parse_json(r, 0))
        })
        .await
    }

    async fn list_refused_of(
        &self,
        author: MemberId,
        above: Option<RefusedTextId>,
        count: usize,
    ) -> Result<Vec<RefusedText>> {
        let above = above.map_or(0, RefusedTextId::signed);
        self.read("list_refused_of", move |c| {
            let sql = "SELECT record FROM refused_text WHERE author_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
            fetch_all(c, sql, [author.signed(), above, count as i64], |r| parse_json(r, 0))
        })
        .await
    }

    async fn read_refused(&self, id: RefusedTextId) -> Result<Option<RefusedText>> {
        self.read("read_refused", move |c| {
            let sql = "SELECT record FROM refused_text WHERE id = ?1";
            Ok(fetch_all(c, sql, [id.signed()], |r| parse_json(r, 0))?.pop())
        })
        .await
    }

    async fn delete_refused(&self, id: RefusedTextId) -> Result<()> {
        self.write_rows("delete_refused", "DELETE FROM refused_text WHERE id = ?1", [id.signed()]).await.map(|_| ())
    }

    async fn delete_refused_of(&self, author: MemberId) -> Result<()> {
        let sql = "DELETE FROM refused_text WHERE author_id = ?1";
        self.write_rows("delete_refused_of", sql, [author.signed()]).await.map(|_| ())
    }

    async fn delete_refused_before(&self, before: u64) -> Result<()> {
        let sql = "DELETE FROM refused_text WHERE at < ?1";
        self.write_rows("delete_refused_before", sql, [before as i64]).await.map(|_| ())
    }
}
