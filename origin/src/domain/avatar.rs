//! What a picture of a member is asked for by, and the drawing that it decides where there is no picture.
//!
//! Pure. Promise: the same hash is the same drawing for ever, and nothing of a drawing was written by a stranger. What is
//! asked for by an address is what this installation itself has named to readers.

use std::fmt;
use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use gailou_shared::id::MemberId;
use gailou_shared::wire::Author;
use sha2::{Digest as _, Sha256};

use crate::domain::email_address::EmailAddress;
use crate::domain::sign_in::SignInKey;

/// Before the hash, in the address of a picture of this installation.
pub const PICTURES_PATH: &str = "/v1/avatars/";
/// Most bytes that the address of a picture of another server has beside four thirds of that one: the address of this
/// installation with the longest name of a host, the path and the signature.
pub const PICTURE_ADDRESS_OVERHEAD_BYTES: usize = 300;
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

/// Where readers get the pictures that host sites have elsewhere: at this installation, by an address that holds the other
/// one and a signature. It is the same for the same picture in every process.
#[derive(Debug)]
pub struct PictureAddresses {
    server: Option<String>,
    key: SignInKey,
}

/// A picture elsewhere that this installation has named to readers.
#[derive(Debug, PartialEq, Eq)]
pub struct NamedPicture {
    /// Where the host site has it.
    pub address: String,
    /// What it is in memory by. No client can make it: it holds more of the key than the signature.
    pub hash: AvatarHash,
}

impl PictureAddresses {
    /// Readers reach this installation at `server`; without it they get every picture from where its host has it.
    #[must_use]
    pub fn new(server: Option<&str>, key: SignInKey) -> Self {
        Self { server: server.map(|server| server.trim_end_matches('/').to_owned()), key }
    }

    /// Where readers get the picture at this address. A path is one of the page that shows the comment, and stays.
    #[must_use]
    pub fn shown(&self, address: &str) -> String {
        let Some(server) = self.server.as_deref().filter(|_| !address.starts_with('/')) else {
            return address.to_owned();
        };
        if address.strip_prefix(server).is_some_and(|path| path.starts_with(PICTURES_PATH)) {
            return address.to_owned();
        }
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign_address(address));
        format!("{server}{PICTURES_PATH}{signature}/{}", URL_SAFE_NO_PAD.encode(address))
    }

    /// The author, with a picture that readers may get.
    #[must_use]
    pub fn shown_author(&self, author: &Author) -> Author {
        Author { avatar: author.avatar.as_deref().map(|address| self.shown(address)), ..author.clone() }
    }

    /// The picture that the two last parts of a path are of; `None` where this installation has not made them.
    #[must_use]
    pub fn named(&self, signature: &str, address: &str) -> Option<NamedPicture> {
        let address = String::from_utf8(URL_SAFE_NO_PAD.decode(address).ok()?).ok()?;
        let signature = URL_SAFE_NO_PAD.decode(signature).ok()?;
        let digest = self.key.verify_address(&address, &signature)?;
        Some(NamedPicture { address, hash: AvatarHash(hex::encode(digest).into()) })
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

    #[test]
    fn picture_elsewhere_is_shown_here_by_an_address_that_this_installation_alone_makes() {
        let (key, other) = (SignInKey::new(b"one"), SignInKey::new(b"other"));
        let here = PictureAddresses::new(Some("https://c.example/"), key.clone());
        let elsewhere = "https://a.example/u/7.png?v=2";
        let shown = here.shown(elsewhere);
        let path = shown.strip_prefix("https://c.example/v1/avatars/").unwrap();
        let (signature, address) = path.split_once('/').unwrap();
        let named = here.named(signature, address).unwrap();
        assert_eq!(named.address, elsewhere);
        assert_eq!(AvatarHash::parse(named.hash.as_str()), Some(named.hash.clone()), "a drawing can be made of it");
        let same = PictureAddresses::new(Some("https://c.example"), key.clone());
        assert_eq!(same.shown(elsewhere), shown, "the same in each process");
        assert_eq!(same.shown(&shown), shown, "it is shown once");
        assert_eq!(
            PictureAddresses::new(None, other).named(signature, address),
            None,
            "the key of another installation"
        );
        assert_eq!(PictureAddresses::new(None, key).named(signature, address), Some(named));
        let another = URL_SAFE_NO_PAD.encode("https://a.example/u/8.png");
        for (signature, address) in
            [(signature, &*another), ("", address), (&signature[..20], address), (signature, ""), (signature, "*")]
        {
            assert_eq!(here.named(signature, address), None, "{signature} {address}");
        }
    }

    #[test]
    fn only_pictures_of_other_servers_are_shown_here() {
        let key = SignInKey::new(b"one");
        let here = PictureAddresses::new(Some("https://c.example"), key.clone());
        for (address, is_moved) in [
            ("https://a.example/a.png", true),
            ("http://a.example/a.png", true),
            ("https://c.example/v1/media/a.png", true),
            ("https://c.example.a.example/v1/avatars/00", true),
            ("https://c.example/v1/avatars/00", false),
            ("/a.png", false),
            ("/v1/avatars/00", false),
        ] {
            assert_eq!(here.shown(address) != address, is_moved, "{address}");
            assert_eq!(PictureAddresses::new(None, key.clone()).shown(address), address);
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
