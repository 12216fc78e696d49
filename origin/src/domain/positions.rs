//! How far the tables have applied the streams of each slot.

use std::collections::HashMap;

use gailou_shared::id::Slot;
use serde::{Deserialize, Serialize};

use crate::domain::operation::{LoggedOperation, Operation};

/// The streams of operations that end in rows; the broker keeps each in a topic of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OperationStream {
    Comments,
    Reactions,
}

/// The next position of each slot in each stream.
#[derive(Debug, Default)]
pub(crate) struct NextPositions(HashMap<(OperationStream, Slot), u64>);

/// Where an operation is in the streams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StreamPosition {
    pub stream: OperationStream,
    pub slot: Slot,
    pub position: u64,
}

impl StreamPosition {
    /// `None` for an operation that comes from no broker.
    pub(crate) fn of(logged: &LoggedOperation) -> Option<Self> {
        let position = logged.position?;
        let (stream, slot) = match &logged.operation {
            Operation::Publish(new) => (OperationStream::Comments, new.path.id().slot()),
            Operation::React { id, .. } => (OperationStream::Reactions, id.slot()),
            _ => return None,
        };
        Some(Self { stream, slot, position })
    }
}

impl NextPositions {
    #[cfg(any(test, feature = "cluster"))]
    pub(crate) fn set(&mut self, stream: OperationStream, slot: Slot, next: u64) {
        self.0.insert((stream, slot), next);
    }

    /// 0 for a slot without any operation.
    pub(crate) fn next(&self, stream: OperationStream, slot: Slot) -> u64 {
        self.0.get(&(stream, slot)).copied().unwrap_or(0)
    }

    /// Whether the operation was applied before.
    pub(crate) fn is_applied(&self, logged: &LoggedOperation) -> bool {
        StreamPosition::of(logged).is_some_and(|at| at.position < self.next(at.stream, at.slot))
    }

    /// Moves the slot past the operation.
    pub(crate) fn advance(&mut self, logged: &LoggedOperation) {
        if let Some(at) = StreamPosition::of(logged) {
            self.0.insert((at.stream, at.slot), at.position + 1);
        }
    }
}
