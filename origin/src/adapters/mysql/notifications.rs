//! What members are notified of, in the databases of their slots.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId, Slot};
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{StoredEnum as _, count_at, damaged, id_at, member_id, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::batch_sql::{BatchScript, RowValues, group_by_table};
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::adapters::mysql::write::slot_locks;
use crate::domain::notification::{MAX_NOTIFICATIONS, NewNotification, NotificationReason, StoredNotification};
use crate::ports::store::{Notifications, Result, Sharding as _, StoreError};

/// The columns that [`notification`] reads.
pub(super) const NOTIFICATION_COLUMNS: &str = "id, kind, comment_id, at, is_read";
/// Members whose bound one statement looks for: a part of 150 bytes each.
const MEMBERS_PER_STATEMENT: usize = 200;

#[async_trait]
impl Notifications for MysqlStore {
    fn database_of_member(&self, member: MemberId) -> usize {
        self.database_of(member_slot(member))
    }

    async fn add_notifications(&self, database: usize, new: &[NewNotification]) -> Result<Vec<MemberId>> {
        self.add_where_slots_are(database, new, |row| row.member, |database, new| self.add_to_slots(database, new))
            .await
    }

    async fn list_notifications(
        &self,
        member: MemberId,
        below: Option<EventId>,
        count: usize,
    ) -> Result<Vec<StoredNotification>> {
        let slot = member_slot(member);
        let text = format!(
            "SELECT {NOTIFICATION_COLUMNS} FROM notification_{{n}} FORCE INDEX (PRIMARY) \
             WHERE member_id = ? AND id < ? ORDER BY id DESC LIMIT ?"
        );
        let statement = self.part(slot).sql(&text).bind(member.signed());
        let statement = statement.bind(below.map_or(i64::MAX, EventId::signed)).bind(count as i64);
        self.rows_of("list_notifications", slot, statement).await?.iter().map(notification).collect()
    }

    async fn count_unread(&self, member: MemberId) -> Result<u64> {
        let slot = member_slot(member);
        let text = "SELECT COUNT(*) FROM notification_{n} FORCE INDEX (PRIMARY) WHERE member_id = ? AND is_read = 0";
        let found = self.rows_of("count_unread", slot, self.part(slot).sql(text).bind(member.signed())).await?;
        found.first().map_or(Ok(0), |r| count_at(r, 0))
    }

    async fn mark_read(&self, member: MemberId, up_to: EventId) -> Result<()> {
        let read = format!("SET is_read = 1 WHERE member_id = {member} AND id <= {up_to} AND is_read = 0");
        let end_wait = format!(
            "SET is_waiting = 0, since = {DATABASE_NOW} \
             WHERE member_id = {member} AND is_waiting = 1 AND notified_id <= {up_to}"
        );
        let both = |n| format!("UPDATE notification_{n} {read};UPDATE watch_{n} FORCE INDEX (PRIMARY) {end_wait}");
        self.change_notifications("mark_read", member, both).await
    }

    async fn delete_notifications_of(&self, member: MemberId) -> Result<()> {
        let delete = |n| format!("DELETE FROM notification_{n} WHERE member_id = {member}");
        self.change_notifications("delete_notifications_of", member, delete).await
    }
}

impl MysqlStore {
    /// Adds rows of members whose slots are in one database, as far as this process knows, each where its slot is. Answers
    /// the members of whom none was added.
    pub(super) async fn add_where_slots_are<T: Clone, Adding: Future<Output = Result<()>> + Send>(
        &self,
        database: usize,
        new: &[T],
        member: fn(&T) -> MemberId,
        add: impl Fn(usize, Vec<T>) -> Adding + Send,
    ) -> Result<Vec<MemberId>> {
        match add(database, new.to_vec()).await {
            Err(StoreError::Moved) => {}
            done => return done.map(|()| vec![]),
        }
        // A slot that is moving, or that no database has, holds up no other.
        self.read_slot_map_again().await;
        let mut by_slot: BTreeMap<Slot, Vec<T>> = BTreeMap::new();
        for row in new {
            by_slot.entry(member_slot(member(row))).or_default().push(row.clone());
        }
        let mut left = Vec::new();
        for (slot, rows) in by_slot {
            let members: Vec<MemberId> = rows.iter().map(member).collect();
            match add(self.database_of(slot), rows).await {
                Ok(()) => {}
                Err(StoreError::Moved) => left.extend(members),
                Err(error) => return Err(error),
            }
        }
        Ok(left)
    }

    /// Writes notifications of members whose slots are all in one database, in one transaction.
    async fn add_to_slots(&self, database: usize, new: Vec<NewNotification>) -> Result<()> {
        let mut session = self.session("add_notifications", database).await?;
        session.begin().await?;
        let done = async {
            let members: BTreeSet<MemberId> = new.iter().map(|new| new.member).collect();
            let locked =
                slot_locks::share_slots(&mut session, members.iter().map(|member| member_slot(*member))).await?;
            let mut sorted: Vec<&NewNotification> = new.iter().collect();
            // Every process locks rows in this order.
            sorted.sort_unstable_by_key(|new| (new.member, new.id));
            let rows = sorted.into_iter().map(|NewNotification { member, id, reason, comment, at, mail_at }| {
                let slot = member_slot(*member);
                let values = RowValues::new().number(member.signed()).number(id.signed());
                let values = values.number(i64::from(slot.get())).number(reason.number());
                (slot, values.number(comment.signed()).count(*at).count(*mail_at).end())
            });
            // One that is there stays as it is, also read, but for a weaker reason.
            let statement = format!(
                "INSERT INTO notification_{{n}} (member_id, id, slot, kind, comment_id, at, mail_at) VALUES {{rows}} \
                 ON DUPLICATE KEY UPDATE kind = IF(kind = {}, VALUES(kind), kind)",
                NotificationReason::Watched.number()
            );
            let mut script = BatchScript::new(&mut session);
            script.add_rows(&statement, group_by_table(self, rows)).await?;
            script.send().await?;
            self.delete_beyond_bound(&mut session, &members).await?;
            let dirty = members.iter().map(|member| (member_slot(*member), DirtyRow::Notifications(*member)));
            locked.record_dirty_rows(&mut session, dirty).await
        };
        let done = done.await;
        session.finish(done).await
    }

    /// Deletes the oldest notifications of those members who have more than are kept.
    pub(super) async fn delete_beyond_bound(
        &self,
        session: &mut MysqlSession,
        members: &BTreeSet<MemberId>,
    ) -> Result<()> {
        let members: Vec<MemberId> = members.iter().copied().collect();
        for members in members.chunks(MEMBERS_PER_STATEMENT) {
            // One walk of an index each, of at most as many entries as are kept.
            let parts: Vec<String> = members
                .iter()
                .map(|member| {
                    let n = self.table_number(member_slot(*member));
                    format!(
                        "(SELECT member_id, id FROM notification_{n} FORCE INDEX (PRIMARY) WHERE member_id = {member} \
                         ORDER BY id DESC LIMIT 1 OFFSET {MAX_NOTIFICATIONS})"
                    )
                })
                .collect();
            for r in session.fetch_text(parts.join(" UNION ALL ")).await? {
                let (member, id) = (member_id(number_at(&r, 0)?)?, number_at(&r, 1)?);
                let n = self.table_number(member_slot(member));
                let delete = format!("DELETE FROM notification_{n} WHERE member_id = {member} AND id <= {id}");
                session.execute_text(delete).await?;
            }
        }
        Ok(())
    }

    /// Changes the notifications of one member; waits a little for a slot that is moving.
    pub(super) async fn change_notifications(
        &self,
        operation: &'static str,
        member: MemberId,
        statement: impl Fn(u16) -> String,
    ) -> Result<()> {
        let mut write = self.begin_slot_write(operation, member_slot(member)).await?;
        let done = write.session.execute_text(statement(write.table)).await;
        write.finish(done, [DirtyRow::Notifications(member)]).await
    }
}

pub(super) fn notification(r: &MySqlRow) -> Result<StoredNotification> {
    Ok(StoredNotification {
        id: EventId::try_from(number_at(r, 0)?).map_err(damaged)?,
        reason: NotificationReason::from_number(number_at(r, 1)?)?,
        comment: id_at(r, 2)?,
        at: count_at(r, 3)?,
        is_read: number_at(r, 4)? != 0,
    })
}
