//! Tables of lines, their resolved positions, and the order of writing.

use std::collections::HashMap;

use gailou_shared::id::{IMPORT_NODE, Slot};

use crate::service::import::parents::*;
use crate::service::import::part_lines::{SourceHasher, sorted_by_id};
use crate::service::import::staged::LineLocation;
use crate::service::import::stored::StoredPaths;

fn id(n: usize) -> CommentId {
    CommentId::from_parts(1_700_000_000_000, Slot::FIRST, IMPORT_NODE, n as u64)
}

/// Lines of one subject.
struct LineTable {
    hasher: SourceHasher,
    names: Vec<String>,
    lines: Vec<PartLine>,
    keys: Vec<LineKeys>,
    mode: Mode,
}

impl LineTable {
    /// `id root parent time` a line, `-` for none; and `held`.
    fn new(mode: Mode, text: &str) -> Self {
        let mut table = Self { hasher: SourceHasher::default(), names: vec![], lines: vec![], keys: vec![], mode };
        for (i, line) in text.lines().enumerate() {
            let fields: Vec<&str> = line.split_whitespace().collect();
            // A root may name itself as its root.
            let name = |n: usize| Some(fields[n]).filter(|name| *name != "-" && (n != 1 || *name != fields[0]));
            let key = |n: usize| name(n).map_or(SourceKey::NONE, |name| table.hasher.key(0, name));
            table.keys.push(LineKeys { id: key(0), parent: key(2), root: key(1) });
            table.names.push(fields[0].to_owned());
            let created_at = fields[3].parse().unwrap();
            let is_held = fields.get(4) == Some(&"held");
            table.lines.push(PartLine { at: LineLocation::default(), number: i + 1, created_at, subject: 0, is_held });
        }
        table
    }

    /// The positions, where the store has a comment that is named `stored`, and one that was never published under it.
    fn resolve(&self, path: &Path) -> (Vec<ThreadPosition>, StoredComments) {
        let mut paths = StoredPaths::default();
        paths.add(path.id(), path, true);
        let key = |name: &str| self.hasher.key(0, name);
        let mut names = HashMap::from([(key("stored"), path.id())]);
        if let Ok(held) = path.child(id(62)) {
            paths.add(held.id(), &held, false);
            names.insert(key("waits"), held.id());
        }
        let stored = paths.named(names);
        let positions = resolve_parents(ThreadLines {
            lines: &self.lines,
            keys: &self.keys,
            by_id: &sorted_by_id(&self.keys),
            threadings: &[Threading { mode: self.mode, level_limit: 3 }],
            stored: &stored,
        });
        (positions, stored)
    }

    fn ids(&self) -> Vec<CommentId> {
        (0..self.lines.len()).map(id).collect()
    }
}

/// The chains in the order of writing, `!` where reparented; and the lines without a position.
fn check(mode: Mode, text: &str, expected: &str, bad: &[usize]) {
    let table = LineTable::new(mode, text);
    let path = Path::root(id(60)).child(id(61)).unwrap();
    let (positions, stored) = table.resolve(&path);
    let ids = table.ids();
    let called = |n: CommentId| match ids.iter().position(|id| *id == n) {
        Some(line) => table.names[line].clone(),
        None if n == id(60) => "S".into(),
        None => "s".into(),
    };
    let shown: Vec<String> = write_order(&table.lines, &positions)
        .into_iter()
        .map(|i| {
            let chain: Vec<String> = path_of(i, &positions, &ids, &stored).ids().map(called).collect();
            format!("{}{}", chain.join("/"), if positions[i as usize].reparented { "!" } else { "" })
        })
        .collect();
    assert_eq!(shown.join(" "), expected, "{text}");
    let without = positions.iter().enumerate().filter(|(_, p)| !p.is_resolved());
    let without: Vec<usize> = without.map(|(i, _)| i + 1).collect();
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
fn nothing_stands_under_what_waits() {
    check(Mode::Tree, "a - - 1\nb a a 2 held\nc a b 3\nd a c 4", "a a/b a/c! a/c/d", &[]);
    check(Mode::Tree, "a - - 1 held\nb a a 2\nc a b 3 held\nd a c 4", "a b! b/c b/d!", &[]);
    check(Mode::Tree, "a - waits 1", "S/s/a!", &[]);
    check(Mode::Flat, "a - - 1 held\nb a a 2", "a b!", &[]);
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
        (0..60).map(|n| if n == 0 { "0 - stored 1\n".into() } else { format!("{n} 0 {} 1\n", n - 1) }).collect();
    let table = LineTable::new(Mode::Building, &text);
    // 60 lines above 128 levels: the first is at level 101.
    let above: Vec<u8> = (1_000u64..1_100).flat_map(u64::to_be_bytes).collect();
    let deep = Path::from_bytes(&above).unwrap();
    let (positions, stored) = table.resolve(&deep);
    let (lines, ids) = (0u32..60, table.ids());
    let paths: Vec<Path> = lines.map(|line| path_of(line, &positions, &ids, &stored)).collect();
    let depths: Vec<(usize, bool)> =
        paths.iter().zip(&positions).map(|(path, position)| (path.depth(), position.reparented)).collect();
    assert_eq!(depths[27], (128, false));
    assert!(depths[28..].iter().all(|d| *d == (128, true)));
    assert_eq!(positions[59].parent, Some(ParentNode::Line(26)));
    assert_eq!(paths[59].parent_id(), Some(ids[26]));
    assert!(deep.is_ancestor_of(&paths[59]));
}
