//! The queries by id, key and member. Each is one statement a database and table, whatever the
//! number of ids: they go in as one JSON array, joined in an order that no statistics can change.

use std::collections::{HashMap, HashSet};

use futures_util::future::try_join_all;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::limits;
use gailou_shared::walk::Snapshot;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::pool::{Session, Statement, sql};
use crate::adapters::mysql::rows::{COLUMNS, JOINS, WIDTH, count_at, damaged, id_at, member_id};
use crate::adapters::mysql::{MysqlStore, rows};
use crate::domain::row::{CommentRow, RememberedRequest, SubjectRow};
use crate::ports::store::{Result, StoreError};

/// One set of tables of one database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Part {
    pub(super) shard: usize,
    pub(super) table: u16,
}

impl Part {
    /// A statement on these tables: `{n}` is their number.
    pub(super) fn sql(self, text: &str) -> Statement {
        sql(self.text(text))
    }

    pub(super) fn text(self, text: &str) -> String {
        text.replace("{n}", &self.table.to_string())
    }
}

/// Numbers as [`IDS`] reads them.
pub(super) fn json(numbers: impl IntoIterator<Item = i64>) -> String {
    let numbers: Vec<String> = numbers.into_iter().map(|n| n.to_string()).collect();
    format!("[{}]", numbers.join(","))
}

/// Most names of a member's history looked up at a time.
const FAR: usize = 2_000;

/// A table of the numbers in one value; first in every join it is in.
pub(super) const IDS: &str = "JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) j";

impl MysqlStore {
    pub(super) fn part(&self, slot: Slot) -> Part {
        Part { shard: self.shard(slot), table: self.table(slot) }
    }

