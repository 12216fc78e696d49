//! The port to the passkeys of accounts.

use std::fmt::Debug;

use async_trait::async_trait;
use gailou_shared::id::{MemberId, PasskeyId};

use crate::domain::audit::AuditEntry;
use crate::domain::passkey::{PasskeyInsertion, StoredPasskey};
use crate::ports::store::Result;

/// Passkeys. Erasing a member deletes theirs.
#[async_trait]
pub trait PasskeyRows: Send + Sync + Debug {
    /// Those of an account, in the order in which they were added.
    async fn list_passkeys(&self, account: MemberId) -> Result<Vec<StoredPasskey>>;
    /// Stores a passkey with its entry in the audit log, unless the account has it, or too many, or is gone. Of
    /// several at once, no more are stored than the account may have.
    async fn insert_passkey(&self, passkey: &StoredPasskey, audit: &AuditEntry) -> Result<PasskeyInsertion>;
    /// Replaces the record of a passkey that signs in at `at`; false where it is gone, or its record is not `former`
    /// any more: of two signatures with one counter, one signs in.
    async fn use_passkey(&self, account: MemberId, id: PasskeyId, former: &str, record: &str, at: u64) -> Result<bool>;
    /// Gives a passkey another name; false where there is none.
    async fn rename_passkey(&self, account: MemberId, id: PasskeyId, name: &str) -> Result<bool>;
    /// Deletes a passkey, with an entry in the audit log; false where there is none.
    async fn delete_passkey(&self, account: MemberId, id: PasskeyId, audit: &AuditEntry) -> Result<bool>;
    /// Deletes those of an account that were added before `at`.
    async fn delete_passkeys_before(&self, account: MemberId, at: u64) -> Result<()>;
}
