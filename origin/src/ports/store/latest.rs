//! The port to the newest comments of all subjects.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::CommentId;

use crate::ports::store::Result;

/// Reads across all subjects.
#[async_trait]
pub trait LatestReader: Send + Sync + Debug {
    /// The newest comments that every reader sees, newest first. Where few of the newest are visible, they are fewer
    /// than `count`: the cost is bounded.
    async fn list_latest(&self, count: usize) -> Result<Vec<CommentId>>;
}
