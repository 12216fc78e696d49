//! The port to the map of slots: which database holds which slot.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::Slot;
use gailou_shared::slot_set::SlotSet;

use crate::ports::store::Result;

/// Places slots in databases, numbered from 0.
#[async_trait]
pub trait Sharding: Send + Sync + Debug {
    fn count_databases(&self) -> usize;
    /// The database that holds a slot. What one database holds is written in one transaction.
    fn database_of(&self, slot: Slot) -> usize;
    /// Asks a database which slots it has. A slot that has left it may be in [`Sharding::database_of`] for a second more.
    async fn refresh_slots_of(&self, database: usize) -> Result<SlotSet>;
}
