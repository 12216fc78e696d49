//! How rows lie in the cache: a format version, then a flat struct in postcard.
//!
//! Bytes of another format, and bytes that are none of ours, are a miss: whoever reads them loads
//! the row again. No IO here.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::{Mode, Path};
use gailou_shared::wire::{Author, CommentFlag, CommentState, MemberRef, SubjectState, Visibility};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::domain::row::{CommentRow, SubjectRow};

/// Changes with every field below, and with the order of the variants they hold.
const FORMAT: u8 = 1;

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
    postcard::to_extend(value, vec![FORMAT]).unwrap_or_default()
}

fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    match bytes.split_first() {
        Some((&FORMAT, body)) => match postcard::take_from_bytes(body) {
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

/// The bytes of a subject; of none where nobody has written yet.
pub fn subject(row: Option<&SubjectRow>) -> Vec<u8> {
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
pub fn subject_of(key: &SubjectKey, bytes: &[u8]) -> Option<Option<SubjectRow>> {
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
pub fn row(row: &CommentRow) -> Vec<u8> {
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
pub fn row_of(bytes: &[u8]) -> Option<CommentRow> {
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
pub fn ids(ids: &[CommentId]) -> Vec<u8> {
    encode(&ids.iter().map(|id| id.get()).collect::<Vec<_>>())
}

/// The ids of these bytes.
pub fn ids_of(bytes: &[u8]) -> Option<Vec<CommentId>> {
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
        assert_eq!(format!("{:?}", row_of(&super::row(&row)).unwrap()), format!("{row:?}"));
        let key = SubjectKey::new("video", "2").unwrap();
        let mut subject = SubjectRow { version: 7, roots: 1, comments: 2, ..SubjectRow::empty(key.clone()) };
        subject.owner_id = MemberId::new(3).ok();
        subject.pinned = vec![row.id()];
        let found = subject_of(&key, &super::subject(Some(&subject))).unwrap();
        assert_eq!(format!("{found:?}"), format!("{:?}", Some(subject)));
        assert!(subject_of(&key, &super::subject(None)).unwrap().is_none());
        assert_eq!(ids_of(&super::ids(&[row.id()])), Some(vec![row.id()]));
    }

    #[test]
    fn another_format_is_a_miss() {
        let mut bytes = super::row(&sample());
        bytes[0] += 1;
        assert!(row_of(&bytes).is_none());
        assert!(row_of(&[]).is_none());
    }

    proptest! {
        #[test]
        fn garbage_is_a_miss(mut bytes: Vec<u8>, at: prop::sample::Index, to: u8) {
            bytes.insert(0, FORMAT);
            let _ = (row_of(&bytes), ids_of(&bytes));
            let mut bytes = super::row(&sample());
            let at = at.index(bytes.len());
            bytes[at] = to;
            let _ = row_of(&bytes);
            prop_assert!(row_of(&bytes[..bytes.len() - 1]).is_none(), "cut short");
        }
    }
}
