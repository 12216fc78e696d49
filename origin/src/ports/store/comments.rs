//! The port to rows by their keys: subjects and comments.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};

use crate::domain::row::{CommentRow, SubjectRow};
use crate::ports::store::Result;

/// Reads subjects and comments by key.
#[async_trait]
pub trait CommentReader: Send + Sync + Debug {
    /// Subjects in the order of `keys`; `None` for a subject that has no row yet.
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>>;
    /// The comments that exist, whatever their state.
    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>>;
    /// The same, from the tables themselves: no row is older than what the caller has seen of them.
    async fn read_stored_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        self.read_comments(ids).await
    }
}
