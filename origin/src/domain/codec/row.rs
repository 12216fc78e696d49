//! How rows lie in the cache: a format version, then a flat struct in postcard.
//!
//! Bytes of another format, and damaged bytes, are a miss: the reader loads the row again. No IO
//! here.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::{Mode, Path};
use gailou_shared::wire::{Author, CommentFlag, CommentState, MemberRef, SubjectState, Visibility};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::domain::row::{CommentRow, SubjectRow};

/// Changes with every field below, and with the order of the variants they hold.
const FORMAT_VERSION: u8 = 1;

#[derive(Serialize, Deserialize)]
struct FlatSubject {
    title: Option<String>,
    url: Option<String>,
    owner_id: Option<u64>,
    state: SubjectState,
    mode: Option<Mode>,
    version: u64,
    roots: u64,
    comments: u64,
    pinned: Vec<u64>,
}

#[derive(Serialize, Deserialize)]
struct FlatNamed {
    id: u64,
    name: String,
}

#[derive(Serialize, Deserialize)]
struct FlatRow {
    kind: String,
    key: String,
    version: u64,
    mode: Option<Mode>,
    path: Vec<u8>,
    parent_id: Option<u64>,
    reply_to: Option<FlatNamed>,
    parent_gone: bool,
    floor: Option<u64>,
    state: CommentState,
    visibility: Visibility,
    flags: Vec<CommentFlag>,
    author: FlatNamed,
    avatar: Option<String>,
    level: u8,
    likes: u64,
    dislikes: u64,
    reacted: u64,
    replies: u64,
    created_at: u64,
    edited_at: Option<u64>,
    content: String,
    html: String,
    mentions: Vec<FlatNamed>,
}

fn encode(value: &impl Serialize) -> Vec<u8> {
    // Nothing in these structs can fail to be written into memory; an empty value is a miss.
    postcard::to_extend(value, vec![FORMAT_VERSION]).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match bytes.split_first() {
        Some((&FORMAT_VERSION, body)) => match postcard::take_from_bytes(body) {
            Ok((value, [])) => Some(value),
            _ => None,
        },
        _ => None,
    }
}

fn named(named: &MemberRef) -> FlatNamed {
    FlatNamed { id: named.id.get(), name: named.name.clone() }
}

fn unnamed(flat: FlatNamed) -> Option<MemberRef> {
    Some(MemberRef { id: MemberId::new(flat.id).ok()?, name: flat.name })
}

/// The bytes of a subject; `None` before its first comment.
pub fn encode_subject(row: Option<&SubjectRow>) -> Vec<u8> {
    encode(&row.map(|row| FlatSubject {
        title: row.title.clone(),
        url: row.url.clone(),
        owner_id: row.owner_id.map(MemberId::get),
        state: row.state,
        mode: row.mode,
        version: row.version,
        roots: row.roots,
        comments: row.comments,
        pinned: row.pinned.iter().map(|id| id.get()).collect(),
    }))
}

/// The subject of these bytes.
pub fn decode_subject(key: &SubjectKey, bytes: &[u8]) -> Option<Option<SubjectRow>> {
    let Some(flat) = decode::<Option<FlatSubject>>(bytes)? else { return Some(None) };
    Some(Some(SubjectRow {
        key: key.clone(),
        title: flat.title,
        url: flat.url,
        owner_id: flat.owner_id.map(MemberId::new).transpose().ok()?,
        state: flat.state,
        mode: flat.mode,
        version: flat.version,
        roots: flat.roots,
        comments: flat.comments,
        pinned: ids_of_numbers(&flat.pinned)?,
    }))
}

/// The bytes of a comment.
pub fn encode_comment(row: &CommentRow) -> Vec<u8> {
    encode(&FlatRow {
        kind: row.subject.kind().to_owned(),
        key: row.subject.key().to_owned(),
        version: row.version,
        mode: row.mode,
        path: row.path.as_bytes().to_vec(),
        parent_id: row.parent_id.map(CommentId::get),
        reply_to: row.reply_to.as_ref().map(named),
        parent_gone: row.parent_gone,
        floor: row.floor,
        state: row.state,
        visibility: row.visibility,
        flags: row.flags.clone(),
        author: FlatNamed { id: row.author.id.get(), name: row.author.name.clone() },
        avatar: row.author.avatar.clone(),
        level: row.author.level,
        likes: row.likes,
        dislikes: row.dislikes,
        reacted: row.reacted,
        replies: row.replies,
        created_at: row.created_at,
        edited_at: row.edited_at,
        content: row.content.clone(),
        html: row.html.clone(),
        mentions: row.mentions.iter().map(named).collect(),
    })
}

