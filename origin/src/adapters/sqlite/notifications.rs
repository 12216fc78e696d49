//! What members are notified of.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId};
use rusqlite::{Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{StoredEnum as _, comment_id, count, damaged};
use crate::domain::notification::{MAX_NOTIFICATIONS, NewNotification, NotificationReason, StoredNotification};
use crate::ports::store::{Notifications, Result};

/// The columns that [`notification`] reads.
pub(super) const NOTIFICATION_COLUMNS: &str = "id, kind, comment_id, at, is_read";

#[async_trait]
impl Notifications for SqliteStore {
    fn database_of_member(&self, _: MemberId) -> usize {
        0
    }

    async fn add_notifications(&self, _: usize, new: &[NewNotification]) -> Result<Vec<MemberId>> {
        let new = new.to_vec();
        self.write("add_notifications", move |c| {
            let tx = c.transaction()?;
            let mut insert = tx.prepare_cached(
                "INSERT INTO notification (member_id, id, kind, comment_id, at, mail_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
                 ON CONFLICT DO NOTHING",
            )?;
            for NewNotification { member, id, reason, comment, at, mail_at } in &new {
                let (member, comment) = (member.signed(), comment.signed());
                insert.execute(params![member, id.signed(), reason.number(), comment, at, mail_at])?;
            }
            let mut delete = tx.prepare_cached(
                "DELETE FROM notification WHERE member_id = ?1 AND id <= \
                 (SELECT id FROM notification WHERE member_id = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)",
            )?;
            for member in new.iter().map(|new| new.member).collect::<BTreeSet<_>>() {
                delete.execute(params![member.signed(), MAX_NOTIFICATIONS as i64])?;
            }
            drop((insert, delete));
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
        let sql = "UPDATE notification SET is_read = 1 WHERE member_id = ?1 AND id <= ?2 AND is_read = 0";
        self.write_rows("mark_read", sql, (member.signed(), up_to.signed())).await.map(drop)
    }

    async fn delete_notifications_of(&self, member: MemberId) -> Result<()> {
        let sql = "DELETE FROM notification WHERE member_id = ?1";
        self.write_rows("delete_notifications_of", sql, [member.signed()]).await.map(drop)
    }
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
