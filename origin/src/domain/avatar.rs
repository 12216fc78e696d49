//! What a picture of a member is asked for by, and the drawing that it decides where there is no picture.
//!
//! Pure. Promise: the same hash is the same drawing for ever, and nothing of a drawing was written by a stranger.

use std::fmt;
use std::fmt::Write as _;

use gailou_shared::id::MemberId;
use sha2::{Digest as _, Sha256};

use crate::domain::email_address::EmailAddress;
use crate::domain::sign_in::SignInKey;

/// The lengths of MD5 and SHA-256 in hexadecimal digits.
const HASH_LENGTHS: [usize; 2] = [32, 64];
/// Cells of a drawing on one side; its right half mirrors its left one.
const DRAWING_CELLS: usize = 5;

/// Bytes of the digest of an address that are in the hash of an account.
const ADDRESS_DIGEST_BYTES: usize = 8;
/// Bytes of the hash of an account before its signature.
const SIGNED_BYTES: usize = 8 + ADDRESS_DIGEST_BYTES;

/// The MD5 or SHA-256 of an e-mail address, or what stands for an account of this installation, in lower-case hexadecimal
/// digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AvatarHash(Box<str>);

impl AvatarHash {
    /// That of an address, as services of pictures want it: SHA-256.
    #[must_use]
    pub fn of(email: &EmailAddress) -> Self {
        Self(hex::encode(Sha256::digest(email.as_str())).into())
    }

    /// That of a member without a picture: their drawing.
    #[must_use]
    pub fn of_member(member: MemberId) -> Self {
        let digest = Sha256::new().chain_update(b"gailou member\0").chain_update(member.get().to_be_bytes()).finalize();
        Self(hex::encode(digest).into())
    }

    /// The hash with these digits; `None` for other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        (HASH_LENGTHS.contains(&text.len()) && text.bytes().all(is_digit)).then(|| Self(text.into()))
    }

    /// That of an account with the picture at this address. It says nothing of the mailbox and of the host that has the
    /// picture, and only this installation can make it: readers cannot have the server fetch what they like. With another
    /// picture it is another one, so what it leads to may be cached.
    #[must_use]
    pub fn of_account(account: MemberId, address: &str, key: &SignInKey) -> Self {
        let mut signed = [0; SIGNED_BYTES];
        signed[..8].copy_from_slice(&account.get().to_be_bytes());
        signed[8..].copy_from_slice(&Sha256::digest(address)[..ADDRESS_DIGEST_BYTES]);
        Self(hex::encode([&signed[..], &key.sign_picture(&signed)].concat()).into())
    }

    /// The account that it stands for; `None` where this installation has not made it.
    #[must_use]
    pub fn account(&self, key: &SignInKey) -> Option<MemberId> {
        let bytes = hex::decode(self.as_str()).ok()?;
        let (signed, signature) = bytes.split_first_chunk::<SIGNED_BYTES>()?;
        if !key.verify_picture(signed, signature) {
            return None;
        }
        MemberId::new(u64::from_be_bytes(*signed.first_chunk()?)).ok()
    }

    /// Its digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A drawing as SVG: a colour by the first digits, and a cell for each even one of the next. A hash has as many digits
    /// as are needed: 4 for the colour, and 15 for the cells of three columns.
    #[must_use]
    pub fn draw(&self) -> String {
        let digits: Vec<u32> = self.0.chars().filter_map(|digit| digit.to_digit(16)).collect();
        let (colour, cells) = digits.split_at(4);
        let hue = colour.iter().fold(0, |number, digit| number * 16 + digit) % 360;
        let mut path = String::new();
        let columns = DRAWING_CELLS.div_ceil(2);
        for (at, _) in cells.iter().take(columns * DRAWING_CELLS).enumerate().filter(|(_, digit)| *digit % 2 == 0) {
            let (x, y) = (at % columns, at / columns);
            for x in std::collections::BTreeSet::from([x, DRAWING_CELLS - 1 - x]) {
                // Writing to a string does not fail.
                let _ = write!(path, "M{x} {y}h1v1h-1z");
            }
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-1 -1 7 7\" width=\"160\" height=\"160\" \
             shape-rendering=\"crispEdges\"><path fill=\"hsl({hue},30%,92%)\" d=\"M-1-1h7v7h-7z\"/>\
             <path fill=\"hsl({hue},50%,45%)\" d=\"{path}\"/></svg>"
        )
    }
}

impl fmt::Display for AvatarHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_digits_of_a_known_length_are_a_hash() {
        for (text, is_hash) in [
            ("0".repeat(32), true),
            ("f".repeat(64), true),
            ("F".repeat(32), false),
            ("g".repeat(32), false),
            ("0".repeat(33), false),
            ("../".repeat(10) + "ab", false),
            (String::new(), false),
        ] {
            assert_eq!(AvatarHash::parse(&text).is_some(), is_hash, "{text}");
        }
    }

    #[test]
    fn drawing_is_symmetric_and_stays_the_same() {
        let draw = |digits: &str| AvatarHash::parse(digits).unwrap().draw();
        let drawing = draw("0168101111111111111111111111111a");
        assert!(drawing.contains("hsl(0,50%,45%)\" d=\"M1 0h1v1h-1zM3 0h1v1h-1z\""), "{drawing}");
        // The middle column is its own mirror.
        let middle = draw("00001101111111111111111111111111");
        assert!(middle.contains("d=\"M2 0h1v1h-1z\""), "{middle}");
        assert_eq!(drawing, draw("0168101111111111111111111111111a"));
        assert_ne!(drawing, middle);
    }

    #[test]
    fn picture_of_an_account_is_asked_for_by_what_this_installation_alone_makes() {
        let (key, other) = (SignInKey::new(b"one"), SignInKey::new(b"other"));
        let account = MemberId::account(7);
        let hash = AvatarHash::of_account(account, "https://a.example/a.png", &key);
        assert_eq!(AvatarHash::parse(hash.as_str()), Some(hash.clone()), "it is like any other");
        assert_eq!((hash.account(&key), hash.account(&other)), (Some(account), None));
        assert_ne!(AvatarHash::of_account(account, "https://a.example/b.png", &key), hash);
        let md5 = AvatarHash::parse(&"0f".repeat(16)).unwrap();
        assert_eq!(md5.account(&key), None);
        for at in [0, 20, 40, 63] {
            let mut changed = hash.as_str().as_bytes().to_vec();
            changed[at] = if changed[at] == b'0' { b'1' } else { b'0' };
            let changed = AvatarHash::parse(std::str::from_utf8(&changed).unwrap()).unwrap();
            assert_eq!(changed.account(&key), None, "digit {at}");
        }
    }

    proptest! {
        #[test]
        fn every_hash_has_a_drawing_of_well_formed_xml(hash in "[0-9a-f]{32}|[0-9a-f]{64}") {
            let drawing = AvatarHash::parse(&hash).unwrap().draw();
            let document = roxmltree::Document::parse(&drawing).unwrap();
            prop_assert_eq!(document.root_element().children().count(), 2);
        }
    }
}
