//! Whether comments are visible, remembered for a moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::{CommentId, SLOT_COUNT};

use crate::domain::row::CommentRow;
use crate::ports::store::{CommentReader, StoreError};

/// How long the visibility of a comment is remembered.
const VISIBILITY_TTL: Duration = Duration::from_millis(250);
/// Comments that are remembered: about 100 bytes each.
const MAX_VISIBILITIES_CACHED: u64 = 10_000;

/// Whether comments are visible to every reader.
#[derive(Debug)]
pub(super) struct VisibilityCache {
    comments: Arc<dyn CommentReader>,
    visible: moka::future::Cache<CommentId, bool>,
    /// How often each slot changed. What was read before a change is not remembered after it.
    versions: Box<[AtomicU64]>,
}

impl VisibilityCache {
    pub(super) fn new(comments: Arc<dyn CommentReader>) -> Self {
        let visible = moka::future::Cache::builder().max_capacity(MAX_VISIBILITIES_CACHED);
        let visible = visible.time_to_live(VISIBILITY_TTL).build();
        Self { comments, visible, versions: (0..SLOT_COUNT).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Whether every reader may see a comment, by its row or as a pending comment. Concurrent callers
    /// cost one read.
    pub(super) async fn is_visible(&self, id: CommentId) -> Result<bool, StoreError> {
        let read = async {
            let rows = self.comments.read_comments(&[id]).await?;
            Ok(rows.get(&id).is_some_and(CommentRow::is_visible))
        };
        self.visible.try_get_with(id, read).await.map_err(|error: Arc<StoreError>| (*error).clone())
    }

    /// The same, if it is remembered.
    pub(super) async fn get_cached(&self, id: CommentId) -> Option<bool> {
        self.visible.get(&id).await
    }

    /// The version of the comment's slot, for [`VisibilityCache::remember`].
    pub(super) fn version(&self, id: CommentId) -> u64 {
        self.version_of_slot(id).load(Ordering::SeqCst)
    }

    /// Remembers what was read at this version.
    pub(super) async fn remember(&self, id: CommentId, is_visible: bool, version: u64) {
        self.visible.insert(id, is_visible).await;
        if self.version(id) != version {
            self.visible.invalidate(&id).await;
        }
    }

    /// Forgets a comment that changed.
    pub(super) async fn invalidate(&self, id: CommentId) {
        self.version_of_slot(id).fetch_add(1, Ordering::SeqCst);
        self.visible.invalidate(&id).await;
    }

    fn version_of_slot(&self, id: CommentId) -> &AtomicU64 {
        &self.versions[usize::from(id.slot().get())]
    }
}
