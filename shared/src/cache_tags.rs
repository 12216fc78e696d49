//! Cache tags: the comments that an answer shows, each with the subject's version at which its row was read,
//! and their subjects, each with the smallest of these versions.
//!
//! The origin sends them with every page in a header. The edge stores them with the page and compares them
//! with the change feed: a page is void when the feed has a larger version of a comment it shows, or holds a
//! subject it shows void before a larger version. Not here: the header, the feed, and the content of a page
//! ([`crate::wire`]).
//!
//! The text is unpadded URL-safe base64 of a byte 2, the number of subjects, and for each subject and then
//! each comment, by ascending tag or id, two numbers: the difference to the previous one (to 0 for the first)
//! and the version. Numbers are LEB128. A set has exactly one text, and no other text is accepted.

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// The first byte of the text.
const FORMAT_VERSION: u8 = 2;

/// A comment that an answer shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaggedComment {
    /// The number of its subject ([`crate::id::subject_tag`]).
    pub subject: u64,
    /// Its id.
    pub id: u64,
    /// The subject's version at which its row was read.
    pub version: u64,
}

/// Comments and subjects, each with a version. At most [`CacheTags::MAX_ENTRIES`] comments of
/// [`CacheTags::MAX_SUBJECTS`] subjects.
///
/// ```
/// use gailou_shared::cache_tags::{CacheTags, TaggedComment};
/// let comment = |id, version| TaggedComment { subject: 5, id, version };
/// let shows = CacheTags::new([comment(300, 7), comment(2, 9), comment(300, 5)]).unwrap();
/// assert_eq!(shows.entries(), [(2, 9), (300, 5)]);
/// assert_eq!(shows.subjects(), [(5, 5)]);
/// assert_eq!(shows.encode(), "AgEFBQIJqgIF");
/// assert_eq!(CacheTags::decode("AgEFBQIJqgIF"), Some(shows));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheTags {
    subjects: Vec<(u64, u64)>,
    entries: Vec<(u64, u64)>,
}

impl CacheTags {
    /// Most entries: a page of 100 roots with three replies each, and the comments they answer, has
    /// 810 with the pinned ones. What shows more is not kept by caches.
    pub const MAX_ENTRIES: usize = 4_096;
    /// Most subjects: a page of a member's comments has at most 100.
    pub const MAX_SUBJECTS: usize = 128;

    /// Longest text of so many, in bytes: 10 for a number, 4 characters for 3 bytes.
    const MAX_TEXT_BYTES: usize = (1 + 10 + (Self::MAX_SUBJECTS + Self::MAX_ENTRIES) * 20).div_ceil(3) * 4;

    /// These comments, in any order; of one that is named twice the smaller version counts. `None` when
    /// they are more than [`CacheTags::MAX_ENTRIES`], or of more than [`CacheTags::MAX_SUBJECTS`] subjects.
    #[must_use]
    pub fn new(comments: impl IntoIterator<Item = TaggedComment>) -> Option<Self> {
        let comments: Vec<_> = comments.into_iter().collect();
        let subjects = with_least_versions(comments.iter().map(|comment| (comment.subject, comment.version)));
        let entries = with_least_versions(comments.iter().map(|comment| (comment.id, comment.version)));
        Self { subjects, entries }.within_bounds()
    }

    fn within_bounds(self) -> Option<Self> {
        let fits = self.entries.len() <= Self::MAX_ENTRIES && self.subjects.len() <= Self::MAX_SUBJECTS;
        // A comment without a subject would outlive a change of its subject.
        (fits && self.entries.is_empty() == self.subjects.is_empty()).then_some(self)
    }

    /// Ids with versions, by growing id.
    #[must_use]
    pub fn entries(&self) -> &[(u64, u64)] {
        &self.entries
    }

    /// Subjects with the smallest versions of their comments, by growing number.
    #[must_use]
    pub fn subjects(&self) -> &[(u64, u64)] {
        &self.subjects
    }

    /// The version a comment is shown at, if it is shown.
    #[must_use]
    pub fn version_of(&self, id: u64) -> Option<u64> {
        let place = self.entries.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.entries.get(place).map(|(_, version)| *version)
    }

    /// The text of these tags.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(2 + (self.subjects.len() + self.entries.len()) * 10);
        bytes.push(FORMAT_VERSION);
        put(&mut bytes, self.subjects.len() as u64);
        for pairs in [&self.subjects, &self.entries] {
            let mut before = 0;
            for (number, version) in pairs {
                put(&mut bytes, number.wrapping_sub(before));
                put(&mut bytes, *version);
                before = *number;
            }
        }
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The tags in a text; `None` for a text that [`CacheTags::encode`] never writes.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        if text.len() > Self::MAX_TEXT_BYTES {
            return None;
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let mut rest = bytes.strip_prefix(&[FORMAT_VERSION])?;
        let count = usize::try_from(take(&mut rest)?).ok().filter(|count| *count <= Self::MAX_SUBJECTS)?;
        let mut subjects = Vec::new();
        while subjects.len() < count {
            subjects.push(take_pair(&mut rest, subjects.last())?);
        }
        let mut entries = Vec::new();
        while !rest.is_empty() {
            entries.push(take_pair(&mut rest, entries.last())?);
        }
        Self { subjects, entries }.within_bounds()
    }
}

/// Each number once with its smallest version, by growing number.
fn with_least_versions(pairs: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut pairs: Vec<_> = pairs.collect();
    pairs.sort_unstable();
    pairs.dedup_by_key(|(number, _)| *number);
    pairs
}

