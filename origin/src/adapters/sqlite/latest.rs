//! The newest comments of all subjects.

use async_trait::async_trait;
use gailou_shared::id::CommentId;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id};
use crate::ports::store::{LatestReader, Result};

/// Comments that are looked at for each that is asked for.
const COMMENTS_PER_ANSWER: usize = 4;

#[async_trait]
impl LatestReader for SqliteStore {
    async fn list_latest(&self, count: usize) -> Result<Vec<CommentId>> {
        self.read("list_latest", move |c| {
            let sql = "SELECT id FROM (SELECT id, state, visibility FROM comment ORDER BY id DESC LIMIT ?1) \
                       WHERE state = 0 AND visibility = 0 ORDER BY id DESC LIMIT ?2";
            fetch_all(c, sql, [(count * COMMENTS_PER_ANSWER) as i64, count as i64], first_id)
        })
        .await
    }
}
