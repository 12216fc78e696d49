//! The port to the rows of the change feed: comments that readers saw and that are edited, gone or
//! back.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::slot_set::SlotSet;

use crate::domain::operation::ChangeRow;
use crate::ports::store::Result;

/// Reads the change feed of each database.
#[async_trait]
pub trait ChangeFeedReader: Send + Sync + Debug {
    /// The first `count` rows after `after` of one database (from 0), by their sequence numbers;
    /// nothing for a database that does not exist.
    ///
    /// A row with a smaller number may be committed later than one with a larger number, so a
    /// follower reads an overlap.
    async fn read_changes(&self, database: usize, after: u64, count: usize) -> Result<Vec<ChangeRow>>;
    /// Those of the rows with these numbers that one database has. Nothing where numbers are committed in order.
    async fn read_changes_at(&self, database: usize, numbers: &[u64]) -> Result<Vec<ChangeRow>> {
        let _ = (database, numbers);
        Ok(vec![])
    }
    /// The slots of which one database is known to hold the rows. All of them where there is one database.
    fn slots_of(&self, database: usize) -> SlotSet {
        let _ = database;
        SlotSet::all()
    }
}
