//! The status of a slot as a database stores it, in its table `slot`.

use std::collections::BTreeMap;

use gailou_shared::id::Slot;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::rows::{damaged, number_at, slot_at};
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::domain::columns::StoredEnum as _;
pub(super) use crate::domain::slot_state::{SlotOwner, SlotState, SlotStatus};
use crate::ports::store::{Result, StoreError};

/// The states of [`SlotState::is_readable`], for SQL.
pub(super) const READABLE_STATES: &str = "(1, 2, 4)";

impl SlotState {
    /// The state in a column.
    pub(super) fn at(r: &MySqlRow, column: usize) -> Result<Self> {
        Ok(Self::from_number(r.try_get(column)?)?)
    }

    /// Fails with [`StoreError::Moved`] where another database has the slot.
    pub(super) fn ensure_owned(self) -> Result<()> {
        if self.is_owned() { Ok(()) } else { Err(StoreError::Moved) }
    }
}

impl SlotStatus {
    /// The status in a slot's row.
    pub(super) async fn read(session: &mut MysqlSession, slot: Slot) -> Result<Self> {
        Self::fetch(session, slot, "").await
    }

    /// Locks the slot's row until the transaction ends; its status.
    pub(super) async fn lock(session: &mut MysqlSession, slot: Slot) -> Result<Self> {
        Self::fetch(session, slot, " FOR UPDATE").await
    }

    /// Locks the row of a slot that this database has and that no move concerns, for a repair, which records no dirty
    /// rows.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] for any other slot.
    pub(super) async fn lock_settled(session: &mut MysqlSession, slot: Slot) -> Result<()> {
        if Self::lock(session, slot).await?.state == SlotState::Owned {
            return Ok(());
        }
        let text = format!("slot {} is being moved; run this again later", slot.get());
        Err(StoreError::Unavailable(text.into()))
    }

    async fn fetch(session: &mut MysqlSession, slot: Slot, lock: &str) -> Result<Self> {
        let text = format!("SELECT state, move FROM slot WHERE slot = ?{lock}");
        let found = session.fetch_first(sql(text).bind(slot.get())).await?;
        Self::at(&found.ok_or_else(|| damaged(format_args!("slot {} has no row", slot.get())))?, 0)
    }

    /// The status in this column and the next.
    fn at(r: &MySqlRow, column: usize) -> Result<Self> {
        Ok(Self { state: SlotState::at(r, column)?, move_number: number_at(r, column + 1)? })
    }

    /// The statuses of all slots that are not elsewhere: those that this database has, and those that move.
    pub(super) async fn read_present(session: &mut MysqlSession) -> Result<BTreeMap<Slot, Self>> {
        let text = "SELECT slot, state, move FROM slot WHERE state <> ?";
        let rows = session.fetch_all(sql(text).bind(SlotState::Elsewhere.number())).await?;
        rows.iter().map(|r| Ok((slot_at(r, 0)?, Self::at(r, 1)?))).collect()
    }

    /// Stores `next` in place of this status.
    ///
    /// # Errors
    /// [`StoreError::Moved`], and nothing is changed, when the row has another status than this.
    pub(super) async fn replace_by(self, session: &mut MysqlSession, slot: Slot, next: Self) -> Result<()> {
        let text = "UPDATE slot SET state = ?, move = ? WHERE slot = ? AND state = ? AND move = ?";
        let statement = sql(text).bind(next.state.number()).bind(next.move_number).bind(slot.get());
        let replaced = session.execute(statement.bind(self.state.number()).bind(self.move_number)).await?;
        if replaced == 1 { Ok(()) } else { Err(StoreError::Moved) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_names_the_readable_states() {
        let readable = (0..5).filter(|n| SlotState::from_number(*n).is_ok_and(SlotState::is_readable));
        let readable: Vec<String> = readable.map(|n| n.to_string()).collect();
        assert_eq!(READABLE_STATES, format!("({})", readable.join(", ")));
    }
}
