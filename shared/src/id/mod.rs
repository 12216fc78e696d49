//! Ids of comments, members and subjects, and the slot that a subject belongs to.
//!
//! A comment's id is a 63-bit snowflake that contains its slot, so every call that names a comment finds
//! its shard by arithmetic. Not here: the allocation of ids, which needs a clock and a lease.

use alloc::borrow::ToOwned;
use alloc::string::String;
use core::fmt;
use core::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use crate::limits;

/// 2000-01-01T00:00:00Z in Unix milliseconds: the time 0 of comment ids.
pub const ID_EPOCH_MS: u64 = 946_684_800_000;
/// Number of virtual slots. It is fixed: a subject's slot never changes, only the database that holds the
/// slot.
pub const SLOT_COUNT: u16 = 1_024;

const TIME_BITS: u32 = 41;
const SLOT_BITS: u32 = 10;
const NODE_BITS: u32 = 6;
const SEQUENCE_BITS: u32 = 6;
/// Ids that one node can issue for one slot in a millisecond.
pub const SEQUENCE_COUNT: u64 = 1 << SEQUENCE_BITS;
/// Nodes that can issue ids at the same time; the last one is the importer.
pub const NODE_COUNT: u64 = 1 << NODE_BITS;
/// The node number of `gailou import`.
pub const IMPORT_NODE: u64 = NODE_COUNT - 1;

/// A text or number is not an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidId;

impl fmt::Display for InvalidId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be a decimal number from 1 to 9223372036854775807, without sign or leading zeros")
    }
}

impl core::error::Error for InvalidId {}

