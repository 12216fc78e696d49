//! The port to a mover of slots, in statements.

use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use sqlx::Row as _;

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::{DirtyRow, take_dirty_rows};
use crate::adapters::mysql::named_lock::NamedLock;
use crate::adapters::mysql::reshard::SlotRows;
use crate::adapters::mysql::rows::{count_at, damaged, number_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::slot_state::SlotStatus;
use crate::adapters::mysql::statement::sql;
use crate::adapters::mysql::write::checkpoint_rows;
use crate::domain::columns::StoredEnum as _;
use crate::domain::slot_state::SlotProgress;
use crate::ports::store::{MoveLock, MoveSession, Result, SlotMoves, StoreError};

/// How long the server keeps the connections of a mover that is silent, and with them its lock. A step of a move is a
/// transaction of at most a thousand rows; a job finishes the move of a dead machine after this and a few seconds.
const MOVER_IDLE_TIMEOUT_S: u64 = 20;

#[async_trait]
impl SlotMoves for MysqlStore {
    type Lock = NamedLock;
    type Session = MysqlSession;
    type Rows = SlotRows;

    async fn lock_moves(&self, wait: Duration) -> Result<Option<NamedLock>> {
        NamedLock::acquire(self.move_session(0).await?, "shift", wait.as_secs()).await
    }

    async fn move_session(&self, database: usize) -> Result<MysqlSession> {
        let mut session = self.long_session("reshard", database).await?;
        session.execute_text(format!("SET SESSION wait_timeout = {MOVER_IDLE_TIMEOUT_S}")).await?;
        Ok(session)
    }

    async fn rows_of_slot(&self, session: &mut MysqlSession, slot: Slot) -> Result<SlotRows> {
        SlotRows::new(session, self.table_number(slot), slot).await
    }

    async fn compare_copies(&self, slot: Slot, one: usize, other: usize) -> Result<Vec<String>> {
        self.compare_copies(slot, one, other).await
    }

    async fn refresh_slot_map(&self) -> Result<()> {
        self.refresh_slot_map().await
    }

    fn find_unsettled(&self) -> Vec<Slot> {
        self.slot_map.get().find_unsettled()
    }

    fn describe_database(&self, database: usize) -> String {
        self.pool(database).address().to_owned()
    }
}

#[async_trait]
impl MoveLock for NamedLock {
    async fn check(&mut self) -> Result<()> {
        self.check().await
    }

    async fn release(self) -> Result<()> {
        self.release().await
    }

    async fn take_move_number(&mut self, least: i64) -> Result<i64> {
        let session = self.session();
        let take = "UPDATE move_number SET last = LAST_INSERT_ID(GREATEST(last + 1, ?, \
                    CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED))) WHERE id = 0";
        if session.execute(sql(take).bind(least)).await? != 1 {
            return Err(damaged("move_number has no row: `gailou migrate` adds it"));
        }
        let found = session.fetch_first(sql("SELECT CAST(LAST_INSERT_ID() AS SIGNED)")).await?;
        Ok(found.ok_or_else(|| damaged("no move number"))?.try_get(0)?)
    }

    async fn enter_move(&mut self, slot: Slot, to: usize, move_number: i64) -> Result<()> {
        let map = "UPDATE slot_map SET shard = ?, version = version + 1, move = ? WHERE slot = ? AND move < ?";
        let map = sql(map).bind(to as i64).bind(move_number).bind(slot.get()).bind(move_number);
        self.session().execute(map).await.map(drop)
    }

    async fn correct_map(&mut self, slot: Slot, owner: usize) -> Result<bool> {
        let session = self.session();
        let find = sql("SELECT shard, move FROM slot_map WHERE slot = ?").bind(slot.get());
        let Some(r) = session.fetch_first(find).await? else {
            let add = "INSERT IGNORE INTO slot_map (slot, shard, version) VALUES (?, ?, 1)";
            return Ok(session.execute(sql(add).bind(slot.get()).bind(owner as i64)).await? == 1);
        };
        let (shard, move_number) = (number_at(&r, 0)?, number_at(&r, 1)?);
        if shard == owner as i64 {
            return Ok(false);
        }
        let correct = "UPDATE slot_map SET shard = ?, version = version + 1 WHERE slot = ? AND shard = ? AND move = ?";
        let correct = sql(correct).bind(owner as i64).bind(slot.get()).bind(shard).bind(move_number);
        Ok(session.execute(correct).await? == 1)
    }
}

#[async_trait]
impl MoveSession for MysqlSession {
    type Dirty = DirtyRow;

    async fn begin(&mut self) -> Result<()> {
        self.begin().await
    }

    async fn commit(&mut self) -> Result<()> {
        self.commit().await
    }

    async fn rollback(&mut self) -> Result<()> {
        self.rollback().await
    }

    async fn read_status(&mut self, slot: Slot) -> Result<SlotStatus> {
        SlotStatus::read(self, slot).await
    }

    async fn lock_status(&mut self, slot: Slot) -> Result<SlotStatus> {
        SlotStatus::lock(self, slot).await
    }

    async fn replace_status(&mut self, slot: Slot, before: SlotStatus, next: SlotStatus) -> Result<()> {
        before.replace_by(self, slot, next).await
    }

    async fn take_dirty_rows(&mut self, slot: Slot, limit: usize) -> Result<Vec<DirtyRow>> {
        take_dirty_rows(self, slot, limit).await
    }

    async fn forget_dirty_rows(&mut self, slot: Slot) -> Result<()> {
        self.execute(sql("DELETE FROM mark WHERE slot = ?").bind(slot.get())).await.map(drop)
    }

    async fn read_progress(&mut self, slot: Slot, status: SlotStatus) -> Result<SlotProgress> {
        let find = "SELECT comments, reactions FROM slot WHERE slot = ? AND state = ? AND move = ?";
        let find = sql(find).bind(slot.get()).bind(status.state.number()).bind(status.move_number);
        let found = self.fetch_first(find).await?.ok_or(StoreError::Moved)?;
        let (comments, reactions) = (count_at(&found, 0)?, count_at(&found, 1)?);
        let checkpoints = checkpoint_rows::read_of_slot(self, slot).await?;
        Ok(SlotProgress { comments, reactions, checkpoints })
    }

    async fn receive_progress(&mut self, slot: Slot, progress: &SlotProgress) -> Result<()> {
        let take = sql("UPDATE slot SET comments = ?, reactions = ? WHERE slot = ?");
        self.execute(take.bind(progress.comments).bind(progress.reactions).bind(slot.get())).await?;
        checkpoint_rows::receive_slot(self, progress).await
    }
}
