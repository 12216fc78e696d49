//! Whether the file answers, and whether it is sound.

use async_trait::async_trait;
use gailou_shared::id::CommentId;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::ports::store::{HealthCheck, Result};

/// The size of a file that is read as a whole in some seconds: a gigabyte.
const MAX_BYTES_ALWAYS_CHECKED: u64 = 1 << 30;

#[async_trait]
impl HealthCheck for SqliteStore {
    async fn read_last_id(&self) -> Result<Option<CommentId>> {
        self.read("read_last_id", |c| {
            let id: Option<i64> = c.query_row("SELECT max(id) FROM comment", [], |r| r.get(0))?;
            Ok(id.and_then(|id| CommentId::try_from(id).ok()))
        })
        .await
    }

    async fn find_damage(&self) -> Result<Vec<String>> {
        let bytes = std::fs::metadata(&self.file).map_or(0, |file| file.len());
        if bytes <= MAX_BYTES_ALWAYS_CHECKED { self.check_tables().await } else { Ok(vec![]) }
    }

    async fn check_tables(&self) -> Result<Vec<String>> {
        self.read("check_tables", |c| {
            let lines: Vec<String> = fetch_all(c, "PRAGMA quick_check(20)", [], |r| Ok(r.get(0)?))?;
            Ok(lines.into_iter().filter(|line| line != "ok").collect())
        })
        .await
    }
}
