//! The port to the map of slots: which database holds which slot.

use std::fmt::Debug;

use gailou_shared::id::Slot;

/// Places slots in databases, numbered from 0.
pub trait Sharding: Send + Sync + Debug {
    fn count_databases(&self) -> usize;
    /// The database that holds a slot. What one database holds is written in one transaction.
    fn database_of(&self, slot: Slot) -> usize;
}
