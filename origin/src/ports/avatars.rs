//! A service that has pictures by the hashes of e-mail addresses.
//!
//! Promise of an implementation: the answer is bounded in bytes and time, and comes from the configured host alone.

use async_trait::async_trait;
use bytes::Bytes;

use crate::domain::avatar::AvatarHash;
use crate::ports::failure::Failure;

/// The service.
#[async_trait]
pub trait AvatarService: std::fmt::Debug + Send + Sync {
    /// The file of this hash, whatever it is; `None` where the service has none.
    async fn fetch(&self, hash: &AvatarHash) -> Result<Option<Bytes>, Failure>;
}
