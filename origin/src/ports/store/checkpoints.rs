//! The port to the checkpoints: how far each database has applied each partition of the broker.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::checkpoint::{Checkpoint, CheckpointAdvance};
use crate::domain::operation::{LoggedOperation, PersistedBatch};
use crate::domain::positions::OperationStream;
use crate::ports::store::Result;

/// Reads and writes checkpoints.
#[async_trait]
pub trait Checkpoints: Send + Sync + Debug {
    /// The checkpoints of these partitions in one database. Where there is none yet, one is created at the
    /// offset given.
    async fn read_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        partitions: &[(u32, u64)],
    ) -> Result<HashMap<u32, Checkpoint>>;
    /// The next offset of a checkpoint; `None` where there is none yet.
    async fn read_applied_offset(
        &self,
        database: usize,
        stream: OperationStream,
        partition: u32,
    ) -> Result<Option<u64>>;
    /// Writes a batch like [`crate::ports::store::BatchWriter::persist`], and checkpoints of one database in its
    /// transaction there.
    ///
    /// # Errors
    /// [`crate::ports::store::StoreError::CheckpointChanged`] when a checkpoint is not what is known of it, and
    /// [`crate::ports::store::StoreError::Moved`] when a slot of the batch is in another database: then nothing
    /// is written.
    async fn persist_from(
        &self,
        stream: OperationStream,
        batch: &[LoggedOperation],
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<PersistedBatch>;
    /// Moves a slot past an operation that cannot be applied and is among the dead letters, remembers it where it is
    /// a reaction ([`DeadReaction`]), and writes checkpoints of its database, all in one transaction.
    ///
    /// # Errors
    /// As of [`Checkpoints::persist_from`].
    ///
    /// [`DeadReaction`]: crate::domain::reaction_state::DeadReaction
    async fn skip_operation(
        &self,
        dead: &LoggedOperation,
        database: usize,
        advances: &[CheckpointAdvance],
    ) -> Result<()>;
    /// Sets a checkpoint, whatever it was, and forgets its samples.
    async fn reset_checkpoint(&self, database: usize, stream: OperationStream, partition: u32, next: u64)
    -> Result<()>;
    /// Writes checkpoints alone; without any, it only asks whether the database takes writes.
    ///
    /// # Errors
    /// As above.
    async fn advance_checkpoints(
        &self,
        database: usize,
        stream: OperationStream,
        advances: &[CheckpointAdvance],
    ) -> Result<()>;
}
