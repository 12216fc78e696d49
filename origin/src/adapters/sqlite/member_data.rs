//! Everything of one member, and who is erased.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::Reaction;
use rusqlite::{OptionalExtension as _, Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, json_ids};
use crate::adapters::sqlite::rows::{StoredEnum, comment_id, count, member_id};
use crate::domain::columns::FLAG_ERASED;
use crate::domain::erasure::ErasedMember;
use crate::domain::row::{EarlierText, OtherTexts};
use crate::ports::store::{ErasureReader, MemberDataReader, Result};

#[async_trait]
impl MemberDataReader for SqliteStore {
    async fn list_comments_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        let sql =
            "SELECT id FROM comment INDEXED BY comment_author WHERE author_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        self.list_ids("list_comments_of", sql, member.signed(), above, count).await
    }

    async fn list_reactions_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<(CommentId, Reaction)>> {
        let above = above.map_or(0, CommentId::signed);
        self.read("list_reactions_of", move |c| {
            let sql = "SELECT comment_id, reaction FROM reaction INDEXED BY reaction_member \
                       WHERE member_id = ?1 AND comment_id > ?2 ORDER BY comment_id LIMIT ?3";
            let read = |r: &Row<'_>| Ok((comment_id(r.get(0)?)?, Reaction::from_number(r.get(1)?)?));
            fetch_all(c, sql, params![member.signed(), above, count as i64], read)
        })
        .await
    }

    async fn read_other_texts(&self, id: CommentId) -> Result<OtherTexts> {
        self.read("read_other_texts", move |c| {
            let sql = "SELECT written FROM content WHERE id = ?1";
            let original_text = c.prepare_cached(sql)?.query_row([id.signed()], |r| r.get(0)).optional()?.flatten();
            let sql = "SELECT content, edited_at FROM content_history WHERE comment_id = ?1 ORDER BY edit, edited_at";
            let read = |r: &Row<'_>| Ok(EarlierText { content: r.get(0)?, replaced_at: count(r.get(1)?) });
            Ok(OtherTexts { original_text, earlier: fetch_all(c, sql, [id.signed()], read)? })
        })
        .await
    }
}

#[async_trait]
impl ErasureReader for SqliteStore {
    async fn list_erased(&self, after: Option<ErasedMember>, count: usize) -> Result<Vec<ErasedMember>> {
        let (at, member) = after.map_or((0, 0), |after| (after.at, after.member.signed()));
        self.read("list_erased", move |c| {
            let sql = "SELECT at, member_id FROM erased_member INDEXED BY erased_member_order \
                       WHERE (at, member_id) > (?1, ?2) ORDER BY at, member_id LIMIT ?3";
            fetch_all(c, sql, params![at, member, count as i64], erased_member)
        })
        .await
    }

    async fn list_unfinished_erasures(&self, count: usize) -> Result<Vec<ErasedMember>> {
        self.read("list_unfinished_erasures", move |c| {
            let sql = "SELECT at, member_id FROM erased_member INDEXED BY erased_member_unfinished \
                       WHERE done = 0 ORDER BY at, member_id LIMIT ?1";
            fetch_all(c, sql, [count as i64], erased_member)
        })
        .await
    }

    async fn list_not_erased(&self, ids: &[CommentId]) -> Result<Vec<CommentId>> {
        let ids = json_ids(ids);
        self.read("list_not_erased", move |c| {
            let sql = "SELECT c.id FROM json_each(?1) j JOIN comment c ON c.id = j.value WHERE (c.flags & ?2) = 0";
            fetch_all(c, sql, params![ids, FLAG_ERASED], first_id)
        })
        .await
    }

    async fn list_mentioning(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        let sql =
            "SELECT comment_id FROM mention WHERE member_id = ?1 AND comment_id > ?2 ORDER BY comment_id LIMIT ?3";
        self.list_ids("list_mentioning", sql, member.signed(), above, count).await
    }

    async fn list_answers(&self, parent: CommentId, above: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        let sql =
            "SELECT id FROM comment INDEXED BY comment_parent WHERE parent_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
        self.list_ids("list_answers", sql, parent.signed(), above, count).await
    }
}

impl SqliteStore {
    async fn list_ids(
        &self,
        operation: &'static str,
        sql: &'static str,
        of: i64,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        let above = above.map_or(0, CommentId::signed);
        self.read(operation, move |c| fetch_all(c, sql, params![of, above, count as i64], first_id)).await
    }
}

fn erased_member(r: &Row<'_>) -> Result<ErasedMember> {
    Ok(ErasedMember { at: count(r.get(0)?), member: member_id(r.get(1)?)? })
}