/// Digits without sign, spaces or leading zeros; `None` for anything else or above 2^63 − 1.
fn canonical(text: &str) -> Option<u64> {
    let ok = !text.is_empty()
        && text.len() <= 19
        && text.bytes().all(|b| b.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'));
    ok.then(|| text.parse().ok()).flatten().filter(|n| *n <= i64::MAX as u64)
}

macro_rules! decimal_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(u64);

        impl $name {
            /// The id with this number.
            ///
            /// # Errors
            /// [`InvalidId`] for 0 and for numbers above 2^63 − 1.
            pub const fn new(number: u64) -> Result<Self, InvalidId> {
                if number == 0 || number > i64::MAX as u64 { Err(InvalidId) } else { Ok(Self(number)) }
            }

            /// The number, from 1 to 2^63 − 1.
            #[must_use]
            pub const fn get(self) -> u64 {
                self.0
            }

            /// The number as databases store it.
            #[must_use]
            pub const fn signed(self) -> i64 {
                self.0 as i64
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = InvalidId;

            fn from_str(text: &str) -> Result<Self, InvalidId> {
                Self::new(canonical(text).ok_or(InvalidId)?)
            }
        }

        impl TryFrom<i64> for $name {
            type Error = InvalidId;

            fn try_from(number: i64) -> Result<Self, InvalidId> {
                Self::new(u64::try_from(number).map_err(|_| InvalidId)?)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <alloc::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                decimal_id_schema()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    };
}

/// How the OpenAPI document describes an id.
#[cfg(feature = "openapi")]
fn decimal_id_schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    let id = utoipa::openapi::ObjectBuilder::new().schema_type(utoipa::openapi::Type::String);
    let id = id.pattern(Some("^[1-9][0-9]{0,18}$")).description(Some(
        "A number from 1 to 9223372036854775807 in decimal digits, without sign or leading zeros. It is a string, \
         because it may be larger than a JavaScript number can hold.",
    ));
    id.into()
}

decimal_id! {
    /// A comment: 41 bits of milliseconds since [`ID_EPOCH_MS`], 10 of slot, 6 of node, 6 of sequence.
    ///
    /// ```
    /// use gailou_shared::id::{CommentId, Slot};
    /// let slot = Slot::new(7).unwrap();
    /// let id = CommentId::from_parts(1_700_000_000_000, slot, 0, 3);
    /// assert_eq!((id.created_ms(), id.slot()), (1_700_000_000_000, slot));
    /// ```
    CommentId
}

decimal_id! {
    /// A member. Members of the host are below 2^62, guests have bit 62 set, and names that were imported
    /// without an id have bits 62 and 61 set.
    MemberId
}

decimal_id! {
    /// An entry of the audit log: made as the id of a comment is, in the slot of what it is about.
    AuditId
}

decimal_id! {
    /// A refused text that is kept: made as the id of a comment is, in the slot of its subject.
    RefusedTextId
}

decimal_id! {
    /// An uploaded picture: made as the id of a comment is.
    MediaId
}

decimal_id! {
    /// A webhook: made as the id of a comment is.
    WebhookId
}

decimal_id! {
    /// A passkey of an account: made as the id of a comment is.
    PasskeyId
}

macro_rules! ids_made_as_comments {
    ($($name:ident)*) => {
        $(impl From<CommentId> for $name {
            fn from(id: CommentId) -> Self {
                Self(id.0)
            }
        })*
    };
}

ids_made_as_comments!(PasskeyId WebhookId MediaId RefusedTextId AuditId);

decimal_id! {
    /// Something that happened to a comment, and what a member is notified of it: the time as in the id of a comment, then
    /// bits that are a hash of what happened.
    EventId
}

impl EventId {
    /// The bits below the time.
    const HASH_BITS: u32 = SLOT_BITS + NODE_BITS + SEQUENCE_BITS;

    /// The id of what happened at `at` (Unix milliseconds, clamped as in [`CommentId::from_parts`]); of `hash` the
    /// lowest 22 bits are taken.
    #[must_use]
    pub const fn from_parts(at: u64, hash: u64) -> Self {
        let first = CommentId::from_parts(at, Slot::FIRST, 0, 0);
        Self(first.0 | (hash & ((1 << Self::HASH_BITS) - 1)))
    }
}

impl RefusedTextId {
    /// The slot of its subject.
    #[must_use]
    pub const fn slot(self) -> Slot {
        CommentId(self.0).slot()
    }
}

impl AuditId {
    /// The slot of what the entry is about; the first one where that is of no slot.
    #[must_use]
    pub const fn slot(self) -> Slot {
        CommentId(self.0).slot()
    }

    /// When the id was issued, in Unix milliseconds.
    #[must_use]
    pub const fn created_ms(self) -> u64 {
        CommentId(self.0).created_ms()
    }
}

impl CommentId {
    /// How far the slot is from the lowest bit: `(id >> SLOT_SHIFT) & SLOT_MASK` is the slot, also in SQL.
    pub const SLOT_SHIFT: u32 = NODE_BITS + SEQUENCE_BITS;
    /// The bits of a slot's number.
    pub const SLOT_MASK: u64 = SLOT_COUNT as u64 - 1;

    /// The id of a comment created at `created_ms` (Unix milliseconds, clamped to 2000-01-01 …
    /// 2069-09-06). `node` and `sequence` are taken modulo 64.
    #[must_use]
    pub const fn from_parts(created_ms: u64, slot: Slot, node: u64, sequence: u64) -> Self {
        let max = (1 << TIME_BITS) - 1;
        let mut time = created_ms.saturating_sub(ID_EPOCH_MS);
        if time > max {
            time = max;
        }
        // Time, slot, node and sequence 0 would be the number 0, which is not an id.
        if time == 0 {
            time = 1;
        }
        Self(
            (time << (SLOT_BITS + NODE_BITS + SEQUENCE_BITS))
                | ((slot.0 as u64) << (NODE_BITS + SEQUENCE_BITS))
                | ((node % NODE_COUNT) << SEQUENCE_BITS)
                | (sequence % SEQUENCE_COUNT),
        )
    }

    /// When the id was issued, in Unix milliseconds.
    #[must_use]
    pub const fn created_ms(self) -> u64 {
        (self.0 >> (SLOT_BITS + NODE_BITS + SEQUENCE_BITS)) + ID_EPOCH_MS
    }

    /// The slot of the comment's subject.
    #[must_use]
    pub const fn slot(self) -> Slot {
        Slot(((self.0 >> Self::SLOT_SHIFT) & Self::SLOT_MASK) as u16)
    }
}

/// The first member id that does not belong to the host: 2^62.
pub const FIRST_GUEST_ID: u64 = 1 << 62;
const FIRST_IMPORTED_ID: u64 = FIRST_GUEST_ID | 1 << 61;
/// Random bits of an account's id: where 10 million have one, a further one is taken once in 200 million times, and another
/// is made then.
const ACCOUNT_ID_BITS: u32 = 51;
const FIRST_ACCOUNT_ID: u64 = FIRST_IMPORTED_ID - (1 << ACCOUNT_ID_BITS);

/// The source of a member id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemberKind {
    /// The host site, in its tokens.
    Host,
    /// Gailou, for a guest who gave a name.
    Guest,
    /// Gailou, for an account of this installation.
    Account,
    /// An import, for a name without an id.
    Imported,
}

impl MemberId {
    /// The guest with these random bits.
    #[must_use]
    pub const fn guest(random: u64) -> Self {
        let id = FIRST_GUEST_ID | (random & ((1 << 61) - 1));
        Self(if id < FIRST_ACCOUNT_ID { id } else { id - (1 << ACCOUNT_ID_BITS) })
    }

    /// The account with these random bits.
    #[must_use]
    pub const fn account(random: u64) -> Self {
        Self(FIRST_ACCOUNT_ID | (random & ((1 << ACCOUNT_ID_BITS) - 1)))
    }

    /// The member for `name` in imported threads: always the same for the same name.
    #[must_use]
    pub fn imported(name: &str) -> Self {
        Self(FIRST_IMPORTED_ID | (hash62(&[b"gailou member\0", name.as_bytes()]) & ((1 << 61) - 1)))
    }

