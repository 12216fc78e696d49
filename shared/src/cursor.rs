//! Cursors: where a reader stands in a walk through a list.
//!
//! A cursor is a small binary record, signed with HMAC-SHA-256 (16 bytes of it) and written as
//! unpadded URL-safe base64. It names its list, so one list's cursor is refused by another; it
//! carries no limit and no reader. What is not here: what the positions mean (see [`crate::walk`]).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::id::{CommentId, MemberId, SubjectKey};
use crate::limits;
use crate::rank::Sort;

const VERSION: u8 = 1;
const TAG_BYTES: usize = 16;

/// The list a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum List {
    /// The roots of a subject, named by a hash of type, key and number.
    Roots([u8; 16]),
    /// All descendants of a comment, flat.
    Replies(CommentId),
    /// The children drawn under a comment in its tree.
    Tree(CommentId),
    /// A member's history.
    Member(MemberId),
}

impl List {
    /// The roots of this subject.
    #[must_use]
    pub fn roots(subject: &SubjectKey) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(subject.kind().as_bytes());
        hasher.update([0]);
        hasher.update(subject.key().as_bytes());
        let mut name = [0; 16];
        name.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
        Self::Roots(name)
    }
}

/// The name of a snapshot: a hash of what it holds.
pub type SnapshotId = [u8; 16];

/// Where the walk goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Position {
    /// At this place of the snapshot, from 0.
    Snapshot(SnapshotId, u16),
    /// In what is not in the snapshot, below this floor (0: from the top).
    Tail(SnapshotId, u64),
    /// After this floor or id in the list's own order.
    After(u64),
    /// After this child of a tree's node, with as many comments still to come as `left` says.
    Child(CommentId, u64),
}

/// A place in a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The list it belongs to.
    pub list: List,
    /// The order of the walk.
    pub sort: Sort,
    /// The subject's version on the first page.
    pub epoch: u64,
    /// Where the walk goes on.
    pub at: Position,
}

impl Cursor {
    /// What a text says that has the form of a cursor, whoever signed it: for caches, which have no
    /// key and need one name for one place. What this refuses, [`CursorKey::parse`] refuses too, and
    /// no other text says the same and carries the same signature.
    #[must_use]
    pub fn unverified(text: &str) -> Option<Self> {
        let bytes = bytes_of(text)?;
        decode(bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?.0)
    }
}

/// The text is no cursor of ours: malformed, of another version, or signed with another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadCursor;

impl fmt::Display for BadCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a cursor of this server")
    }
}

impl core::error::Error for BadCursor {}

/// The key cursors are signed with.
#[derive(Clone)]
pub struct CursorKey(Hmac<Sha256>);

impl fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CursorKey(…)")
    }
}

impl CursorKey {
    /// The key made from this secret, of any length.
    #[must_use]
    pub fn new(secret: &[u8]) -> Self {
        // Hashed first, so that a key of any length fits and is used for nothing else.
        let mut hasher = Sha256::new();
        hasher.update(b"gailou cursor\0");
        hasher.update(secret);
        Self(Hmac::new(&{
            let mut block = hmac::digest::core_api::Block::<Sha256>::default();
            block.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
            block
        }))
    }

    /// The cursor as text, about 100 characters.
    #[must_use]
    pub fn print(&self, cursor: &Cursor) -> String {
        let mut bytes = encode(cursor);
        let tag = self.0.clone().chain_update(&bytes).finalize().into_bytes();
        bytes.extend(tag.iter().take(TAG_BYTES));
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor in this text.
    ///
    /// # Errors
    /// [`BadCursor`] for everything that [`CursorKey::print`] did not make with the same secret.
    pub fn parse(&self, text: &str) -> Result<Cursor, BadCursor> {
        let bytes = bytes_of(text).ok_or(BadCursor)?;
        let (body, tag) = bytes.split_at_checked(bytes.len().saturating_sub(TAG_BYTES)).ok_or(BadCursor)?;
        self.0.clone().chain_update(body).verify_truncated_left(tag).map_err(|_| BadCursor)?;
        if tag.len() != TAG_BYTES {
            return Err(BadCursor);
        }
        decode(body).ok_or(BadCursor)
    }
}

/// Strict: no padding, no spaces, no stray bits, so that bytes have one text.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    if text.len() > limits::CURSOR_CHARS {
        return None;
    }
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

fn encode(cursor: &Cursor) -> Vec<u8> {
    let mut out = Vec::with_capacity(80);
    out.push(VERSION);
    out.push(Sort::ALL.iter().position(|s| *s == cursor.sort).unwrap_or(0) as u8);
    out.extend(cursor.epoch.to_be_bytes());
    match cursor.list {
        List::Roots(name) => {
            out.push(0);
            out.extend(name);
        }
        List::Replies(id) => {
            out.push(1);
            out.extend(id.get().to_be_bytes());
        }
        List::Tree(id) => {
            out.push(2);
            out.extend(id.get().to_be_bytes());
        }
        List::Member(id) => {
            out.push(3);
            out.extend(id.get().to_be_bytes());
        }
    }
    match cursor.at {
        Position::Snapshot(id, place) => {
            out.push(0);
            out.extend(id);
            out.extend(place.to_be_bytes());
        }
        Position::Tail(id, floor) => {
            out.push(1);
            out.extend(id);
            out.extend(floor.to_be_bytes());
        }
        Position::After(n) => {
            out.push(2);
            out.extend(n.to_be_bytes());
        }
        Position::Child(id, left) => {
            out.push(3);
            out.extend(id.get().to_be_bytes());
            out.extend(left.to_be_bytes());
        }
    }
    out
}

