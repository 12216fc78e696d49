//! A database that has gone back: its versions and numbers jump beyond those that it had before.

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use tokio::time::Instant;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::rows::number_at;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::slot_locks;
use crate::domain::operation::{ChangeRow, least_after_rewind};
use crate::ports::store::{Result, Rewinds, StoreError};

/// Subjects of one transaction.
const SUBJECTS_PER_RAISE: usize = 2_000;

#[async_trait]
impl Rewinds for MysqlStore {
    async fn pass_rewind(&self, database: usize, now: u64, window: Option<Duration>) -> Result<bool> {
        let begun = Instant::now();
        let session = self.session("pass_rewind", database).await?;
        let Some(mut lock) = NamedLock::acquire(session, "rewind", 0).await? else { return Ok(false) };
        let is_done = match window {
            Some(window) => {
                let since = now.saturating_sub(window.as_millis() as u64);
                let find = "SELECT 1 FROM feed WHERE comment_id = ? AND at > ? LIMIT 1";
                lock.session().fetch_first(sql(find).bind(ChangeRow::REWOUND_DATABASE).bind(since)).await?.is_some()
            }
            None => false,
        };
        if !is_done {
            let slots = SlotStatus::read_present(lock.session()).await?;
            for slot in slots.into_iter().filter(|(_, status)| status.state.is_readable()).map(|(slot, _)| slot) {
                match self.raise_versions(&mut lock, database, slot, least_after_rewind(now)).await {
                    // It is on its way to another database.
                    Err(StoreError::Moved) => {}
                    raised => raised?,
                }
            }
            put_marks(lock.session(), now + begun.elapsed().as_millis() as u64).await?;
        }
        lock.release().await?;
        Ok(true)
    }
}

/// Says in the feed that the database has gone back, last: who reads it finds the versions raised. The first row takes
/// the next number, and the second, with a number of its own, moves those that follow.
pub(super) async fn put_marks(session: &mut MysqlSession, now: u64) -> Result<()> {
    let put = "INSERT INTO feed (at, type, `key`, version, comment_id) VALUES (?, 'gailou', 'rewound', 0, ?)";
    session.execute(sql(put).bind(now).bind(ChangeRow::REWOUND_DATABASE)).await?;
    let put = "INSERT INTO feed (seq, at, type, `key`, version, comment_id) \
               SELECT GREATEST(LAST_INSERT_ID() + 1, ?), ?, 'gailou', 'rewound', 0, ?";
    session.execute(sql(put).bind(least_after_rewind(now)).bind(now).bind(ChangeRow::REWOUND_DATABASE)).await.map(drop)
}

impl MysqlStore {
    /// Raises the versions of a slot's subjects, under the slot's lock: who writes them has read them under it.
    async fn raise_versions(&self, lock: &mut NamedLock, database: usize, slot: Slot, least: u64) -> Result<()> {
        let mut after = i64::MIN;
        loop {
            lock.check().await?;
            match self.raise_next_versions(database, slot, after, least).await? {
                Some(last) => after = last,
                None => return Ok(()),
            }
        }
    }

    /// Raises the versions of the next [`SUBJECTS_PER_RAISE`] subjects; the number of the last of them.
    async fn raise_next_versions(&self, database: usize, slot: Slot, after: i64, least: u64) -> Result<Option<i64>> {
        let table = self.table_number(slot);
        let mut session = self.session("raise_versions", database).await?;
        session.begin().await?;
        let done = async {
            let locked = slot_locks::lock_slots(&mut session, [slot].into_iter()).await?;
            let find = format!("SELECT id FROM subject_{table} WHERE slot = ? AND id > ? ORDER BY id LIMIT ?");
            let find = sql(find).bind(slot.get()).bind(after).bind(SUBJECTS_PER_RAISE as i64);
            let found = session.fetch_all(find).await?;
            let ids = found.iter().map(|r| number_at(r, 0)).collect::<Result<Vec<i64>>>()?;
            let Some(last) = ids.last().copied() else { return Ok(None) };
            let raise = format!(
                "UPDATE subject_{table} SET version = GREATEST(version + 1, ?) WHERE slot = ? AND id > ? AND id <= ?"
            );
            session.execute(sql(raise).bind(least).bind(slot.get()).bind(after).bind(last)).await?;
            let rows = ids.into_iter().map(|id| (slot, DirtyRow::Subject(id)));
            locked.record_dirty_rows(&mut session, rows).await?;
            Ok(Some(last))
        };
        let done = done.await;
        session.finish(done).await
    }
}
