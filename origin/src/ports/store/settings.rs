//! The port to single values of an installation: the dictionary of the word filter, and secrets.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::row::StoredDictionary;
use crate::ports::store::Result;

/// Reads the values that all processes of an installation share.
#[async_trait]
pub trait StoredSettings: Send + Sync + Debug {
    /// The dictionary with its version.
    async fn read_dictionary(&self) -> Result<StoredDictionary>;
    /// The version alone; 0 before the first dictionary.
    async fn read_dictionary_version(&self) -> Result<u64>;
    /// A secret of this installation. The first call stores `fresh` as the secret.
    async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>>;
}
