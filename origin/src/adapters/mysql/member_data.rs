//! Everything of one member, and who is erased or merged. What is kept by comment is looked up in every table of
//! every database.

use std::collections::BTreeSet;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::{Author, Reaction};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::pool::MysqlPool;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{StoredEnum, count_at, damaged, id_at, member_id, number_at, role};
use crate::adapters::mysql::statement::{SqlStatement, sql};
use crate::domain::columns::FLAG_ERASED;
use crate::domain::erasure::MemberEnd;
use crate::domain::row::{EarlierText, OtherTexts};
use crate::ports::store::{ErasureReader, MemberDataReader, Result, Sharding as _, StoreError};

#[async_trait]
impl MemberDataReader for MysqlStore {
    async fn list_comments_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        // First what is owed: a row that is delivered meanwhile is in both.
        let mut ids: BTreeSet<CommentId> = self.list_owed(member, above, count).await?.into_iter().collect();
        let slot = member_slot(member);
        let text = "SELECT comment_id FROM member_comment_{n} FORCE INDEX (PRIMARY) \
                    WHERE member_id = ? AND comment_id > ? ORDER BY comment_id LIMIT ?";
        let statement = bind_range(self.part(slot).sql(text), member.signed(), above, count);
        for r in self.rows_of("list_comments_of", slot, statement).await? {
            ids.insert(id_at(&r, 0)?);
        }
        Ok(ids.into_iter().take(count).collect())
    }

    async fn list_reactions_of(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<(CommentId, Reaction)>> {
        let text = "SELECT comment_id, reaction FROM reaction_{n} FORCE INDEX (reaction_member) \
                    WHERE member_id = ? AND comment_id > ? ORDER BY comment_id LIMIT ?";
        let found = self.rows_everywhere("list_reactions_of", text, member, above, count).await?;
        found.iter().map(|r| Ok((id_at(r, 0)?, Reaction::from_number(number_at(r, 1)?)?))).collect()
    }

    async fn read_other_texts(&self, id: CommentId) -> Result<OtherTexts> {
        let (slot, part) = (id.slot(), self.part(id.slot()));
        let statement = part.sql("SELECT written FROM content_{n} WHERE id = ?").bind(id.signed());
        let found = self.rows_of("read_other_texts", slot, statement).await?;
        let original_text = found.first().map(|r| r.try_get(0)).transpose()?.flatten();
        let text = "SELECT content, edited_at, was_shown FROM content_history_{n} WHERE comment_id = ? \
                    ORDER BY edit, edited_at";
        let found = self.rows_of("read_other_texts", slot, part.sql(text).bind(id.signed())).await?;
        let read = |r: &MySqlRow| {
            let (content, was_shown) = (r.try_get(0)?, number_at(r, 2)? != 0);
            Ok(EarlierText { content, replaced_at: count_at(r, 1)?, was_shown })
        };
        Ok(OtherTexts { original_text, earlier: found.iter().map(read).collect::<Result<_>>()? })
    }
}

#[async_trait]
impl ErasureReader for MysqlStore {
    async fn list_member_ends(&self, after: Option<MemberEnd>, count: usize) -> Result<Vec<MemberEnd>> {
        list_member_ends_of(self.first_pool(), after, count).await
    }

    async fn list_member_ends_copy(&self, after: Option<MemberEnd>, count: usize) -> Result<Vec<MemberEnd>> {
        let away = StoreError::Unavailable("no database has a copy of the erased members".into());
        self.read_copy(away, |pool| async move { list_member_ends_of(&pool, after, count).await.map(Some) }).await
    }

    async fn list_unfinished_ends(&self, count: usize) -> Result<Vec<MemberEnd>> {
        let text = "(SELECT at, member_id AS id, 0 FROM erased_member FORCE INDEX (erased_member_unfinished) \
                    WHERE done = 0 ORDER BY at, member_id LIMIT ?) \
                    UNION ALL (SELECT at, guest_id, member_id FROM merged_guest FORCE INDEX (merged_guest_unfinished) \
                    WHERE done = 0 ORDER BY at, guest_id LIMIT ?) ORDER BY at, id LIMIT ?";
        let mut session = self.first_pool().session("list_unfinished_ends").await?;
        let statement = sql(text).bind(count as i64).bind(count as i64).bind(count as i64);
        session.fetch_all(statement).await?.iter().map(member_end).collect()
    }

    async fn read_heir(&self, guest: MemberId) -> Result<Option<Author>> {
        let text = "SELECT member_id, name, avatar, level, role FROM merged_guest WHERE guest_id = ?";
        let mut session = self.first_pool().session("read_heir").await?;
        let found = session.fetch_first(sql(text).bind(guest.signed())).await?;
        let read = |r: MySqlRow| {
            let (id, role) = (member_id(number_at(&r, 0)?)?, role(number_at(&r, 4)?)?);
            let level: u8 = number_at(&r, 3)?.try_into().map_err(damaged)?;
            Ok(Author::new(id, r.try_get(1)?, r.try_get(2)?, level, role))
        };
        found.map(read).transpose()
    }

    async fn list_merged_guests(&self, member: MemberId) -> Result<Vec<MemberId>> {
        let text = "SELECT guest_id FROM merged_guest FORCE INDEX (merged_guest_member) WHERE member_id = ?";
        let mut session = self.first_pool().session("list_merged_guests").await?;
        let found = session.fetch_all(sql(text).bind(member.signed())).await?;
        found.iter().map(|r| Ok(member_id(number_at(r, 0)?)?)).collect()
    }

