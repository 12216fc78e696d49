//! The port of `export` and `import`.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};

use crate::domain::row::{ExportCursor, ExportedComment};
use crate::ports::store::Result;

/// Reads what a transfer between installations needs.
#[async_trait]
pub trait Transfer: Send + Sync + Debug {
    /// The next `count` comments of one subject or of all, subject by subject, threads together,
    /// parents first.
    async fn export_comments(
        &self,
        subject: Option<&SubjectKey>,
        after: Option<&ExportCursor>,
        count: usize,
    ) -> Result<Vec<ExportedComment>>;
    /// The comments that were imported into a subject under these ids, and native comments under
    /// their own ids.
    async fn find_sources(&self, subject: &SubjectKey, ids: &[String]) -> Result<HashMap<String, CommentId>>;
}
