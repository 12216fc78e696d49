//! The port to the rows of uploaded pictures.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MediaId, MemberId};

use crate::domain::media::MediaRow;
use crate::ports::store::Result;

/// Keeps, finds and deletes the rows of pictures. What a comment shows is in the comment's own row.
#[async_trait]
pub trait MediaRows: Send + Sync + Debug {
    /// Stores a picture, to be looked at from this moment on (Unix milliseconds).
    async fn insert_media(&self, row: &MediaRow, check_at: u64) -> Result<()>;
    /// Those of these pictures that are not being deleted.
    async fn read_media(&self, ids: &[MediaId]) -> Result<Vec<MediaRow>>;
    /// Remembers that a comment is to use these pictures, all of them or none: false where one is being deleted, or is
    /// used by as many as [`MAX_USES`](crate::domain::media::MAX_USES).
    async fn use_media(&self, ids: &[MediaId], comment: CommentId) -> Result<bool>;
    /// Pictures to look at, those first that wait the longest.
    async fn list_due_media(&self, now: u64, count: usize) -> Result<Vec<MediaRow>>;
    /// Remembers what was found of a picture, and when to look at it again; nothing where it is being deleted, or has
    /// been used in between.
    async fn put_media_check(&self, row: &MediaRow, unused_since: Option<u64>, check_at: u64) -> Result<()>;
    /// Begins to delete a picture: no comment can use it from now on. False where it has been used in between.
    async fn begin_media_deletion(&self, row: &MediaRow) -> Result<bool>;
    /// Deletes the row of a picture; deleting it again changes nothing.
    async fn delete_media(&self, id: MediaId) -> Result<()>;
    /// Makes all pictures of a member due, as if no comment had used them for long.
    async fn expire_media_of(&self, owner: MemberId) -> Result<()>;
}
