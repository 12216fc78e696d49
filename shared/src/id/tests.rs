//! Ids, keys and slots.

use super::*;
use alloc::format;
use alloc::string::ToString;
use proptest::prelude::*;

#[test]
fn only_canonical_numbers_parse_as_ids() {
    for bad in ["", "0", "01", "+1", "-1", " 1", "1 ", "1.0", "9223372036854775808", "99999999999999999999", "一"] {
        assert_eq!(bad.parse::<CommentId>(), Err(InvalidId), "{bad:?}");
    }
    assert_eq!("9223372036854775807".parse::<MemberId>().unwrap().get(), i64::MAX as u64);
}

#[test]
fn hashed_keys_and_numbers_differ() {
    let check = |key: &str, number: Option<u64>| {
        let obj_id = SubjectKey::new("article", key).unwrap().obj_id();
        match number {
            Some(n) => assert_eq!(obj_id, n),
            None => assert!((1 << 62..1 << 63).contains(&obj_id), "{key}"),
        }
    };
    check("0", Some(0));
    check("7", Some(7));
    check("4611686018427387903", Some((1 << 62) - 1));
    check("4611686018427387904", None);
    check("007", None);
    check("hello", None);
}

#[test]
fn key_has_at_most_512_bytes() {
    assert!(SubjectKey::new("a", &"k".repeat(512)).is_ok());
    assert_eq!(SubjectKey::new("a", &"k".repeat(513)), Err(InvalidSubject::KeyLength));
    assert_eq!(SubjectKey::new("a", ""), Err(InvalidSubject::KeyLength));
    assert_eq!(SubjectKey::new("a", "a\nb"), Err(InvalidSubject::KeyControl));
    assert_eq!(SubjectKey::new("A", "k"), Err(InvalidSubject::Type));
}

#[test]
fn slots_are_evenly_filled() {
    let mut seen = [0u32; SLOT_COUNT as usize];
    for n in 0..102_400 {
        seen[SubjectKey::new("video", &n.to_string()).unwrap().slot().get() as usize] += 1;
    }
    assert!(seen.iter().all(|n| (50..160).contains(n)), "{:?}", seen.iter().max());
}

proptest! {
    #[test]
    fn printing_and_parsing_an_id_is_identity(n in 1u64..=i64::MAX as u64) {
        let id = CommentId::new(n).unwrap();
        prop_assert_eq!(id.to_string().parse::<CommentId>(), Ok(id));
        let json = serde_json::to_string(&id).unwrap();
        prop_assert_eq!(&json, &format!("\"{n}\""));
        prop_assert_eq!(serde_json::from_str::<CommentId>(&json).unwrap(), id);
    }

    #[test]
    fn parts_come_back(ms in ID_EPOCH_MS + 1..ID_EPOCH_MS + (1 << 41), slot in 0..SLOT_COUNT, node in 0..NODE_COUNT, sequence in 0..SEQUENCE_COUNT) {
        let slot = Slot::new(slot).unwrap();
        let id = CommentId::from_parts(ms, slot, node, sequence);
        prop_assert_eq!((id.created_ms(), id.slot()), (ms, slot));
    }

    #[test]
    fn later_ids_are_larger(ms in ID_EPOCH_MS + 1..ID_EPOCH_MS + (1 << 40), a in 0..SLOT_COUNT, b in 0..SLOT_COUNT) {
        let (a, b) = (Slot::new(a).unwrap(), Slot::new(b).unwrap());
        prop_assert!(CommentId::from_parts(ms, a, 63, 63) < CommentId::from_parts(ms + 1, b, 0, 0));
    }

    #[test]
    fn member_kinds_are_apart(random: u64, name: String) {
        prop_assert_eq!(MemberId::guest(random).kind(), MemberKind::Guest);
        prop_assert_eq!(MemberId::account(random).kind(), MemberKind::Account);
        prop_assert_eq!(MemberId::imported(&name).kind(), MemberKind::Imported);
        prop_assert_eq!(MemberId::imported(&name), MemberId::imported(&name));
    }
}