    /// The source of this id.
    #[must_use]
    pub const fn kind(self) -> MemberKind {
        if self.0 < FIRST_GUEST_ID {
            MemberKind::Host
        } else if self.0 < FIRST_ACCOUNT_ID {
            MemberKind::Guest
        } else if self.0 < FIRST_IMPORTED_ID {
            MemberKind::Account
        } else {
            MemberKind::Imported
        }
    }
}

/// One of the [`SLOT_COUNT`] virtual shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u16);

impl Slot {
    /// The first slot.
    pub const FIRST: Self = Self(0);

    /// Slot `number`, or `None` from [`SLOT_COUNT`] on.
    #[must_use]
    pub const fn new(number: u16) -> Option<Self> {
        if number < SLOT_COUNT { Some(Self(number)) } else { None }
    }

    /// The slot's number, below [`SLOT_COUNT`].
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Why a type and a key are not a subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidSubject {
    /// The type is empty, longer than [`limits::MAX_SUBJECT_TYPE_BYTES`], or not `[a-z0-9_-]`.
    Type,
    /// The key is empty or longer than [`limits::MAX_SUBJECT_KEY_BYTES`].
    KeyLength,
    /// The key has a control character.
    KeyControl,
}

impl InvalidSubject {
    /// The field of the request that is wrong.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::KeyLength | Self::KeyControl => "key",
        }
    }
}

impl fmt::Display for InvalidSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Type => "must be 1 to 32 characters of a-z, 0-9, _ and -",
            Self::KeyLength => "must be 1 to 512 bytes of UTF-8",
            Self::KeyControl => "must not hold control characters",
        })
    }
}

impl core::error::Error for InvalidSubject {}

/// What is commented on: a type and the host's key, with the number that represents the key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SubjectKey {
    kind: String,
    key: String,
    obj_id: u64,
}

impl SubjectKey {
    /// The subject `kind`/`key`.
    ///
    /// # Errors
    /// [`InvalidSubject`] names the part that is wrong.
    ///
    /// ```
    /// use gailou_shared::id::SubjectKey;
    /// let by_number = SubjectKey::new("video", "7").unwrap();
    /// assert_eq!(by_number.obj_id(), 7);
    /// // Not canonical digits: hashed, with bit 62 set, so it never meets a number.
    /// assert!(SubjectKey::new("video", "007").unwrap().obj_id() >= 1 << 62);
    /// ```
    pub fn new(kind: &str, key: &str) -> Result<Self, InvalidSubject> {
        let type_ok = (1..=limits::MAX_SUBJECT_TYPE_BYTES).contains(&kind.len())
            && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_' || b == b'-');
        if !type_ok {
            return Err(InvalidSubject::Type);
        }
        if !(1..=limits::MAX_SUBJECT_KEY_BYTES).contains(&key.len()) {
            return Err(InvalidSubject::KeyLength);
        }
        if key.chars().any(char::is_control) {
            return Err(InvalidSubject::KeyControl);
        }
        let obj_id = match canonical(key) {
            Some(number) if number < 1 << 62 => number,
            _ => 1 << 62 | hash62(&[b"gailou subject\0", key.as_bytes()]),
        };
        Ok(Self { kind: kind.to_owned(), key: key.to_owned(), obj_id })
    }

    /// The type's name.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.kind
    }

    /// The host's key, as written.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Canonical digits below 2^62 are the number itself; every other key is a hash with bit 62
    /// set. Two keys may share a hash, so a reader of a row compares the key that is stored with it.
    #[must_use]
    pub const fn obj_id(&self) -> u64 {
        self.obj_id
    }

    /// Its number in cache tags and in the change feed.
    #[must_use]
    pub fn tag(&self) -> u64 {
        subject_tag(&self.kind, &self.key)
    }

    /// The slot, by a strong hash of type and object id.
    #[must_use]
    pub fn slot(&self) -> Slot {
        let hash = hash62(&[b"gailou slot\0", self.kind.as_bytes(), b"\0", &self.obj_id.to_be_bytes()]);
        Slot((hash % u64::from(SLOT_COUNT)) as u16)
    }
}

/// The number of the subject `kind`/`key` in cache tags and in the change feed: 62 bits of a strong hash.
/// Where two subjects share one, a change of either voids pages of both.
#[must_use]
pub fn subject_tag(kind: &str, key: &str) -> u64 {
    hash62(&[b"gailou subject tag\0", kind.as_bytes(), b"\0", key.as_bytes()])
}

impl fmt::Display for SubjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.key)
    }
}

/// 62 bits of SHA-256 over the parts.
fn hash62(parts: &[&[u8]]) -> u64 {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let digest = hasher.finalize();
    digest.iter().take(8).fold(0u64, |n, b| n << 8 | u64::from(*b)) >> 2
}

#[cfg(test)]
mod tests;
