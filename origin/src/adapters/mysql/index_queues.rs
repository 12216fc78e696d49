//! The queues of the search index, and the walk through all comments.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SLOT_COUNT, Slot};
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::copies::read_setting;
use crate::adapters::mysql::row_numbers::{first_subject, last_subject, subject_slot};
use crate::adapters::mysql::rows::{count_at, id_at, optional_number_at};
use crate::adapters::mysql::statement::{SqlValue, sql};
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::domain::row::ExportCursor;
use crate::ports::store::{IndexBacklog, IndexQueues, QueuedComment, Result, Sharding};

/// The setting that has what the installation knows of its index.
const INDEX_STATE_SETTING: &str = "search_index";
/// Entries that one statement removes.
const ENTRIES_PER_DELETE: u64 = 5_000;

#[async_trait]
impl IndexQueues for MysqlStore {
    async fn read_index_queue(&self, database: usize, count: usize) -> Result<Vec<QueuedComment>> {
        let text = format!("SELECT seq, comment_id FROM index_queue ORDER BY seq LIMIT {count}");
        let found = self.session("read_index_queue", database).await?.fetch_text(text).await?;
        found.iter().map(|r| Ok(QueuedComment { seq: count_at(r, 0)?, id: id_at(r, 1)? })).collect()
    }

    async fn remove_from_index_queue(&self, database: usize, entries: &[QueuedComment]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let numbers: Vec<String> = entries.iter().map(|entry| entry.seq.to_string()).collect();
        let text = format!("DELETE FROM index_queue WHERE seq IN ({})", numbers.join(","));
        self.session("remove_from_index_queue", database).await?.execute_text(text).await
    }

    async fn clear_index_queue(&self, database: usize, last: u64) -> Result<()> {
        let mut session = self.session("clear_index_queue", database).await?;
        let text = format!("DELETE FROM index_queue WHERE seq <= {last} ORDER BY seq LIMIT {ENTRIES_PER_DELETE}");
        while session.execute(sql(text.clone())).await? >= ENTRIES_PER_DELETE {}
        Ok(())
    }

    async fn read_index_backlog(&self, database: usize) -> Result<IndexBacklog> {
        let text = format!(
            "SELECT MIN(seq), MAX(seq), (SELECT GREATEST(0, {DATABASE_NOW} - at) FROM index_queue ORDER BY seq LIMIT 1) \
             FROM index_queue"
        );
        let found = self.session("read_index_backlog", database).await?.fetch_first(sql(text)).await?;
        let Some(r) = found else { return Ok(IndexBacklog::default()) };
        let number = |index| -> Result<Option<u64>> { Ok(optional_number_at(&r, index)?.map(i64::unsigned_abs)) };
        let (first, last, age) = (number(0)?, number(1)?, number(2)?);
        let entries = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first) + 1);
        Ok(IndexBacklog { last: last.unwrap_or(0), entries, age_ms: age.unwrap_or(0) })
    }

    /// Subjects come in the order of their numbers, which is the order of their slots. It does not depend on which
    /// database has them.
    async fn list_all_comments(
        &self,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<(ExportCursor, CommentId)>> {
        let mut after = after.cloned().unwrap_or(ExportCursor { subject: i64::MIN, path: vec![] });
        let mut all = Vec::new();
        for slot in (subject_slot(after.subject).get()..SLOT_COUNT).filter_map(Slot::new) {
            let (first, last) = (first_subject(slot), last_subject(slot));
            // The rest of the subject, then the others: each is one range of the index.
            if after.subject >= first {
                let rest = "c.subject = ? AND c.path > ?";
                let next = ExportCursor { subject: after.subject + 1, path: vec![] };
                let ExportCursor { subject, path } = std::mem::replace(&mut after, next);
                all.extend(self.list_range(slot, rest, [subject.into(), path.into()], count).await?);
            }
            if all.len() < count && after.subject.max(first) <= last {
                let range = [after.subject.max(first).into(), last.into()];
                all.extend(self.list_range(slot, "c.subject BETWEEN ? AND ?", range, count - all.len()).await?);
            }
            if all.len() >= count {
                break;
            }
        }
        Ok(all)
    }

    /// As the servers estimate it.
    async fn estimate_comments(&self) -> Result<u64> {
        let text = "SELECT CAST(COALESCE(SUM(table_rows), 0) AS SIGNED) FROM information_schema.tables \
                    WHERE table_schema = DATABASE() AND table_name REGEXP '^comment_[0-9]+$'";
        let mut all = 0;
        for database in 0..self.count_databases() {
            let found = self.session("estimate_comments", database).await?.fetch_text(text.to_owned()).await?;
            all += found.first().map_or(Ok(0), |r| count_at(r, 0))?;
        }
        Ok(all)
    }

    async fn read_index_state(&self) -> Result<Option<Vec<u8>>> {
        read_setting(self.first_pool(), INDEX_STATE_SETTING).await
    }

    async fn swap_index_state(&self, expected: Option<&[u8]>, new: &[u8]) -> Result<bool> {
        let mut session = self.first_pool().session("swap_index_state").await?;
        let swap = match expected {
            None => sql("INSERT IGNORE INTO setting (name, value) VALUES (?, ?)").bind(INDEX_STATE_SETTING).bind(new),
            Some(expected) => {
                let text = "UPDATE setting SET value = ? WHERE name = ? AND value = ?";
                sql(text).bind(new).bind(INDEX_STATE_SETTING).bind(expected)
            }
        };
        // A value that stays the same counts as swapped, whatever the server counts as affected.
        Ok(session.execute(swap).await? > 0 || expected == Some(new))
    }
}

impl MysqlStore {
    async fn list_range(
        &self,
        slot: Slot,
        condition: &str,
        range: [SqlValue; 2],
        count: usize,
    ) -> Result<Vec<(ExportCursor, CommentId)>> {
        let text = format!(
            "SELECT c.subject, c.path, c.id FROM comment_{{n}} c FORCE INDEX (comment_path) WHERE {condition} \
             ORDER BY c.subject, c.path LIMIT ?"
        );
        let [from, to] = range;
        let statement = self.part(slot).sql(&text).bind(from).bind(to).bind(count as i64);
        let found = self.rows_of("list_all_comments", slot, statement).await?;
        found.iter().map(|r| Ok((ExportCursor { subject: r.try_get(0)?, path: r.try_get(1)? }, id_at(r, 2)?))).collect()
    }
}