/// Takes fixed-size parts off the front of a slice.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take::<1>().map(|[b]| b)
    }

    fn number(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
}

fn decode(bytes: &[u8]) -> Option<Cursor> {
    let mut r = Reader(bytes);
    if r.byte()? != VERSION {
        return None;
    }
    let sort = *Sort::ALL.get(usize::from(r.byte()?))?;
    let epoch = r.number()?;
    let list = match r.byte()? {
        0 => List::Roots(r.take()?),
        1 => List::Replies(CommentId::new(r.number()?).ok()?),
        2 => List::Tree(CommentId::new(r.number()?).ok()?),
        3 => List::Member(MemberId::new(r.number()?).ok()?),
        _ => return None,
    };
    let at = match r.byte()? {
        0 => Position::Snapshot(r.take()?, u16::from_be_bytes(r.take()?)),
        1 => Position::Tail(r.take()?, r.number()?),
        2 => Position::After(r.number()?),
        3 => Position::Child(CommentId::new(r.number()?).ok()?, r.number()?),
        _ => return None,
    };
    r.0.is_empty().then_some(Cursor { list, sort, epoch, at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::borrow::ToOwned as _;
    use alloc::format;
    use proptest::prelude::*;

    fn any_cursor() -> impl Strategy<Value = Cursor> {
        let id = || (1u64..=i64::MAX as u64).prop_map(|n| CommentId::new(n).unwrap());
        let list = prop_oneof![
            any::<[u8; 16]>().prop_map(List::Roots),
            id().prop_map(List::Replies),
            id().prop_map(List::Tree),
            (1u64..=i64::MAX as u64).prop_map(|n| List::Member(MemberId::new(n).unwrap())),
        ];
        let at = prop_oneof![
            (any::<[u8; 16]>(), any::<u16>()).prop_map(|(s, p)| Position::Snapshot(s, p)),
            (any::<[u8; 16]>(), any::<u64>()).prop_map(|(s, f)| Position::Tail(s, f)),
            any::<u64>().prop_map(Position::After),
            (id(), any::<u64>()).prop_map(|(i, l)| Position::Child(i, l)),
        ];
        (list, prop::sample::select(&Sort::ALL[..]), any::<u64>(), at).prop_map(|(list, sort, epoch, at)| Cursor {
            list,
            sort,
            epoch,
            at,
        })
    }

    #[test]
    fn subjects_do_not_share_cursors() {
        let list = |kind, key| List::roots(&SubjectKey::new(kind, key).unwrap());
        assert_ne!(list("video", "7"), list("article", "7"));
        assert_ne!(list("video", "7"), list("video", "07"));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_identity(cursor in any_cursor()) {
            let key = CursorKey::new(b"secret");
            let text = key.print(&cursor);
            prop_assert!(text.len() <= limits::CURSOR_CHARS);
            prop_assert_eq!(key.parse(&text), Ok(cursor));
        }

        #[test]
        fn what_a_cursor_says_needs_no_key(cursor in any_cursor(), signed_by: Vec<u8>) {
            let text = CursorKey::new(&signed_by).print(&cursor);
            prop_assert_eq!(Cursor::unverified(&text), Some(cursor));
            for other in [format!("{text}="), format!("{text}A"), text[..text.len() - 1].to_owned(), format!(" {text}")] {
                prop_assert_eq!(Cursor::unverified(&other), None, "{}", other);
            }
        }

        #[test]
        fn a_place_has_one_text(mut inside: Vec<u8>, tag: [u8; TAG_BYTES]) {
            inside.insert(0, VERSION);
            let text = BASE64_URL_SAFE_NO_PAD.encode([&inside[..], &tag].concat());
            if let Some(cursor) = Cursor::unverified(&text) {
                prop_assert_eq!(encode(&cursor), inside);
            }
        }

        #[test]
        fn another_key_refuses(cursor in any_cursor()) {
            prop_assert_eq!(CursorKey::new(b"other").parse(&CursorKey::new(b"secret").print(&cursor)), Err(BadCursor));
        }

        #[test]
        fn any_changed_character_is_refused(cursor in any_cursor(), at: prop::sample::Index, to in "[A-Za-z0-9_-]") {
            let key = CursorKey::new(b"secret");
            let text = key.print(&cursor);
            let at = at.index(text.len());
            prop_assume!(text[at..=at] != to);
            let mut forged = text.clone();
            forged.replace_range(at..=at, &to);
            prop_assert_eq!(key.parse(&forged), Err(BadCursor));
        }

        #[test]
        fn noise_is_refused(text: String) {
            prop_assert_eq!(CursorKey::new(b"secret").parse(&text), Err(BadCursor));
        }
    }
}
