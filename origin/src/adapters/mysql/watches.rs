//! The threads that members watch, in the databases of the members' slots.

use std::collections::{BTreeSet, HashSet};

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId, SubjectKey};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::row_numbers::{member_slot, subject_number};
use crate::adapters::mysql::rows::{StoredEnum as _, count_at, damaged, member_id, number_at};
use crate::adapters::mysql::slot_write::SlotWrite;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::batch_sql::{
    BatchScript, RowValues, group_by_table, json_numbers, json_table, signed,
};
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::adapters::mysql::write::slot_locks;
use crate::domain::notification::{NewNotification, NotificationReason};
use crate::domain::watch::{MAX_WATCHES, ReadyWatcher, StoredWatch, WatchInsertion, WatchNotification};
use crate::ports::store::{Result, Watches};

#[async_trait]
impl Watches for MysqlStore {
    async fn add_watches(&self, member: MemberId, watches: &[StoredWatch]) -> Result<WatchInsertion> {
        let mut write = self.begin_slot_write("add_watches", member_slot(member)).await?;
        let inserted = insert(&mut write, member, watches).await;
        write.finish(inserted, [DirtyRow::Notifications(member)]).await
    }

    async fn delete_watch(&self, member: MemberId, subject: &SubjectKey) -> Result<()> {
        let mut write = self.begin_slot_write("delete_watch", member_slot(member)).await?;
        let delete = sql(format!("DELETE FROM watch_{} WHERE member_id = ? AND type = ? AND `key` = ?", write.table));
        let delete = delete.bind(member.signed()).bind(subject.kind().as_bytes()).bind(subject.key().as_bytes());
        let done = write.session.execute(delete).await;
        write.finish(done.map(drop), [DirtyRow::Notifications(member)]).await
    }

    async fn is_watching(&self, member: MemberId, subject: &SubjectKey) -> Result<bool> {
        let slot = member_slot(member);
        let find = self.part(slot).sql("SELECT 1 FROM watch_{n} WHERE member_id = ? AND type = ? AND `key` = ?");
        let find = find.bind(member.signed()).bind(subject.kind().as_bytes()).bind(subject.key().as_bytes());
        Ok(!self.rows_of("is_watching", slot, find).await?.is_empty())
    }

    async fn list_watches(&self, member: MemberId, below: Option<EventId>, count: usize) -> Result<Vec<StoredWatch>> {
        let slot = member_slot(member);
        let text = "SELECT type, `key`, id, created_at FROM watch_{n} FORCE INDEX (PRIMARY) \
                    WHERE member_id = ? AND id < ? ORDER BY id DESC LIMIT ?";
        let list = self.part(slot).sql(text).bind(member.signed());
        let list = list.bind(below.map_or(i64::MAX, EventId::signed)).bind(count as i64);
        self.rows_of("list_watches", slot, list).await?.iter().map(watch).collect()
    }

    async fn end_waiting(&self, member: MemberId, notified: &[EventId]) -> Result<()> {
        if notified.is_empty() {
            return Ok(());
        }
        let ids = notified.iter().map(|id| id.signed().to_string()).collect::<Vec<_>>().join(",");
        let update = |n| {
            format!(
                "UPDATE watch_{n} SET is_waiting = 0 \
                 WHERE member_id = {member} AND is_waiting = 1 AND notified_id IN ({ids})"
            )
        };
        self.change_notifications("end_waiting", member, update).await
    }

    async fn delete_watches_of(&self, member: MemberId) -> Result<()> {
        let delete = |n| format!("DELETE FROM watch_{n} WHERE member_id = {member}");
        self.change_notifications("delete_watches_of", member, delete).await
    }

    async fn list_ready_watchers(
        &self,
        database: usize,
        subjects: &[SubjectKey],
        after: Option<&ReadyWatcher>,
        count: usize,
    ) -> Result<Vec<ReadyWatcher>> {
        let after = after.map(|after| (subject_number(&after.subject), after.member));
        let numbers: BTreeSet<i64> = subjects.iter().map(subject_number).collect();
        let left = numbers.into_iter().filter(|number| after.is_none_or(|(subject, _)| *number >= subject));
        let left: Vec<String> = left.map(|number| number.to_string()).collect();
        if left.is_empty() {
            return Ok(vec![]);
        }
        let after = after
            .map_or(String::new(), |(subject, member)| format!(" AND (subject > {subject} OR member_id > {member})"));
        let parts: Vec<String> = (0..self.tables)
            .map(|n| {
                format!(
                    "(SELECT subject, member_id, type, `key`, notified_id, since FROM watch_{n} FORCE INDEX (watch_subject) \
                     WHERE subject IN ({}) AND is_waiting = 0{after} ORDER BY subject, is_waiting, member_id LIMIT {count})",
                    left.join(",")
                )
            })
            .collect();
        let text = format!("{} ORDER BY 1, 2 LIMIT {count}", parts.join(" UNION ALL "));
        let found = self.session("list_ready_watchers", database).await?.fetch_text(text).await?;
        found.iter().map(ready_watcher).collect()
    }

    async fn notify_watchers(&self, database: usize, new: &[WatchNotification]) -> Result<Vec<MemberId>> {
        let add = |database, new| self.notify_slots(database, new);
        self.add_where_slots_are(database, new, |row| row.new.member, add).await
    }
}

