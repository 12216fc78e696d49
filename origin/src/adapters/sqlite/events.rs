//! The queue of events.

use async_trait::async_trait;
use gailou_shared::id::{EventId, MemberId};
use rusqlite::{Row, Transaction, params};

use crate::adapters::sqlite::SqliteStore;
use crate::adapters::sqlite::query::{SQLITE_NOW, fetch_all, json_array};
use crate::adapters::sqlite::rows::{StoredEnum as _, comment_id, count, damaged, member_id};
use crate::domain::event::{Event, EventKind};
use crate::domain::fold::RowChanges;
use crate::ports::store::{EventBacklog, EventQueues, QueuedEvent, Result};

/// Events that one transaction removes, so that others need not wait for it.
const EVENTS_PER_DELETE: u64 = 5_000;

/// Writes what members, moderators and other programs are to be notified of.
pub(super) fn write_events(tx: &Transaction<'_>, changes: &RowChanges<'_>) -> Result<()> {
    let sql = format!(
        "INSERT INTO event (id, at, comment_id, kind, actor_id, queued_at) VALUES (?1, ?2, ?3, ?4, ?5, {SQLITE_NOW})"
    );
    let mut insert = tx.prepare_cached(&sql)?;
    for event in &changes.events {
        let Event { id, comment, kind, actor, at } = event;
        let actor = actor.map(MemberId::signed);
        insert.execute(params![id.signed(), at, comment.signed(), kind.number(), actor])?;
    }
    Ok(())
}

#[async_trait]
impl EventQueues for SqliteStore {
    async fn read_events(&self, database: usize, after: u64, limit: usize) -> Result<Vec<QueuedEvent>> {
        if database > 0 {
            return Ok(vec![]);
        }
        self.read("read_events", move |c| {
            let sql = "SELECT seq, id, at, comment_id, kind, actor_id, queued_at FROM event WHERE seq > ?1 ORDER BY seq LIMIT ?2";
            fetch_all(c, sql, params![after, limit as i64], queued_event)
        })
        .await
    }

    async fn remove_events(&self, _: usize, events: &[QueuedEvent]) -> Result<()> {
        let numbers = json_array(events.iter().map(|queued| queued.seq as i64));
        self.write("remove_events", move |c| {
            c.prepare_cached("DELETE FROM event WHERE seq IN (SELECT value FROM json_each(?1))")?.execute([numbers])?;
            Ok(())
        })
        .await
    }

    async fn clear_events(&self, _: usize, last: u64) -> Result<()> {
        loop {
            let oldest = "SELECT seq FROM event WHERE seq <= ?1 ORDER BY seq LIMIT ?2";
            let sql = format!("DELETE FROM event WHERE seq IN ({oldest})");
            let removed = self.write("clear_events", move |c| {
                Ok(c.prepare_cached(&sql)?.execute(params![last, EVENTS_PER_DELETE])?)
            });
            if (removed.await? as u64) < EVENTS_PER_DELETE {
                return Ok(());
            }
        }
    }

    async fn read_event_backlog(&self, database: usize) -> Result<EventBacklog> {
        if database > 0 {
            return Ok(EventBacklog::default());
        }
        self.read("read_event_backlog", |c| {
            // One lookup each at both ends of the primary key.
            let age = format!("(SELECT max(0, {SQLITE_NOW} - queued_at) FROM event ORDER BY seq LIMIT 1)");
            let sql = format!("SELECT (SELECT min(seq) FROM event), (SELECT max(seq) FROM event), {age}");
            Ok(c.prepare_cached(&sql)?.query_row([], |r| {
                let (first, last, age): (Option<i64>, Option<i64>, Option<i64>) = (r.get(0)?, r.get(1)?, r.get(2)?);
                let events = first.zip(last).map_or(0, |(first, last)| count(last - first) + 1);
                Ok(EventBacklog { first: first.map_or(0, count), events, age_ms: age.map_or(0, count) })
            })?)
        })
        .await
    }

    /// One process at a time has the file.
    async fn claim_job(&self, _: usize, _: &'static str, _: &str, _: u64) -> Result<bool> {
        Ok(true)
    }
}

fn queued_event(r: &Row<'_>) -> Result<QueuedEvent> {
    let event = Event {
        id: EventId::try_from(r.get::<_, i64>(1)?).map_err(damaged)?,
        at: count(r.get(2)?),
        comment: comment_id(r.get(3)?)?,
        kind: EventKind::from_number(r.get(4)?)?,
        actor: r.get::<_, Option<i64>>(5)?.map(member_id).transpose()?,
    };
    Ok(QueuedEvent { seq: count(r.get(0)?), event, queued_at: count(r.get(6)?) })
}
