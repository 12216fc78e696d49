//! What members are notified of.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId};
use rusqlite::{CachedStatement, Row, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{SQLITE_NOW, fetch_all};
use crate::adapters::sqlite::rows::{StoredEnum as _, comment_id, count, damaged};
use crate::domain::notification::{MAX_NOTIFICATIONS, NewNotification, NotificationReason, StoredNotification};
use crate::ports::store::{Notifications, Result};

/// The columns that [`notification`] reads.
pub(super) const NOTIFICATION_COLUMNS: &str = "id, kind, comment_id, at, is_read";
/// Writes a notification, with the values of [`insert_notification`]. One that is there stays as it is, also read, but for a
/// weaker reason.
pub(super) const INSERT_NOTIFICATION_SQL: &str = "INSERT INTO notification (member_id, id, kind, comment_id, at, mail_at) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT DO UPDATE SET kind = excluded.kind WHERE kind = ?7";

#[async_trait]
impl Notifications for SqliteStore {
    fn database_of_member(&self, _: MemberId) -> usize {
        0
    }

    async fn add_notifications(&self, _: usize, new: &[NewNotification]) -> Result<Vec<MemberId>> {
        let new = new.to_vec();
        self.write("add_notifications", move |c| {
            let tx = c.transaction()?;
            let mut insert = tx.prepare_cached(INSERT_NOTIFICATION_SQL)?;
            for new in &new {
                insert_notification(&mut insert, new)?;
            }
            drop(insert);
            delete_beyond_bound(&tx, &new.iter().map(|new| new.member).collect())?;
            tx.commit()?;
            Ok(vec![])
        })
        .await
    }

    async fn list_notifications(
        &self,
        member: MemberId,
        below: Option<EventId>,
        limit: usize,
    ) -> Result<Vec<StoredNotification>> {
        let below = below.map_or(i64::MAX, EventId::signed);
        self.read("list_notifications", move |c| {
            let sql = format!(
                "SELECT {NOTIFICATION_COLUMNS} FROM notification WHERE member_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
            );
            fetch_all(c, &sql, params![member.signed(), below, limit as i64], notification)
        })
        .await
    }

    async fn count_unread(&self, member: MemberId) -> Result<u64> {
        self.read("count_unread", move |c| {
            let sql = "SELECT count(*) FROM notification WHERE member_id = ?1 AND is_read = 0";
            Ok(count(c.prepare_cached(sql)?.query_row([member.signed()], |r| r.get(0))?))
        })
        .await
    }

    async fn mark_read(&self, member: MemberId, up_to: EventId) -> Result<()> {
        self.write("mark_read", move |c| {
            let tx = c.transaction()?;
            let sql = "UPDATE notification SET is_read = 1 WHERE member_id = ?1 AND id <= ?2 AND is_read = 0";
            tx.prepare_cached(sql)?.execute([member.signed(), up_to.signed()])?;
            let sql = format!(
                "UPDATE watch SET is_waiting = 0, since = {SQLITE_NOW} \
                 WHERE member_id = ?1 AND is_waiting = 1 AND notified_id <= ?2"
            );
            tx.prepare_cached(&sql)?.execute([member.signed(), up_to.signed()])?;
            tx.commit()?;
            Ok(())
        })
        .await
    }

    async fn delete_notifications_of(&self, member: MemberId) -> Result<()> {
        let sql = "DELETE FROM notification WHERE member_id = ?1";
        self.write_rows("delete_notifications_of", sql, [member.signed()]).await.map(drop)
    }
}

/// Writes a notification by [`INSERT_NOTIFICATION_SQL`].
pub(super) fn insert_notification(insert: &mut CachedStatement<'_>, new: &NewNotification) -> Result<()> {
    let NewNotification { member, id, reason, comment, at, mail_at } = new;
    let weaker = NotificationReason::Watched.number();
    insert.execute(params![member.signed(), id.signed(), reason.number(), comment.signed(), at, mail_at, weaker])?;
    Ok(())
}

/// Deletes the oldest notifications of those members who have more than are kept.
pub(super) fn delete_beyond_bound(tx: &Transaction<'_>, members: &BTreeSet<MemberId>) -> Result<()> {
    let mut delete = tx.prepare_cached(
        "DELETE FROM notification WHERE member_id = ?1 AND id <= \
         (SELECT id FROM notification WHERE member_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
    )?;
    for member in members {
        delete.execute(params![member.signed(), MAX_NOTIFICATIONS as i64])?;
    }
    Ok(())
}

pub(super) fn notification(r: &Row<'_>) -> Result<StoredNotification> {
    Ok(StoredNotification {
        id: EventId::try_from(r.get::<_, i64>(0)?).map_err(damaged)?,
        reason: NotificationReason::from_number(r.get(1)?)?,
        comment: comment_id(r.get(2)?)?,
        at: count(r.get(3)?),
        is_read: r.get(4)?,
    })
}
