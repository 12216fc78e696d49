//! The event streams of this process: how many may be open, and when they end.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Open streams of one process. Each is a task and a few kilobytes.
const MAX_EVENT_STREAMS: usize = 1_000;

/// The event streams of this process.
#[derive(Debug)]
pub(super) struct OpenEventStreams {
    free: Arc<Semaphore>,
    shutdown: CancellationToken,
}

impl Default for OpenEventStreams {
    fn default() -> Self {
        Self { free: Arc::new(Semaphore::new(MAX_EVENT_STREAMS)), shutdown: CancellationToken::new() }
    }
}

impl OpenEventStreams {
    /// The right to one more stream, until it is dropped; `None` when too many are open.
    pub(super) fn try_open(&self) -> Option<OwnedSemaphorePermit> {
        self.free.clone().try_acquire_owned().ok()
    }

    /// Is cancelled when every stream has to end.
    pub(super) fn shutdown(&self) -> CancellationToken {
        self.shutdown.clone()
    }

    /// Ends every stream, because the server waits until each answer is complete.
    pub(super) fn shut_down(&self) {
        self.shutdown.cancel();
    }
}
