//! The rows of the change feed, database by database.

use async_trait::async_trait;
use gailou_shared::slot_set::SlotSet;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{count_at, id_at, number_at, subject_at};
use crate::adapters::mysql::statement::sql;
use crate::domain::operation::ChangeRow;
use crate::ports::store::{ChangeFeedReader, Result};

const SELECT_CHANGES: &str = "SELECT type, `key`, seq, at, version, comment_id FROM feed";

#[async_trait]
impl ChangeFeedReader for MysqlStore {
    async fn read_changes(&self, database: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>> {
        let Some(pool) = self.pools.get(database) else { return Ok(vec![]) };
        let text = format!("{SELECT_CHANGES} WHERE seq > ? ORDER BY seq LIMIT ?");
        let after = i64::try_from(after).unwrap_or(i64::MAX);
        let found = pool.session("read_changes").await?.fetch_all(sql(text).bind(after).bind(count as i64)).await?;
        found.iter().map(change_row).collect()
    }

    async fn read_changes_at(&self, database: usize, numbers: &[u64]) -> Result<Vec<ChangeRow>> {
        let Some(pool) = self.pools.get(database).filter(|_| !numbers.is_empty()) else { return Ok(vec![]) };
        let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
        let text = format!("{SELECT_CHANGES} WHERE seq IN ({}) ORDER BY seq", numbers.join(", "));
        let found = pool.session("read_changes_at").await?.fetch_all(sql(text)).await?;
        found.iter().map(change_row).collect()
    }

    fn slots_of(&self, database: usize) -> SlotSet {
        self.slot_map.get().slots_of(database)
    }
}

/// A row of [`SELECT_CHANGES`].
fn change_row(r: &MySqlRow) -> Result<ChangeRow> {
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
}
