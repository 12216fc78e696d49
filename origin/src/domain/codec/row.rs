//! Rows in the cache.
//!
//! Bytes in another format, and invalid bytes, are a miss: the reader loads the row again.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::Path;
use serde::{Deserialize, Serialize};

use crate::domain::codec::flat_types::{
    FlatAuthor, FlatMedia, FlatNamed, FlatSubjectKey, enum_number, flag_numbers, parse_comment_id, parse_enum,
    parse_flags, parse_media, parse_named, parse_option,
};
use crate::domain::row::{CommentRow, SubjectRow};

/// The format of the bytes of subjects and lists. It changes with every field below, and with their order.
const ROW_FORMAT: u8 = 1;
/// The same of comments. Format 1 has no role of the author, format 2 no pictures.
const COMMENT_FORMAT: u8 = 3;

#[derive(Serialize, Deserialize)]
struct FlatSubject<'a> {
    title: Option<&'a str>,
    url: Option<&'a str>,
    owner_id: Option<u64>,
    state: u8,
    mode: Option<u8>,
    version: u64,
    roots: u64,
    comments: u64,
    pinned: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct FlatComment<'a> {
    #[serde(borrow)]
    subject: FlatSubjectKey<'a>,
    version: u64,
    mode: Option<u8>,
    path: &'a [u8],
    parent_id: Option<u64>,
    #[serde(borrow)]
    reply_to: Option<FlatNamed<'a>>,
    parent_gone: bool,
    floor: Option<u64>,
    state: u8,
    visibility: u8,
    flags: Vec<u8>,
    #[serde(borrow)]
    author: FlatAuthor<'a>,
    likes: u64,
    dislikes: u64,
    reactions_offset: u64,
    replies: u64,
    created_at: u64,
    edited_at: Option<u64>,
    content: &'a str,
    html: &'a str,
    #[serde(borrow)]
    mentions: Vec<FlatNamed<'a>>,
    role: Option<u8>,
    #[serde(borrow)]
    media: Vec<FlatMedia<'a>>,
}

fn encode(format: u8, value: &impl Serialize) -> Vec<u8> {
    // Writing these structs into memory cannot fail; an empty value would be a miss.
    postcard::to_extend(value, vec![format]).unwrap_or_default()
}

