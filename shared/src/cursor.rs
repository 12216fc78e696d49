//! Cursors: the position of a reader in a walk through a list.
//!
//! A cursor is a small binary record, signed with HMAC-SHA-256 (16 bytes of it) and written as unpadded
//! URL-safe base64. It names its list, so one list refuses the cursor of another; it has no limit and no
//! reader. Not here: what the positions mean (see [`crate::walk`]).

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

use crate::derived_key::derived_key;
use crate::id::{CommentId, MemberId, SubjectKey};
use crate::limits;
use crate::rank::Sort;

const CURSOR_FORMAT_VERSION: u8 = 1;
const TAG_BYTES: usize = 16;

/// The list a cursor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CursorList {
    /// The roots of a subject, named by a hash of type, key and number.
    Roots([u8; 16]),
    /// All descendants of a comment, flat.
    Replies(CommentId),
    /// The children drawn under a comment in its tree.
    Tree(CommentId),
    /// A member's history.
    Member(MemberId),
    /// A list of the moderators or of one reader, or the answer of a search, named by a hash of its name and of what it
    /// is filtered by.
    Moderation([u8; 16]),
}

impl CursorList {
    /// The roots of this subject.
    #[must_use]
    pub fn roots(subject: &SubjectKey) -> Self {
        Self::Roots(hash_parts(&[subject.kind(), subject.key()]))
    }

    /// The comments of a reader's friends in a subject.
    #[must_use]
    pub fn friends(reader: MemberId, subject: &SubjectKey) -> Self {
        let reader = alloc::format!("{reader}");
        Self::Moderation(hash_parts(&["friends", &reader, subject.kind(), subject.key()]))
    }

    /// The list of the moderators with this name, filtered by these texts.
    #[must_use]
    pub fn moderation(name: &str, filters: &[Option<&str>]) -> Self {
        // A filter that is absent is another one than an empty one.
        let filters =
            filters.iter().flat_map(|filter| [if filter.is_some() { "1" } else { "0" }, filter.unwrap_or("")]);
        let parts: Vec<&str> = core::iter::once(name).chain(filters).collect();
        Self::Moderation(hash_parts(&parts))
    }
}

/// The first bytes of a name's key, the rest zeros: what a list in the order of names is at.
pub type NamePosition = [u8; 64];

/// A hash of texts, none of which has a zero byte.
fn hash_parts(parts: &[&str]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    for (n, part) in parts.iter().enumerate() {
        if n > 0 {
            hasher.update([0]);
        }
        hasher.update(part.as_bytes());
    }
    let mut hash = [0; 16];
    hash.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
    hash
}

/// The name of a snapshot: a hash of what it holds.
pub type SnapshotId = [u8; 16];

/// The position at which the walk continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WalkPosition {
    /// At this place of the snapshot, from 0.
    Snapshot(SnapshotId, u16),
    /// In what is not in the snapshot, below this floor (0: from the top).
    Tail(SnapshotId, u64),
    /// After this floor or id in the list's own order.
    After(u64),
    /// After this child of a tree's node, with as many comments still to come as `left` says.
    Child(CommentId, u64),
    /// After this comment of the review queue, with its rank and since when it waits.
    Queued(i64, u64, CommentId),
    /// After this member of a list in the order of names.
    Named(NamePosition, MemberId),
}

/// A place in a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cursor {
    /// The list it belongs to.
    pub list: CursorList,
    /// The order of the walk.
    pub sort: Sort,
    /// The subject's version on the first page.
    pub epoch: u64,
    /// The position at which the walk continues.
    pub at: WalkPosition,
}

impl Cursor {
    /// The cursor in a text of the right form, without verifying its signature: for caches, which have no
    /// key and need one name for each position. A text that is refused here is also refused by
    /// [`CursorKey::decode`], and no other text has the same content and signature.
    #[must_use]
    pub fn unverified(text: &str) -> Option<Self> {
        let bytes = bytes_of(text)?;
        decode(bytes.split_at_checked(bytes.len().checked_sub(TAG_BYTES)?)?.0)
    }
}

/// The text is not a cursor of ours: malformed, of another version, or signed with another key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidCursor;

impl fmt::Display for InvalidCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a cursor of this server")
    }
}

