//! Who has pictures of members: a service that has them by the hashes of e-mail addresses, and the hosts of pictures that
//! the owners of accounts have chosen.
//!
//! Promise of an implementation: the answer is bounded in bytes and time. A service's comes from the configured host alone,
//! and a chosen picture from none of this machine's networks, unless the operator allows it.

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

/// The hosts of pictures that the owners of accounts, or their providers, have chosen.
#[async_trait]
pub trait ChosenPictures: std::fmt::Debug + Send + Sync {
    /// The file at this address, whatever it is; `None` where its host has none.
    async fn fetch(&self, address: &str) -> Result<Option<Bytes>, Failure>;
}
