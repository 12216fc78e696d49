//! The flat structs that operations and rows share, and the numbers of enums.
//!
//! A nested struct has the same bytes as its fields in its place.

use gailou_shared::id::{CommentId, MediaId, MemberId, SubjectKey};
use gailou_shared::wire::{Author, CommentFlag, MemberRef};
use serde::{Deserialize, Serialize};

use crate::domain::columns::StoredEnum;
use crate::domain::media::MediaRef;

#[derive(Serialize, Deserialize)]
pub(super) struct FlatSubjectKey<'a> {
    kind: &'a str,
    key: &'a str,
}

impl<'a> FlatSubjectKey<'a> {
    pub(super) fn of(subject: &'a SubjectKey) -> Self {
        Self { kind: subject.kind(), key: subject.key() }
    }

    pub(super) fn parse(&self) -> Option<SubjectKey> {
        SubjectKey::new(self.kind, self.key).ok()
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct FlatNamed<'a> {
    id: u64,
    name: &'a str,
}

impl<'a> FlatNamed<'a> {
    pub(super) fn of(named: &'a MemberRef) -> Self {
        Self { id: named.id.get(), name: &named.name }
    }

    pub(super) fn parse(&self) -> Option<MemberRef> {
        Some(MemberRef { id: MemberId::new(self.id).ok()?, name: self.name.to_owned() })
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct FlatMedia<'a> {
    id: u64,
    name: &'a str,
    width: u32,
    height: u32,
    alt: &'a str,
}

impl<'a> FlatMedia<'a> {
    pub(super) fn of(media: &'a MediaRef) -> Self {
        let MediaRef { id, name, width, height, alt } = media;
        Self { id: id.get(), name, width: *width, height: *height, alt }
    }

    fn parse(&self) -> Option<MediaRef> {
        Some(MediaRef {
            id: MediaId::new(self.id).ok()?,
            name: self.name.to_owned(),
            width: self.width,
            height: self.height,
            alt: self.alt.to_owned(),
        })
    }
}

pub(super) fn parse_media(flat: &[FlatMedia<'_>]) -> Option<Vec<MediaRef>> {
    flat.iter().map(FlatMedia::parse).collect()
}

#[derive(Serialize, Deserialize)]
pub(super) struct FlatAuthor<'a> {
    #[serde(borrow)]
    named: FlatNamed<'a>,
    avatar: Option<&'a str>,
    level: u8,
}

impl<'a> FlatAuthor<'a> {
    pub(super) fn of(author: &'a Author) -> Self {
        let named = FlatNamed { id: author.id.get(), name: &author.name };
        Self { named, avatar: author.avatar.as_deref(), level: author.level }
    }

    /// The role is at the end of what has an author: formats grow there.
    pub(super) fn parse(&self, role: Option<u8>) -> Option<Author> {
        let MemberRef { id, name } = self.named.parse()?;
        let role = parse_option(role, parse_enum)?;
        Some(Author::new(id, name, self.avatar.map(str::to_owned), self.level, role))
    }
}

/// Parses an optional value. It may be missing, but not invalid.
pub(super) fn parse_option<A, B>(value: Option<A>, parse: impl Fn(A) -> Option<B>) -> Option<Option<B>> {
    match value {
        None => Some(None),
        Some(value) => parse(value).map(Some),
    }
}

pub(super) fn parse_comment_id(number: u64) -> Option<CommentId> {
    CommentId::new(number).ok()
}

pub(super) fn parse_named(flat: &[FlatNamed<'_>]) -> Option<Vec<MemberRef>> {
    flat.iter().map(FlatNamed::parse).collect()
}

/// The number of an enum's variant, which is that of the columns. It is below 128, where a byte is also
/// the variable-length number by which postcard would write a variant.
pub(super) fn enum_number(value: impl StoredEnum) -> u8 {
    u8::try_from(value.number()).unwrap_or(u8::MAX)
}

pub(super) fn parse_enum<E: StoredEnum>(number: u8) -> Option<E> {
    E::from_number(number.into()).ok()
}

/// The order of the flags, which gives them their numbers.
const FLAG_ORDER: [CommentFlag; 4] =
    [CommentFlag::Pinned, CommentFlag::OwnerPinned, CommentFlag::Featured, CommentFlag::Edited];

pub(super) fn flag_numbers(flags: &[CommentFlag]) -> Vec<u8> {
    flags.iter().filter_map(|flag| FLAG_ORDER.iter().position(|f| f == flag)).map(|number| number as u8).collect()
}

pub(super) fn parse_flags(numbers: &[u8]) -> Option<Vec<CommentFlag>> {
    numbers.iter().map(|number| FLAG_ORDER.get(usize::from(*number)).copied()).collect()
}
