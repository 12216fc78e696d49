//! Members, looked up in every table of every database; and comments by their authors.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use async_trait::async_trait;
use futures_util::future::try_join_all;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::wire::MemberCounts;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::numbered_tables::slot_of_comment;
use crate::adapters::mysql::routing::IDS_TABLE;
use crate::adapters::mysql::row_numbers::{member_slot, subject_number};
use crate::adapters::mysql::rows::{count_at, damaged, id_at, member_id, number_at};
use crate::adapters::mysql::statement::{hex_literal, sql};
use crate::domain::member_standing::{
    KnownMember, MAX_COUNTED_COMMENTS, MAX_LAST_COMMENTS, MAX_NAMED_COMMENTS, MemberSummary,
};
use crate::ports::store::{MemberDirectory, Result, Sharding as _};

/// Comments that one statement looks up.
const COMMENTS_PER_LOOKUP: usize = 2_000;
/// Authors in one statement: 20 kB of text.
const AUTHORS_PER_STATEMENT: usize = 100;

/// The place of a member in a list: the name key, which is empty in the list by ids, and the id.
type MemberKey = (Vec<u8>, MemberId);

/// A list of members.
enum MemberOrder<'p> {
    Id,
    /// Of those whose name keys begin so.
    Name(&'p [u8]),
}

impl MemberOrder<'_> {
    /// The statements on the tables with this number for the first members after a key, each within the limit.
    fn statements(&self, n: u16, after: Option<&MemberKey>, limit: usize) -> Vec<String> {
        let id = after.map_or(0, |(_, id)| id.signed());
        match self {
            Self::Id => vec![
                format!(
                    "(SELECT id, name, avatar, level, name_key FROM member_{n} FORCE INDEX (PRIMARY) WHERE id > {id} \
                     ORDER BY id LIMIT {limit})"
                ),
                format!(
                    "(SELECT id, '', NULL, 0, '' FROM member_standing_{n} FORCE INDEX (PRIMARY) WHERE id > {id} \
                     ORDER BY id LIMIT {limit})"
                ),
            ],
            Self::Name(prefix) => {
                let key = hex_literal(after.map_or(prefix, |(key, _)| key.as_slice()));
                // No text has the byte 255.
                let end = hex_literal(&[*prefix, &[0xff]].concat());
                vec![format!(
                    "(SELECT id, name, avatar, level, name_key FROM member_{n} FORCE INDEX (member_name_key) \
                     WHERE name_key >= {key} AND name_key < {end} AND (name_key > {key} OR id > {id}) \
                     ORDER BY name_key, id LIMIT {limit})"
                )]
            }
        }
    }

    fn key(&self, member: &KnownMember) -> MemberKey {
        match self {
            Self::Id => (vec![], member.id),
            Self::Name(_) => (member.name_key.clone(), member.id),
        }
    }
}

/// Whether readers have reported the comment `c`.
fn is_reported() -> String {
    let slot = slot_of_comment("c.id");
    format!("EXISTS (SELECT 1 FROM report_{{n}} r WHERE r.slot = {slot} AND r.comment_id = c.id)")
}

#[async_trait]
impl MemberDirectory for MysqlStore {
    async fn list_members(&self, above: Option<MemberId>, count: usize) -> Result<Vec<KnownMember>> {
        self.list_in_order(&MemberOrder::Id, above.map(|id| (vec![], id)), count).await
    }

    async fn list_members_named(
        &self,
        prefix: &[u8],
        after: Option<(Vec<u8>, MemberId)>,
        count: usize,
    ) -> Result<Vec<KnownMember>> {
        self.list_in_order(&MemberOrder::Name(prefix), after, count).await
    }

    async fn read_member(&self, member: MemberId) -> Result<Option<KnownMember>> {
        let slot = member_slot(member);
        let find = "SELECT id, name, avatar, level, name_key FROM member_{n} WHERE id = ?";
        let found = self.rows_of("read_member", slot, self.part(slot).sql(find).bind(member.signed())).await?;
        found.first().map(known_member).transpose()
    }

    async fn summarize_member(&self, member: MemberId) -> Result<MemberSummary> {
        let ids = self.list_counted(member).await?;
        let mut counts = MemberCounts { complete: ids.len() < MAX_COUNTED_COMMENTS, ..MemberCounts::default() };
        let text = format!(
            "SELECT CAST(SUM(c.state = 0) AS SIGNED), CAST(SUM(c.state = 1) AS SIGNED), \
             CAST(SUM(c.state = 2) AS SIGNED), CAST(SUM({}) AS SIGNED) \
             FROM {IDS_TABLE} STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id \
             WHERE c.author_id = {member} HAVING COUNT(*) > 0",
            is_reported()
        );
        for chunk in ids.chunks(COMMENTS_PER_LOOKUP) {
            let chunk = chunk.iter().map(|id| (id.slot(), id.signed()));
            for r in self.rows_by_id("summarize_member", chunk, &text, |s| s).await? {
                counts.published += count_at(&r, 0)?;
                counts.held += count_at(&r, 1)?;
                counts.rejected += count_at(&r, 2)?;
                counts.reported += count_at(&r, 3)?;
            }
        }
        let text = format!(
            "SELECT DISTINCT c.author_name FROM {IDS_TABLE} STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) \
             ON c.id = j.id WHERE c.author_id = {member} AND c.author_name <> ''"
        );
        let named = ids.iter().take(MAX_NAMED_COMMENTS).map(|id| (id.slot(), id.signed()));
        let found = self.rows_by_id("summarize_member", named, &text, |s| s).await?;
        let mut names = found.iter().map(|r| Ok(r.try_get(0)?)).collect::<Result<Vec<String>>>()?;
        names.sort_unstable();
        names.dedup();
        Ok(MemberSummary { counts, names, newest: ids.into_iter().take(MAX_LAST_COMMENTS).collect() })
    }

