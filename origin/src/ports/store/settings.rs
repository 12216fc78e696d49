//! The port to single values of an installation: the dictionary of the word filter, what admins have changed of
//! the settings, secrets, and when the last backup was made.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::domain::row::{StoredDictionary, StoredSettingChanges};
use crate::ports::store::Result;

/// Reads the values that all processes of an installation share.
#[async_trait]
pub trait StoredSettings: Send + Sync + Debug {
    /// The dictionary with its version.
    async fn read_dictionary(&self) -> Result<StoredDictionary>;
    /// The version alone; 0 before the first dictionary.
    async fn read_dictionary_version(&self) -> Result<u64>;
    /// What admins have changed of the settings.
    async fn read_setting_changes(&self) -> Result<StoredSettingChanges>;
    /// Copies changes to where they are read while the tables that have them are away, as far as that answers.
    async fn copy_setting_changes(&self, changes: &StoredSettingChanges);
    /// A secret of this installation. The first call stores `fresh` as the secret.
    async fn read_secret(&self, name: &'static str, fresh: [u8; 32]) -> Result<Vec<u8>>;
    /// When the last backup was made, in Unix milliseconds; `None` before the first.
    async fn read_backup_time(&self) -> Result<Option<u64>>;
    /// Remembers when a backup was made.
    async fn store_backup_time(&self, made_at: u64) -> Result<()>;
}