    async fn list_not_erased(&self, member: MemberId, ids: &[CommentId]) -> Result<Vec<CommentId>> {
        let text = format!(
            "SELECT c.id FROM {IDS_TABLE} LEFT JOIN alias_{{n}} a FORCE INDEX (PRIMARY) ON a.slot = {} AND a.id = j.id \
             STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = COALESCE(a.comment_id, j.id) \
             WHERE (c.flags & {FLAG_ERASED}) = 0 AND c.author_id = {member}",
            slot_of_comment("j.id")
        );
        let ids = ids.iter().map(|id| (id.slot(), id.signed()));
        self.rows_by_id("list_not_erased", ids, &text, |s| s).await?.iter().map(|r| id_at(r, 0)).collect()
    }

    async fn list_mentioning(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        let text = "SELECT comment_id, 0 FROM mention_{n} FORCE INDEX (PRIMARY) \
                    WHERE member_id = ? AND comment_id > ? ORDER BY comment_id LIMIT ?";
        let found = self.rows_everywhere("list_mentioning", text, member, above, count).await?;
        found.iter().map(|r| id_at(r, 0)).collect()
    }

    async fn list_answers(&self, parent: CommentId, above: Option<CommentId>, count: usize) -> Result<Vec<CommentId>> {
        let slot = parent.slot();
        let text = "SELECT id FROM comment_{n} FORCE INDEX (comment_parent) \
                    WHERE parent_id = ? AND id > ? ORDER BY id LIMIT ?";
        let statement = bind_range(self.part(slot).sql(text), parent.signed(), above, count);
        self.rows_of("list_answers", slot, statement).await?.iter().map(|r| id_at(r, 0)).collect()
    }
}

impl MysqlStore {
    /// The first rows of a statement on every numbered table, by the comment id in their first column.
    pub(super) async fn rows_everywhere(
        &self,
        operation: &'static str,
        text: &str,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<MySqlRow>> {
        let bind = |statement| bind_range(statement, member.signed(), above, count);
        let mut rows = self.rows_of_all(operation, text, bind, |r| Ok(id_at(r, 0)?.slot())).await?;
        rows.sort_by_cached_key(|r| id_at(r, 0).ok());
        rows.truncate(count);
        Ok(rows)
    }

    /// The rows of a statement on every numbered table, in no order. `slot` is that of a row: the former copy of a slot
    /// that has moved is left out.
    pub(super) async fn rows_of_all(
        &self,
        operation: &'static str,
        text: &str,
        bind: impl Fn(SqlStatement) -> SqlStatement + Sync,
        slot: impl Fn(&MySqlRow) -> Result<Slot> + Sync,
    ) -> Result<Vec<MySqlRow>> {
        let (bind, slot) = (&bind, &slot);
        let databases = (0..self.count_databases()).map(|shard| async move {
            let parts: Vec<_> =
                (0..self.tables).map(|n| format!("({})", text.replace("{n}", &n.to_string()))).collect();
            let statement = (0..self.tables).fold(sql(parts.join(" UNION ALL ")), |statement, _| bind(statement));
            let found = self.session(operation, shard).await?.fetch_all(statement).await?;
            let rows = found.into_iter().map(|r| Ok((slot(&r)?, r)));
            let rows = rows.filter(|row| row.as_ref().map_or(true, |(slot, _)| self.database_of(*slot) == shard));
            rows.map(|row| row.map(|(_, r)| r)).collect::<Result<Vec<_>>>()
        });
        Ok(try_join_all(databases).await?.into_iter().flatten().collect())
    }
}

/// Binds what a list is of, the id above which it goes on, and how much of it is read.
fn bind_range(statement: SqlStatement, of: i64, above: Option<CommentId>, count: usize) -> SqlStatement {
    statement.bind(of).bind(above.map_or(0, CommentId::signed)).bind(count as i64)
}

/// See [`ErasureReader::list_member_ends`], of one database.
pub(super) async fn list_member_ends_of(
    pool: &MysqlPool,
    after: Option<MemberEnd>,
    count: usize,
) -> Result<Vec<MemberEnd>> {
    let (at, member) = after.map_or((0, 0), |after| (after.at, after.member.signed()));
    let text = "(SELECT at, member_id AS id, 0 FROM erased_member FORCE INDEX (erased_member_order) \
                WHERE at >= ? AND (at > ? OR member_id > ?) ORDER BY at, member_id LIMIT ?) \
                UNION ALL (SELECT at, guest_id, member_id FROM merged_guest FORCE INDEX (merged_guest_order) \
                WHERE at >= ? AND (at > ? OR guest_id > ?) ORDER BY at, guest_id LIMIT ?) ORDER BY at, id LIMIT ?";
    let statement =
        [0, 1].iter().fold(sql(text), |statement, _| statement.bind(at).bind(at).bind(member).bind(count as i64));
    let found = pool.session("list_member_ends").await?.fetch_all(statement.bind(count as i64)).await?;
    found.iter().map(member_end).collect()
}

fn member_end(r: &MySqlRow) -> Result<MemberEnd> {
    let heir = Some(number_at(r, 2)?).filter(|heir| *heir != 0).map(member_id).transpose()?;
    Ok(MemberEnd { at: count_at(r, 0)?, member: member_id(number_at(r, 1)?)?, heir })
}
