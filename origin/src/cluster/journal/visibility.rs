//! Whether comments are visible, remembered for a moment.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use gailou_shared::id::{CommentId, SLOT_COUNT};
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
    /// How often each slot changed. What was read before a change is not remembered after it.
    versions: Box<[AtomicU64]>,
}

impl VisibilityCache {
    pub(super) fn new(comments: Arc<dyn CommentReader>) -> Self {
        let visible = moka::future::Cache::builder().max_capacity(MAX_VISIBILITIES_CACHED).build();
        Self { comments, visible, versions: (0..SLOT_COUNT).map(|_| AtomicU64::new(0)).collect() }
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

    /// The same, if it is remembered.
    pub(super) async fn get_cached(&self, id: CommentId) -> Option<bool> {
        self.visible.get(&id).await.filter(KnownVisibility::is_fresh).map(|known| known.is_visible)
    }

    /// The version of the comment's slot, for [`VisibilityCache::remember`].
    pub(super) fn version(&self, id: CommentId) -> u64 {
        self.version_of_slot(id).load(Ordering::SeqCst)
    }

    /// Remembers what was read at this version.
    pub(super) async fn remember(&self, id: CommentId, is_visible: bool, version: u64) {
        self.visible.insert(id, KnownVisibility { is_visible, read_at: Instant::now() }).await;
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
