//! Addresses that end mails without signing in: signed, so that each is for its member alone.
//!
//! Pure. An address does not expire: a mail may be read years later.

use gailou_shared::derived_key::derived_key;
use gailou_shared::id::MemberId;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// The key that the addresses of an installation are signed with.
#[derive(Clone)]
pub struct UnsubscribeKey(Hmac<Sha256>);

impl std::fmt::Debug for UnsubscribeKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UnsubscribeKey(…)")
    }
}

impl UnsubscribeKey {
    /// The key made from this secret, of any length.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(derived_key(b"gailou unsubscribe\0", secret))
    }

    /// The signature of a member, in hexadecimal digits.
    #[must_use]
    pub fn sign(&self, member: MemberId) -> String {
        hex::encode(self.0.clone().chain_update(member.get().to_be_bytes()).finalize().into_bytes())
    }

    /// Whether this is the signature of the member. It takes the same time for every wrong one.
    #[must_use]
    pub fn verify(&self, member: MemberId, signature: &str) -> bool {
        let signed = self.0.clone().chain_update(member.get().to_be_bytes());
        hex::decode(signature).is_ok_and(|bytes| signed.verify_slice(&bytes).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signature_is_of_one_member_and_one_installation() {
        let (key, member) = (UnsubscribeKey::new(b"secret"), MemberId::new(7).unwrap());
        let signature = key.sign(member);
        assert!(key.verify(member, &signature));
        assert!(!key.verify(MemberId::new(8).unwrap(), &signature));
        assert!(!UnsubscribeKey::new(b"other").verify(member, &signature));
        for wrong in ["", "x", &signature[2..], &format!("{signature}00")] {
            assert!(!key.verify(member, wrong), "{wrong}");
        }
    }
}
