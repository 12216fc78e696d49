//! What belongs to a member: history, held comments, reactions, names.

use std::collections::HashMap;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;
use rusqlite::params;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, json_array, json_ids};
use crate::adapters::sqlite::rows::{StoredEnum, comment_id, member_id};
use crate::ports::store::{MemberReader, Result};

#[async_trait]
impl MemberReader for SqliteStore {
    async fn list_history(&self, member: MemberId, below: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        let below = below.map_or(i64::MAX, CommentId::signed);
        self.read("list_history", move |c| {
            let sql = "SELECT id FROM comment INDEXED BY comment_author \
                       WHERE author_id = ?1 AND id < ?2 AND state = 0 AND visibility = 0 ORDER BY id DESC LIMIT ?3";
            fetch_all(c, sql, params![member.signed(), below, count as i64], first_id)
        })
        .await
    }

    async fn list_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        self.read("list_pending", move |c| {
            let sql = "SELECT id FROM comment WHERE author_id = ?1 \
                       AND (state = 1 OR (state = 0 AND visibility = 1)) ORDER BY id DESC LIMIT ?2";
            fetch_all(c, sql, params![member.signed(), count as i64], first_id)
        })
        .await
    }

    async fn read_reactions(&self, member: MemberId, ids: &[CommentId]) -> Result<HashMap<CommentId, Reaction>> {
        let ids = json_ids(ids);
        self.read("read_reactions", move |c| {
            let sql = "SELECT r.comment_id, r.reaction FROM json_each(?1) j \
                       JOIN reaction r ON r.comment_id = j.value AND r.member_id = ?2";
            let found = fetch_all(c, sql, params![ids, member.signed()], |r| {
                Ok((comment_id(r.get(0)?)?, Reaction::from_number(r.get(1)?)?))
            })?;
            Ok(found.into_iter().collect())
        })
        .await
    }

    async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let members = json_array(members.iter().map(|member| member.signed()));
        self.read("read_names", move |c| {
            let sql = "SELECT m.id, m.name FROM json_each(?1) j JOIN member m ON m.id = j.value";
            let found = fetch_all(c, sql, [members], |r| Ok((member_id(r.get(0)?)?, r.get(1)?)))?;
            Ok(found.into_iter().collect())
        })
        .await
    }
}