    async fn list_reported_of(&self, member: MemberId) -> Result<Vec<CommentId>> {
        let ids = self.list_counted(member).await?;
        let text = format!(
            "SELECT c.id FROM {IDS_TABLE} STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id \
             WHERE c.author_id = {member} AND {}",
            is_reported()
        );
        let mut reported = Vec::new();
        for chunk in ids.chunks(COMMENTS_PER_LOOKUP) {
            let chunk = chunk.iter().map(|id| (id.slot(), id.signed()));
            let found = self.rows_by_id("list_reported_of", chunk, &text, |s| s).await?;
            reported.extend(found.iter().map(|r| id_at(r, 0)).collect::<Result<Vec<_>>>()?);
        }
        reported.sort_unstable_by_key(|id| Reverse(*id));
        Ok(reported)
    }

    async fn list_by_authors(
        &self,
        subject: &SubjectKey,
        authors: &[MemberId],
        below: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        let (slot, number) = (subject.slot(), subject_number(subject));
        let below = below.map_or(i64::MAX, CommentId::signed);
        let mut ids: Vec<CommentId> = Vec::new();
        for chunk in authors.chunks(AUTHORS_PER_STATEMENT) {
            let part = |author: &MemberId| {
                format!(
                    "(SELECT id FROM comment_{{n}} FORCE INDEX (comment_author) WHERE subject = {number} \
                     AND author_id = {author} AND state = 0 AND visibility = 0 AND id < {below} \
                     ORDER BY id DESC LIMIT {count})"
                )
            };
            let text = chunk.iter().map(part).collect::<Vec<_>>().join(" UNION ALL ");
            for r in self.rows_of("list_by_authors", slot, self.part(slot).sql(&text)).await? {
                ids.push(id_at(&r, 0)?);
            }
        }
        ids.sort_unstable_by_key(|id| Reverse(*id));
        ids.truncate(count);
        Ok(ids)
    }
}

impl MysqlStore {
    /// The newest comments of a member, as many as are counted.
    async fn list_counted(&self, member: MemberId) -> Result<Vec<CommentId>> {
        let slot = member_slot(member);
        let text = "SELECT comment_id FROM member_comment_{n} FORCE INDEX (PRIMARY) WHERE member_id = ? \
                    ORDER BY comment_id DESC LIMIT ?";
        let find = self.part(slot).sql(text).bind(member.signed()).bind(MAX_COUNTED_COMMENTS as i64);
        let found = self.rows_of("list_counted", slot, find).await?;
        found.iter().map(|r| id_at(r, 0)).collect()
    }

    /// The first members of a list after a key. Of each table the first `count` are read, so the first `count` of all
    /// are among them; what of these is in the former copy of a slot that has moved is replaced by further ones.
    async fn list_in_order(
        &self,
        order: &MemberOrder<'_>,
        mut after: Option<MemberKey>,
        count: usize,
    ) -> Result<Vec<KnownMember>> {
        let mut members = Vec::with_capacity(count);
        loop {
            let next = self.next_in_order(order, after.as_ref(), count).await?;
            let has_ended = next.len() < count;
            after = next.keys().next_back().cloned();
            members.extend(next.into_values().flatten());
            if has_ended || members.len() >= count {
                members.truncate(count);
                return Ok(members);
            }
        }
    }

    /// The next rows of a list; `None` for one of a former copy.
    async fn next_in_order(
        &self,
        order: &MemberOrder<'_>,
        after: Option<&MemberKey>,
        count: usize,
    ) -> Result<BTreeMap<MemberKey, Option<KnownMember>>> {
        let databases = (0..self.count_databases()).map(|database| async move {
            let statements = (0..self.tables).flat_map(|n| order.statements(n, after, count));
            let text = statements.collect::<Vec<_>>().join(" UNION ALL ");
            let found = self.session("list_members", database).await?.fetch_all(sql(text)).await?;
            let members = found.iter().map(known_member).collect::<Result<Vec<_>>>()?;
            Ok::<_, crate::ports::store::StoreError>((database, members))
        });
        let mut rows: BTreeMap<MemberKey, Option<KnownMember>> = BTreeMap::new();
        for (database, members) in try_join_all(databases).await? {
            for member in members {
                let row = rows.entry(order.key(&member)).or_default();
                let is_current = self.database_of(member_slot(member.id)) == database;
                // A member who has written is also known by name.
                if is_current && row.as_ref().is_none_or(|known| known.name.is_empty()) {
                    *row = Some(member);
                }
            }
        }
        Ok(rows.into_iter().take(count).collect())
    }
}

fn known_member(r: &MySqlRow) -> Result<KnownMember> {
    Ok(KnownMember {
        id: member_id(number_at(r, 0)?)?,
        name: r.try_get(1)?,
        avatar: r.try_get(2)?,
        level: number_at(r, 3)?.try_into().map_err(damaged)?,
        name_key: r.try_get(4)?,
    })
}
