//! How events lie in the log and in other short-lived places: a format version, then the event.
//!
//! Flat structs of their own, in postcard: the types of the HTTP contract are made for JSON, and
//! what lies in a log must not change when they do. Promise: readers accept this version and the
//! one before, and bytes that are no event are an error, never a panic or another event.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::Path;
use gailou_shared::wire::{Author, CommentState, MemberRef, Reaction, Visibility};
use serde::{Deserialize, Serialize};

use crate::domain::damaged_data::DamagedData;
use crate::domain::operation::{LoggedOperation, Operation, ReactionChange};
use crate::domain::row::{ImportedFrom, NewCommentRow};

/// The version that is written.
const FORMAT_VERSION: u8 = 1;

/// An event as it travels. Variants and fields are identified by their order alone.
#[derive(Serialize, Deserialize)]
struct Flat<'a> {
    at: u64,
    #[serde(borrow)]
    event: FlatEvent<'a>,
}

#[derive(Serialize, Deserialize)]
enum FlatEvent<'a> {
    #[serde(borrow)]
    Publish(Box<FlatRow<'a>>),
    React {
        id: u64,
        member: u64,
        react: u8,
    },
}

#[derive(Serialize, Deserialize)]
struct FlatRow<'a> {
    kind: &'a str,
    key: &'a str,
    path: &'a [u8],
    parent_id: Option<u64>,
    #[serde(borrow)]
    reply_to: Option<FlatNamed<'a>>,
    state: u8,
    visibility: u8,
    #[serde(borrow)]
    author: FlatNamed<'a>,
    avatar: Option<&'a str>,
    level: u8,
    created_at: u64,
    content: &'a str,
    html: &'a str,
    written: Option<&'a str>,
    #[serde(borrow)]
    mentions: Vec<FlatNamed<'a>>,
    idempotency: Option<(&'a str, [u8; 32])>,
    #[serde(borrow)]
    imported: Option<FlatImported<'a>>,
}

#[derive(Serialize, Deserialize)]
struct FlatNamed<'a> {
    id: u64,
    name: &'a str,
}

#[derive(Serialize, Deserialize)]
struct FlatImported<'a> {
    source: &'a str,
    likes: u64,
    dislikes: u64,
    edited_at: Option<u64>,
    pinned: bool,
}

/// The bytes of a [`crate::domain::operation::Event::Publish`] or [`crate::domain::operation::Event::React`]; `None` for an
/// event that never travels.
pub fn encode(stamped: &LoggedOperation) -> Option<Vec<u8>> {
    let event = match &stamped.operation {
        Operation::Publish(row) => FlatEvent::Publish(Box::new(flat(row))),
        Operation::React { id, member, react } => {
            FlatEvent::React { id: id.get(), member: member.get(), react: react_number(*react) }
        }
        Operation::Change { .. }
        | Operation::Subject { .. }
        | Operation::Snapshot { .. }
        | Operation::Dictionary(_)
        | Operation::DeleteExpired => {
            return None;
        }
    };
    // Nothing in these structs can fail to be written into memory.
    postcard::to_extend(&Flat { at: stamped.at, event }, vec![FORMAT_VERSION]).ok()
}

/// The event of these bytes, without a position.
///
/// # Errors
/// [`LogError::Damaged`] for bytes that are no event, or of a version that is not known.
pub fn decode(bytes: &[u8]) -> Result<LoggedOperation, DamagedData> {
    match bytes.split_first() {
        Some((&FORMAT_VERSION, body)) => match postcard::take_from_bytes::<Flat<'_>>(body) {
            Ok((flat, [])) => stamped(flat).ok_or_else(|| damaged("a field that cannot be")),
            Ok(_) => Err(damaged("bytes after the end")),
            Err(error) => Err(damaged(&error.to_string())),
        },
        Some((version, _)) => Err(damaged(&format!("format version {version}"))),
        None => Err(damaged("no bytes")),
    }
}

