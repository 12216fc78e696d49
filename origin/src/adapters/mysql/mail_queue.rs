//! What members are to be mailed: rows of what they are notified that have a moment for it, in the databases of their slots.

use async_trait::async_trait;
use gailou_shared::id::MemberId;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::notifications::{NOTIFICATION_COLUMNS, notification};
use crate::adapters::mysql::row_numbers::member_slot;
use crate::adapters::mysql::rows::{count_at, member_id, number_at, optional_number_at};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::slot_locks;
use crate::domain::mail_plan::hour_begin;
use crate::ports::store::{DueMail, MailOutcome, MailQueue, Notifications as _, Result, StoreError};

#[async_trait]
impl MailQueue for MysqlStore {
    async fn claim_mails(&self, database: usize, now: u64, until: u64, count: usize) -> Result<Vec<DueMail>> {
        // One mail of a member at a time: two would have the same claim, and many would leave no place to others.
        let parts: Vec<String> = (0..self.tables)
            .map(|n| {
                format!(
                    "(SELECT member_id, MIN(mail_at) FROM notification_{n} FORCE INDEX (notification_mail) \
                     WHERE mail_at <= {now} GROUP BY member_id ORDER BY 2 LIMIT {count})"
                )
            })
            .collect();
        let text = format!("{} ORDER BY 2 LIMIT {count}", parts.join(" UNION ALL "));
        let found = self.session("list_due_mails", database).await?.fetch_text(text).await?;
        let mut mails = Vec::with_capacity(found.len());
        for r in found {
            let (member, at) = (member_id(number_at(&r, 0)?)?, number_at(&r, 1)?);
            // The former copy of a slot that has moved is not claimed.
            if self.database_of_member(member) != database {
                continue;
            }
            match self.claim_mail(database, member, at, now, until).await {
                Ok(mail) => mails.extend(mail),
                Err(StoreError::Moved) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(mails)
    }

    async fn finish_mail(&self, mail: &DueMail, outcome: MailOutcome) -> Result<()> {
        let set = match outcome {
            MailOutcome::Sent(at) => format!("mail_at = NULL, mailed_at = {at}"),
            MailOutcome::Later(at, tries) => format!("mail_at = {at}, mail_tries = {tries}"),
            MailOutcome::Dropped => "mail_at = NULL".to_owned(),
        };
        let of_mail = format!("WHERE member_id = {} AND mail_at = {}", mail.member, mail.claimed_until);
        let update = |n| format!("UPDATE notification_{n} SET {set} {of_mail}");
        self.change_notifications("finish_mail", mail.member, update).await
    }

    /// Other processes may be sending.
    async fn release_mails(&self, _: u64) -> Result<()> {
        Ok(())
    }
}

impl MysqlStore {
    /// Claims what a member is to be mailed at one moment; `None` where another process has claimed it.
    async fn claim_mail(
        &self,
        database: usize,
        member: MemberId,
        at: i64,
        now: u64,
        until: u64,
    ) -> Result<Option<DueMail>> {
        let slot = member_slot(member);
        let n = self.table_number(slot);
        let mut session = self.session("claim_mail", database).await?;
        session.begin().await?;
        let done = async {
            let locked = slot_locks::share_slots(&mut session, [slot].into_iter()).await?;
            let claim = format!(
                "UPDATE notification_{n} SET mail_at = {until}, mail_tries = mail_tries + 1 \
                 WHERE member_id = {member} AND mail_at = {at}"
            );
            if session.execute(sql(claim)).await? == 0 {
                return Ok(None);
            }
            let dirty = [(slot, DirtyRow::Notifications(member))];
            locked.record_dirty_rows(&mut session, dirty.into_iter()).await?;
            let of_member = format!("FROM notification_{n} FORCE INDEX (PRIMARY) WHERE member_id = {member}");
            let rows = format!("SELECT {NOTIFICATION_COLUMNS} {of_member} AND mail_at = {until} ORDER BY id DESC");
            let rows = session.fetch_text(rows).await?.iter().map(notification).collect::<Result<Vec<_>>>()?;
            let since = hour_begin(now);
            let counts = format!(
                "SELECT CAST(MAX(IF(mail_at = {until}, mail_tries, 0)) AS SIGNED), \
                 COUNT(DISTINCT IF(mailed_at >= {since}, mailed_at, NULL)) {of_member}"
            );
            let Some(r) = session.fetch_first(sql(counts)).await? else { return Ok(None) };
            let tries = u32::try_from(optional_number_at(&r, 0)?.unwrap_or(1)).unwrap_or(u32::MAX);
            let mailed_lately = count_at(&r, 1)? as usize;
            Ok(Some(DueMail { member, claimed_until: until, tries, mailed_lately, rows }))
        };
        let done = done.await;
        session.finish(done).await
    }
}
