//! The queue of the search index, and the walk through all comments.

use async_trait::async_trait;
use gailou_shared::id::CommentId;
use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{SQLITE_NOW, fetch_all, json_array};
use crate::adapters::sqlite::rows::{comment_id, count};
use crate::domain::fold::RowChanges;
use crate::domain::row::ExportCursor;
use crate::ports::store::{IndexBacklog, IndexQueues, QueuedComment, Result};

/// The setting that has what the installation knows of its index.
const INDEX_STATE_SETTING: &str = "search_index";
/// Entries that one transaction removes, so that others need not wait for it.
const ENTRIES_PER_DELETE: u64 = 5_000;

/// Writes an entry for each comment that the index has to read again.
pub(super) fn write_index_queue(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    let sql = format!("INSERT INTO index_queue (at, comment_id) VALUES ({SQLITE_NOW}, ?1)");
    let mut insert = tx.prepare_cached(&sql)?;
    for id in changes.indexed_comments() {
        insert.execute([id.signed()])?;
    }
    Ok(())
}

#[async_trait]
impl IndexQueues for SqliteStore {
    async fn read_index_queue(&self, database: usize, limit: usize) -> Result<Vec<QueuedComment>> {
        if database > 0 {
            return Ok(vec![]);
        }
        self.read("read_index_queue", move |c| {
            let sql = "SELECT seq, comment_id FROM index_queue ORDER BY seq LIMIT ?1";
            fetch_all(c, sql, [limit as i64], |r| {
                Ok(QueuedComment { seq: count(r.get(0)?), id: comment_id(r.get(1)?)? })
            })
        })
        .await
    }

    async fn remove_from_index_queue(&self, _: usize, entries: &[QueuedComment]) -> Result<()> {
        let numbers = json_array(entries.iter().map(|entry| entry.seq as i64));
        self.write("remove_from_index_queue", move |c| {
            c.prepare_cached("DELETE FROM index_queue WHERE seq IN (SELECT value FROM json_each(?1))")?
                .execute([numbers])?;
            Ok(())
        })
        .await
    }

    async fn clear_index_queue(&self, _: usize, last: u64) -> Result<()> {
        loop {
            let removed = self.write("clear_index_queue", move |c| {
                let oldest = "SELECT seq FROM index_queue WHERE seq <= ?1 ORDER BY seq LIMIT ?2";
                let sql = format!("DELETE FROM index_queue WHERE seq IN ({oldest})");
                Ok(c.prepare_cached(&sql)?.execute(params![last, ENTRIES_PER_DELETE])?)
            });
            if (removed.await? as u64) < ENTRIES_PER_DELETE {
                return Ok(());
            }
        }
    }

    async fn read_index_backlog(&self, database: usize) -> Result<IndexBacklog> {
        if database > 0 {
            return Ok(IndexBacklog::default());
        }
        self.read("read_index_backlog", |c| {
            // One lookup each at both ends of the primary key.
            let age = format!("(SELECT max(0, {SQLITE_NOW} - at) FROM index_queue ORDER BY seq LIMIT 1)");
            let sql = format!("SELECT (SELECT min(seq) FROM index_queue), (SELECT max(seq) FROM index_queue), {age}");
            Ok(c.prepare_cached(&sql)?.query_row([], |r| {
                let (first, last, age): (Option<i64>, Option<i64>, Option<i64>) = (r.get(0)?, r.get(1)?, r.get(2)?);
                let entries = first.zip(last).map_or(0, |(first, last)| count(last - first) + 1);
                Ok(IndexBacklog { last: last.map_or(0, count), entries, age_ms: age.map_or(0, count) })
            })?)
        })
        .await
    }

    async fn list_all_comments(
        &self,
        after: Option<&ExportCursor>,
        limit: usize,
    ) -> Result<Vec<(ExportCursor, CommentId)>> {
        let after = after.cloned().unwrap_or(ExportCursor { subject: 0, path: vec![] });
        self.read("list_all_comments", move |c| {
            let sql = "SELECT c.subject, c.path, c.id FROM comment c INDEXED BY comment_path \
                       WHERE (c.subject, c.path) > (?1, ?2) ORDER BY c.subject, c.path LIMIT ?3";
            fetch_all(c, sql, params![after.subject, after.path, limit as i64], |r| {
                Ok((ExportCursor { subject: r.get(0)?, path: r.get(1)? }, comment_id(r.get(2)?)?))
            })
        })
        .await
    }

    async fn estimate_comments(&self) -> Result<u64> {
        self.read("estimate_comments", |c| Ok(count(c.query_row("SELECT count(*) FROM comment", [], |r| r.get(0))?)))
            .await
    }

    async fn read_index_state(&self) -> Result<Option<Vec<u8>>> {
        self.read("read_index_state", read_state).await
    }

    async fn swap_index_state(&self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool> {
        let (expected, new) = (expected.map(<[u8]>::to_vec), new.to_vec());
        self.write("swap_index_state", move |c| {
            if read_state(c)? != expected {
                return Ok(false);
            }
            let sql =
                "INSERT INTO setting (name, value) VALUES (?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
            c.execute(sql, params![INDEX_STATE_SETTING, new])?;
            Ok(true)
        })
        .await
    }
}

fn read_state(c: &Connection) -> Result<Option<Vec<u8>>> {
    let sql = "SELECT value FROM setting WHERE name = ?1";
    Ok(c.query_row(sql, [INDEX_STATE_SETTING], |r| r.get(0)).optional()?)
}
