//! Tables of lines, their resolved positions, and the order of writing.

use gailou_shared::id::{IMPORT_NODE, Slot};
use gailou_shared::path::Mode;

use crate::service::import::parents::*;

fn id(n: usize) -> CommentId {
    CommentId::from_parts(1_700_000_000_000, Slot::FIRST, IMPORT_NODE, n as u64)
}

/// `id root parent time` a line, `-` for none; the mode is a tree unless said.
fn entries(mode: Mode, text: &str) -> Vec<ImportEntry> {
    text.lines()
        .enumerate()
        .map(|(i, line)| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let name = |n: usize| if fields[n] == "-" { "null".into() } else { format!("{:?}", fields[n]) };
            let json = format!(
                r#"{{"subject":"topic:1","id":{},"root":{},"parent":{},"author":"A","content":"","created_at":{}}}"#,
                name(0),
                name(1),
                name(2),
                fields[3]
            );
            let threading = Threading { mode, level_limit: 3 };
            ImportEntry {
                number: i + 1,
                subject: 0,
                threading,
                line: ImportLine::parse(json.as_bytes()).unwrap(),
                id: id(i),
            }
        })
        .collect()
}

/// The chains in the order of writing, `!` where reparented; and the lines without a position.
fn check(mode: Mode, text: &str, expected: &str, bad: &[usize]) {
    let entries = entries(mode, text);
    let path = Path::root(id(60)).child(id(61)).unwrap();
    let stored =
        StoredParent { path, author: MemberRef { id: gailou_shared::id::MemberId::imported("S"), name: "S".into() } };
    let positions = resolve_parents(&entries, &HashMap::from([((0, "stored".to_owned()), stored)]));
    let called = |n: CommentId| match entries.iter().find(|e| e.id == n) {
        Some(entry) => entry.line.id.clone(),
        None if n == id(60) => "S".into(),
        None => "s".into(),
    };
    let shown: Vec<String> = write_order(&entries, &positions)
        .into_iter()
        .map(|i| {
            let position = positions[i].as_ref().unwrap();
            let chain: Vec<String> = position.path.ids().map(called).collect();
            format!("{}{}", chain.join("/"), if position.reparented { "!" } else { "" })
        })
        .collect();
    assert_eq!(shown.join(" "), expected, "{text}");
    let without: Vec<usize> = positions.iter().enumerate().filter(|(_, p)| p.is_err()).map(|(i, _)| i + 1).collect();
    assert_eq!(without, bad, "{text}");
}

#[test]
fn roots_first_and_each_list_by_time() {
    check(Mode::Tree, "a - - 3\nb - - 1\nc a a 9\nd a a 8\ne a d 9", "b a a/d a/c a/d/e", &[]);
    check(Mode::Tree, "a - - 3\nb - - 3\nc - - 2", "c a b", &[]);
    check(Mode::Tree, "a - - 30\nb a a 9\nc a a 8\nd a a 8", "a a/c a/d a/b", &[]);
    check(Mode::Flat, "a - - 3\nb a a 2\nc b b 1", "c b a", &[]);
}

#[test]
fn comment_is_never_written_before_its_parent() {
    check(Mode::Tree, "r - - 1\na r r 9\nb r a 2\nc r b 3\nd r r 5", "r r/d r/a r/a/b r/a/b/c", &[]);
    check(Mode::Tree, "b r a 2\na r r 9\nr - - 10", "r r/a r/a/b", &[]);
}

#[test]
fn reply_without_its_parent_is_under_its_root() {
    check(Mode::Tree, "a - - 1\nb a x 2\nc a b 3", "a a/b! a/b/c", &[]);
    check(Mode::Tree, "a - - 1\nb a - 2", "a a/b!", &[]);
    check(Mode::TwoLevel, "a - - 1\nb x x 2\nc x a 3\nd x b 4\ne a b 5", "a a/c a/e!", &[2, 4]);
    check(Mode::Flat, "a - - 1\nb a x 2", "a b!", &[]);
}

#[test]
fn parents_may_be_in_the_store() {
    check(Mode::Tree, "a - stored 1\nb stored x 2", "S/s/a S/s/b!", &[]);
    check(Mode::Flat, "a - stored 1", "a", &[]);
}

#[test]
fn cycles_are_broken() {
    check(Mode::Tree, "a - a 1", "", &[1]);
    check(Mode::Tree, "a - b 1\nb - a 2", "", &[1, 2]);
    check(Mode::Tree, "r - - 1\na r b 1\nb r a 2", "r r/b! r/b/a", &[]);
}

#[test]
fn replies_beyond_the_deepest_level_share_a_parent() {
    let text: String =
        (0..60).map(|n| if n == 0 { "0 - - 1\n".into() } else { format!("{n} 0 {} 1\n", n - 1) }).collect();
    let mut entries = entries(Mode::Building, &text);
    // 60 lines above 128 levels: the first is at level 100.
    let deep = (1..100).fold(Path::root(id(0)), |path, n| path.child(CommentId::new(n).unwrap()).unwrap());
    let stored = StoredParent {
        path: deep,
        author: MemberRef { id: gailou_shared::id::MemberId::imported("S"), name: "S".into() },
    };
    entries[0].line.parent = Some("stored".into());
    let positions = resolve_parents(&entries, &HashMap::from([((0, "stored".to_owned()), stored)]));
    let depths: Vec<(usize, bool)> =
        positions.iter().map(|p| p.as_ref().unwrap()).map(|p| (p.path.depth(), p.reparented)).collect();
    assert_eq!(depths[27], (128, false));
    assert!(depths[28..].iter().all(|d| *d == (128, true)));
    assert_eq!(positions[59].as_ref().unwrap().parent, Some(entries[26].id));
}
