//! Prints the golden vectors: what ids, paths, keys and cursors have to be, on every machine.
//!
//! One value a line, `what TAB arguments TAB result`. The committed copy is `golden/rank.tsv`; a test
//! compares it with this machine's answers and `scripts/golden-wasm.sh` with those of wasm. A line
//! that changes means that stored keys, ids or cursors have changed.

use gailou_shared::cursor::{Cursor, CursorKey, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, MemberId, Slot, SubjectKey};
use gailou_shared::path::{Mode, Path, Threading};
use gailou_shared::rank::{EngagementCounts, HotWeights, Sort, sort_key};

/// Likes, dislikes, replies: none, few, many, one-sided, at and beyond the 32 bits that count.
const GOLDEN_COUNTS: [(u64, u64, u64); 14] = [
    (0, 0, 0),
    (1, 0, 0),
    (0, 1, 0),
    (0, 0, 1),
    (2, 1, 3),
    (7, 7, 7),
    (10, 0, 4),
    (99, 1, 12),
    (600, 400, 38),
    (12_345, 678, 910),
    (1_000_000, 999_999, 5),
    (u32::MAX as u64, 1, u32::MAX as u64),
    (u32::MAX as u64 + 1, u32::MAX as u64 + 1, u32::MAX as u64 + 1),
    (u64::MAX, u64::MAX, u64::MAX),
];
/// Before the epoch of ids, at it, this decade, the last millisecond an id can name, the end of time.
const GOLDEN_TIMES_MS: [u64; 6] =
    [0, 946_684_800_000, 1_700_000_000_000, 1_792_829_827_919, 3_145_708_055_551, u64::MAX];
const GOLDEN_WEIGHTS: [HotWeights; 4] = [
    HotWeights { like: 700, reply: 300, dislike: 0, half_life_ms: Some(86_400_000) },
    HotWeights { like: 1_000, reply: 2_000, dislike: 500, half_life_ms: Some(HotWeights::MIN_HALF_LIFE_MS) },
    HotWeights { like: 2_000, reply: 1_000, dislike: 0, half_life_ms: None },
    HotWeights { like: u32::MAX, reply: u32::MAX, dislike: u32::MAX, half_life_ms: Some(u64::MAX) },
];
const GOLDEN_IDS: [u64; 4] = [1, 4_096, 7_208_383_979_520_004_099, i64::MAX as u64];

/// The vectors, in a fixed order.
pub(crate) fn lines() -> Vec<String> {
    let mut out = Vec::new();
    ranking(&mut out);
    naming(&mut out);
    placing(&mut out);
    signing(&mut out);
    out
}

fn ranking(out: &mut Vec<String>) {
    for (number, weights) in GOLDEN_WEIGHTS.iter().enumerate() {
        for &sort in Sort::ALL {
            // Only the hot order looks at weights and time.
            if sort != Sort::Hot && number > 0 {
                continue;
            }
            let times = if sort == Sort::Hot { &GOLDEN_TIMES_MS[..] } else { &GOLDEN_TIMES_MS[..1] };
            for (likes, dislikes, replies) in GOLDEN_COUNTS {
                for time in times {
                    let key = sort_key(sort, EngagementCounts { likes, dislikes, replies }, *time, weights);
                    let name = sort.name();
                    out.push(format!("rank\t{name} w{number} {likes} {dislikes} {replies} {time}\t{key}"));
                }
            }
        }
    }
}

fn naming(out: &mut Vec<String>) {
    for key in ["0", "7", "007", "4611686018427387903", "4611686018427387904", "hello", "盖楼/1", "a b", "%2F"] {
        for kind in ["article", "video", "post", "topic"] {
            let subject = SubjectKey::new(kind, key).expect("a subject");
            out.push(format!("subject\t{kind} {key}\t{} {}", subject.obj_id(), subject.slot().get()));
        }
    }
    for time in GOLDEN_TIMES_MS {
        for (slot, node, sequence) in [(0, 0, 0), (7, 1, 3), (1_023, 63, 63), (512, 64, 64)] {
            let id = CommentId::from_parts(time, Slot::new(slot).expect("a slot"), node, sequence);
            let (made, in_slot) = (id.created_ms(), id.slot().get());
            out.push(format!("id\t{time} {slot} {node} {sequence}\t{id} {made} {in_slot}"));
        }
    }
    for name in ["", "Bo", "盖楼", "Zoë"] {
        out.push(format!("member\t{name}\t{}", MemberId::imported(name)));
    }
}

fn placing(out: &mut Vec<String>) {
    let ids = GOLDEN_IDS.map(id);
    let path = ids[1..].iter().fold(Path::root(ids[0]), |path, id| path.child(*id).expect("a short path"));
    out.push(format!("path\tbytes\t{}", to_hex(path.as_bytes())));
    out.push(format!("path\tend\t{}", to_hex(&path.subtree_end())));
    for mode in [Mode::Flat, Mode::TwoLevel, Mode::Tree, Mode::Building] {
        let threading = Threading { mode, level_limit: 3 };
        for depth in 1..=ids.len() {
            let drawn = threading.drawn_under(&path.truncated(depth), 0);
            out.push(format!("level\t{mode:?} {depth}\t{} {drawn:?}", threading.level(depth)));
        }
    }
}

fn signing(out: &mut Vec<String>) {
    let key = CursorKey::new(b"golden");
    let subject = SubjectKey::new("topic", "盖楼").expect("a subject");
    let member = MemberId::new(GOLDEN_IDS[2]).expect("a member");
    let lists = [
        CursorList::roots(&subject),
        CursorList::Replies(id(GOLDEN_IDS[2])),
        CursorList::Tree(id(GOLDEN_IDS[3])),
        CursorList::Member(member),
    ];
    let snapshot = [0x5a; 16];
    let places = [
        WalkPosition::Snapshot(snapshot, 999),
        WalkPosition::Tail(snapshot, 0),
        WalkPosition::After(u64::MAX),
        WalkPosition::Child(id(GOLDEN_IDS[1]), 42),
    ];
    for (l, list) in lists.into_iter().enumerate() {
        for (p, at) in places.into_iter().enumerate() {
            let sort = Sort::ALL[l + p];
            let text = key.encode(&Cursor { list, sort, epoch: 1_234_567_890_123, at });
            out.push(format!("cursor\t{l} {p}\t{text}"));
        }
    }
}

fn id(number: u64) -> CommentId {
    CommentId::new(number).expect("an id")
}

// The native test compiles this file as a module and calls `lines` itself.
#[cfg_attr(test, expect(dead_code, reason = "only the example prints"))]
fn main() {
    for line in lines() {
        println!("{line}");
    }
}

/// Written here because the example is compiled with no crate but this one.
fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
