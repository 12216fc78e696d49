//! Subjects and comments by key, and what repeated requests did.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Mode;
use gailou_shared::wire::{CommentState, SubjectState};
use rusqlite::{Connection, OptionalExtension, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, json_ids};
use crate::adapters::sqlite::rows::{
    COMMENT_COLUMNS, COMMENT_JOINS, StoredEnum, comment_id, comment_row, count, member_id,
};
use crate::domain::row::{CommentRow, RememberedRequest, SubjectRow};
use crate::ports::store::{CommentReader, IdempotencyReader, Result};

#[async_trait]
impl CommentReader for SqliteStore {
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        let keys = keys.to_vec();
        self.read("read_subjects", move |c| keys.iter().map(|key| read_subject(c, key)).collect()).await
    }

    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let ids = json_ids(ids);
        self.read("read_comments", move |c| {
            let sql = format!(
                "SELECT {COMMENT_COLUMNS} FROM json_each(?1) j JOIN comment c ON c.id = j.value {COMMENT_JOINS}"
            );
            Ok(fetch_all(c, &sql, [ids], comment_row)?.into_iter().map(|row| (row.id(), row)).collect())
        })
        .await
    }
}

fn read_subject(c: &Connection, key: &SubjectKey) -> Result<Option<SubjectRow>> {
    let mut statement = c.prepare_cached(
        "SELECT id, title, url, owner_id, state, version, roots, comments, mode FROM subject \
         WHERE type = ?1 AND obj_id = ?2 AND key = ?3",
    )?;
    let mut found = statement.query(params![key.kind(), key.obj_id() as i64, key.key()])?;
    let Some(r) = found.next()? else { return Ok(None) };
    let pinned = fetch_all(
        c,
        "SELECT id FROM comment WHERE subject = ?1 AND pinned_at IS NOT NULL AND state = 0 AND visibility = 0 \
         ORDER BY pinned_at DESC, id DESC LIMIT ?2",
        params![r.get::<_, i64>(0)?, limits::MAX_PINS as i64],
        first_id,
    )?;
    Ok(Some(SubjectRow {
        key: key.clone(),
        title: r.get(1)?,
        url: r.get(2)?,
        owner_id: r.get::<_, Option<i64>>(3)?.map(member_id).transpose()?,
        state: SubjectState::from_number(r.get(4)?)?,
        mode: r.get::<_, Option<i64>>(8)?.map(Mode::from_number).transpose()?,
        version: count(r.get(5)?),
        roots: count(r.get(6)?),
        comments: count(r.get(7)?),
        pinned,
    }))
}

#[async_trait]
impl IdempotencyReader for SqliteStore {
    async fn find_remembered(
        &self,
        _: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        let key = key.to_owned();
        self.read("find_remembered", move |c| {
            let mut statement = c.prepare_cached(
                "SELECT request, comment_id, state FROM idempotency \
                 WHERE member_id = ?1 AND key = ?2 AND created_at > ?3",
            )?;
            let mut found = statement.query(params![member.signed(), key, since])?;
            let Some(r) = found.next()? else { return Ok(None) };
            let (id, state) = (comment_id(r.get(1)?)?, CommentState::from_number(r.get(2)?)?);
            Ok(Some(RememberedRequest { request: r.get(0)?, id, state }))
        })
        .await
    }

    async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        self.read("read_first_text", move |c| {
            let sql = "SELECT content FROM content_history WHERE comment_id = ?1 ORDER BY edit, edited_at LIMIT 1";
            Ok(c.prepare_cached(sql)?.query_row([id.signed()], |r| r.get(0)).optional()?)
        })
        .await
    }
}
