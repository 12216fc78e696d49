//! The port to lists and trees of comments.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;

use crate::domain::row::{CommentList, CommentRow, FloorRange};
use crate::ports::store::Result;

/// Entries of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed<T> {
    pub entries: Vec<T>,
    /// They contain every commit of the subject up to this version, and perhaps later ones.
    pub version: u64,
}

/// Reads listed comments: visible ones, and tombstones that hold up visible descendants.
#[async_trait]
pub trait ThreadReader: Send + Sync + Debug {
    /// Floors and ids of listed comments.
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>>;
    /// Floors of a list of this subject. What was committed before the call is in them; an implementation that reads
    /// older copies says how old they are.
    async fn list_floors_of(
        &self,
        _: &SubjectKey,
        list: &CommentList,
        range: FloorRange,
    ) -> Result<Listed<(u64, CommentId)>> {
        Ok(Listed { entries: self.list_floors(list, range).await?, version: u64::MAX })
    }
    /// The candidates of a snapshot of a list of this subject, as [`ThreadReader::list_floors_of`].
    async fn list_ranked_of(&self, _: &SubjectKey, list: &CommentList, sort: Sort) -> Result<Listed<(i64, CommentId)>> {
        Ok(Listed { entries: self.list_ranked(list, sort).await?, version: u64::MAX })
    }
    /// The candidates of a snapshot with their keys: at least the best
    /// [`gailou_shared::limits::MAX_SNAPSHOT_IDS`] of the list.
    async fn list_ranked(&self, list: &CommentList, sort: Sort) -> Result<Vec<(i64, CommentId)>>;
    /// The first `each` listed replies of each root in [`Sort::Hot`] order.
    async fn list_top_replies(&self, roots: &[CommentId], each: usize) -> Result<HashMap<CommentId, Vec<CommentId>>>;
    /// Listed descendants of `top` in path order, after the path `after`, down to `max_depth`.
    async fn list_subtree(
        &self,
        top: &Path,
        after: Option<&[u8]>,
        max_depth: usize,
        count: usize,
    ) -> Result<Vec<CommentRow>>;
    /// Listed comments with the same parent, newest first, without the comment itself.
    async fn list_siblings(&self, path: &Path, count: usize) -> Result<Vec<CommentId>>;
    /// A stored snapshot of a list in this slot.
    async fn read_snapshot(&self, slot: Slot, id: SnapshotId) -> Result<Option<Snapshot>>;
}