/// The comment of these bytes.
pub fn decode_comment(bytes: &[u8]) -> Option<CommentRow> {
    let flat: FlatRow = decode(bytes)?;
    let author = unnamed(flat.author)?;
    Some(CommentRow {
        subject: SubjectKey::new(&flat.kind, &flat.key).ok()?,
        version: flat.version,
        mode: flat.mode,
        path: Path::from_bytes(&flat.path).ok()?,
        parent_id: flat.parent_id.map(CommentId::new).transpose().ok()?,
        reply_to: match flat.reply_to {
            None => None,
            Some(flat) => Some(unnamed(flat)?),
        },
        parent_gone: flat.parent_gone,
        floor: flat.floor,
        state: flat.state,
        visibility: flat.visibility,
        flags: flat.flags,
        author: Author { id: author.id, name: author.name, avatar: flat.avatar, level: flat.level },
        likes: flat.likes,
        dislikes: flat.dislikes,
        reacted: flat.reacted,
        replies: flat.replies,
        created_at: flat.created_at,
        edited_at: flat.edited_at,
        content: flat.content,
        html: flat.html,
        mentions: flat.mentions.into_iter().map(unnamed).collect::<Option<_>>()?,
    })
}

/// The bytes of ids in their order.
pub fn encode_ids(ids: &[CommentId]) -> Vec<u8> {
    encode(&ids.iter().map(|id| id.get()).collect::<Vec<_>>())
}

/// The ids of these bytes.
pub fn decode_ids(bytes: &[u8]) -> Option<Vec<CommentId>> {
    ids_of_numbers(&decode::<Vec<u64>>(bytes)?)
}

fn ids_of_numbers(numbers: &[u64]) -> Option<Vec<CommentId>> {
    numbers.iter().map(|number| CommentId::new(*number).ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> CommentRow {
        let id = |n| CommentId::new(n).unwrap();
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
            author: Author { id: MemberId::new(7).unwrap(), name: "n".into(), avatar: Some("a".into()), level: 4 },
            likes: 1,
            dislikes: 2,
            reacted: 3,
            replies: 4,
            created_at: 5,
            edited_at: Some(6),
            content: "written".into(),
            html: "<p>written</p>".into(),
            mentions: vec![named(1, ""), named(2, "x")],
        }
    }

    #[test]
    fn what_was_put_is_found() {
        let row = sample();
        assert_eq!(format!("{:?}", decode_comment(&encode_comment(&row)).unwrap()), format!("{row:?}"));
        let key = SubjectKey::new("video", "2").unwrap();
        let mut subject = SubjectRow { version: 7, roots: 1, comments: 2, ..SubjectRow::empty(key.clone()) };
        subject.owner_id = MemberId::new(3).ok();
        subject.pinned = vec![row.id()];
        let found = decode_subject(&key, &encode_subject(Some(&subject))).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", Some(subject)));
        assert!(decode_subject(&key, &encode_subject(None)).unwrap().is_none());
        assert_eq!(decode_ids(&encode_ids(&[row.id()])), Some(vec![row.id()]));
    }

    #[test]
    fn another_format_is_a_miss() {
        let mut bytes = encode_comment(&sample());
        bytes[0] += 1;
        assert!(decode_comment(&bytes).is_none());
        assert!(decode_comment(&[]).is_none());
    }

    proptest! {
        #[test]
        fn garbage_is_a_miss(mut bytes: Vec<u8>, at: prop::sample::Index, to: u8) {
            bytes.insert(0, FORMAT_VERSION);
            let _ = (decode_comment(&bytes), decode_ids(&bytes));
            let mut bytes = encode_comment(&sample());
            let at = at.index(bytes.len());
            bytes[at] = to;
            let _ = decode_comment(&bytes);
            prop_assert!(decode_comment(&bytes[..bytes.len() - 1]).is_none(), "cut short");
        }
    }
}

#[cfg(test)]
mod golden {
    use gailou_shared::path::Mode;
    use gailou_shared::wire::{Author, CommentFlag, CommentState, MemberRef, Visibility};
    use proptest::prelude::*;

    use super::*;

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
            author: Author { id: MemberId::new(7).unwrap(), name: "n".into(), avatar: Some("a".into()), level: 4 },
            likes: 1,
            dislikes: 2,
            reacted: 3,
            replies: 4,
            created_at: 5,
            edited_at: Some(6),
            content: "written".into(),
            html: "<p>written</p>".into(),
            mentions: vec![named(1, ""), named(2, "x")],
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
    fn bytes_are_those_of_format_1() {
        assert_eq!(
            hex_of(&encode_comment(&comment())),
            "0105766964656f05e4b8ad2f3280808080802001031000000000000000057fffffffffffffff0105010903e4b99d0101030301020\
             00307016e0101610401020304050106077772697474656e0e3c703e7772697474656e3c2f703e020100020178"
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
            bytes.insert(0, 1);
            let _ = (decode_comment(&bytes), decode_ids(&bytes));
            let mut bytes = encode_comment(&comment());
            let at = at.index(bytes.len());
            bytes[at] = to;
            let _ = decode_comment(&bytes);
            prop_assert!(decode_comment(&bytes[..bytes.len() - 1]).is_none(), "cut short");
        }
    }
}
