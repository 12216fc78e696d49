//! What members are to be mailed: rows of what they are notified that have a moment for it.

use async_trait::async_trait;
use rusqlite::params;

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::notifications::{NOTIFICATION_COLUMNS, notification};
use crate::adapters::sqlite::query::fetch_all;
use crate::adapters::sqlite::rows::{count, member_id};
use crate::domain::mail_plan::hour_begin;
use crate::ports::store::{DueMail, MailOutcome, MailQueue, Result};

#[async_trait]
impl MailQueue for SqliteStore {
    async fn claim_mails(&self, database: usize, now: u64, until: u64, limit: usize) -> Result<Vec<DueMail>> {
        if database > 0 {
            return Ok(vec![]);
        }
        self.write("claim_mails", move |c| {
            let tx = c.transaction()?;
            // One mail of a member at a time: two would have the same claim, and many would leave no place to others.
            let due = "SELECT member_id, min(mail_at) FROM notification INDEXED BY notification_mail \
                       WHERE mail_at <= ?1 GROUP BY member_id ORDER BY 2 LIMIT ?2";
            let due = fetch_all(&tx, due, params![now, limit as i64], |r| {
                Ok((r.get::<_, i64>(0)?, r.get::<_, i64>(1)?))
            })?;
            let mut mails = Vec::with_capacity(due.len());
            for (member, at) in due {
                tx.prepare_cached(
                    "UPDATE notification SET mail_at = ?3, mail_tries = mail_tries + 1 \
                     WHERE member_id = ?1 AND mail_at = ?2",
                )?
                .execute(params![member, at, until])?;
                let rows = format!(
                    "SELECT {NOTIFICATION_COLUMNS} FROM notification WHERE member_id = ?1 AND mail_at = ?2 ORDER BY id DESC"
                );
                let rows = fetch_all(&tx, &rows, params![member, until], notification)?;
                let tries = "SELECT max(mail_tries) FROM notification WHERE member_id = ?1 AND mail_at = ?2";
                let tries: u32 = tx.prepare_cached(tries)?.query_row(params![member, until], |r| r.get(0))?;
                let lately =
                    "SELECT count(DISTINCT mailed_at) FROM notification WHERE member_id = ?1 AND mailed_at >= ?2";
                let lately: i64 = tx.prepare_cached(lately)?.query_row(params![member, hour_begin(now)], |r| r.get(0))?;
                let (member, mailed_lately) = (member_id(member)?, count(lately) as usize);
                mails.push(DueMail { member, claimed_until: until, tries, mailed_lately, rows });
            }
            tx.commit()?;
            Ok(mails)
        })
        .await
    }

    async fn finish_mail(&self, mail: &DueMail, outcome: MailOutcome) -> Result<()> {
        let (member, claim) = (mail.member.signed(), mail.claimed_until);
        self.write("finish_mail", move |c| {
            let of_mail = "WHERE member_id = ?1 AND mail_at = ?2";
            match outcome {
                MailOutcome::Sent(at) => {
                    let sql = format!("UPDATE notification SET mail_at = NULL, mailed_at = ?3 {of_mail}");
                    c.prepare_cached(&sql)?.execute(params![member, claim, at])?
                }
                MailOutcome::Later(at, tries) => {
                    let sql = format!("UPDATE notification SET mail_at = ?3, mail_tries = ?4 {of_mail}");
                    c.prepare_cached(&sql)?.execute(params![member, claim, at, tries])?
                }
                MailOutcome::Dropped => {
                    let sql = format!("UPDATE notification SET mail_at = NULL {of_mail}");
                    c.prepare_cached(&sql)?.execute(params![member, claim])?
                }
            };
            Ok(())
        })
        .await
    }

    async fn release_mails(&self, now: u64) -> Result<()> {
        // Those that were claimed together stay together: each claim is moved back by itself.
        let sql = "UPDATE notification SET mail_at = ?1 - (mail_at - ?1) % 1000 WHERE mail_at > ?1 AND mail_tries > 0";
        self.write_rows("release_mails", sql, [now]).await.map(drop)
    }
}