impl MysqlStore {
    /// Notifies watchers whose slots are all in one database, in one transaction.
    async fn notify_slots(&self, database: usize, new: Vec<WatchNotification>) -> Result<()> {
        let mut session = self.session("notify_watchers", database).await?;
        session.begin().await?;
        let done = async {
            let members: BTreeSet<MemberId> = new.iter().map(|row| row.new.member).collect();
            let locked =
                slot_locks::share_slots(&mut session, members.iter().map(|member| member_slot(*member))).await?;
            let mut sorted: Vec<&WatchNotification> = new.iter().collect();
            // Every process locks rows in this order.
            sorted.sort_unstable_by_key(|row| (row.new.member, row.new.id));
            let rows = sorted.into_iter().map(|WatchNotification { subject, new }| {
                let NewNotification { member, id, comment, at, mail_at, .. } = new;
                let [subject, of, id, comment, at] =
                    [subject_number(subject), member.signed(), id.signed(), comment.signed(), signed(*at)].map(Some);
                let row = [subject, of, id, comment, at, mail_at.map(signed)];
                (member_slot(*member), json_numbers(&row))
            });
            let rows = group_by_table(self, rows);
            let columns =
                ["subject BIGINT", "member BIGINT", "id BIGINT", "comment BIGINT", "at BIGINT", "mail_at BIGINT"];
            let new = json_table("{rows}", &columns);
            let mut script = BatchScript::new(&mut session);
            // The watch decides: who waits by this statement is notified by the next one.
            let wait = format!(
                "UPDATE {new} STRAIGHT_JOIN watch_{{n}} w FORCE INDEX (watch_subject) \
                 ON w.subject = j.subject AND w.is_waiting = 0 AND w.member_id = j.member \
                 SET w.is_waiting = 1, w.notified_id = j.id WHERE w.notified_id < j.id AND NOT EXISTS \
                 (SELECT 1 FROM notification_{{n}} x WHERE x.member_id = j.member AND x.id = j.id)"
            );
            script.add_rows(&wait, rows.clone()).await?;
            let insert = format!(
                "INSERT INTO notification_{{n}} (member_id, id, slot, kind, comment_id, at, mail_at) \
                 SELECT j.member, j.id, w.slot, {}, j.comment, j.at, j.mail_at \
                 FROM {new} STRAIGHT_JOIN watch_{{n}} w FORCE INDEX (watch_subject) \
                 ON w.subject = j.subject AND w.is_waiting = 1 AND w.member_id = j.member AND w.notified_id = j.id \
                 ON DUPLICATE KEY UPDATE notification_{{n}}.id = notification_{{n}}.id",
                NotificationReason::Watched.number()
            );
            script.add_rows(&insert, rows).await?;
            script.send().await?;
            self.delete_beyond_bound(&mut session, &members).await?;
            let dirty = members.iter().map(|member| (member_slot(*member), DirtyRow::Notifications(*member)));
            locked.record_dirty_rows(&mut session, dirty).await
        };
        let done = done.await;
        session.finish(done).await
    }
}

async fn insert(write: &mut SlotWrite, member: MemberId, watches: &[StoredWatch]) -> Result<WatchInsertion> {
    let table = write.table;
    // The rows are locked, so that two additions wait for each other.
    let find = sql(format!("SELECT type, `key`, id, created_at FROM watch_{table} WHERE member_id = ? FOR UPDATE"));
    let found = write.session.fetch_all(find.bind(member.signed())).await?;
    let known = found.iter().map(|r| Ok(watch(r)?.subject)).collect::<Result<HashSet<SubjectKey>>>()?;
    let missing = watches.iter().filter(|watch| !known.contains(&watch.subject));
    let (mut inserted, mut rows) = (WatchInsertion::Watching, Vec::new());
    for StoredWatch { subject, id, created_at } in missing {
        if known.len() + rows.len() >= MAX_WATCHES {
            inserted = WatchInsertion::Full;
            break;
        }
        let values = RowValues::new().number(member.signed()).text(subject.kind()).text(subject.key());
        let values = values.number(i64::from(member_slot(member).get())).number(subject_number(subject));
        rows.push(values.number(id.signed()).count(*created_at).sql(DATABASE_NOW).end());
    }
    if !rows.is_empty() {
        let statement = "INSERT INTO watch_{n} (member_id, type, `key`, slot, subject, id, created_at, since) \
                         VALUES {rows} ON DUPLICATE KEY UPDATE id = id";
        let mut script = BatchScript::new(&mut write.session);
        script.add_rows(statement, [(table, rows)].into()).await?;
        script.send().await?;
    }
    Ok(inserted)
}

fn watched_subject(r: &MySqlRow, index: usize) -> Result<SubjectKey> {
    let text = |index: usize| -> Result<&str> { std::str::from_utf8(r.try_get(index)?).map_err(damaged) };
    SubjectKey::new(text(index)?, text(index + 1)?).map_err(damaged)
}

fn watch(r: &MySqlRow) -> Result<StoredWatch> {
    let id = EventId::try_from(number_at(r, 2)?).map_err(damaged)?;
    Ok(StoredWatch { subject: watched_subject(r, 0)?, id, created_at: count_at(r, 3)? })
}

fn ready_watcher(r: &MySqlRow) -> Result<ReadyWatcher> {
    let last = number_at(r, 4)?;
    Ok(ReadyWatcher {
        subject: watched_subject(r, 2)?,
        member: member_id(number_at(r, 1)?)?,
        last: (last != 0).then(|| EventId::try_from(last).map_err(damaged)).transpose()?,
        since: count_at(r, 5)?,
    })
}
