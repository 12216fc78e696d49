//! Round trips, damaged bytes, and the golden bytes of each operation.

use gailou_shared::id::{MediaId, SubjectKey};
use gailou_shared::wire::{Author, CommentState, MemberRef, ReviewReasonKind, StaffRole, Visibility};
use proptest::option::of;
use proptest::prelude::*;

use super::*;
use crate::domain::media::MediaRef;

fn id() -> impl Strategy<Value = CommentId> {
    (1..=i64::MAX as u64).prop_map(|n| CommentId::new(n).unwrap())
}

fn member() -> impl Strategy<Value = MemberId> {
    (1..=i64::MAX as u64).prop_map(|n| MemberId::new(n).unwrap())
}

fn named() -> impl Strategy<Value = MemberRef> {
    (member(), any::<String>()).prop_map(|(id, name)| MemberRef { id, name })
}

fn media() -> impl Strategy<Value = MediaRef> {
    (1..=i64::MAX as u64, any::<String>(), any::<u32>(), any::<u32>(), any::<String>())
        .prop_map(|(id, name, width, height, alt)| MediaRef { id: MediaId::new(id).unwrap(), name, width, height, alt })
}

fn imported() -> impl Strategy<Value = ImportedFrom> {
    (any::<String>(), any::<u64>(), any::<u64>(), any::<Option<u64>>(), any::<bool>()).prop_map(
        |(source, likes, dislikes, edited_at, pinned)| ImportedFrom { source, likes, dislikes, edited_at, pinned },
    )
}

fn state() -> impl Strategy<Value = CommentState> {
    (0u8..5).prop_map(|n| parse_enum(n).unwrap())
}

fn row() -> impl Strategy<Value = NewCommentRow> {
    let subject = ("[a-z0-9_-]{1,32}", "[a-z0-9中 ]{1,40}").prop_map(|(k, v)| SubjectKey::new(&k, &v).unwrap());
    let path = prop::collection::vec(id(), 1..128)
        .prop_map(|ids| ids[1..].iter().fold(Path::root(ids[0]), |path, id| path.child(*id).unwrap()));
    let role = of(prop_oneof![Just(StaffRole::Moderator), Just(StaffRole::Admin)]);
    let author = (named(), any::<Option<String>>(), any::<u8>(), role)
        .prop_map(|(named, avatar, level, role)| Author::new(named.id, named.name, avatar, level, role));
    let place = (subject, path, of(id()), of(named()), state(), any::<bool>(), author, any::<u64>());
    let texts = (any::<String>(), any::<String>(), any::<Option<String>>());
    let reason = (0u8..4, any::<String>(), any::<u64>()).prop_map(|(kind, detail, count)| ReviewReason {
        kind: parse_enum(kind).unwrap(),
        detail,
        count,
    });
    let reasons = prop::collection::vec(reason, 0..3);
    let media = prop::collection::vec(media(), 0..3);
    let network = of(any::<[u8; 16]>().prop_map(NetworkDigest::from_bytes));
    let idempotency = any::<Option<(String, [u8; 32])>>();
    let rest = (prop::collection::vec(named(), 0..4), media, reasons, idempotency, of(imported()), network);
    (place, texts, rest).prop_map(
        |(place, (content, html, original_text), (mentions, media, reasons, idempotency, imported, network))| {
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
                original_text,
                mentions,
                media,
                reasons,
                idempotency: idempotency.map(|(key, request)| IdempotencyKey { key, request }),
                imported,
                network,
            }
        },
    )
}

fn operation() -> impl Strategy<Value = Operation> {
    let react = (id(), member(), 0u8..4).prop_map(|(id, member, n)| Operation::React {
        id,
        member,
        change: parse_change(n).unwrap(),
    });
    prop_oneof![row().prop_map(|row| Operation::Publish(Box::new(row))), react]
}

/// Every field of an operation, as text.
fn text_of(logged: &LoggedOperation) -> String {
    format!("{logged:?}")
}

proptest! {
    #[test]
    fn operation_survives_its_bytes(at: u64, operation in operation()) {
        let logged = LoggedOperation::new(at, operation);
        let bytes = encode(&logged).unwrap();
        prop_assert_eq!(text_of(&decode(&bytes).unwrap()), text_of(&logged));
        prop_assert!(decode(&bytes[..bytes.len() - 1]).is_err(), "cut short");
        prop_assert!(decode(&[bytes.as_slice(), &[0]].concat()).is_err(), "one byte more");
    }

    #[test]
    fn invalid_bytes_never_panic(mut bytes: Vec<u8>, operation in operation(), at: prop::sample::Index, to: u8) {
        let _ = decode(&bytes);
        bytes.insert(0, OPERATION_FORMAT);
        let _ = decode(&bytes);
        let mut bytes = encode(&LoggedOperation::new(1, operation)).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = to;
        let _ = decode(&bytes);
    }
}

