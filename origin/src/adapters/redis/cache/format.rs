//! The keys of the cache and the formats of their values. No IO here.
//!
//! All keys have the hash tag `{name:slot}`:
//!
//! | key | type | content |
//! |---|---|---|
//! | `:gen` | string | the slot's generation, 16 digits |
//! | `:era` | string | the generation that its server began with, a blank, and the server's run id |
//! | `:s:<subject>`, `:c:<comment>`, `:t:<root>`, `:p:<snapshot>` | string | a value, see below |
//! | `:l:new:<list>`, `:l:old:<list>` | sorted set | the part of a list from one of its ends |
//! | `:l:new-era:<list>`, `:l:old-era:<list>` | string | the era in which that part was filled, and the version of the subject that it contained then, 16 digits each |
//! | `:v:<subject>` | string | two versions: every commit above the first up to the second was applied; then single later ones |
//! | `:l:fill:<list>` | string | the stamp for filling the list |
//! | `:l:first:<list>` | string | a claim of the list's rebuild |
//!
//! A list is `r:<subject>` (roots) or `u:<root>` (descendants).
//!
//! A value is one string: its kind (`v` value, `t` invalidated, `c` stamp alone), stamp (16 hex
//! digits), version (16 digits), generation (16 digits), the time until which it is fresh (13 digits,
//! Unix milliseconds by the server's clock), then its bytes.
//!
//! A sorted set has ids by floor, and four members whose scores are below zero, `-1 - number`: `L` and
//! `H` (the lowest and highest floor loaded), `V` (version) and `U` (fresh until). Floors are below
//! 2^53, where scores are exact; ids are not, so they are members and never scores.

use std::time::Duration;

use gailou_shared::id::{Slot, SubjectKey};

use crate::ports::cache::{CacheError, CacheKey, CacheStamp, CachedList, CachedValue, ListEnd, LoadedWindow, Result};

/// The greatest integer up to which every score is exact. The high end of an open list.
pub(super) const MAX_EXACT_SCORE: u64 = (1 << 53) - 1;
/// Bytes in front of a value: 1 kind, 16 stamp, 16 version, 16 generation, 13 time.
const VALUE_HEADER_BYTES: usize = 62;

/// Makes the names of keys.
#[derive(Debug)]
pub(super) struct CacheKeyNames {
    cluster: String,
}

impl CacheKeyNames {
    pub(super) fn new(cluster: &str) -> Self {
        Self { cluster: cluster.to_owned() }
    }

    pub(super) fn generation(&self, slot: Slot) -> String {
        self.tagged(slot, "gen")
    }

    /// The slot's generation and the era of its server.
    pub(super) fn generations(&self, slot: Slot) -> [String; 2] {
        [self.generation(slot), self.tagged(slot, "era")]
    }

    pub(super) fn value(&self, slot: Slot, key: &CacheKey) -> String {
        let rest = match key {
            CacheKey::Subject(subject) => format!("s:{subject}"),
            CacheKey::Comment(id) => format!("c:{id}"),
            CacheKey::TopReplies(root) => format!("t:{root}"),
            CacheKey::Snapshot(id) => format!("p:{}", hex::encode(id)),
        };
        self.tagged(slot, &rest)
    }

    pub(super) fn window(&self, list: &CachedList, end: ListEnd) -> String {
        match end {
            ListEnd::Newest => self.list(list, "new"),
            ListEnd::Oldest => self.list(list, "old"),
        }
    }

    /// The part of a list, and the era in which it was filled.
    pub(super) fn window_and_era(&self, list: &CachedList, end: ListEnd) -> [String; 2] {
        let era = match end {
            ListEnd::Newest => "new-era",
            ListEnd::Oldest => "old-era",
        };
        [self.window(list, end), self.list(list, era)]
    }

    /// The commits of a subject that were applied.
    pub(super) fn commits(&self, subject: &SubjectKey) -> String {
        self.tagged(subject.slot(), &format!("v:{subject}"))
    }

    pub(super) fn filling(&self, list: &CachedList) -> String {
        self.list(list, "fill")
    }

    pub(super) fn rebuild_claim(&self, list: &CachedList) -> String {
        self.list(list, "first")
    }

    fn list(&self, list: &CachedList, part: &str) -> String {
        let rest = match list {
            CachedList::Roots(subject) => format!("l:{part}:r:{subject}"),
            CachedList::Replies(root) => format!("l:{part}:u:{root}"),
        };
        self.tagged(list.slot(), &rest)
    }

    fn tagged(&self, slot: Slot, rest: &str) -> String {
        format!("{{{}:{}}}:{rest}", self.cluster, slot.get())
    }
}

