//! Delivers the outboxes: what a transaction owes the rows of members, which may be in other databases.
//!
//! A row is written in the transaction of its comment, so nothing that is owed is lost. It is delivered by
//! upserts that may be repeated and change their order: a comment that was held once stays marked so, and of
//! two names the one of the newer comment stays. Promise: no batch waits for a database that has none of
//! its slots.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{count_at, id_at, member_id, number_at, slot_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::READABLE_STATES;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues, group_by_table};
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::adapters::mysql::write::slot_locks;
use crate::domain::fold::HistoryRow;
use crate::domain::member_standing::name_key;
use crate::ports::store::{Delivered, Outboxes, Result, Sharding as _, StoreError};

/// Rows that are delivered in one transaction: 300 kB at most, with the longest names and pictures 3 MB.
const ROWS_PER_DELIVERY: usize = 1_000;

/// A row of an outbox.
#[derive(Debug)]
pub(super) struct OutboxRow {
    seq: i64,
    history: HistoryRow,
    /// Name, picture and level.
    author: Option<(String, Option<String>, i64)>,
}

impl OutboxRow {
    /// A row that no outbox has, and that owes no name.
    pub(super) fn of_history(history: HistoryRow) -> Self {
        Self { seq: 0, history, author: None }
    }
}

#[async_trait]
impl Outboxes for MysqlStore {
    async fn list_recipients(&self, database: usize) -> Result<Vec<usize>> {
        let mut session = self.session("list_recipients", database).await?;
        let slots = list_slots(&mut session).await?;
        let mut recipients: Vec<usize> = slots.into_iter().map(|slot| self.database_of(slot)).collect();
        recipients.sort_unstable();
        recipients.dedup();
        Ok(recipients)
    }

