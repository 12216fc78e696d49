//! Uploaded pictures: what a comment says of them, what the tables remember, and when a file may be deleted.
//!
//! Pure. Not here: how a picture is decoded ([`crate::domain::picture`]), or where its file is
//! ([`crate::ports::blobs`]).

use std::fmt;

use gailou_shared::id::{CommentId, MediaId, MemberId};
use gailou_shared::limits::MEDIA_RETENTION_MS;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::picture::PictureFormat;

/// Comments that may use one picture. A request that is sent again makes a second comment of the picture, until the
/// first one is known to be stored.
pub const MAX_USES: usize = 8;
/// How long the file is kept of a comment that the tables do not have, in milliseconds (30 days): it may be behind a
/// broker that lags, or a dead letter that is sent again.
pub const MISSING_COMMENT_GRACE_MS: u64 = 30 * 86_400_000;
/// Bytes of the hash in a name: 128 bits, so that none can be guessed.
const NAME_HASH_BYTES: usize = 16;

/// The name of a file: the picture's id, a hash of its bytes, and its format.
///
/// An id is given once, so no two pictures have one file, and a file can be deleted with its picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaName {
    text: String,
    hash_start: usize,
    format: PictureFormat,
}

impl MediaName {
    /// The name of a picture with these bytes.
    pub fn of(id: MediaId, bytes: &[u8], format: PictureFormat) -> Self {
        let id = id.to_string();
        let hash = hex::encode(&Sha256::digest(bytes)[..NAME_HASH_BYTES]);
        let extension = format.extension();
        Self { hash_start: id.len() + 1, text: format!("{id}-{hash}.{extension}"), format }
    }

    /// The name with this text; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (id, rest) = text.split_once('-')?;
        let (hash, extension) = rest.split_once('.')?;
        let is_hash = hash.len() == 2 * NAME_HASH_BYTES
            && hash.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        let format = PictureFormat::of_extension(extension)?;
        id.parse::<MediaId>().ok().filter(|_| is_hash)?;
        Some(Self { text: text.to_owned(), hash_start: id.len() + 1, format })
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn format(&self) -> PictureFormat {
        self.format
    }

    /// Whether it is the name of a file with these bytes.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        let hash = hex::encode(&Sha256::digest(bytes)[..NAME_HASH_BYTES]);
        self.text[self.hash_start..].strip_prefix(&hash).is_some_and(|rest| rest.starts_with('.'))
    }

    /// Where its file is: in one of 256 folders, since a folder of millions is slow.
    pub fn path(&self) -> String {
        format!("{}/{}", &self.text[self.hash_start..self.hash_start + 2], self.text)
    }
}

impl fmt::Display for MediaName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A picture as a comment's row has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MediaRef {
    pub id: MediaId,
    /// The text of a [`MediaName`].
    pub name: String,
    pub width: u32,
    pub height: u32,
    pub alt: String,
}

/// An uploaded picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaRow {
    pub media: MediaRef,
    pub owner: MemberId,
    /// The comments that were to use it, at most [`MAX_USES`]: each is remembered before it is appended.
    pub uses: Vec<CommentId>,
    /// Since when no comment shows it, as far as is known, in Unix milliseconds.
    pub unused_since: Option<u64>,
    /// Whether its file is being deleted. No comment can use it any more.
    pub is_deleted: bool,
}

/// What the comments that were to use a picture do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaUse {
    /// One has it, and is not deleted.
    Shown,
    /// None has it, and some are not in the tables.
    Unknown,
    /// All of them are deleted, or there is none.
    Unused,
}

impl MediaRow {
    /// Whether its file may be deleted at `now`.
    pub fn is_over(&self, found: MediaUse, now: u64) -> bool {
        let grace = match found {
            MediaUse::Shown => return false,
            MediaUse::Unknown => MISSING_COMMENT_GRACE_MS,
            MediaUse::Unused => MEDIA_RETENTION_MS,
        };
        self.unused_since.is_some_and(|since| since.saturating_add(grace) <= now)
    }
}

/// The ids of comments as the tables have them: each with a space before it.
pub(crate) fn uses_text(uses: &[CommentId]) -> String {
    uses.iter().map(|id| format!(" {id}")).collect()
}

/// The ids in such a text.
pub(crate) fn parse_uses(text: &str) -> Option<Vec<CommentId>> {
    text.split_ascii_whitespace().map(|id| id.parse().ok()).collect()
}

/// The longest text to which another id may be added: an id has at most 19 digits.
pub(crate) const MAX_USES_TEXT_BYTES: usize = (MAX_USES - 1) * 20;

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u64) -> MediaId {
        MediaId::new(number).unwrap()
    }

    #[test]
    fn name_is_parsed_again() {
        let name = MediaName::of(id(7), b"bytes", PictureFormat::Png);
        assert_eq!(MediaName::parse(name.as_str()), Some(name.clone()));
        assert_eq!(name.path(), format!("{}/{name}", &name.as_str()[2..4]));
        let hash = &name.as_str()[2..34];
        for wrong in [
            String::new(),
            "7".into(),
            format!("7-{hash}.svg"),
            format!("0-{hash}.png"),
            format!("07-{hash}.png"),
            format!("7-{}.png", hash.to_uppercase().replace(|c: char| c.is_ascii_digit(), "A")),
            format!("7-{}.png", &hash[1..]),
            format!("../7-{hash}.png"),
            format!("7-{hash}.png/.."),
        ] {
            assert_eq!(MediaName::parse(&wrong), None, "{wrong}");
        }
    }

    #[test]
    fn file_is_over_when_nothing_has_shown_it_long_enough() {
        let media = MediaRef { id: id(1), name: String::new(), width: 1, height: 1, alt: String::new() };
        let owner = MemberId::new(1).unwrap();
        let row = MediaRow { media, owner, uses: vec![], unused_since: Some(1_000), is_deleted: false };
        let day = 1_000 + MEDIA_RETENTION_MS;
        assert!(!row.is_over(MediaUse::Unused, day - 1) && row.is_over(MediaUse::Unused, day));
        assert!(!row.is_over(MediaUse::Unknown, day));
        assert!(row.is_over(MediaUse::Unknown, 1_000 + MISSING_COMMENT_GRACE_MS));
        assert!(!row.is_over(MediaUse::Shown, u64::MAX));
        let never = MediaRow { unused_since: None, ..row };
        assert!(!never.is_over(MediaUse::Unused, u64::MAX));
    }

    #[test]
    fn uses_are_parsed_again_and_bounded() {
        let uses: Vec<_> = (0..MAX_USES as u64).map(|n| CommentId::new((1 << 62) + n).unwrap()).collect();
        assert_eq!(parse_uses(&uses_text(&uses)).unwrap(), uses);
        assert_eq!(parse_uses("").unwrap(), []);
        assert!(uses_text(&uses[1..]).len() <= MAX_USES_TEXT_BYTES);
        assert!(uses_text(&uses).len() > MAX_USES_TEXT_BYTES);
    }
}