    /// The things by the tables they lie in, with their slots.
    pub(super) fn parts<K>(&self, things: impl IntoIterator<Item = (Slot, K)>) -> Vec<(Part, Vec<Slot>, Vec<K>)> {
        let map = self.map.get();
        let mut parts: HashMap<Part, (Vec<Slot>, Vec<K>)> = HashMap::new();
        for (slot, thing) in things {
            let part = Part { shard: map.shard(slot), table: self.table(slot) };
            let (slots, all) = parts.entry(part).or_default();
            all.push(thing);
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        parts.into_iter().map(|(part, (slots, all))| (part, slots, all)).collect()
    }

    /// A connection to read these slots in one database.
    ///
    /// A slot that moves leaves its rows where they were until every process has had time to read the
    /// map again; whoever could not asks the database whether it still has the slot.
    pub(super) async fn reading(&self, shard: usize, slots: &[Slot]) -> Result<Session> {
        let mut session = self.session(shard).await?;
        if !self.map.get().fresh() {
            let find = format!("SELECT COUNT(*) FROM {IDS} JOIN slot s ON s.slot = j.id WHERE s.state IN (1, 2, 4)");
            let slots_json = json(slots.iter().map(|slot| i64::from(slot.get())));
            let here = session.first(sql(find).bind(slots_json)).await?;
            if here.map(|r| count_at(&r, 0)).transpose()? != Some(slots.len() as u64) {
                return Err(StoreError::Moved);
            }
        }
        Ok(session)
    }

    /// The rows of one statement on a slot's tables.
    pub(super) async fn rows_of(&self, slot: Slot, statement: Statement) -> Result<Vec<MySqlRow>> {
        self.reading(self.shard(slot), &[slot]).await?.all(statement).await
    }

    /// The rows of one statement a part. Its first value is the part's numbers, which also stand in
    /// the place of `{ids}`; `bind` adds the others.
    pub(super) async fn rows_by_id(
        &self,
        things: impl IntoIterator<Item = (Slot, i64)>,
        text: &str,
        bind: impl Fn(Statement) -> Statement + Sync,
    ) -> Result<Vec<MySqlRow>> {
        let bind = &bind;
        let found = try_join_all(self.parts(things).into_iter().map(|(part, slots, ids)| async move {
            let ids = json(ids);
            let text = text.replace("{ids}", &ids[1..ids.len() - 1]);
            let statement = bind(part.sql(&text).bind(ids));
            self.reading(part.shard, &slots).await?.all(statement).await
        }));
        Ok(found.await?.into_iter().flatten().collect())
    }

    pub(super) async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>> {
        // The pinned ones by a range of literal numbers: what comes from a join would be looked up by
        // subject alone, through all its comments.
        let text = format!(
            "SELECT s.type, s.`key`, s.title, s.url, s.owner_id, s.state, s.mode, s.version, s.roots, s.comments, p.ids \
             FROM {IDS} STRAIGHT_JOIN subject_{{n}} s FORCE INDEX (PRIMARY) ON s.id = j.id \
             LEFT JOIN (SELECT c.subject, GROUP_CONCAT(c.id ORDER BY c.pinned_at DESC, c.id DESC) AS ids \
             FROM comment_{{n}} c FORCE INDEX (comment_pinned) \
             WHERE c.subject IN ({{ids}}) AND c.pinned_at > 0 AND c.state = 0 AND c.visibility = 0 \
             GROUP BY c.subject) p ON p.subject = s.id"
        );
        let things = keys.iter().map(|key| (key.slot(), Self::subject_id(key)));
        let mut found = HashMap::new();
        for r in self.rows_by_id(things, &text, |s| s).await? {
            let pinned = r.try_get::<Option<String>, _>(10)?.unwrap_or_default();
            // A longer list may be cut off in the middle of an id.
            let pinned = pinned.split(',').filter(|id| !id.is_empty()).take(limits::MAX_PINS);
            let row = SubjectRow {
                key: rows::subject_at(&r, 0)?,
                title: r.try_get(2)?,
                url: r.try_get(3)?,
                owner_id: r.try_get::<Option<i64>, _>(4)?.map(member_id).transpose()?,
                state: rows::subject_state(r.try_get(5)?)?,
                mode: r.try_get::<Option<i64>, _>(6)?.map(rows::mode).transpose()?,
                version: count_at(&r, 7)?,
                roots: count_at(&r, 8)?,
                comments: count_at(&r, 9)?,
                pinned: pinned.map(|id| id.parse().map_err(damaged)).collect::<Result<_>>()?,
            };
            found.insert(row.key.clone(), row);
        }
        Ok(keys.iter().map(|key| found.get(key).cloned()).collect())
    }

    pub(super) async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        let text = format!(
            "SELECT {COLUMNS}, j.id FROM {IDS} LEFT JOIN alias_{{n}} a FORCE INDEX (PRIMARY) ON a.id = j.id \
             STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = COALESCE(a.comment_id, j.id) {JOINS}"
        );
        let things = ids.iter().map(|id| (id.slot(), id.signed()));
        let found = self.rows_by_id(things, &text, |s| s).await?;
        found.iter().map(|r| Ok((id_at(r, WIDTH)?, rows::row(r)?))).collect()
    }

    /// The comments among these that fulfil a condition on `c`, in the order given.
    async fn only(&self, ids: Vec<CommentId>, condition: &str) -> Result<Vec<CommentId>> {
        let text = format!(
            "SELECT c.id FROM {IDS} STRAIGHT_JOIN comment_{{n}} c FORCE INDEX (PRIMARY) ON c.id = j.id WHERE {condition}"
        );
        let things = ids.iter().map(|id| (id.slot(), id.signed()));
        let found = self.rows_by_id(things, &text, |s| s).await?;
        let found = found.iter().map(|r| id_at(r, 0)).collect::<Result<HashSet<_>>>()?;
        Ok(ids.into_iter().filter(|id| found.contains(id)).collect())
    }

