//! The port to the newest comments: of all subjects, of a type, of one.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};

use crate::ports::store::Result;

/// Reads comments in the order of their time.
#[async_trait]
pub trait LatestReader: Send + Sync + Debug {
    /// The newest comments that every reader sees, newest first; those of one type alone where it is named. Where few
    /// of the newest comments are visible, or of the type, they are fewer than `count`: the cost is bounded.
    async fn list_latest(&self, kind: Option<&str>, count: usize) -> Result<Vec<CommentId>>;
    /// The same in one subject.
    async fn list_latest_of(&self, subject: &SubjectKey, count: usize) -> Result<Vec<CommentId>>;
}
