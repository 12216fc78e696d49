//! The newest comments of all subjects: looked up in every table of every database.

use async_trait::async_trait;
use gailou_shared::id::CommentId;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::id_at;
use crate::adapters::mysql::statement::SqlStatement;
use crate::ports::store::{LatestReader, Result};

/// Comments of a table that are looked at for each that is asked for.
const COMMENTS_PER_ANSWER: usize = 4;

#[async_trait]
impl LatestReader for MysqlStore {
    async fn list_latest(&self, count: usize) -> Result<Vec<CommentId>> {
        let text = "SELECT c.id FROM (SELECT id, state, visibility FROM comment_{n} FORCE INDEX (PRIMARY) \
                    ORDER BY id DESC LIMIT ?) c WHERE c.state = 0 AND c.visibility = 0 ORDER BY c.id DESC LIMIT ?";
        let bind = |s: SqlStatement| s.bind((count * COMMENTS_PER_ANSWER) as i64).bind(count as i64);
        let rows = self.rows_of_all("list_latest", text, bind, |r| Ok(id_at(r, 0)?.slot())).await?;
        let mut ids = rows.iter().map(|r| id_at(r, 0)).collect::<Result<Vec<_>>>()?;
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        ids.truncate(count);
        Ok(ids)
    }
}
