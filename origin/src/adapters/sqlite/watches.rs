//! The threads that members watch.

use std::collections::BTreeSet;

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId, SubjectKey};
use rusqlite::{Row, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::notifications::{INSERT_NOTIFICATION_SQL, delete_beyond_bound, insert_notification};
use crate::adapters::sqlite::query::{SQLITE_NOW, fetch_all, json_array};
use crate::adapters::sqlite::rows::{count, damaged, member_id};
use crate::domain::watch::{MAX_WATCHES, ReadyWatcher, StoredWatch, WatchInsertion, WatchNotification};
use crate::ports::store::{Result, Watches};

#[async_trait]
impl Watches for SqliteStore {
    async fn add_watches(&self, member: MemberId, watches: &[StoredWatch]) -> Result<WatchInsertion> {
        let watches = watches.to_vec();
        self.write("add_watches", move |c| {
            let tx = c.transaction()?;
            let sql = "SELECT count(*) FROM watch WHERE member_id = ?1";
            let mut places =
                (MAX_WATCHES as u64).saturating_sub(count(tx.query_row(sql, [member.signed()], |r| r.get(0))?));
            let sql = format!(
                "INSERT INTO watch (member_id, type, key, id, created_at, since) \
                 VALUES (?1, ?2, ?3, ?4, ?5, {SQLITE_NOW}) ON CONFLICT DO NOTHING"
            );
            let (mut insert, mut find) = (tx.prepare_cached(&sql)?, tx.prepare_cached(FIND_SQL)?);
            let mut inserted = WatchInsertion::Watching;
            for StoredWatch { subject, id, created_at } in &watches {
                let key = params![member.signed(), subject.kind(), subject.key()];
                if find.exists(key)? {
                    continue;
                }
                if places == 0 {
                    inserted = WatchInsertion::Full;
                    break;
                }
                places -= 1;
                insert.execute(params![member.signed(), subject.kind(), subject.key(), id.signed(), created_at])?;
            }
            drop((insert, find));
            tx.commit()?;
            Ok(inserted)
        })
        .await
    }

    async fn delete_watch(&self, member: MemberId, subject: &SubjectKey) -> Result<()> {
        let sql = "DELETE FROM watch WHERE member_id = ?1 AND type = ?2 AND key = ?3";
        let key = (member.signed(), subject.kind().to_owned(), subject.key().to_owned());
        self.write_rows("delete_watch", sql, key).await.map(drop)
    }

    async fn is_watching(&self, member: MemberId, subject: &SubjectKey) -> Result<bool> {
        let subject = subject.clone();
        self.read("is_watching", move |c| {
            Ok(c.prepare_cached(FIND_SQL)?.exists(params![member.signed(), subject.kind(), subject.key()])?)
        })
        .await
    }

    async fn list_watches(&self, member: MemberId, below: Option<EventId>, limit: usize) -> Result<Vec<StoredWatch>> {
        let below = below.map_or(i64::MAX, EventId::signed);
        self.read("list_watches", move |c| {
            let sql = "SELECT type, key, id, created_at FROM watch WHERE member_id = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
            fetch_all(c, sql, params![member.signed(), below, limit as i64], watch)
        })
        .await
    }

    async fn end_waiting(&self, member: MemberId, notified: &[EventId]) -> Result<()> {
        let notified = json_array(notified.iter().map(|id| id.signed()));
        let sql = "UPDATE watch SET is_waiting = 0 \
                   WHERE member_id = ?1 AND is_waiting = 1 AND notified_id IN (SELECT value FROM json_each(?2))";
        self.write_rows("end_waiting", sql, (member.signed(), notified)).await.map(drop)
    }

    async fn delete_watches_of(&self, member: MemberId) -> Result<()> {
        let sql = "DELETE FROM watch WHERE member_id = ?1";
        self.write_rows("delete_watches_of", sql, [member.signed()]).await.map(drop)
    }

    async fn list_ready_watchers(
        &self,
        database: usize,
        subjects: &[SubjectKey],
        after: Option<&ReadyWatcher>,
        limit: usize,
    ) -> Result<Vec<ReadyWatcher>> {
        if database > 0 {
            return Ok(vec![]);
        }
        let (subjects, after) = (BTreeSet::from_iter(subjects.iter().cloned()), after.cloned());
        self.read("list_ready_watchers", move |c| {
            let sql = "SELECT member_id, notified_id, since FROM watch INDEXED BY watch_subject \
                       WHERE type = ?1 AND key = ?2 AND is_waiting = 0 AND member_id > ?3 ORDER BY member_id LIMIT ?4";
            let mut found = Vec::new();
            for subject in subjects {
                let after = match &after {
                    Some(after) if subject < after.subject => continue,
                    Some(after) if subject == after.subject => after.member.signed(),
                    _ => 0,
                };
                let left = (limit - found.len()) as i64;
                let values = params![subject.kind(), subject.key(), after, left];
                found.extend(fetch_all(c, sql, values, |r| ready_watcher(&subject, r))?);
                if found.len() == limit {
                    break;
                }
            }
            Ok(found)
        })
        .await
    }

    async fn notify_watchers(&self, _: usize, new: &[WatchNotification]) -> Result<Vec<MemberId>> {
        let new = new.to_vec();
        self.write("notify_watchers", move |c| {
            let tx = c.transaction()?;
            let mut wait = tx.prepare_cached(
                "UPDATE watch SET is_waiting = 1, notified_id = ?4 \
                 WHERE member_id = ?1 AND type = ?2 AND key = ?3 AND is_waiting = 0 AND notified_id < ?4 \
                 AND NOT EXISTS (SELECT 1 FROM notification n WHERE n.member_id = ?1 AND n.id = ?4)",
            )?;
            let mut insert = tx.prepare_cached(INSERT_NOTIFICATION_SQL)?;
            let mut notified = BTreeSet::new();
            for WatchNotification { subject, new } in &new {
                let values = params![new.member.signed(), subject.kind(), subject.key(), new.id.signed()];
                if wait.execute(values)? > 0 {
                    insert_notification(&mut insert, new)?;
                    notified.insert(new.member);
                }
            }
            drop((wait, insert));
            delete_beyond_bound(&tx, &notified)?;
            tx.commit()?;
            Ok(vec![])
        })
        .await
    }
}

const FIND_SQL: &str = "SELECT 1 FROM watch WHERE member_id = ?1 AND type = ?2 AND key = ?3";

fn watch(r: &Row<'_>) -> Result<StoredWatch> {
    let subject = SubjectKey::new(r.get_ref(0)?.as_str().map_err(damaged)?, r.get_ref(1)?.as_str().map_err(damaged)?);
    let id = EventId::try_from(r.get::<_, i64>(2)?).map_err(damaged)?;
    Ok(StoredWatch { subject: subject.map_err(damaged)?, id, created_at: count(r.get(3)?) })
}

fn ready_watcher(subject: &SubjectKey, r: &Row<'_>) -> Result<ReadyWatcher> {
    let last: i64 = r.get(1)?;
    Ok(ReadyWatcher {
        subject: subject.clone(),
        member: member_id(r.get(0)?)?,
        last: (last != 0).then(|| EventId::try_from(last).map_err(damaged)).transpose()?,
        since: count(r.get(2)?),
    })
}
