//! The port to how far the tables have applied the streams of each slot.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::Slot;

use crate::domain::positions::OperationStream;
use crate::ports::store::Result;

/// Reads and moves the next positions of slots.
#[async_trait]
pub trait SlotPositions: Send + Sync + Debug {
    /// The next position of each slot in a stream; 0 for a slot without any operation.
    async fn read_positions(&self, stream: OperationStream, slots: &[Slot]) -> Result<HashMap<Slot, u64>>;
}