    /// A member's comments below an id that fulfil a condition, newest first: what the member's
    /// history names, looked up where it lies, until there are enough.
    async fn of_member(
        &self,
        member: MemberId,
        below: Option<CommentId>,
        count: usize,
        (index, which): (&str, &str),
        condition: &str,
    ) -> Result<Vec<CommentId>> {
        let slot = Self::member_slot(member);
        let text = self.part(slot).text(&format!(
            "SELECT comment_id FROM member_comment_{{n}} FORCE INDEX ({index}) WHERE member_id = ? AND comment_id < ? {which} \
             ORDER BY comment_id DESC LIMIT ?"
        ));
        let mut most = count.max(20) * 2;
        let mut below = below.map_or(i64::MAX, CommentId::signed);
        let mut all = Vec::new();
        loop {
            let statement = sql(text.clone()).bind(member.signed()).bind(below).bind(most as i64);
            let named = self.rows_of(slot, statement).await?;
            let named = named.iter().map(|r| id_at(r, 0)).collect::<Result<Vec<_>>>()?;
            let (ended, last) = (named.len() < most, named.last().copied());
            all.extend(self.only(named, condition).await?);
            most = (most * 2).min(FAR);
            match last {
                Some(last) if !ended && all.len() < count => below = last.signed(),
                _ => break,
            }
        }
        all.truncate(count);
        Ok(all)
    }

    pub(super) async fn read_history(
        &self,
        member: MemberId,
        below: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        self.of_member(member, below, count, ("PRIMARY", ""), "c.state = 0 AND c.visibility = 0").await
    }

    pub(super) async fn read_pending(&self, member: MemberId, count: usize) -> Result<Vec<CommentId>> {
        let held = "c.state = 1 OR (c.state = 0 AND c.visibility = 1)";
        self.of_member(member, None, count, ("member_comment_held", "AND held = 1"), held).await
    }

    pub(super) async fn read_remembered(
        &self,
        subject: &SubjectKey,
        member: MemberId,
        key: &str,
        since: u64,
    ) -> Result<Option<RememberedRequest>> {
        let slot = subject.slot();
        let statement = self.part(slot).sql(
            "SELECT request, comment_id, state FROM idempotency_{n} \
             WHERE member_id = ? AND `key` = ? AND slot = ? AND created_at > ?",
        );
        let statement =
            statement.bind(member.signed()).bind(key.as_bytes().to_vec()).bind(slot.get()).bind(since as i64);
        let found = self.rows_of(slot, statement).await?;
        let Some(r) = found.first() else { return Ok(None) };
        Ok(Some(RememberedRequest {
            request: r.try_get::<Vec<u8>, _>(0)?.try_into().map_err(|_| damaged("a request's hash"))?,
            id: id_at(r, 1)?,
            state: rows::state(r.try_get(2)?)?,
        }))
    }

    pub(super) async fn read_first_text(&self, id: CommentId) -> Result<Option<String>> {
        let text = "SELECT content FROM content_history_{n} WHERE comment_id = ? ORDER BY edited_at LIMIT 1";
        let found = self.rows_of(id.slot(), self.part(id.slot()).sql(text).bind(id.signed())).await?;
        found.first().map(|r| Ok(r.try_get(0)?)).transpose()
    }

    pub(super) async fn read_names(&self, members: &[MemberId]) -> Result<HashMap<MemberId, String>> {
        let text =
            format!("SELECT m.id, m.name FROM {IDS} STRAIGHT_JOIN member_{{n}} m FORCE INDEX (PRIMARY) ON m.id = j.id");
        let things = members.iter().map(|m| (Self::member_slot(*m), m.signed()));
        let found = self.rows_by_id(things, &text, |s| s).await?;
        found.iter().map(|r| Ok((member_id(r.try_get(0)?)?, r.try_get(1)?))).collect()
    }

    pub(super) async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>> {
        let statement = self.part(slot).sql("SELECT ids FROM snapshot_{n} WHERE slot = ? AND id = ?");
        let found = self.rows_of(slot, statement.bind(slot.get()).bind(id.to_vec())).await?;
        let bytes = found.first().map(|r| r.try_get::<Vec<u8>, _>(0)).transpose()?;
        bytes.map(|bytes| Snapshot::from_bytes(&bytes).ok_or_else(|| damaged("a snapshot"))).transpose()
    }
}
