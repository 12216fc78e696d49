//! The port to lists and trees of comments.

use std::collections::HashMap;
use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::cursor::SnapshotId;
use gailou_shared::id::{CommentId, Slot};
use gailou_shared::path::Path;
use gailou_shared::rank::Sort;
use gailou_shared::walk::Snapshot;

use crate::domain::row::{CommentList, CommentRow, FloorRange};
use crate::ports::store::Result;

/// Reads listed comments: visible ones, and tombstones that hold up visible descendants.
#[async_trait]
pub trait ThreadReader: Send + Sync + Debug {
    /// Floors and ids of listed comments.
    async fn list_floors(&self, list: &CommentList, range: FloorRange) -> Result<Vec<(u64, CommentId)>>;
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
