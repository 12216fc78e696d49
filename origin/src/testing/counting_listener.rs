//! A listener that counts the operations it is notified of.

use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;

use crate::domain::operation::{LoggedOperation, PersistedBatch};
use crate::ports::journal::CommitListener;

#[derive(Debug, Default)]
pub(crate) struct CountingListener(AtomicUsize);

impl CountingListener {
    pub(crate) fn operations(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl CommitListener for CountingListener {
    async fn on_commit(&self, batch: &[LoggedOperation], _: &PersistedBatch) {
        self.0.fetch_add(batch.len(), Ordering::SeqCst);
    }
}
