//! What is stored of a name to find names like it.

use gailou_shared::word_filter::name_skeleton;
use sha2::{Digest, Sha256};

/// How long a member's name is taken after the member was seen with it, in milliseconds (30 days).
pub const NAME_TAKEN_MS: u64 = 30 * 86_400_000;

/// The first 16 bytes of the SHA-256 of a name's skeleton: names that a reader takes for one have the same. A
/// skeleton has no bound that fits an index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NameDigest([u8; 16]);

impl NameDigest {
    /// The digest of this name.
    pub fn of(name: &str) -> Self {
        let digest: [u8; 32] = Sha256::digest(name_skeleton(name).as_bytes()).into();
        let (first, _) = digest.split_at(16);
        Self(first.try_into().unwrap_or_default())
    }

    /// Its bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}
