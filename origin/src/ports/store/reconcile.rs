//! The port that compares the counters kept in rows with what the rows add up to.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::SubjectKey;

use crate::domain::reconcile::CounterDifference;
use crate::ports::store::Result;

/// Compares and repairs the counters of subjects.
#[async_trait]
pub trait Reconciler: Send + Sync + Debug {
    /// The first `count` subjects after one, in an order of the adapter's own that does not change.
    async fn list_subjects_after(&self, after: Option<&SubjectKey>, count: usize) -> Result<Vec<SubjectKey>>;
    /// Compares one subject, at one moment. With `repair`, what can be repaired is repaired under the
    /// lock that writers take; the answer names everything that differed in both cases.
    async fn reconcile(&self, subject: &SubjectKey, repair: bool) -> Result<Vec<CounterDifference>>;
}
