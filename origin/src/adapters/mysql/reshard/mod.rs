//! Moves of slots between databases, as far as they are statements: `moves` is the port, `copy` copies and deletes the
//! rows of a slot, `verify` looks for rows that are not where they belong, and `plan` says which slots should move.
//!
//! Not here: the steps of a move, and what becomes of one that is interrupted ([`crate::cluster::reshard`]).

mod copy;
mod dirty_conditions;
mod moves;
mod plan;
mod verify;

pub(super) use copy::SlotRows;
use gailou_shared::id::{SLOT_COUNT, Slot};
pub use plan::SlotMove;

use crate::adapters::mysql::MysqlStore;
use crate::ports::store::{Result, StoreError};

impl MysqlStore {
    /// The moves after which the first `databases` of the configured ones have as many slots each, and
    /// the others none.
    ///
    /// # Errors
    /// When fewer databases are configured, or the first does not answer.
    pub async fn plan_moves(&self, databases: usize) -> Result<Vec<SlotMove>> {
        if databases == 0 || databases > self.pools.len() {
            return Err(StoreError::Database(format!("there are {} databases", self.pools.len()).into()));
        }
        Ok(plan::plan_even_moves(&self.owners().await?, databases))
    }

    /// The database of each slot, by a fresh map.
    async fn owners(&self) -> Result<Vec<usize>> {
        self.refresh_slot_map().await?;
        let map = self.slot_map.get();
        Ok((0..SLOT_COUNT).filter_map(Slot::new).map(|slot| map.shard(slot)).collect())
    }
}