impl core::error::Error for InvalidCursor {}

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
        Self(derived_key(b"gailou cursor\0", secret))
    }

    /// The cursor as text, about 100 characters.
    #[must_use]
    pub fn encode(&self, cursor: &Cursor) -> String {
        let mut bytes = encode(cursor);
        let tag = self.0.clone().chain_update(&bytes).finalize().into_bytes();
        bytes.extend(tag.iter().take(TAG_BYTES));
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The cursor in this text.
    ///
    /// # Errors
    /// [`InvalidCursor`] for everything that [`CursorKey::encode`] did not make with the same secret.
    pub fn decode(&self, text: &str) -> Result<Cursor, InvalidCursor> {
        let bytes = bytes_of(text).ok_or(InvalidCursor)?;
        let (body, tag) = bytes.split_at_checked(bytes.len().saturating_sub(TAG_BYTES)).ok_or(InvalidCursor)?;
        self.0.clone().chain_update(body).verify_truncated_left(tag).map_err(|_| InvalidCursor)?;
        if tag.len() != TAG_BYTES {
            return Err(InvalidCursor);
        }
        decode(body).ok_or(InvalidCursor)
    }
}

/// Strict: no padding, no spaces, no stray bits, so that bytes have one text.
fn bytes_of(text: &str) -> Option<Vec<u8>> {
    if text.len() > limits::MAX_CURSOR_CHARS {
        return None;
    }
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

fn encode(cursor: &Cursor) -> Vec<u8> {
    let mut out = Vec::with_capacity(80);
    out.push(CURSOR_FORMAT_VERSION);
    out.push(Sort::ALL.iter().position(|s| *s == cursor.sort).unwrap_or(0) as u8);
    out.extend(cursor.epoch.to_be_bytes());
    match cursor.list {
        CursorList::Roots(name) => {
            out.push(0);
            out.extend(name);
        }
        CursorList::Replies(id) => {
            out.push(1);
            out.extend(id.get().to_be_bytes());
        }
        CursorList::Tree(id) => {
            out.push(2);
            out.extend(id.get().to_be_bytes());
        }
        CursorList::Member(id) => {
            out.push(3);
            out.extend(id.get().to_be_bytes());
        }
        CursorList::Moderation(name) => {
            out.push(4);
            out.extend(name);
        }
    }
    match cursor.at {
        WalkPosition::Snapshot(id, place) => {
            out.push(0);
            out.extend(id);
            out.extend(place.to_be_bytes());
        }
        WalkPosition::Tail(id, floor) => {
            out.push(1);
            out.extend(id);
            out.extend(floor.to_be_bytes());
        }
        WalkPosition::After(n) => {
            out.push(2);
            out.extend(n.to_be_bytes());
        }
        WalkPosition::Child(id, left) => {
            out.push(3);
            out.extend(id.get().to_be_bytes());
            out.extend(left.to_be_bytes());
        }
        WalkPosition::Queued(rank, since, id) => {
            out.push(4);
            out.extend(rank.to_be_bytes());
            out.extend(since.to_be_bytes());
            out.extend(id.get().to_be_bytes());
        }
        WalkPosition::Named(name, id) => {
            out.push(6);
            out.extend(name);
            out.extend(id.get().to_be_bytes());
        }
    }
    out
}

/// Takes fixed-size parts off the front of a slice.
struct CursorReader<'a>(&'a [u8]);