fn decode<'a, T: Deserialize<'a>>(format: u8, bytes: &'a [u8]) -> Option<T> {
    match bytes.split_first() {
        Some((first, body)) if *first == format => match postcard::take_from_bytes(body) {
            Ok((value, [])) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

/// The bytes of a subject; `None` is a subject without comments.
pub fn encode_subject(row: Option<&SubjectRow>) -> Vec<u8> {
    let flat = row.map(|row| FlatSubject {
        title: row.title.as_deref(),
        url: row.url.as_deref(),
        owner_id: row.owner_id.map(MemberId::get),
        state: enum_number(row.state),
        mode: row.mode.map(enum_number),
        version: row.version,
        roots: row.roots,
        comments: row.comments,
        pinned: row.pinned.iter().map(|id| id.get()).collect(),
    });
    encode(ROW_FORMAT, &flat)
}

/// The subject in these bytes. The outer `None` is a miss.
pub fn decode_subject(key: &SubjectKey, bytes: &[u8]) -> Option<Option<SubjectRow>> {
    let Some(flat) = decode::<Option<FlatSubject<'_>>>(ROW_FORMAT, bytes)? else { return Some(None) };
    Some(Some(SubjectRow {
        key: key.clone(),
        title: flat.title.map(str::to_owned),
        url: flat.url.map(str::to_owned),
        owner_id: flat.owner_id.map(MemberId::new).transpose().ok()?,
        state: parse_enum(flat.state)?,
        mode: parse_option(flat.mode, parse_enum)?,
        version: flat.version,
        roots: flat.roots,
        comments: flat.comments,
        pinned: parse_ids(&flat.pinned)?,
    }))
}

/// The bytes of a comment.
pub fn encode_comment(row: &CommentRow) -> Vec<u8> {
    let flat = FlatComment {
        subject: FlatSubjectKey::of(&row.subject),
        version: row.version,
        mode: row.mode.map(enum_number),
        path: row.path.as_bytes(),
        parent_id: row.parent_id.map(CommentId::get),
        reply_to: row.reply_to.as_ref().map(FlatNamed::of),
        parent_gone: row.parent_gone,
        floor: row.floor,
        state: enum_number(row.state),
        visibility: enum_number(row.visibility),
        flags: flag_numbers(&row.flags),
        author: FlatAuthor::of(&row.author),
        likes: row.likes,
        dislikes: row.dislikes,
        reactions_offset: row.reactions_offset,
        replies: row.replies,
        created_at: row.created_at,
        edited_at: row.edited_at,
        content: &row.content,
        html: &row.html,
        mentions: row.mentions.iter().map(FlatNamed::of).collect(),
        role: row.author.role.map(enum_number),
        media: row.media.iter().map(FlatMedia::of).collect(),
    };
    encode(COMMENT_FORMAT, &flat)
}

/// The comment in these bytes; `None` is a miss.
pub fn decode_comment(bytes: &[u8]) -> Option<CommentRow> {
    let flat: FlatComment<'_> = decode(COMMENT_FORMAT, bytes)?;
    Some(CommentRow {
        subject: flat.subject.parse()?,
        version: flat.version,
        mode: parse_option(flat.mode, parse_enum)?,
        path: Path::from_bytes(flat.path).ok()?,
        parent_id: parse_option(flat.parent_id, parse_comment_id)?,
        reply_to: parse_option(flat.reply_to.as_ref(), FlatNamed::parse)?,
        parent_gone: flat.parent_gone,
        floor: flat.floor,
        state: parse_enum(flat.state)?,
        visibility: parse_enum(flat.visibility)?,
        flags: parse_flags(&flat.flags)?,
        author: flat.author.parse(flat.role)?,
        likes: flat.likes,
        dislikes: flat.dislikes,
        reactions_offset: flat.reactions_offset,
        replies: flat.replies,
        created_at: flat.created_at,
        edited_at: flat.edited_at,
        content: flat.content.to_owned(),
        html: flat.html.to_owned(),
        mentions: parse_named(&flat.mentions)?,
        media: parse_media(&flat.media)?,
    })
}

/// The bytes of ids in their order.
pub fn encode_ids(ids: &[CommentId]) -> Vec<u8> {
    encode(ROW_FORMAT, &ids.iter().map(|id| id.get()).collect::<Vec<_>>())
}

/// The ids in these bytes; `None` is a miss.
pub fn decode_ids(bytes: &[u8]) -> Option<Vec<CommentId>> {
    parse_ids(&decode::<Vec<u64>>(ROW_FORMAT, bytes)?)
}

fn parse_ids(numbers: &[u64]) -> Option<Vec<CommentId>> {
    numbers.iter().map(|number| parse_comment_id(*number)).collect()
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::MediaId;
    use gailou_shared::path::Mode;
    use gailou_shared::wire::{Author, CommentFlag, CommentState, MemberRef, StaffRole, Visibility};
    use proptest::prelude::*;

    use super::*;
    use crate::domain::media::MediaRef;

    fn id(number: u64) -> CommentId {
        CommentId::new(number).unwrap()
    }

    fn comment() -> CommentRow {
        let named = |n: u64, name: &str| MemberRef { id: MemberId::new(n).unwrap(), name: name.into() };
        CommentRow {
            subject: SubjectKey::new("video", "中/2").unwrap(),
            version: 1 << 40,
            mode: Some(Mode::Building),
            path: Path::root(id(5)).child(id(i64::MAX as u64)).unwrap(),
            parent_id: Some(id(5)),
            reply_to: Some(named(9, "九")),
            parent_gone: true,
            floor: Some(3),
            state: CommentState::Hidden,
            visibility: Visibility::Author,
            flags: vec![CommentFlag::Pinned, CommentFlag::Edited],
            author: Author::new(MemberId::new(7).unwrap(), "n".into(), Some("a".into()), 4, Some(StaffRole::Moderator)),
            likes: 1,
            dislikes: 2,
            reactions_offset: 3,
            replies: 4,
            created_at: 5,
            edited_at: Some(6),
            content: "written".into(),
            html: "<p>written</p>".into(),
            mentions: vec![named(1, ""), named(2, "x")],
            media: vec![MediaRef {
                id: MediaId::new(3).unwrap(),
                name: "3".into(),
                width: 4,
                height: 5,
                alt: "a".into(),
            }],
        }
    }

    fn subject() -> SubjectRow {
        let key = SubjectKey::new("video", "2").unwrap();
        let mut subject = SubjectRow { version: 7, roots: 1, comments: 2, ..SubjectRow::empty(key) };
        subject.title = Some("T".into());
        subject.owner_id = MemberId::new(3).ok();
        subject.state = gailou_shared::wire::SubjectState::Closed;
        subject.mode = Some(Mode::Tree);
        subject.pinned = vec![id(5)];
        subject
    }

    fn hex_of(bytes: &[u8]) -> String {
        bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"))
    }

    /// Processes of the previous release read and write these bytes.
    #[test]
    fn bytes_are_those_of_their_format() {
        assert_eq!(
            hex_of(&encode_comment(&comment())),
            "0305766964656f05e4b8ad2f3280808080802001031000000000000000057fffffffffffffff0105010903e4b99d0101030301020\
             00307016e0101610401020304050106077772697474656e0e3c703e7772697474656e3c2f703e02010002017801010103013304050161"
        );
        assert_eq!(hex_of(&encode_subject(Some(&subject()))), "01010101540001030101020701020105");
        assert_eq!(hex_of(&encode_subject(None)), "0100");
        assert_eq!(hex_of(&encode_ids(&[id(5), id(300)])), "010205ac02");
    }

    #[test]
    fn row_survives_its_bytes() {
        let row = comment();
        assert_eq!(format!("{:?}", decode_comment(&encode_comment(&row)).unwrap()), format!("{row:?}"));
        let subject = subject();
        let found = decode_subject(&subject.key, &encode_subject(Some(&subject))).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", Some(&subject)));
        assert!(decode_subject(&subject.key, &encode_subject(None)).unwrap().is_none());
        assert_eq!(decode_ids(&encode_ids(&[row.id()])), Some(vec![row.id()]));
    }

    #[test]
    fn other_format_is_a_miss() {
        let mut bytes = encode_comment(&comment());
        bytes[0] += 1;
        assert!(decode_comment(&bytes).is_none());
        assert!(decode_comment(&[]).is_none());
    }

    proptest! {
        #[test]
        fn invalid_bytes_are_a_miss(mut bytes: Vec<u8>, at: prop::sample::Index, to: u8) {
            for format in [ROW_FORMAT, COMMENT_FORMAT] {
                bytes.insert(0, format);
                let _ = (decode_comment(&bytes), decode_ids(&bytes));
                bytes.remove(0);
            }
            let mut bytes = encode_comment(&comment());
            let at = at.index(bytes.len());
            prop_assert!(decode_comment(&bytes[..at]).is_none(), "cut short");
            bytes[at] = to;
            let _ = decode_comment(&bytes);
        }
    }
}
