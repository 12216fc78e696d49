//! Whether comments are visible, remembered for a moment.

use std::sync::Arc;
use std::time::Duration;

use gailou_shared::id::CommentId;
use tokio::time::Instant;

use crate::domain::row::CommentRow;
use crate::ports::store::{CommentReader, StoreError};

/// How long the visibility of a comment is remembered.
const VISIBILITY_TTL: Duration = Duration::from_millis(250);
/// Comments that are remembered: about 100 bytes each.
const MAX_VISIBILITIES_CACHED: u64 = 10_000;

/// Whether a comment was visible.
#[derive(Debug, Clone, Copy)]
struct KnownVisibility {
    is_visible: bool,
    read_at: Instant,
}

impl KnownVisibility {
    fn is_fresh(&self) -> bool {
        self.read_at.elapsed() < VISIBILITY_TTL
    }
}

/// Whether comments are visible to every reader.
#[derive(Debug)]
pub(super) struct VisibilityCache {
    comments: Arc<dyn CommentReader>,
    visible: moka::future::Cache<CommentId, KnownVisibility>,
}

impl VisibilityCache {
    pub(super) fn new(comments: Arc<dyn CommentReader>) -> Self {
        let visible = moka::future::Cache::builder().max_capacity(MAX_VISIBILITIES_CACHED).build();
        Self { comments, visible }
    }

    /// Whether every reader may see a comment, by its row or as a pending comment. Concurrent callers
    /// cost one read.
    pub(super) async fn is_visible(&self, id: CommentId) -> Result<bool, StoreError> {
        if self.visible.get(&id).await.is_some_and(|known| !known.is_fresh()) {
            self.visible.invalidate(&id).await;
        }
        let read = async {
            let read_at = Instant::now();
            let rows = self.comments.read_comments(&[id]).await?;
            Ok(KnownVisibility { is_visible: rows.get(&id).is_some_and(CommentRow::is_visible), read_at })
        };
        let known = self.visible.try_get_with(id, read).await;
        known.map(|known| known.is_visible).map_err(|error: Arc<StoreError>| (*error).clone())
    }

    /// Forgets a comment that changed.
    pub(super) async fn invalidate(&self, id: CommentId) {
        self.visible.invalidate(&id).await;
    }
}
