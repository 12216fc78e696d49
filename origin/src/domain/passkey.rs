//! Passkeys of accounts, as they are stored.
//!
//! Pure data. What `record` says, its public key, its counter of signatures and whether it is backed up, is the
//! library's that verifies signatures; nothing in it signs in.

use gailou_shared::id::{MemberId, PasskeyId};

/// Passkeys that one account has at most: some devices and a key in a safe.
pub const MAX_PASSKEYS_PER_ACCOUNT: usize = 10;
/// How long a challenge can be answered, in milliseconds (5 minutes).
pub const CHALLENGE_LIFETIME_MS: u64 = 5 * 60_000;

/// A passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPasskey {
    pub account: MemberId,
    pub id: PasskeyId,
    /// How authenticators call it, at most 1,023 bytes.
    pub credential: Vec<u8>,
    pub name: String,
    /// See the module.
    pub record: String,
    /// Unix milliseconds.
    pub created_at: u64,
    /// When it signed in last.
    pub used_at: Option<u64>,
}

/// What became of a passkey that is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PasskeyInsertion {
    Inserted,
    /// The account has it already.
    Known,
    /// The account has [`MAX_PASSKEYS_PER_ACCOUNT`].
    Full,
    /// There is no such account, or no more.
    NoAccount,
}