impl CursorReader<'_> {
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
    let mut r = CursorReader(bytes);
    if r.byte()? != CURSOR_FORMAT_VERSION {
        return None;
    }
    let sort = *Sort::ALL.get(usize::from(r.byte()?))?;
    let epoch = r.number()?;
    let list = match r.byte()? {
        0 => CursorList::Roots(r.take()?),
        1 => CursorList::Replies(CommentId::new(r.number()?).ok()?),
        2 => CursorList::Tree(CommentId::new(r.number()?).ok()?),
        3 => CursorList::Member(MemberId::new(r.number()?).ok()?),
        4 => CursorList::Moderation(r.take()?),
        _ => return None,
    };
    let at = match r.byte()? {
        0 => WalkPosition::Snapshot(r.take()?, u16::from_be_bytes(r.take()?)),
        1 => WalkPosition::Tail(r.take()?, r.number()?),
        2 => WalkPosition::After(r.number()?),
        3 => WalkPosition::Child(CommentId::new(r.number()?).ok()?, r.number()?),
        4 => {
            let (rank, since) = (i64::from_be_bytes(r.take()?), r.number()?);
            WalkPosition::Queued(rank, since, CommentId::new(r.number()?).ok()?)
        }
        6 => WalkPosition::Named(r.take()?, MemberId::new(r.number()?).ok()?),
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
            any::<[u8; 16]>().prop_map(CursorList::Roots),
            id().prop_map(CursorList::Replies),
            id().prop_map(CursorList::Tree),
            (1u64..=i64::MAX as u64).prop_map(|n| CursorList::Member(MemberId::new(n).unwrap())),
            any::<[u8; 16]>().prop_map(CursorList::Moderation),
        ];
        let at = prop_oneof![
            (any::<[u8; 16]>(), any::<u16>()).prop_map(|(s, p)| WalkPosition::Snapshot(s, p)),
            (any::<[u8; 16]>(), any::<u64>()).prop_map(|(s, f)| WalkPosition::Tail(s, f)),
            any::<u64>().prop_map(WalkPosition::After),
            (id(), any::<u64>()).prop_map(|(i, l)| WalkPosition::Child(i, l)),
            (any::<i64>(), any::<u64>(), id()).prop_map(|(r, s, i)| WalkPosition::Queued(r, s, i)),
            (any::<[u8; 64]>(), 1u64..=i64::MAX as u64)
                .prop_map(|(name, id)| WalkPosition::Named(name, MemberId::new(id).unwrap())),
        ];
        (list, prop::sample::select(Sort::ALL), any::<u64>(), at).prop_map(|(list, sort, epoch, at)| Cursor {
            list,
            sort,
            epoch,
            at,
        })
    }

    #[test]
    fn subjects_do_not_share_cursors() {
        let list = |kind, key| CursorList::roots(&SubjectKey::new(kind, key).unwrap());
        assert_ne!(list("video", "7"), list("article", "7"));
        assert_ne!(list("video", "7"), list("video", "07"));
    }

    proptest! {
        #[test]
        fn printing_and_parsing_is_identity(cursor in any_cursor()) {
            let key = CursorKey::new(b"secret");
            let text = key.encode(&cursor);
            prop_assert!(text.len() <= limits::MAX_CURSOR_CHARS);
            prop_assert_eq!(key.decode(&text), Ok(cursor));
        }

        #[test]
        fn what_a_cursor_says_needs_no_key(cursor in any_cursor(), signed_by: Vec<u8>) {
            let text = CursorKey::new(&signed_by).encode(&cursor);
            prop_assert_eq!(Cursor::unverified(&text), Some(cursor));
            for other in [format!("{text}="), format!("{text}A"), text[..text.len() - 1].to_owned(), format!(" {text}")] {
                prop_assert_eq!(Cursor::unverified(&other), None, "{}", other);
            }
        }

        #[test]
        fn a_place_has_one_text(mut inside: Vec<u8>, tag: [u8; TAG_BYTES]) {
            inside.insert(0, CURSOR_FORMAT_VERSION);
            let text = BASE64_URL_SAFE_NO_PAD.encode([&inside[..], &tag].concat());
            if let Some(cursor) = Cursor::unverified(&text) {
                prop_assert_eq!(encode(&cursor), inside);
            }
        }

        #[test]
        fn another_key_refuses(cursor in any_cursor()) {
            prop_assert_eq!(CursorKey::new(b"other").decode(&CursorKey::new(b"secret").encode(&cursor)), Err(InvalidCursor));
        }

        #[test]
        fn any_changed_character_is_refused(cursor in any_cursor(), at: prop::sample::Index, to in "[A-Za-z0-9_-]") {
            let key = CursorKey::new(b"secret");
            let text = key.encode(&cursor);
            let at = at.index(text.len());
            prop_assume!(text[at..=at] != to);
            let mut forged = text.clone();
            forged.replace_range(at..=at, &to);
            prop_assert_eq!(key.decode(&forged), Err(InvalidCursor));
        }

        #[test]
        fn noise_is_refused(text: String) {
            prop_assert_eq!(CursorKey::new(b"secret").decode(&text), Err(InvalidCursor));
        }
    }
}
