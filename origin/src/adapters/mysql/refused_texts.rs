//! Texts that the word filter refused: in the database that had the slot then, and looked for in all of them.

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{MemberId, RefusedTextId};
use gailou_shared::limits::{MAX_REFUSED_TEXTS, MAX_REFUSED_TEXTS_PER_HOUR};
use gailou_shared::wire::RefusedText;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{damaged, json_at};
use crate::adapters::mysql::statement::{SqlStatement, sql};
use crate::ports::store::{RefusedTexts, Result, Sharding as _};

const HOUR_MS: u64 = 3_600_000;

#[async_trait]
impl RefusedTexts for MysqlStore {
    async fn keep_refused(&self, text: &RefusedText) -> Result<bool> {
        let record = serde_json::to_string(text).map_err(damaged)?;
        let author = text.author.id.signed();
        let mut session = self.session("keep_refused", self.database_of(text.id.slot())).await?;
        let insert = sql("INSERT IGNORE INTO refused_text (id, at, author_id, record) SELECT ?, ?, ?, ? FROM DUAL \
             WHERE (SELECT COUNT(*) FROM refused_text r WHERE r.author_id = ? AND r.at > ?) < ?")
        .bind(text.id.signed())
        .bind(text.at)
        .bind(author)
        .bind(record)
        .bind(author)
        .bind(text.at.saturating_sub(HOUR_MS))
        .bind(MAX_REFUSED_TEXTS_PER_HOUR as u64);
        let is_kept = session.execute(insert).await? > 0;
        let beyond = format!(
            "SELECT at FROM refused_text FORCE INDEX (refused_text_age) ORDER BY at DESC LIMIT 1 OFFSET {MAX_REFUSED_TEXTS}"
        );
        // The server does not limit what it deletes from, so the subquery is a table of its own.
        session.execute(sql(format!("DELETE FROM refused_text WHERE at <= (SELECT at FROM ({beyond}) b)"))).await?;
        Ok(is_kept)
    }

    async fn list_refused(&self, below: Option<RefusedTextId>, count: usize) -> Result<Vec<RefusedText>> {
        let statement = sql("SELECT record FROM refused_text WHERE id < ? ORDER BY id DESC LIMIT ?")
            .bind(below.map_or(i64::MAX, RefusedTextId::signed))
            .bind(count as i64);
        let mut found = self.read_refused_texts("list_refused", &statement).await?;
        found.sort_unstable_by_key(|text| std::cmp::Reverse(text.id));
        found.truncate(count);
        Ok(found)
    }

    async fn list_refused_of(
        &self,
        author: MemberId,
        above: Option<RefusedTextId>,
        count: usize,
    ) -> Result<Vec<RefusedText>> {
        let statement = sql("SELECT record FROM refused_text WHERE author_id = ? AND id > ? ORDER BY id LIMIT ?")
            .bind(author.signed())
            .bind(above.map_or(0, RefusedTextId::signed))
            .bind(count as i64);
        let mut found = self.read_refused_texts("list_refused_of", &statement).await?;
        found.sort_unstable_by_key(|text| text.id);
        found.truncate(count);
        Ok(found)
    }

    async fn read_refused(&self, id: RefusedTextId) -> Result<Option<RefusedText>> {
        let statement = sql("SELECT record FROM refused_text WHERE id = ?").bind(id.signed());
        Ok(self.read_refused_texts("read_refused", &statement).await?.pop())
    }

    async fn delete_refused(&self, id: RefusedTextId) -> Result<()> {
        let statement = sql("DELETE FROM refused_text WHERE id = ?").bind(id.signed());
        self.delete_refused_texts("delete_refused", &statement).await
    }

    async fn delete_refused_of(&self, author: MemberId) -> Result<()> {
        let statement = sql("DELETE FROM refused_text WHERE author_id = ?").bind(author.signed());
        self.delete_refused_texts("delete_refused_of", &statement).await
    }

    async fn delete_refused_before(&self, before: u64) -> Result<()> {
        let statement = sql("DELETE FROM refused_text WHERE at < ?").bind(before);
        self.delete_refused_texts("delete_refused_before", &statement).await
    }
}

impl MysqlStore {
    async fn read_refused_texts(&self, operation: &'static str, statement: &SqlStatement) -> Result<Vec<RefusedText>> {
        let databases = (0..self.count_databases()).map(|shard| async move {
            let found = self.session(operation, shard).await?.fetch_all(statement.clone()).await?;
            found.iter().map(|r| json_at(r, 0)).collect::<Result<Vec<RefusedText>>>()
        });
        Ok(try_join_all(databases).await?.into_iter().flatten().collect())
    }

    async fn delete_refused_texts(&self, operation: &'static str, statement: &SqlStatement) -> Result<()> {
        let databases = (0..self.count_databases())
            .map(|shard| async move { self.session(operation, shard).await?.execute(statement.clone()).await });
        try_join_all(databases).await.map(|_| ())
    }
}
