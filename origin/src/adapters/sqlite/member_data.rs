//! Everything of one member, and who is erased or merged.

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::wire::{Author, Reaction};
use rusqlite::{OptionalExtension as _, Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{fetch_all, first_id, json_ids};
use crate::adapters::sqlite::rows::{StoredEnum, comment_id, count, member_id, role};
use crate::domain::columns::FLAG_ERASED;
use crate::domain::erasure::MemberEnd;
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
            let sql = "SELECT content, edited_at, was_shown FROM content_history WHERE comment_id = ?1 \
                       ORDER BY edit, edited_at";
            let read = |r: &Row<'_>| {
                Ok(EarlierText { content: r.get(0)?, replaced_at: count(r.get(1)?), was_shown: r.get(2)? })
            };
            Ok(OtherTexts { original_text, earlier: fetch_all(c, sql, [id.signed()], read)? })
        })
        .await
    }
}

#[async_trait]
impl ErasureReader for SqliteStore {
    async fn list_member_ends(&self, after: Option<MemberEnd>, count: usize) -> Result<Vec<MemberEnd>> {
        let (at, member) = after.map_or((0, 0), |after| (after.at, after.member.signed()));
        self.read("list_member_ends", move |c| {
            let sql = "SELECT * FROM (SELECT at, member_id AS id, NULL FROM erased_member INDEXED BY erased_member_order \
                       WHERE (at, member_id) > (?1, ?2) ORDER BY at, member_id LIMIT ?3) \
                       UNION ALL SELECT * FROM (SELECT at, guest_id, member_id FROM merged_guest \
                       INDEXED BY merged_guest_order WHERE (at, guest_id) > (?1, ?2) ORDER BY at, guest_id LIMIT ?3) \
                       ORDER BY at, id LIMIT ?3";
            fetch_all(c, sql, params![at, member, count as i64], member_end)
        })
        .await
    }

    async fn list_unfinished_ends(&self, count: usize) -> Result<Vec<MemberEnd>> {
        self.read("list_unfinished_ends", move |c| {
            let sql = "SELECT * FROM (SELECT at, member_id AS id, NULL FROM erased_member \
                       INDEXED BY erased_member_unfinished WHERE done = 0 ORDER BY at, member_id LIMIT ?1) \
                       UNION ALL SELECT * FROM (SELECT at, guest_id, member_id FROM merged_guest \
                       INDEXED BY merged_guest_unfinished WHERE done = 0 ORDER BY at, guest_id LIMIT ?1) \
                       ORDER BY at, id LIMIT ?1";
            fetch_all(c, sql, [count as i64], member_end)
        })
        .await
    }

    async fn read_heir(&self, guest: MemberId) -> Result<Option<Author>> {
        self.read("read_heir", move |c| {
            let sql = "SELECT member_id, name, avatar, level, role FROM merged_guest WHERE guest_id = ?1";
            let read = |r: &Row<'_>| {
                let (id, role) = (member_id(r.get(0)?)?, role(r.get(4)?)?);
                Ok(Author::new(id, r.get(1)?, r.get(2)?, r.get(3)?, role))
            };
            Ok(fetch_all(c, sql, [guest.signed()], read)?.pop())
        })
        .await
    }

    async fn list_merged_guests(&self, member: MemberId) -> Result<Vec<MemberId>> {
        self.read("list_merged_guests", move |c| {
            let sql = "SELECT guest_id FROM merged_guest INDEXED BY merged_guest_member WHERE member_id = ?1";
            fetch_all(c, sql, [member.signed()], |r| Ok(member_id(r.get(0)?)?))
        })
        .await
    }

    async fn list_not_erased(&self, member: MemberId, ids: &[CommentId]) -> Result<Vec<CommentId>> {
        let ids = json_ids(ids);
        self.read("list_not_erased", move |c| {
            // Without the sign, the index of the author's comments would be read for each of the ids.
            let sql = "SELECT c.id FROM json_each(?1) j JOIN comment c ON c.id = j.value \
                       WHERE (c.flags & ?2) = 0 AND +c.author_id = ?3";
            fetch_all(c, sql, params![ids, FLAG_ERASED, member.signed()], first_id)
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

fn member_end(r: &Row<'_>) -> Result<MemberEnd> {
    let heir = r.get::<_, Option<i64>>(2)?.map(member_id).transpose()?;
    Ok(MemberEnd { at: count(r.get(0)?), member: member_id(r.get(1)?)?, heir })
}
