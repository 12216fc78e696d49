//! What is stored of the network that a comment was posted from.
//!
//! Pure. No address is stored: a moderator blocks the network of a comment without seeing it, and what is stored is good
//! for nothing without the secret of the installation.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use gailou_shared::derived_key::derived_key;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// How long it is known where a comment was posted from, and how long such a network is blocked, in milliseconds
/// (30 days).
pub const NETWORK_KNOWN_MS: u64 = 30 * 86_400_000;
const DIGEST_BYTES: usize = 16;

/// The first 16 bytes of the HMAC-SHA-256 of a client's network; as text, 32 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NetworkDigest([u8; DIGEST_BYTES]);

impl NetworkDigest {
    /// The digest with these bytes.
    pub const fn from_bytes(bytes: [u8; DIGEST_BYTES]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn as_bytes(&self) -> &[u8; DIGEST_BYTES] {
        &self.0
    }
}

impl fmt::Display for NetworkDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl FromStr for NetworkDigest {
    type Err = hex::FromHexError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut bytes = [0; DIGEST_BYTES];
        hex::decode_to_slice(text, &mut bytes)?;
        Ok(Self(bytes))
    }
}

/// The key of an installation for such digests.
#[derive(Clone)]
pub struct NetworkKey(Hmac<Sha256>);

impl fmt::Debug for NetworkKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NetworkKey(…)")
    }
}

impl NetworkKey {
    /// The key made from this secret, of any length.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(derived_key(b"gailou network\0", secret))
    }

    /// The digest of a client's network, as [`gailou_shared::network::client_network`] makes it of an address.
    #[must_use]
    pub fn digest(&self, network: IpAddr) -> NetworkDigest {
        let bytes = match network {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        let hash = self.0.clone().chain_update(bytes).finalize().into_bytes();
        let mut digest = [0; DIGEST_BYTES];
        digest.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        NetworkDigest(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digest_is_of_one_network_and_one_installation() {
        let (key, one) = (NetworkKey::new(b"secret"), "192.0.2.7".parse().unwrap());
        let digest = key.digest(one);
        assert_eq!(key.digest("::ffff:192.0.2.7".parse().unwrap()), digest);
        assert_ne!(key.digest("192.0.2.8".parse().unwrap()), digest);
        assert_ne!(NetworkKey::new(b"other").digest(one), digest);
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for wrong in ["", "00", "zz", &"0".repeat(33), &"0".repeat(34)] {
            assert!(wrong.parse::<NetworkDigest>().is_err(), "{wrong}");
        }
    }
}
