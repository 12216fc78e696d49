//! The rows of uploaded pictures, in the first database.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MediaId, MemberId};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{count, damaged, member_id, number_at, optional_number_at};
use crate::adapters::mysql::statement::{SqlStatement, sql};
use crate::domain::media::{MAX_USES_TEXT_BYTES, MediaRef, MediaRow, parse_uses, uses_text};
use crate::ports::store::{MediaRows, Result};

/// The columns that [`media_row`] reads.
const MEDIA_COLUMNS: &str = "id, owner_id, name, width, height, alt, uses, unused_since, is_deleted";

#[async_trait]
impl MediaRows for MysqlStore {
    async fn insert_media(&self, row: &MediaRow, check_at: u64) -> Result<()> {
        let MediaRef { id, name, width, height, alt } = &row.media;
        let columns = "(id, owner_id, name, width, height, alt, uses, unused_since, check_at)";
        // A statement of which the outcome was unknown is not repeated: another upload has another id.
        let insert = sql(format!("INSERT INTO media {columns} VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
        let insert = insert.bind(id.signed()).bind(row.owner.signed()).bind(name.as_str());
        let insert = insert.bind(i64::from(*width)).bind(i64::from(*height)).bind(alt.as_str());
        let insert = insert.bind(uses_text(&row.uses)).bind(row.unused_since).bind(check_at);
        self.change_media("insert_media", insert).await.map(|_| ())
    }

    async fn read_media(&self, ids: &[MediaId]) -> Result<Vec<MediaRow>> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let text = format!("SELECT {MEDIA_COLUMNS} FROM media WHERE id IN ({}) AND is_deleted = 0", id_list(ids));
        let found = self.first_pool().session("read_media").await?.fetch_all(sql(text)).await?;
        found.iter().map(media_row).collect()
    }

    async fn use_media(&self, ids: &[MediaId], comment: CommentId) -> Result<bool> {
        let mut session = self.first_pool().session("use_media").await?;
        session.begin().await?;
        let update = sql(format!(
            "UPDATE media SET uses = CONCAT(uses, ?), unused_since = NULL \
             WHERE id IN ({}) AND is_deleted = 0 AND LENGTH(uses) <= ?",
            id_list(ids)
        ));
        let update = update.bind(uses_text(&[comment])).bind(MAX_USES_TEXT_BYTES as u64);
        let used = session.execute(update).await;
        if matches!(used, Ok(used) if used < ids.len() as u64) {
            session.rollback().await?;
            return Ok(false);
        }
        session.finish(used.map(|_| true)).await
    }

    async fn list_due_media(&self, now: u64, limit: usize) -> Result<Vec<MediaRow>> {
        let text = format!(
            "SELECT {MEDIA_COLUMNS} FROM media FORCE INDEX (media_check) WHERE check_at <= ? ORDER BY check_at LIMIT ?"
        );
        let due = sql(text).bind(now).bind(limit as u64);
        let found = self.first_pool().session("list_due_media").await?.fetch_all(due).await?;
        found.iter().map(media_row).collect()
    }

    async fn put_media_check(&self, row: &MediaRow, unused_since: Option<u64>, check_at: u64) -> Result<()> {
        let update =
            sql("UPDATE media SET unused_since = ?, check_at = ? WHERE id = ? AND uses = ? AND is_deleted = 0")
                .bind(unused_since)
                .bind(check_at)
                .bind(row.media.id.signed())
                .bind(uses_text(&row.uses));
        self.change_media("put_media_check", update).await.map(|_| ())
    }

    async fn begin_media_deletion(&self, row: &MediaRow) -> Result<bool> {
        let update = sql("UPDATE media SET is_deleted = 1 WHERE id = ? AND uses = ?")
            .bind(row.media.id.signed())
            .bind(uses_text(&row.uses));
        Ok(self.change_media("begin_media_deletion", update).await? > 0)
    }

    async fn delete_media(&self, id: MediaId) -> Result<()> {
        self.change_media("delete_media", sql("DELETE FROM media WHERE id = ?").bind(id.signed())).await.map(|_| ())
    }

    async fn expire_media_of(&self, owner: MemberId) -> Result<()> {
        let update = sql("UPDATE media SET unused_since = 0, check_at = 0 WHERE owner_id = ?").bind(owner.signed());
        self.change_media("expire_media_of", update).await.map(|_| ())
    }
}

impl MysqlStore {
    async fn change_media(&self, operation: &'static str, statement: SqlStatement) -> Result<u64> {
        self.first_pool().session(operation).await?.execute(statement).await
    }
}

fn id_list(ids: &[MediaId]) -> String {
    ids.iter().map(MediaId::to_string).collect::<Vec<_>>().join(",")
}

/// A row of [`MEDIA_COLUMNS`].
fn media_row(r: &MySqlRow) -> Result<MediaRow> {
    let side = |column| u32::try_from(number_at(r, column)?).map_err(damaged);
    let media = MediaRef {
        id: MediaId::try_from(number_at(r, 0)?).map_err(damaged)?,
        name: r.try_get(2)?,
        width: side(3)?,
        height: side(4)?,
        alt: r.try_get(5)?,
    };
    let uses: String = r.try_get(6)?;
    Ok(MediaRow {
        media,
        owner: member_id(number_at(r, 1)?)?,
        uses: parse_uses(&uses).ok_or_else(|| damaged(format_args!("uses {uses:?}")))?,
        unused_since: optional_number_at(r, 7)?.map(count),
        is_deleted: number_at(r, 8)? != 0,
    })
}
