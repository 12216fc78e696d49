//! The documents say what is there: their links and paths exist, and the metrics they explain are
//! the metrics there are.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders that a path in a document begins with.
const ROOTS: [&str; 8] = ["origin/", "edge/", "shared/", "tests/", "migrations/", "scripts/", "docs/", "examples/"];
/// Folders that are built, not stored.
const BUILT: [&str; 2] = ["edge/build", "edge/web/dist"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The stored files with this ending.
fn files(ending: &str) -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"])
        .current_dir(root())
        .output()
        .expect("git runs");
    let names = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let exists = |name: &&str| name.ends_with(ending) && root().join(name).exists();
    names.lines().filter(exists).map(str::to_owned).collect()
}

/// The text without its fenced blocks.
fn prose(text: &str) -> String {
    text.split("```").step_by(2).collect()
}

/// The address that GitHub gives a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The targets of the links in a text.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link)
}

#[test]
fn links_lead_somewhere() {
    let mut broken = Vec::new();
    for name in files(".md") {
        let text = read(&name);
        for link in links(&prose(&text)) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let folder = Path::new(&name).parent().unwrap_or(Path::new(""));
            let target = if path.is_empty() { PathBuf::from(&name) } else { folder.join(path) };
            if !root().join(&target).exists() {
                broken.push(format!("{name}: {link}: no such file"));
            } else if !heading.is_empty() {
                let there = read(&target.to_string_lossy());
                if !prose(&there).lines().any(|line| line.starts_with('#') && anchor(line) == heading) {
                    broken.push(format!("{name}: {link}: no such heading"));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

#[test]
fn paths_in_documents_exist() {
    let mut missing = Vec::new();
    for name in files(".md") {
        let text = prose(&read(&name));
        for code in text.split('`').skip(1).step_by(2) {
            let path = code.trim_end_matches('/');
            let is_path = ROOTS.iter().any(|root| code.starts_with(root)) && !path.contains(['*', '{', ' ', '<', '…']);
            if is_path && !BUILT.iter().any(|built| path.starts_with(built)) && !root().join(path).exists() {
                missing.push(format!("{name}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The names in a text that begin with `gailou_` and are no crate's.
fn metrics(text: &str, quote: char) -> BTreeSet<String> {
    let named = |part: &str| {
        let name: String = part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        format!("gailou_{name}")
    };
    text.split(&format!("{quote}gailou_")).skip(1).map(named).filter(|name| name != "gailou_test_").collect()
}

#[test]
fn every_metric_is_explained() {
    let code: String =
        files(".rs").iter().filter(|name| name.starts_with("origin/src/")).map(|name| read(name)).collect();
    let (there, explained) = (metrics(&code, '"'), metrics(&read("docs/operations.md"), '`'));
    assert_eq!(there.difference(&explained).collect::<Vec<_>>(), Vec::<&String>::new(), "not in docs/operations.md");
    assert_eq!(explained.difference(&there).collect::<Vec<_>>(), Vec::<&String>::new(), "no longer in the program");
}
