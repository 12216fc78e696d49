//! The port that writes: batches of operations in, rows and the change feed out.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::operation::{LoggedOperation, PersistedBatch};
use crate::ports::store::Result;

/// Writes operations to the tables.
#[async_trait]
pub trait BatchWriter: Send + Sync + Debug {
    /// Writes a batch in order, in one transaction a database; with one database, all of it or
    /// nothing. Answers with one outcome an operation.
    ///
    /// Rows, versions of subjects, the change feed and the next positions of the slots change in the
    /// same transaction. An operation whose position was applied before changes nothing.
    async fn persist(&self, batch: &[LoggedOperation]) -> Result<PersistedBatch>;
}
