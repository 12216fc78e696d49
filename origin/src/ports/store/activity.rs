//! The port to the numbers of what people do.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::wire::ActivityPoint;

use crate::domain::activity::ActivityStep;
use crate::ports::store::Result;

/// Reads what was counted with the rows, in the transactions that wrote them.
#[async_trait]
pub trait ActivityReader: Send + Sync + Debug {
    /// The steps from the one that begins at `first` to the one that begins at `last` in which something happened,
    /// the oldest first.
    async fn list_activity(&self, step: ActivityStep, first: u64, last: u64) -> Result<Vec<ActivityPoint>>;
}
