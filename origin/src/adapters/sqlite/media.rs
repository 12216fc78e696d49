//! The rows of uploaded pictures.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MediaId, MemberId};
use rusqlite::{Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{count, damaged, member_id};
use crate::domain::media::{MAX_USES_TEXT_BYTES, MediaRef, MediaRow, parse_uses, uses_text};
use crate::ports::store::{MediaRows, Result};

/// The columns that [`media_row`] reads.
const MEDIA_COLUMNS: &str = "id, owner_id, name, width, height, alt, uses, unused_since, is_deleted";

#[async_trait]
impl MediaRows for SqliteStore {
    async fn insert_media(&self, row: &MediaRow, check_at: u64) -> Result<()> {
        let row = row.clone();
        self.write("insert_media", move |c| {
            let MediaRef { id, name, width, height, alt } = row.media;
            let sql = "INSERT INTO media (id, owner_id, name, width, height, alt, uses, unused_since, check_at) \
                       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
            let (owner, uses) = (row.owner.signed(), uses_text(&row.uses));
            let values = params![id.signed(), owner, name, width, height, alt, uses, row.unused_since, check_at];
            c.prepare_cached(sql)?.execute(values)?;
            Ok(())
        })
        .await
    }

    async fn read_media(&self, ids: &[MediaId]) -> Result<Vec<MediaRow>> {
        let ids = ids.to_vec();
        self.read("read_media", move |c| {
            let sql = format!("SELECT {MEDIA_COLUMNS} FROM media WHERE id = ?1 AND is_deleted = 0");
            let mut found = Vec::with_capacity(ids.len());
            for id in ids {
                found.extend(fetch_all(c, &sql, [id.signed()], media_row)?);
            }
            Ok(found)
        })
        .await
    }

    async fn use_media(&self, ids: &[MediaId], comment: CommentId) -> Result<bool> {
        let ids = ids.to_vec();
        self.write("use_media", move |c| {
            let transaction = c.transaction()?;
            let sql = "UPDATE media SET uses = uses || ?2, unused_since = NULL \
                       WHERE id = ?1 AND is_deleted = 0 AND length(uses) <= ?3";
            let mut used = 0;
            for id in &ids {
                let values = params![id.signed(), uses_text(&[comment]), MAX_USES_TEXT_BYTES];
                used += transaction.prepare_cached(sql)?.execute(values)?;
            }
            let is_done = used == ids.len();
            if is_done {
                transaction.commit()?;
            }
            Ok(is_done)
        })
        .await
    }

    async fn list_due_media(&self, now: u64, limit: usize) -> Result<Vec<MediaRow>> {
        self.read("list_due_media", move |c| {
            let sql = format!(
                "SELECT {MEDIA_COLUMNS} FROM media INDEXED BY media_check WHERE check_at <= ?1 ORDER BY check_at LIMIT ?2"
            );
            fetch_all(c, &sql, params![now, limit], media_row)
        })
        .await
    }

    async fn put_media_check(&self, row: &MediaRow, unused_since: Option<u64>, check_at: u64) -> Result<()> {
        let values = (row.media.id.signed(), uses_text(&row.uses), unused_since, check_at);
        let sql = "UPDATE media SET unused_since = ?3, check_at = ?4 WHERE id = ?1 AND uses = ?2 AND is_deleted = 0";
        self.write_rows("put_media_check", sql, values).await.map(|_| ())
    }

    async fn begin_media_deletion(&self, row: &MediaRow) -> Result<bool> {
        let sql = "UPDATE media SET is_deleted = 1 WHERE id = ?1 AND uses = ?2";
        let values = (row.media.id.signed(), uses_text(&row.uses));
        Ok(self.write_rows("begin_media_deletion", sql, values).await? > 0)
    }

    async fn delete_media(&self, id: MediaId) -> Result<()> {
        self.write_rows("delete_media", "DELETE FROM media WHERE id = ?1", [id.signed()]).await.map(|_| ())
    }

    async fn expire_media_of(&self, owner: MemberId) -> Result<()> {
        let sql = "UPDATE media SET unused_since = 0, check_at = 0 WHERE owner_id = ?1";
        self.write_rows("expire_media_of", sql, [owner.signed()]).await.map(|_| ())
    }
}

/// A row of [`MEDIA_COLUMNS`].
fn media_row(r: &Row<'_>) -> Result<MediaRow> {
    let media = MediaRef {
        id: MediaId::try_from(r.get::<_, i64>(0)?).map_err(damaged)?,
        name: r.get(2)?,
        width: r.get(3)?,
        height: r.get(4)?,
        alt: r.get(5)?,
    };
    let uses: String = r.get(6)?;
    Ok(MediaRow {
        media,
        owner: member_id(r.get(1)?)?,
        uses: parse_uses(&uses).ok_or_else(|| damaged(format_args!("uses {uses:?}")))?,
        unused_since: r.get::<_, Option<i64>>(7)?.map(count),
        is_deleted: r.get(8)?,
    })
}
