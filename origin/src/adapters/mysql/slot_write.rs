//! Writes to rows of one slot that no record of the broker changes: in the slot's database, while it keeps the slot.

use gailou_shared::id::{SLOT_COUNT, Slot};

use crate::adapters::mysql::MysqlStore;
use crate::adapters::mysql::dirty_rows::DirtyRow;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::write::slot_locks::{LockedSlots, share_slots};
use crate::ports::store::{Result, Sharding as _};

/// An open transaction that keeps its slot from moving.
#[derive(Debug)]
pub(super) struct SlotWrite {
    pub(super) session: MysqlSession,
    /// The number of the slot's tables.
    pub(super) table: u16,
    slot: Slot,
    locked: LockedSlots,
}

impl MysqlStore {
    /// Begins to write to a slot, where it is; waits a little while it moves.
    pub(super) async fn begin_slot_write(&self, operation: &'static str, slot: Slot) -> Result<SlotWrite> {
        let begin = || async move {
            let mut session = self.session(operation, self.database_of(slot)).await?;
            session.begin().await?;
            match share_slots(&mut session, [slot].into_iter()).await {
                Ok(locked) => Ok(SlotWrite { session, table: self.table_number(slot), slot, locked }),
                Err(error) => session.finish(Err(error)).await,
            }
        };
        self.retry_while_moving(begin).await
    }
}

impl SlotWrite {
    /// Commits, with what was written for the copy of a slot that is moving; or rolls back after an error.
    pub(super) async fn finish<T>(self, done: Result<T>, written: impl IntoIterator<Item = DirtyRow>) -> Result<T> {
        let Self { mut session, slot, locked, .. } = self;
        let recorded = match done {
            Ok(done) => {
                let written = written.into_iter().map(|row| (slot, row)).collect::<Vec<_>>();
                locked.record_dirty_rows(&mut session, written.into_iter()).await.map(|()| done)
            }
            Err(error) => Err(error),
        };
        session.finish(recorded).await
    }
}

/// The slot of a digest: its first bytes, so that digests are spread like subjects.
pub(super) fn digest_slot(digest: &[u8; 32]) -> Slot {
    Slot::new(u16::from_be_bytes([digest[0], digest[1]]) % SLOT_COUNT).unwrap_or(Slot::FIRST)
}