fn damaged(what: &str) -> DamagedData {
    DamagedData::new(format_args!("not an event: {what}"))
}

fn flat(row: &NewCommentRow) -> FlatRow<'_> {
    FlatRow {
        kind: row.subject.kind(),
        key: row.subject.key(),
        path: row.path.as_bytes(),
        parent_id: row.parent_id.map(CommentId::get),
        reply_to: row.reply_to.as_ref().map(flat_named),
        state: state_number(row.state),
        visibility: match row.visibility {
            Visibility::Everyone => 0,
            Visibility::Author => 1,
        },
        author: FlatNamed { id: row.author.id.get(), name: &row.author.name },
        avatar: row.author.avatar.as_deref(),
        level: row.author.level,
        created_at: row.created_at,
        content: &row.content,
        html: &row.html,
        written: row.written.as_deref(),
        mentions: row.mentions.iter().map(flat_named).collect(),
        idempotency: row.idempotency.as_ref().map(|(key, request)| (key.as_str(), *request)),
        imported: row.imported.as_ref().map(flat_imported),
    }
}

fn flat_named(named: &MemberRef) -> FlatNamed<'_> {
    FlatNamed { id: named.id.get(), name: &named.name }
}

fn flat_imported(imported: &ImportedFrom) -> FlatImported<'_> {
    let ImportedFrom { source, likes, dislikes, edited_at, pinned } = imported;
    FlatImported { source, likes: *likes, dislikes: *dislikes, edited_at: *edited_at, pinned: *pinned }
}

fn stamped(Flat { at, event }: Flat<'_>) -> Option<LoggedOperation> {
    let event = match event {
        FlatEvent::Publish(flat) => Operation::Publish(Box::new(row(*flat)?)),
        FlatEvent::React { id, member, react } => {
            Operation::React { id: comment(id)?, member: MemberId::new(member).ok()?, react: react_of(react)? }
        }
    };
    Some(LoggedOperation::new(at, event))
}

fn row(flat: FlatRow<'_>) -> Option<NewCommentRow> {
    let author = named(&flat.author)?;
    Some(NewCommentRow {
        subject: SubjectKey::new(flat.kind, flat.key).ok()?,
        path: Path::from_bytes(flat.path).ok()?,
        parent_id: option(flat.parent_id, comment)?,
        reply_to: option(flat.reply_to.as_ref(), named)?,
        state: state_of(flat.state)?,
        visibility: match flat.visibility {
            0 => Visibility::Everyone,
            1 => Visibility::Author,
            _ => return None,
        },
        author: Author { id: author.id, name: author.name, avatar: flat.avatar.map(str::to_owned), level: flat.level },
        created_at: flat.created_at,
        content: flat.content.to_owned(),
        html: flat.html.to_owned(),
        written: flat.written.map(str::to_owned),
        mentions: flat.mentions.iter().map(named).collect::<Option<_>>()?,
        idempotency: flat.idempotency.map(|(key, request)| (key.to_owned(), request)),
        imported: flat.imported.map(|i| ImportedFrom {
            source: i.source.to_owned(),
            likes: i.likes,
            dislikes: i.dislikes,
            edited_at: i.edited_at,
            pinned: i.pinned,
        }),
    })
}

/// What may be absent, but must be right where it is there.
fn option<A, B>(value: Option<A>, parse: impl Fn(A) -> Option<B>) -> Option<Option<B>> {
    match value {
        None => Some(None),
        Some(value) => parse(value).map(Some),
    }
}

fn comment(number: u64) -> Option<CommentId> {
    CommentId::new(number).ok()
}

fn named(flat: &FlatNamed<'_>) -> Option<MemberRef> {
    Some(MemberRef { id: MemberId::new(flat.id).ok()?, name: flat.name.to_owned() })
}