pub(super) fn encode_stamp(stamp: u64) -> String {
    format!("{stamp:016x}")
}

pub(super) fn new_stamp() -> String {
    encode_stamp(rand::random())
}

/// A version or generation as scripts compare it. Versions count commits and never reach the bound.
pub(super) fn encode_version(version: u64) -> String {
    format!("{:016}", version.min(MAX_EXACT_SCORE))
}

pub(super) fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

pub(super) fn damaged(what: &str) -> CacheError {
    CacheError(format!("{what} is not in the format of this release").into())
}

pub(super) fn parse_number<T: std::str::FromStr>(bytes: &[u8]) -> Result<T> {
    std::str::from_utf8(bytes).ok().and_then(|text| text.parse().ok()).ok_or_else(|| damaged("a number"))
}

pub(super) fn parse_stamp(bytes: &[u8]) -> Result<u64> {
    let stamp = std::str::from_utf8(bytes).ok().and_then(|text| u64::from_str_radix(text, 16).ok());
    stamp.ok_or_else(|| damaged("a stamp"))
}

/// The generations of a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct SlotGeneration {
    /// The one that this server began with.
    pub(super) era: u64,
    pub(super) current: u64,
}

/// Whether a takedown in its slot makes a value old.
pub(super) fn depends_on_generation(key: &CacheKey) -> bool {
    matches!(key, CacheKey::Comment(_))
}

/// The value in a key, at the server's time `now_ms`, in a slot of this generation. One of an earlier server is left
/// out: it may have been deleted since.
pub(super) fn parse_value(
    key: &CacheKey,
    bytes: &[u8],
    generation: SlotGeneration,
    now_ms: u64,
) -> Result<CachedValue> {
    let (header, body) = bytes.split_at_checked(VALUE_HEADER_BYTES).ok_or_else(|| damaged("a value"))?;
    let own = parse_stamp(&header[1..17])?;
    let (made_in, fresh_until): (u64, u64) = (parse_number(&header[33..49])?, parse_number(&header[49..62])?);
    let is_known = made_in >= generation.era || matches!(key, CacheKey::Snapshot(_));
    let is_current = is_known && (made_in == generation.current || !depends_on_generation(key));
    let is_fresh = header[0] == b'v' && fresh_until > now_ms && is_current && !body.is_empty();
    let value = (is_known && !body.is_empty()).then(|| body.to_vec());
    Ok(CachedValue { is_fresh, value, stamp: CacheStamp { own, generation: generation.current } })
}

/// Low, high and number of entries of a window; `None` where it is missing.
pub(super) fn parse_window(parts: &[Vec<u8>]) -> Result<Option<LoadedWindow>> {
    match parts {
        [low, high, entries] if !low.is_empty() => {
            let high = parse_number(high)?;
            let high = (high < MAX_EXACT_SCORE).then_some(high);
            Ok(Some(LoadedWindow { low: parse_number(low)?, high, entries: parse_number(entries)? }))
        }
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::CommentId;

    use super::*;

    #[test]
    fn key_names_are_those_of_the_previous_release() {
        let names = CacheKeyNames::new("g");
        let (subject, id) = (SubjectKey::new("video", "2").unwrap(), CommentId::new(5).unwrap());
        let slot = Slot::FIRST;
        let in_slot = |key: &CacheKey| names.value(slot, key);
        assert_eq!(names.generation(slot), "{g:0}:gen");
        assert_eq!(in_slot(&CacheKey::Subject(subject.clone())), "{g:0}:s:video/2");
        assert_eq!(in_slot(&CacheKey::Comment(id)), format!("{{g:0}}:c:{id}"));
        assert_eq!(in_slot(&CacheKey::TopReplies(id)), format!("{{g:0}}:t:{id}"));
        let snapshot = gailou_shared::walk::Snapshot::rank(vec![]).id();
        let hex = snapshot.iter().fold(String::new(), |text, byte| format!("{text}{byte:02x}"));
        assert_eq!(in_slot(&CacheKey::Snapshot(snapshot)), format!("{{g:0}}:p:{hex}"));
        let tag = subject.slot().get();
        let roots = CachedList::Roots(subject);
        assert_eq!(names.window(&roots, ListEnd::Newest), format!("{{g:{tag}}}:l:new:r:video/2"));
        assert_eq!(names.window(&roots, ListEnd::Oldest), format!("{{g:{tag}}}:l:old:r:video/2"));
        assert_eq!(names.filling(&roots), format!("{{g:{tag}}}:l:fill:r:video/2"));
        assert_eq!(names.rebuild_claim(&roots), format!("{{g:{tag}}}:l:first:r:video/2"));
    }
}
