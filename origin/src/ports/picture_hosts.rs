//! The hosts of pictures that imported comments show, wherever they are.
//!
//! Promise of an implementation: the answer is bounded in bytes and time, and comes from none of this machine's networks,
//! unless the operator allows it.

use async_trait::async_trait;
use bytes::Bytes;

use crate::ports::failure::Failure;

/// Why a host did not give a picture.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PictureFailure {
    /// It did not answer, or not to the end.
    #[error("{0}")]
    NoAnswer(Failure),
    /// It answered with something else, or may not be asked.
    #[error("{0}")]
    Refused(Failure),
}

/// Asks hosts for pictures.
#[async_trait]
pub trait PictureHosts: std::fmt::Debug + Send + Sync {
    /// The file at this address, whatever it is, of at most
    /// [`MAX_MEDIA_BYTES`](gailou_shared::limits::MAX_MEDIA_BYTES).
    async fn fetch(&self, address: &str) -> Result<Bytes, PictureFailure>;
}
