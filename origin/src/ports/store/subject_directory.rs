//! The port to all subjects, as moderators list them.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, SubjectKey};

use crate::domain::row::SubjectRow;
use crate::ports::store::Result;

/// A subject with its place in the list.
#[derive(Debug, Clone)]
pub struct ListedSubject {
    /// The number of its row.
    pub number: i64,
    /// Without its pinned comments.
    pub row: SubjectRow,
}

/// A part of the list of all subjects.
#[derive(Debug, Clone, Default)]
pub struct FoundSubjects {
    /// In descending order of their numbers.
    pub subjects: Vec<ListedSubject>,
    /// The list goes on below this number; `None` at its end.
    pub below: Option<i64>,
}

/// Lists the subjects that have a row.
#[async_trait]
pub trait SubjectDirectory: Send + Sync + Debug {
    /// Subjects below a number. Reads up to `count` rows of each table; an implementation with several tables may find
    /// fewer than `count` subjects, even none, before the end of the list.
    async fn list_subjects(&self, below: Option<i64>, count: usize) -> Result<FoundSubjects>;
    /// The newest comment of each of these subjects, whatever its state.
    async fn list_newest_of(&self, subjects: &[SubjectKey]) -> Result<Vec<Option<CommentId>>>;
}
