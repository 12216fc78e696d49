//! Cache tags: the comments that an answer shows, each with the subject's version at which its row was read.
//!
//! The origin sends them with every page in a header. The edge stores them with the page and compares them
//! with the change feed: a page is void when the feed has a larger version of a comment it shows. Not here:
//! the header, the feed, and the content of a page ([`crate::wire`]).
//!
//! The text is unpadded URL-safe base64 of a byte 1 and, for each entry by ascending id, two LEB128 numbers:
//! the difference to the previous id (to 0 for the first) and the version. A set has exactly one text, and
//! no other text is accepted.

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

/// The first byte of the text.
const FORMAT_VERSION: u8 = 1;

/// Comments by id, each with a version. At most [`CacheTags::MAX_ENTRIES`].
///
/// ```
/// use gailou_shared::cache_tags::CacheTags;
/// let shows = CacheTags::new([(300, 7), (2, 9), (300, 5)]).unwrap();
/// assert_eq!(shows.entries(), [(2, 9), (300, 5)]);
/// assert_eq!(shows.encode(), "AQIJqgIF");
/// assert_eq!(CacheTags::decode("AQIJqgIF"), Some(shows));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CacheTags(Vec<(u64, u64)>);

impl CacheTags {
    /// Most entries: a page of 100 roots with three replies each, and the comments they answer, has
    /// 810 with the pinned ones. What shows more is not kept by caches.
    pub const MAX_ENTRIES: usize = 4_096;

    /// Longest text of so many entries, in bytes: 10 for a number, 4 characters for 3 bytes.
    const MAX_TEXT_BYTES: usize = (1 + Self::MAX_ENTRIES * 20).div_ceil(3) * 4;

    /// These ids with these versions, in any order; of an id named twice the smaller version counts.
    /// `None` when they are more than [`CacheTags::MAX_ENTRIES`].
    #[must_use]
    pub fn new(entries: impl IntoIterator<Item = (u64, u64)>) -> Option<Self> {
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_unstable();
        entries.dedup_by_key(|(id, _)| *id);
        (entries.len() <= Self::MAX_ENTRIES).then_some(Self(entries))
    }

    /// Ids with versions, by growing id.
    #[must_use]
    pub fn entries(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// The version a comment is shown at, if it is shown.
    #[must_use]
    pub fn version_of(&self, id: u64) -> Option<u64> {
        let place = self.0.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.0.get(place).map(|(_, version)| *version)
    }

    /// The text of these tags.
    #[must_use]
    pub fn encode(&self) -> String {
        let mut bytes = Vec::with_capacity(1 + self.0.len() * 9);
        bytes.push(FORMAT_VERSION);
        let mut before = 0;
        for (id, version) in &self.0 {
            put(&mut bytes, id.wrapping_sub(before));
            put(&mut bytes, *version);
            before = *id;
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
        let mut entries = Vec::new();
        let mut before: Option<u64> = None;
        while !rest.is_empty() {
            let above = take(&mut rest)?;
            let id = match before {
                None => above,
                Some(before) => before.checked_add(above).filter(|_| above > 0)?,
            };
            entries.push((id, take(&mut rest)?));
            before = Some(id);
        }
        (entries.len() <= Self::MAX_ENTRIES).then_some(Self(entries))
    }
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

    #[test]
    fn text_format_is_fixed() {
        let check = |entries: &[(u64, u64)], bytes: &[u8]| {
            let shows = CacheTags::new(entries.iter().copied()).unwrap();
            assert_eq!(shows.encode(), text_of(bytes), "{entries:?}");
            assert_eq!(CacheTags::decode(&text_of(bytes)), Some(shows), "{entries:?}");
        };
        check(&[], &[1]);
        check(&[(0, 0)], &[1, 0, 0]);
        check(&[(127, 128), (128, 0)], &[1, 127, 0x80, 1, 1, 0]);
        let most = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
        check(&[(u64::MAX, u64::MAX)], &[&[1], &most[..], &most[..]].concat());
    }

    #[test]
    fn other_texts_are_refused() {
        let long = [&[1, 0xff][..], &[0xff; 8], &[2, 0]].concat();
        let over = [&[1, 1, 0, 0xff][..], &[0xff; 8], &[1, 0]].concat();
        let bad: [&[u8]; 9] = [&[], &[0], &[2], &[1, 5], &[1, 0x80], &[1, 5, 0x80, 0], &[1, 5, 1, 0, 1], &long, &over];
        for bytes in bad {
            assert_eq!(CacheTags::decode(&text_of(bytes)), None, "{bytes:?}");
        }
        for text in ["", "=", "AQ==", "AR", "AQI J", "汉"] {
            assert_eq!(CacheTags::decode(text), None, "{text:?}");
        }
    }

    #[test]
    fn more_entries_than_the_bound_are_refused() {
        let most = CacheTags::MAX_ENTRIES as u64;
        let at_most = CacheTags::new((0..most).map(|n| (n << 50, u64::MAX))).unwrap();
        let text = at_most.encode();
        assert!(text.len() <= CacheTags::MAX_TEXT_BYTES);
        assert_eq!(CacheTags::decode(&text), Some(at_most));
        assert_eq!(CacheTags::new((0..=most).map(|n| (n, 1))), None);
        let twice = (0..most).chain(0..most).map(|n| (n, 1));
        assert!(CacheTags::new(twice).is_some());
        let mut bytes = vec![1, 0, 0];
        bytes.extend([1, 0].repeat(CacheTags::MAX_ENTRIES));
        assert_eq!(CacheTags::decode(&text_of(&bytes)), None);
        assert_eq!(CacheTags::decode(&"A".repeat(CacheTags::MAX_TEXT_BYTES + 1)), None);
    }

    fn entry() -> impl Strategy<Value = (u64, u64)> {
        (prop_oneof![0..20_u64, any::<u64>()], prop_oneof![0..500_u64, any::<u64>()])
    }

    proptest! {
        #[test]
        fn encoded_tags_decode_to_themselves(entries in proptest::collection::vec(entry(), 0..50)) {
            let shows = CacheTags::new(entries.iter().copied()).unwrap();
            prop_assert!(shows.entries().is_sorted_by(|a, b| a.0 < b.0));
            for (id, _) in &entries {
                let least = entries.iter().filter(|(other, _)| other == id).map(|(_, version)| *version).min();
                prop_assert_eq!(shows.version_of(*id), least);
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
