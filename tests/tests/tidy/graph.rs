//! The graph of modules: at each level, which child of a module names which other child.
//!
//! An edge leads from one sibling to another when any file below the first names a path below the
//! second. What a child takes from its own parent is not an edge: a parent's types are there to be shared.

use std::collections::{BTreeMap, BTreeSet};

use crate::sources::{is_test_code, product};

/// Sibling modules by level: from, to, and one place that makes the edge.
type Edges = BTreeMap<String, BTreeMap<(String, String), String>>;

/// Each circle of siblings below `root`, in words.
pub(crate) fn circles(files: &[(String, String)], root: &str) -> Vec<String> {
    let in_root = files.iter().filter_map(|(path, text)| Some((path.strip_prefix(root)?.strip_prefix('/')?, text)));
    let rust: Vec<_> = in_root.filter(|(path, _)| path.ends_with(".rs")).collect();
    let modules: BTreeSet<Vec<&str>> = rust.iter().map(|(path, _)| module(path)).collect();
    assert!(modules.len() > 5, "{root} has modules");
    let mut edges = Edges::new();
    for (path, text) in rust {
        if is_test_code(path) {
            continue;
        }
        let here = module(path);
        for target in targets(&here, product(text), &modules) {
            let common = here.iter().zip(&target).take_while(|(a, b)| a == b).count();
            if let (Some(from), Some(to)) = (here.get(common), target.get(common)) {
                let place = format!("{} names {}", here.join("::"), target.join("::"));
                let level = edges.entry(here[..common].join("::")).or_default();
                level.entry(((*from).to_owned(), to.clone())).or_insert(place);
            }
        }
    }
    edges.iter().flat_map(|(level, edges)| circles_among(level, edges)).collect()
}

/// `http/mod.rs` is `http`, `lib.rs` is the root.
fn module(path: &str) -> Vec<&str> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut parts: Vec<&str> = path.split('/').collect();
    if matches!(parts.last(), Some(&"mod" | &"lib" | &"main")) {
        parts.pop();
    }
    parts
}

/// The modules that a file names.
fn targets(here: &[&str], text: &str, modules: &BTreeSet<Vec<&str>>) -> Vec<Vec<String>> {
    let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let mut paths = Vec::new();
    for statement in code.split(';') {
        let Some(at) = statement.find("use ") else { continue };
        let before = statement[..at].chars().next_back();
        if before.is_none_or(|c| c.is_whitespace() || c == ')') {
            expand(&[], &statement[at + 4..], &mut paths);
        }
    }
    for start in ["crate::", "super::"] {
        for (at, _) in code.match_indices(start) {
            if !code[..at].ends_with([':', '_']) && !code[..at].ends_with(char::is_alphanumeric) {
                let name = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
                let path: String = code[at..].chars().take_while(|c| name(*c)).collect();
                paths.push(path.split("::").map(str::to_owned).collect());
            }
        }
    }
    paths.into_iter().filter_map(|path| resolve(here, path, modules)).collect()
}

/// Takes the groups of a `use` apart: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn expand(prefix: &[String], tree: &str, paths: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    let (path, group) = match tree.split_once('{') {
        Some((path, rest)) => (path, rest.rsplit_once('}').map(|(group, _)| group)),
        None => (tree.split(" as ").next().unwrap_or(tree), None),
    };
    let names = path.split("::").map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    let prefix: Vec<String> = prefix.iter().cloned().chain(names).collect();
    let Some(group) = group else { return paths.push(prefix) };
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                expand(&prefix, &group[begin..at], paths);
                begin = at + 1;
            }
            _ => {}
        }
    }
    if !group[begin..].trim().is_empty() {
        expand(&prefix, &group[begin..], paths);
    }
}

/// The longest module that a path leads to, from the root.
fn resolve(here: &[&str], path: Vec<String>, modules: &BTreeSet<Vec<&str>>) -> Option<Vec<String>> {
    let is_module = |path: &[String]| modules.contains(&path.iter().map(String::as_str).collect::<Vec<_>>());
    let from = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
    let mut absolute: Vec<String> = match path.first()?.as_str() {
        "crate" => path[1..].to_vec(),
        "super" => {
            let ups = path.iter().take_while(|part| *part == "super").count();
            [from(&here[..here.len().checked_sub(ups)?]), path[ups..].to_vec()].concat()
        }
        "self" => [from(here), path[1..].to_vec()].concat(),
        first => {
            let child = [from(here), vec![first.to_owned()]].concat();
            if !is_module(&child) {
                return None;
            }
            [from(here), path].concat()
        }
    };
    while !absolute.is_empty() && !is_module(&absolute) {
        absolute.pop();
    }
    (!absolute.is_empty()).then_some(absolute)
}

/// Removes edges that end nowhere or begin nowhere, again and again: the remaining ones are on a circle or between two.
fn circles_among(level: &str, edges: &BTreeMap<(String, String), String>) -> Vec<String> {
    let mut left: BTreeSet<&(String, String)> = edges.keys().collect();
    loop {
        let sources: BTreeSet<&String> = left.iter().map(|(from, _)| from).collect();
        let targets: BTreeSet<&String> = left.iter().map(|(_, to)| to).collect();
        let kept: BTreeSet<_> =
            left.iter().copied().filter(|(from, to)| targets.contains(from) && sources.contains(to)).collect();
        if kept.len() == left.len() {
            break;
        }
        left = kept;
    }
    let level = if level.is_empty() { "the crate" } else { level };
    left.into_iter().map(|edge| format!("in {level}: {} -> {} ({})", edge.0, edge.1, edges[edge])).collect()
}

#[test]
fn circle_of_siblings_is_found() {
    let file = |path: &str, text: &str| (format!("x/src/{path}.rs"), text.to_owned());
    let files = |b: &str| {
        let more = ["d", "e", "f", "g"].map(|name| file(name, ""));
        let abc = [file("lib", ""), file("a/mod", "use crate::{b::{B, C}, d};"), file("b/x", b), file("b/mod", "")];
        more.into_iter().chain(abc).collect::<Vec<_>>()
    };
    assert_eq!(circles(&files("use crate::d::D;"), "x/src"), [""; 0]);
    assert_eq!(circles(&files("// crate::a\nuse super::super::d;"), "x/src"), [""; 0]);
    assert_eq!(circles(&files("fn f() { crate::a::g() }"), "x/src").len(), 2);
    assert_eq!(circles(&files("use crate::{\n    d,\n    a::A,\n};"), "x/src").len(), 2);
}
