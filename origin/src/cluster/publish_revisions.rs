//! Appends the revisions of each commit, for readers who follow a subject.

use std::sync::Arc;

use async_trait::async_trait;

use crate::domain::operation::{LoggedOperation, PersistedBatch};
use crate::ports::journal::CommitListener;
use crate::ports::revisions::{Revisions, revisions_of};

/// Appends to these revisions after each commit. A failed append is a gap, at which readers load the page
/// again.
#[derive(Debug)]
pub struct RevisionPublisher(pub Arc<dyn Revisions>);

#[async_trait]
impl CommitListener for RevisionPublisher {
    async fn on_commit(&self, _: &[LoggedOperation], persisted: &PersistedBatch) {
        let revisions = revisions_of(persisted);
        if let Err(error) = self.0.append(&revisions).await {
            tracing::debug!(subjects = revisions.len(), %error, "Could not append the revisions of a commit");
        }
    }
}
