//! The port to rows by their keys: subjects and comments.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};

use crate::domain::row::{CommentRow, SubjectRow, SubjectRules};
use crate::ports::store::Result;

/// Reads subjects and comments by key.
#[async_trait]
pub trait CommentReader: Send + Sync + Debug {
    /// Subjects in the order of `keys`; `None` for a subject that has no row yet.
    async fn read_subjects(&self, keys: &[SubjectKey]) -> Result<Vec<Option<SubjectRow>>>;
    /// The same subjects as writes need them; of one without a row, what is so without one.
    async fn read_subject_rules(&self, keys: &[SubjectKey]) -> Result<Vec<SubjectRules>> {
        let rows = self.read_subjects(keys).await?;
        Ok(rows.iter().map(|row| SubjectRules::of(row.as_ref())).collect())
    }
    /// The subjects of comments that have rows under these ids. Left out are second ids, comments that have no row yet,
    /// and those that could not be read in time: [`CommentReader::read_comments`] says more.
    async fn read_subjects_of(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, (SubjectKey, SubjectRules)>> {
        let rows = self.read_comments(ids).await?;
        let subjects = rows.into_iter().filter(|(id, row)| row.id() == *id && row.version > 0);
        let (ids, keys): (Vec<_>, Vec<_>) = subjects.map(|(id, row)| (id, row.subject)).unzip();
        let rules = self.read_subject_rules(&keys).await?;
        Ok(ids.into_iter().zip(keys.into_iter().zip(rules)).collect())
    }
    /// The comments that exist, whatever their state.
    async fn read_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>>;
    /// The same, from the tables themselves: no row is older than what the caller has seen of them.
    async fn read_stored_comments(&self, ids: &[CommentId]) -> Result<HashMap<CommentId, CommentRow>> {
        self.read_comments(ids).await
    }
}