/// The next number, which is larger than that of `before`, and its version.
fn take_pair(rest: &mut &[u8], before: Option<&(u64, u64)>) -> Option<(u64, u64)> {
    let above = take(rest)?;
    let number = match before {
        None => above,
        Some((before, _)) => before.checked_add(above).filter(|_| above > 0)?,
    };
    Some((number, take(rest)?))
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The next number; `None` when it is cut off, larger than 64 bits, or written longer than needed.
fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        let placed = bits.checked_shl(shift).filter(|placed| placed >> shift == bits)?;
        number |= placed;
        if byte < 0x80 {
            return (byte > 0 || shift == 0).then_some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn text_of(bytes: &[u8]) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }

    fn comment(subject: u64, id: u64, version: u64) -> TaggedComment {
        TaggedComment { subject, id, version }
    }

    #[test]
    fn text_format_is_fixed() {
        let check = |comments: &[(u64, u64, u64)], bytes: &[u8]| {
            let shows = CacheTags::new(comments.iter().map(|&(subject, id, version)| comment(subject, id, version)));
            let shows = shows.unwrap();
            assert_eq!(shows.encode(), text_of(bytes), "{comments:?}");
            assert_eq!(CacheTags::decode(&text_of(bytes)), Some(shows), "{comments:?}");
        };
        check(&[], &[2, 0]);
        check(&[(0, 0, 0)], &[2, 1, 0, 0, 0, 0]);
        check(&[(7, 127, 128), (7, 128, 0)], &[2, 1, 7, 0, 127, 0x80, 1, 1, 0]);
        check(&[(9, 1, 5), (7, 2, 6)], &[2, 2, 7, 6, 2, 5, 1, 5, 1, 6]);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        check(&[(u64::MAX, u64::MAX, u64::MAX)], &[&[2, 1], &most[..], &most[..], &most[..], &most[..]].concat());
    }

    #[test]
    fn other_texts_are_refused() {
        let long = [&[2, 1, 1, 1, 0xff][..], &[0xff; 8], &[2, 0]].concat();
        let over = [&[2, 1, 1, 1, 1, 0, 0xff][..], &[0xff; 8], &[1, 0]].concat();
        let bad: [&[u8]; 14] = [
            &[],
            &[0],
            &[1],
            &[2],
            &[3, 0],
            &[2, 1],
            &[2, 0, 5, 5],
            &[2, 1, 5, 5],
            &[2, 1, 5, 5, 6],
            &[2, 1, 5, 5, 0x80],
            &[2, 1, 5, 5, 6, 0x80, 0],
            &[2, 1, 5, 5, 6, 1, 0, 1],
            &long,
            &over,
        ];
        for bytes in bad {
            assert_eq!(CacheTags::decode(&text_of(bytes)), None, "{bytes:?}");
        }
        for text in ["", "=", "Ag==", "AR", "AgE FBQ", "汉", "AQIJqgIF"] {
            assert_eq!(CacheTags::decode(text), None, "{text:?}");
        }
    }

    #[test]
    fn more_than_the_bounds_is_refused() {
        let (most, subjects) = (CacheTags::MAX_ENTRIES as u64, CacheTags::MAX_SUBJECTS as u64);
        let at_most = CacheTags::new((0..most).map(|n| comment((n % subjects) << 55, n << 50, u64::MAX))).unwrap();
        let text = at_most.encode();
        assert!(text.len() <= CacheTags::MAX_TEXT_BYTES);
        assert_eq!(CacheTags::decode(&text), Some(at_most));
        assert_eq!(CacheTags::new((0..=most).map(|n| comment(1, n, 1))), None);
        assert_eq!(CacheTags::new((0..=subjects).map(|n| comment(n, n, 1))), None);
        assert!(CacheTags::new((0..most).chain(0..most).map(|n| comment(1, n, 1))).is_some());
        let mut bytes = vec![2, 1, 1, 1, 0, 0];
        bytes.extend([1, 0].repeat(CacheTags::MAX_ENTRIES));
        assert_eq!(CacheTags::decode(&text_of(&bytes)), None);
        assert_eq!(CacheTags::decode(&"A".repeat(CacheTags::MAX_TEXT_BYTES + 1)), None);
    }

    fn any_comment() -> impl Strategy<Value = TaggedComment> {
        let number = || prop_oneof![0..20_u64, any::<u64>()];
        (0..9_u64, number(), number()).prop_map(|(subject, id, version)| comment(subject << 50, id, version))
    }

    proptest! {
        #[test]
        fn encoded_tags_decode_to_themselves(comments in proptest::collection::vec(any_comment(), 0..50)) {
            let shows = CacheTags::new(comments.iter().copied()).unwrap();
            prop_assert!(shows.entries().is_sorted_by(|a, b| a.0 < b.0));
            prop_assert!(shows.subjects().is_sorted_by(|a, b| a.0 < b.0));
            for TaggedComment { subject, id, version } in comments {
                prop_assert!(shows.version_of(id).is_some_and(|least| least <= version));
                let least = shows.subjects().iter().find(|(tag, _)| *tag == subject);
                prop_assert!(least.is_some_and(|(_, least)| *least <= version));
            }
            prop_assert_eq!(CacheTags::decode(&shows.encode()), Some(shows));
        }

        #[test]
        fn set_has_one_text(mut bytes: Vec<u8>) {
            bytes.insert(0, FORMAT_VERSION);
            let text = text_of(&bytes);
            if let Some(shows) = CacheTags::decode(&text) {
                prop_assert_eq!(shows.encode(), text);
            }
        }

        #[test]
        fn arbitrary_text_does_not_panic(text: String) {
            if let Some(shows) = CacheTags::decode(&text) {
                prop_assert_eq!(shows.encode(), text);
            }
        }
    }
}