fn react() -> Operation {
    Operation::React {
        id: CommentId::new(5).unwrap(),
        member: MemberId::new(7).unwrap(),
        change: ReactionChange::Put(Reaction::Like),
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
        author: Author::new(MemberId::new(7).unwrap(), "n".into(), Some("a".into()), 4, Some(StaffRole::Admin)),
        created_at: 5,
        content: "written".into(),
        html: "<p>written</p>".into(),
        original_text: Some("raw".into()),
        mentions: vec![named(1, ""), named(2, "x")],
        media: vec![MediaRef { id: MediaId::new(3).unwrap(), name: "3".into(), width: 4, height: 5, alt: "a".into() }],
        reasons: vec![ReviewReason { kind: ReviewReasonKind::Rule, detail: "ad".into(), count: 1 }],
        idempotency: Some(IdempotencyKey { key: "k".into(), request: [7; 32] }),
        imported: Some(imported),
        network: Some(NetworkDigest::from_bytes([8; 16])),
    }))
}

/// A comment in format 2, as the previous release has written it.
const FORMER_COMMENT: &str = "02090005766964656f05e4b8ad2f321000000000000000057fffffffffffffff0105010903e4b99d030107016e0101610405\
    077772697474656e0e3c703e7772697474656e3c2f703e010372617702010002017801016b07070707070707070707070707\
    07070707070707070707070707070707070707010373726301020103010102";

/// Readers of this release and of the next see these bytes.
#[test]
fn bytes_are_those_of_format_6() {
    assert_eq!(encode(&LoggedOperation::new(9, react())).unwrap(), [6, 9, 1, 5, 7, 0]);
    let bytes = encode(&LoggedOperation::new(9, publish())).unwrap();
    let former = FORMER_COMMENT.strip_prefix("02").unwrap();
    assert_eq!(hex::encode(bytes), format!("06{former}010202616401{}01{}", "0103013304050161", "08".repeat(16)));
}

#[test]
fn operations_of_the_formats_before_are_read() {
    for format in [2, 4, 5] {
        let reaction = decode(&[format, 9, 1, 5, 7, 0]).unwrap();
        assert_eq!(text_of(&reaction), text_of(&LoggedOperation::new(9, react())));
        assert!(decode(&[format, 9, 1, 5, 7]).is_err() && decode(&[format, 9, 1, 5, 7, 0, 0]).is_err());
    }
    let former = hex::decode(FORMER_COMMENT).unwrap();
    let with_reasons = [&[4], &former[1..], &[1, 2, 2, 0x61, 0x64, 1]].concat();
    let with_media = [&[5], &with_reasons[1..], &hex::decode("0103013304050161").unwrap()].concat();
    let Operation::Publish(mut expected) = publish() else { unreachable!("it is a comment") };
    let read = |bytes: &[u8]| text_of(&decode(bytes).unwrap());
    expected.network = None;
    assert_eq!(read(&with_media), text_of(&LoggedOperation::new(9, Operation::Publish(expected.clone()))));
    expected.media.clear();
    assert_eq!(read(&with_reasons), text_of(&LoggedOperation::new(9, Operation::Publish(expected.clone()))));
    expected.reasons.clear();
    assert_eq!(read(&former), text_of(&LoggedOperation::new(9, Operation::Publish(expected))));
    for whole in [&former, &with_reasons, &with_media] {
        assert!(decode(&whole[..whole.len() - 1]).is_err(), "cut short");
        assert!(decode(&[whole.as_slice(), &[0]].concat()).is_err(), "one byte more");
    }
}

#[test]
fn unknown_formats_and_other_operations_are_refused() {
    let mut bytes = encode(&LoggedOperation::new(9, react())).unwrap();
    bytes[0] = 7;
    assert_eq!(decode(&bytes).unwrap_err().to_string(), "not an operation: format 7 is unknown");
    assert!(decode(&[]).is_err());
    assert!(encode(&LoggedOperation::new(9, Operation::DeleteExpired)).is_none());
}

#[test]
fn dead_reaction_is_itself_with_the_position_where_it_died() {
    let like = Operation::React {
        id: CommentId::new(7).unwrap(),
        member: MemberId::new(9).unwrap(),
        change: ReactionChange::Put(Reaction::Like),
    };
    let bytes = encode(&LoggedOperation::new(5, like)).unwrap();
    let dead = encode_dead_reaction(&bytes, 1 << 40);
    let decoded = decode(&dead).unwrap();
    assert_eq!((decoded.at, decoded.position, decoded.died_at), (5, None, Some(1 << 40)));
    assert!(matches!(decoded.operation, Operation::React { id, .. } if id.get() == 7));
    assert!(!is_newer_format(&dead));
    assert!(is_newer_format(&encode_dead_reaction(&[OPERATION_FORMAT + 2], 1)), "a newer job has given it up");
    let damaged = [&dead[..1], &dead[..3], &encode_dead_reaction(&dead, 1), &encode_dead_reaction(&[], 1)];
    damaged.into_iter().for_each(|bytes| assert!(decode(bytes).is_err(), "{bytes:?}"));
}
