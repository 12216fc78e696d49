//! The queues of events, and who works on them.

use async_trait::async_trait;
use gailou_shared::id::EventId;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::rows::{
    StoredEnum as _, count_at, damaged, id_at, member_id, number_at, optional_number_at,
};
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::outbox_rows::DATABASE_NOW;
use crate::domain::event::{Event, EventKind};
use crate::ports::store::{EventBacklog, EventQueues, QueuedEvent, Result};

/// Events that one statement removes.
const EVENTS_PER_DELETE: u64 = 5_000;

#[async_trait]
impl EventQueues for MysqlStore {
    async fn read_events(&self, database: usize, after: u64, count: usize) -> Result<Vec<QueuedEvent>> {
        let text = format!(
            "SELECT seq, id, at, comment_id, kind, actor_id, queued_at FROM event WHERE seq > {after} ORDER BY seq LIMIT {count}"
        );
        let found = self.session("read_events", database).await?.fetch_text(text).await?;
        found.iter().map(queued_event).collect()
    }

    async fn remove_events(&self, database: usize, events: &[QueuedEvent]) -> Result<()> {
        if events.is_empty() {
            return Ok(());
        }
        let numbers: Vec<String> = events.iter().map(|queued| queued.seq.to_string()).collect();
        let text = format!("DELETE FROM event WHERE seq IN ({})", numbers.join(","));
        self.session("remove_events", database).await?.execute_text(text).await
    }

    async fn clear_events(&self, database: usize, last: u64) -> Result<()> {
        let mut session = self.session("clear_events", database).await?;
        let text = format!("DELETE FROM event WHERE seq <= {last} ORDER BY seq LIMIT {EVENTS_PER_DELETE}");
        while session.execute(sql(text.clone())).await? >= EVENTS_PER_DELETE {}
        Ok(())
    }

    async fn read_event_backlog(&self, database: usize) -> Result<EventBacklog> {
        let text = format!(
            "SELECT MIN(seq), MAX(seq), (SELECT GREATEST(0, {DATABASE_NOW} - queued_at) FROM event ORDER BY seq LIMIT 1) \
             FROM event"
        );
        let found = self.session("read_event_backlog", database).await?.fetch_first(sql(text)).await?;
        let Some(r) = found else { return Ok(EventBacklog::default()) };
        let number = |index| -> Result<Option<u64>> { Ok(optional_number_at(&r, index)?.map(i64::unsigned_abs)) };
        let (first, last, age) = (number(0)?, number(1)?, number(2)?);
        let events = first.zip(last).map_or(0, |(first, last)| last.saturating_sub(first) + 1);
        Ok(EventBacklog { first: first.unwrap_or(0), events, age_ms: age.unwrap_or(0) })
    }

    async fn claim_job(&self, database: usize, job: &'static str, holder: &str, duration_ms: u64) -> Result<bool> {
        let mut session = self.session("claim_job", database).await?;
        // Assignments are made from left to right: the holder comes first.
        let claim = format!(
            "INSERT INTO job_lease (job, holder, held_until) VALUES (?, ?, {DATABASE_NOW} + ?) ON DUPLICATE KEY UPDATE \
             holder = IF(held_until <= {DATABASE_NOW}, VALUES(holder), holder), \
             held_until = IF(holder = VALUES(holder), VALUES(held_until), held_until)"
        );
        session.execute(sql(claim).bind(job).bind(holder).bind(duration_ms)).await?;
        let held = session.fetch_first(sql("SELECT holder FROM job_lease WHERE job = ?").bind(job)).await?;
        let held: Option<String> = held.map(|r| r.try_get(0)).transpose()?;
        Ok(held.as_deref() == Some(holder))
    }
}

fn queued_event(r: &MySqlRow) -> Result<QueuedEvent> {
    let event = Event {
        id: EventId::try_from(number_at(r, 1)?).map_err(damaged)?,
        at: count_at(r, 2)?,
        comment: id_at(r, 3)?,
        kind: EventKind::from_number(number_at(r, 4)?)?,
        actor: optional_number_at(r, 5)?.map(member_id).transpose()?,
    };
    Ok(QueuedEvent { seq: count_at(r, 0)?, event, queued_at: count_at(r, 6)? })
}
