//! The state of a slot in one database: how far a move of the slot has come.

use gailou_shared::id::Slot;
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

use crate::adapters::mysql::rows::damaged;
use crate::adapters::mysql::session::MysqlSession;
use crate::adapters::mysql::statement::sql;
use crate::domain::columns::{StoredEnum, stored_enum};
use crate::ports::store::{Result, StoreError};

/// What a slot's row says of the slot in this database. [`super::reshard`] describes the transitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotState {
    /// Another database has the slot.
    Elsewhere,
    /// This database has the slot.
    Owned,
    /// It has the slot, complete, on its way out: writes to it are refused.
    Sealed,
    /// The slot is being copied into this database.
    Incoming,
    /// It has the slot, and the slot is being copied from it: writers record their dirty rows.
    Copying,
}

stored_enum!("slot state", SlotState { Elsewhere = 0, Owned = 1, Sealed = 2, Incoming = 3, Copying = 4 });

/// The states of [`SlotState::is_readable`], for SQL.
pub(super) const READABLE_STATES: &str = "(1, 2, 4)";

impl SlotState {
    /// Whether this database has the newest rows, and writers may change them.
    pub(super) fn is_owned(self) -> bool {
        matches!(self, Self::Owned | Self::Copying)
    }

    /// Whether this database has the newest rows.
    pub(super) fn is_readable(self) -> bool {
        matches!(self, Self::Owned | Self::Sealed | Self::Copying)
    }

    /// The state in a column.
    pub(super) fn at(r: &MySqlRow, column: usize) -> Result<Self> {
        Ok(Self::from_number(r.try_get(column)?)?)
    }

    /// Fails with [`StoreError::Moved`] where another database has the slot.
    pub(super) fn ensure_owned(self) -> Result<()> {
        if self.is_owned() { Ok(()) } else { Err(StoreError::Moved) }
    }

    /// The state of a slot.
    pub(super) async fn read(session: &mut MysqlSession, slot: Slot) -> Result<Self> {
        Self::fetch(session, slot, "").await
    }

    /// Locks the slot's row until the transaction ends; its state.
    pub(super) async fn lock(session: &mut MysqlSession, slot: Slot) -> Result<Self> {
        Self::fetch(session, slot, " FOR UPDATE").await
    }

    async fn fetch(session: &mut MysqlSession, slot: Slot, lock: &str) -> Result<Self> {
        let text = format!("SELECT state FROM slot WHERE slot = ?{lock}");
        let found = session.fetch_first(sql(text).bind(slot.get())).await?;
        Self::at(&found.ok_or_else(|| damaged(format_args!("slot {} has no row", slot.get())))?, 0)
    }

    /// The states of all slots.
    pub(super) async fn read_all(session: &mut MysqlSession) -> Result<Vec<(usize, Self)>> {
        let rows = session.fetch_all(sql("SELECT slot, state FROM slot ORDER BY slot")).await?;
        let slot = |r: &MySqlRow| -> Result<usize> { usize::try_from(r.try_get::<i64, _>(0)?).map_err(damaged) };
        rows.iter().map(|r| Ok((slot(r)?, Self::at(r, 1)?))).collect()
    }

    /// Stores the state of a slot.
    pub(super) async fn store(self, session: &mut MysqlSession, slot: Slot) -> Result<()> {
        let text = "UPDATE slot SET state = ? WHERE slot = ?";
        session.execute(sql(text).bind(self.number()).bind(slot.get())).await?;
        Ok(())
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
