//! The port to the files of pictures: a directory, or a bucket.
//!
//! A name is never given to other bytes. Promise: what was put is there after the death of this process, whole or not
//! at all, until it is deleted.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::domain::media::MediaName;
use crate::ports::failure::Failure;

/// Why a file could not be put, read or deleted.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the store of pictures does not answer: {0}")]
pub struct BlobError(pub Failure);

/// A file that is read.
pub struct Blob {
    /// Its length in bytes.
    pub size: u64,
    /// Its bytes, in parts.
    pub parts: BoxStream<'static, Result<Bytes, BlobError>>,
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blob").field("size", &self.size).finish_non_exhaustive()
    }
}

/// Puts, reads and deletes files.
#[async_trait]
pub trait Blobs: Send + Sync + fmt::Debug {
    /// Stores a file; storing it again changes nothing.
    async fn put(&self, name: &MediaName, bytes: Bytes) -> Result<(), BlobError>;
    /// The file of this name, if there is one.
    async fn get(&self, name: &MediaName) -> Result<Option<Blob>, BlobError>;
    /// Deletes a file; deleting it again changes nothing.
    async fn delete(&self, name: &MediaName) -> Result<(), BlobError>;
}