    async fn deliver(
        &self,
        database: usize,
        recipient: usize,
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
    ) -> Result<Delivered> {
        let slots = self.list_slots_of(database, recipient).await?;
        match self.deliver_slots(database, recipient, &slots, is_erased).await {
            Err(StoreError::Moved) => {}
            done => return done,
        }
        // A slot of a member has moved, is moving, or has no owner: it holds up no other, and moves are watched
        // elsewhere.
        self.read_slot_map_again().await;
        let mut all = Delivered::default();
        for slot in self.list_slots_of(database, recipient).await? {
            match self.deliver_slots(database, recipient, &[slot], is_erased).await {
                Ok(delivered) => all.add(delivered),
                Err(StoreError::Moved) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    async fn has_history(&self, database: usize, member: MemberId, id: CommentId) -> Result<Option<bool>> {
        let slot = member_slot(member);
        // In one statement, so that a slot that leaves takes its rows with it.
        let text = format!(
            "SELECT CAST(EXISTS (SELECT 1 FROM member_comment_{} WHERE member_id = ? AND comment_id = ?) AS SIGNED) \
             FROM slot WHERE slot = ? AND state IN {READABLE_STATES}",
            self.table_number(slot)
        );
        let find = sql(text).bind(member.signed()).bind(id.signed()).bind(slot.get());
        let found = self.session("has_history", database).await?.fetch_first(find).await?;
        found.map(|r| Ok(number_at(&r, 0)? != 0)).transpose()
    }

    async fn read_outbox_age(&self, database: usize) -> Result<Option<u64>> {
        let text = format!("SELECT GREATEST(0, {DATABASE_NOW} - at) FROM outbox ORDER BY seq LIMIT 1");
        let found = self.session("read_outbox_age", database).await?.fetch_first(sql(text)).await?;
        found.map(|r| count_at(&r, 0)).transpose()
    }

    async fn wait_for_rows(&self, database: usize) {
        match self.outbox_written.get(database) {
            Some(written) => written.notified().await,
            None => std::future::pending().await,
        }
    }
}

/// The slots of the members for whom an outbox has rows.
async fn list_slots(session: &mut MysqlSession) -> Result<Vec<Slot>> {
    let found = session.fetch_text("SELECT DISTINCT member_slot FROM outbox FORCE INDEX (outbox_member)").await?;
    found.iter().map(|r| slot_at(r, 0)).collect()
}

/// Locks some of the rows for members in these slots. Rows that another process delivers are passed over.
async fn take_rows(session: &mut MysqlSession, slots: &[Slot]) -> Result<Vec<OutboxRow>> {
    let slots: Vec<String> = slots.iter().map(|slot| slot.get().to_string()).collect();
    let text = format!(
        "SELECT seq, member_id, comment_id, held, name, avatar, level FROM outbox FORCE INDEX (outbox_member) \
             WHERE member_slot IN ({}) LIMIT {ROWS_PER_DELIVERY} FOR UPDATE SKIP LOCKED",
        slots.join(",")
    );
    session.fetch_text(text).await?.iter().map(outbox_row).collect()
}

impl MysqlStore {
    /// The slots for which the outbox of a database has rows, and which a recipient has.
    async fn list_slots_of(&self, database: usize, recipient: usize) -> Result<Vec<Slot>> {
        let slots = list_slots(&mut self.session("list_recipients", database).await?).await?;
        Ok(slots.into_iter().filter(|slot| self.database_of(*slot) == recipient).collect())
    }

    /// Delivers some of the rows for members in these slots, all of which the recipient must have.
    async fn deliver_slots(
        &self,
        database: usize,
        recipient: usize,
        slots: &[Slot],
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
    ) -> Result<Delivered> {
        if slots.is_empty() {
            return Ok(Delivered::default());
        }
        let mut session = self.session("take_from_outbox", database).await?;
        session.begin().await?;
        let done = async {
            let rows = take_rows(&mut session, slots).await?;
            if rows.is_empty() {
                return Ok(Delivered::default());
            }
            let last_new = self.write_member_rows(recipient, &rows, is_erased).await?;
            let numbers: Vec<String> = rows.iter().map(|row| row.seq.to_string()).collect();
            session.execute_text(format!("DELETE FROM outbox WHERE seq IN ({})", numbers.join(","))).await?;
            Ok(Delivered { rows: rows.len(), last_new })
        };
        let done = done.await;
        session.finish(done).await
    }

    /// Writes rows of members whose slots are all in one database. The last of the histories that was not there.
    pub(super) async fn write_member_rows(
        &self,
        database: usize,
        rows: &[OutboxRow],
        is_erased: &(dyn Fn(MemberId) -> bool + Send + Sync),
    ) -> Result<Option<(MemberId, CommentId)>> {
        let mut session = self.session("write_member_rows", database).await?;
        session.begin().await?;
        let done = async {
            let slots = rows.iter().map(|row| member_slot(row.history.member));
            let locked = slot_locks::share_slots(&mut session, slots).await?;
            let mut sorted: Vec<&OutboxRow> = rows.iter().collect();
            // Every process locks rows in this order.
            sorted.sort_by_key(|row| row.history);
            let known = self.find_histories(&mut session, &sorted).await?;
            let mut all = sorted.iter().rev().map(|row| (row.history.member, row.history.id));
            let last_new = all.find(|row| !known.contains(row));
            let mut script = BatchScript::new(&mut session);
            let histories = sorted.iter().map(|row| {
                let HistoryRow { member, id, held } = row.history;
                let slot = member_slot(member);
                let values = RowValues::new().number(member.signed()).number(id.signed());
                (slot, values.number(i64::from(slot.get())).number(i64::from(held)).end())
            });
            let statement = "INSERT INTO member_comment_{n} (member_id, comment_id, slot, held) VALUES {rows} \
                             ON DUPLICATE KEY UPDATE held = GREATEST(held, VALUES(held))";
            script.add_rows(statement, group_by_table(self, histories)).await?;
            let named = || sorted.iter().filter(|row| row.author.is_some() && !is_erased(row.history.member));
            let names = named().filter_map(|row| {
                let (name, avatar, level) = row.author.as_ref()?;
                let HistoryRow { member, id, .. } = row.history;
                let slot = member_slot(member);
                let values = RowValues::new().number(member.signed()).number(i64::from(slot.get()));
                let values = values.text(name.as_str()).text(avatar.as_deref()).number(*level);
                Some((slot, values.number(id.signed()).bytes(&*name_key(name)).end()))
            });
            // Assignments are made from left to right: the comment comes last.
            let statement = "INSERT INTO member_{n} (id, slot, name, avatar, level, named_by, name_key) VALUES {rows} \
                             ON DUPLICATE KEY UPDATE name = IF(VALUES(named_by) >= named_by, VALUES(name), name), \
                             avatar = IF(VALUES(named_by) >= named_by, VALUES(avatar), avatar), \
                             level = IF(VALUES(named_by) >= named_by, VALUES(level), level), \
                             name_key = IF(VALUES(named_by) >= named_by, VALUES(name_key), name_key), \
                             named_by = GREATEST(named_by, VALUES(named_by))";
            script.add_rows(statement, group_by_table(self, names)).await?;
            script.send().await?;
            let dirty_histories = sorted.iter().map(|row| {
                let HistoryRow { member, id, .. } = row.history;
                (member_slot(member), DirtyRow::History(member, id))
            });
            let dirty_names =
                named().map(|row| (member_slot(row.history.member), DirtyRow::Member(row.history.member)));
            locked.record_dirty_rows(&mut session, dirty_histories.chain(dirty_names)).await?;
            Ok(last_new)
        };
        let done = done.await;
        session.finish(done).await
    }

    /// Those of the histories' rows that are there.
    async fn find_histories(
        &self,
        session: &mut MysqlSession,
        rows: &[&OutboxRow],
    ) -> Result<BTreeSet<(MemberId, CommentId)>> {
        let mut by_table: BTreeMap<u16, Vec<String>> = BTreeMap::new();
        for HistoryRow { member, id, .. } in rows.iter().map(|row| row.history) {
            let pair = format!("({},{})", member.signed(), id.signed());
            by_table.entry(self.table_number(member_slot(member))).or_default().push(pair);
        }
        let selects: Vec<String> = by_table
            .into_iter()
            .map(|(table, pairs)| {
                format!(
                    "SELECT member_id, comment_id FROM member_comment_{table} WHERE (member_id, comment_id) IN ({})",
                    pairs.join(",")
                )
            })
            .collect();
        let found = session.fetch_text(selects.join(" UNION ALL ")).await?;
        found.iter().map(|r| Ok((member_id(number_at(r, 0)?)?, id_at(r, 1)?))).collect()
    }

    /// The comments of a member that are in an outbox, above an id.
    pub(super) async fn list_owed(
        &self,
        member: MemberId,
        above: Option<CommentId>,
        count: usize,
    ) -> Result<Vec<CommentId>> {
        let text = "SELECT comment_id FROM outbox FORCE INDEX (outbox_member) \
                    WHERE member_slot = ? AND member_id = ? AND comment_id > ? ORDER BY comment_id LIMIT ?";
        let (slot, above) = (member_slot(member).get(), above.map_or(0, CommentId::signed));
        let owed = (0..self.count_databases()).map(|database| async move {
            let statement = sql(text).bind(i64::from(slot)).bind(member.signed()).bind(above).bind(count as i64);
            let found = self.session("list_owed", database).await?.fetch_all(statement).await?;
            found.iter().map(|r| id_at(r, 0)).collect::<Result<Vec<_>>>()
        });
        Ok(futures_util::future::try_join_all(owed).await?.concat())
    }
}

fn outbox_row(r: &MySqlRow) -> Result<OutboxRow> {
    let history = HistoryRow { member: member_id(number_at(r, 1)?)?, id: id_at(r, 2)?, held: number_at(r, 3)? != 0 };
    let name: Option<String> = r.try_get(4)?;
    let (avatar, level) = (r.try_get(5)?, number_at(r, 6)?);
    Ok(OutboxRow { seq: number_at(r, 0)?, history, author: name.map(|name| (name, avatar, level)) })
}
