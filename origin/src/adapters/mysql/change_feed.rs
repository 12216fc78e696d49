//! The rows of the change feed, database by database.

use async_trait::async_trait;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{count_at, id_at, number_at, subject_at};
use crate::adapters::mysql::statement::sql;
use crate::domain::operation::ChangeRow;
use crate::ports::store::{ChangeFeedReader, Result};

#[async_trait]
impl ChangeFeedReader for MysqlStore {
    async fn read_changes(&self, database: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>> {
        let Some(pool) = self.pools.get(database) else { return Ok(vec![]) };
        let text = "SELECT type, `key`, seq, at, version, comment_id FROM feed WHERE seq > ? ORDER BY seq LIMIT ?";
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let found = pool.session("read_changes").await?.fetch_all(sql(text).bind(after).bind(count as i64)).await?;
        let rows = found.iter().map(|r| {
            Ok(ChangeRow {
                seq: count_at(r, 2)?,
                at: count_at(r, 3)?,
                subject: subject_at(r, 0)?,
                version: count_at(r, 4)?,
                id: match number_at(r, 5)? {
                    ChangeRow::WHOLE_SUBJECT => None,
                    _ => Some(id_at(r, 5)?),
                },
            })
        });
        rows.collect()
    }
}
