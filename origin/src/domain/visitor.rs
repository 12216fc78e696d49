//! Guests without a token: who writes with a widget of another system, which sends a name and an address with each comment.
//!
//! Pure. Promise: the same person of the same installation is the same guest, and the guest's id says nothing of them.

use std::fmt;

use gailou_shared::derived_key::derived_key;
use gailou_shared::id::MemberId;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// What a visitor is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VisitorMark<'a> {
    /// A name, and the address that was given with it.
    Email { name: &'a str, email: &'a str },
    /// A name, and the network that it came from.
    Network { name: &'a str, network: &'a str },
    /// A token that this installation has given to a browser, and the name of now.
    Token { name: &'a str, token: &'a str },
    /// The network of who gave no name: what one likes, all of it like.
    Nameless { network: &'a str },
}

/// The key of an installation for the ids of visitors.
#[derive(Clone)]
pub struct VisitorKey(Hmac<Sha256>);

impl fmt::Debug for VisitorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("VisitorKey(…)")
    }
}

impl VisitorKey {
    /// The key made from this secret, of any length.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        Self(derived_key(b"gailou visitor\0", secret))
    }

    /// The guest that a visitor is. A name cannot hold a zero byte, so no two marks are written alike.
    #[must_use]
    pub fn guest(&self, mark: VisitorMark<'_>) -> MemberId {
        let (kind, first, second) = match mark {
            VisitorMark::Email { name, email } => (b'e', name, email),
            VisitorMark::Network { name, network } => (b'n', name, network),
            VisitorMark::Token { token, .. } => (b't', "", token),
            VisitorMark::Nameless { network } => (b'l', "", network),
        };
        let mac = self.0.clone().chain_update([kind]).chain_update(first).chain_update([0]).chain_update(second);
        let hash = mac.finalize().into_bytes();
        let mut bits = [0; 8];
        bits.iter_mut().zip(hash).for_each(|(to, from)| *to = from);
        MemberId::guest(u64::from_be_bytes(bits))
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::MemberKind;

    use super::*;

    #[test]
    fn visitor_is_one_guest_of_one_installation() {
        let (key, bo) = (VisitorKey::new(b"secret"), VisitorMark::Email { name: "Bo", email: "bo@mail.example" });
        let guest = key.guest(bo);
        assert_eq!((key.guest(bo), guest.kind()), (guest, MemberKind::Guest));
        assert_ne!(VisitorKey::new(b"other").guest(bo), guest);
        for other in [
            VisitorMark::Email { name: "Bob", email: "o@mail.example" },
            VisitorMark::Email { name: "Bo", email: "b@mail.example" },
            VisitorMark::Network { name: "Bo", network: "bo@mail.example" },
            VisitorMark::Token { name: "Bo", token: "bo@mail.example" },
            VisitorMark::Nameless { network: "bo@mail.example" },
        ] {
            assert_ne!(key.guest(other), guest, "{other:?}");
        }
    }
}