const fn react_number(react: ReactionChange) -> u8 {
    match react {
        ReactionChange::Put(Reaction::Like) => 0,
        ReactionChange::Put(Reaction::Dislike) => 1,
        ReactionChange::Take(Reaction::Like) => 2,
        ReactionChange::Take(Reaction::Dislike) => 3,
    }
}

const fn react_of(number: u8) -> Option<ReactionChange> {
    Some(match number {
        0 => ReactionChange::Put(Reaction::Like),
        1 => ReactionChange::Put(Reaction::Dislike),
        2 => ReactionChange::Take(Reaction::Like),
        3 => ReactionChange::Take(Reaction::Dislike),
        _ => return None,
    })
}

const fn state_number(state: CommentState) -> u8 {
    match state {
        CommentState::Published => 0,
        CommentState::Review => 1,
        CommentState::Rejected => 2,
        CommentState::Hidden => 3,
        CommentState::Deleted => 4,
    }
}

const fn state_of(number: u8) -> Option<CommentState> {
    Some(match number {
        0 => CommentState::Published,
        1 => CommentState::Review,
        2 => CommentState::Rejected,
        3 => CommentState::Hidden,
        4 => CommentState::Deleted,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::option::of;
    use proptest::prelude::*;

    use super::*;

    fn id() -> impl Strategy<Value = CommentId> {
        (1..=i64::MAX as u64).prop_map(|n| CommentId::new(n).unwrap())
    }

    fn member() -> impl Strategy<Value = MemberId> {
        (1..=i64::MAX as u64).prop_map(|n| MemberId::new(n).unwrap())
    }

    fn named() -> impl Strategy<Value = MemberRef> {
        (member(), any::<String>()).prop_map(|(id, name)| MemberRef { id, name })
    }

    fn imported() -> impl Strategy<Value = ImportedFrom> {
        (any::<String>(), any::<u64>(), any::<u64>(), any::<Option<u64>>(), any::<bool>()).prop_map(
            |(source, likes, dislikes, edited_at, pinned)| ImportedFrom { source, likes, dislikes, edited_at, pinned },
        )
    }

    fn state() -> impl Strategy<Value = CommentState> {
        (0u8..5).prop_map(|n| state_of(n).unwrap())
    }

    fn row() -> impl Strategy<Value = NewCommentRow> {
        let subject = ("[a-z0-9_-]{1,32}", "[a-z0-9中 ]{1,40}").prop_map(|(k, v)| SubjectKey::new(&k, &v).unwrap());
        let path = prop::collection::vec(id(), 1..128)
            .prop_map(|ids| ids[1..].iter().fold(Path::root(ids[0]), |path, id| path.child(*id).unwrap()));
        let author = (named(), any::<Option<String>>(), any::<u8>()).prop_map(|(named, avatar, level)| Author {
            id: named.id,
            name: named.name,
            avatar,
            level,
        });
        let place = (subject, path, of(id()), of(named()), state(), any::<bool>(), author, any::<u64>());
        let texts = (any::<String>(), any::<String>(), any::<Option<String>>());
        let rest = (prop::collection::vec(named(), 0..4), any::<Option<(String, [u8; 32])>>(), of(imported()));
        (place, texts, rest).prop_map(|(place, (content, html, written), (mentions, idempotency, imported))| {
            let (subject, path, parent_id, reply_to, state, everyone, author, created_at) = place;
            NewCommentRow {
                subject,
                path,
                parent_id,
                reply_to,
                state,
                visibility: if everyone { Visibility::Everyone } else { Visibility::Author },
                author,
                created_at,
                content,
                html,
                written,
                mentions,
                idempotency,
                imported,
            }
        })
    }

    fn event() -> impl Strategy<Value = Operation> {
        let react = (id(), member(), 0u8..4).prop_map(|(id, member, n)| Operation::React {
            id,
            member,
            react: react_of(n).unwrap(),
        });
        prop_oneof![row().prop_map(|row| Operation::Publish(Box::new(row))), react]
    }

    /// Every field of it, as text.
    fn shown(stamped: &LoggedOperation) -> String {
        format!("{stamped:?}")
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(at: u64, event in event()) {
            let stamped = LoggedOperation::new(at, event);
            let bytes = encode(&stamped).unwrap();
            prop_assert_eq!(shown(&decode(&bytes).unwrap()), shown(&stamped));
            prop_assert!(decode(&bytes[..bytes.len() - 1]).is_err(), "cut short");
            prop_assert!(decode(&[bytes.as_slice(), &[0]].concat()).is_err(), "one byte more");
        }

        #[test]
        fn garbage_is_an_error_or_an_event(mut bytes: Vec<u8>, event in event(), at: prop::sample::Index, to: u8) {
            let _ = decode(&bytes);
            bytes.insert(0, FORMAT_VERSION);
            let _ = decode(&bytes);
            let mut bytes = encode(&LoggedOperation::new(1, event)).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = to;
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn other_versions_and_other_events_are_refused() {
        let react = Operation::React {
            id: CommentId::new(5).unwrap(),
            member: MemberId::new(7).unwrap(),
            react: ReactionChange::Put(Reaction::Like),
        };
        let mut bytes = encode(&LoggedOperation::new(9, react)).unwrap();
        assert_eq!(bytes, [1, 9, 1, 5, 7, 0], "what lies in a log stays what it is");
        bytes[0] = 2;
        assert_eq!(decode(&bytes).unwrap_err().to_string(), "not an event: format version 2");
        assert!(decode(&[]).is_err());
        assert!(encode(&LoggedOperation::new(9, Operation::DeleteExpired)).is_none());
    }
}

#[cfg(test)]
mod golden {
    use gailou_shared::id::SubjectKey;
    use gailou_shared::wire::{Author, CommentState, MemberRef, Visibility};

    use super::*;

    fn react() -> Operation {
        Operation::React {
            id: CommentId::new(5).unwrap(),
            member: MemberId::new(7).unwrap(),
            react: ReactionChange::Put(Reaction::Like),
        }
    }

    fn publish() -> Operation {
        let id = |n| CommentId::new(n).unwrap();
        let named = |n: u64, name: &str| MemberRef { id: MemberId::new(n).unwrap(), name: name.into() };
        let imported = ImportedFrom { source: "src".into(), likes: 1, dislikes: 2, edited_at: Some(3), pinned: true };
        Operation::Publish(Box::new(NewCommentRow {
            subject: SubjectKey::new("video", "中/2").unwrap(),
            path: Path::root(id(5)).child(id(i64::MAX as u64)).unwrap(),
            parent_id: Some(id(5)),
            reply_to: Some(named(9, "九")),
            state: CommentState::Hidden,
            visibility: Visibility::Author,
            author: Author { id: MemberId::new(7).unwrap(), name: "n".into(), avatar: Some("a".into()), level: 4 },
            created_at: 5,
            content: "written".into(),
            html: "<p>written</p>".into(),
            written: Some("raw".into()),
            mentions: vec![named(1, ""), named(2, "x")],
            idempotency: Some(("k".into(), [7; 32])),
            imported: Some(imported),
        }))
    }

    /// Records of the previous release have these bytes.
    #[test]
    fn bytes_are_those_of_format_1() {
        assert_eq!(encode(&LoggedOperation::new(9, react())).unwrap(), [1, 9, 1, 5, 7, 0]);
        let bytes = encode(&LoggedOperation::new(9, publish())).unwrap();
        let hex = bytes.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        assert_eq!(
            hex,
            "01090005766964656f05e4b8ad2f321000000000000000057fffffffffffffff0105010903e4b99d030107016e010161040507777269747\
         4656e0e3c703e7772697474656e3c2f703e010372617702010002017801016b0707070707070707070707070707070707070707070707070\
         70707070707070701037372630102010301"
        );
    }
}
