//! The documents match the repository: their links, paths, types and functions exist, the runbook
//! explains every metric, warning and error of the origin, and no others, and the tables of errors and
//! limits are those of the code. What is written for a deployment matches too.

mod deployment;
mod limits;

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

#[test]
fn items_in_documents_exist() {
    let code: Vec<String> = files(".rs").iter().map(|name| read(name)).collect();
    let declares = |text: &str, kinds: &[&str], name: &str| {
        kinds.iter().any(|kind| {
            text.match_indices(&format!("{kind} {name}"))
                .any(|(at, found)| !text[at + found.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        })
    };
    let mut missing = Vec::new();
    for name in files(".md") {
        let text = prose(&read(&name));
        for item in text.split('`').skip(1).step_by(2) {
            let Some((owner, member)) = item.split_once("::") else { continue };
            let is_type =
                owner.starts_with(char::is_uppercase) && member.chars().all(|c| c.is_alphanumeric() || c == '_');
            let exists = |text: &String| {
                declares(text, &["struct", "enum", "trait"], owner) && declares(text, &["fn", "const"], member)
            };
            if is_type && !code.iter().any(exists) {
                missing.push(format!("{name}: {item}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The code of the origin without its tests.
fn origin_code() -> String {
    let is_product = |name: &&String| {
        let is_test = |part: &str| matches!(part, "testing" | "tests" | "tests.rs" | "contract.rs");
        name.starts_with("origin/src/") && !name.split('/').any(is_test)
    };
    let code = |name: &String| {
        let text = read(name);
        text.split("\nmod tests {").next().unwrap_or_default().to_owned()
    };
    files(".rs").iter().filter(is_product).map(code).collect()
}

/// The names of metrics after each occurrence of `before`.
fn metrics(text: &str, before: &str) -> BTreeSet<String> {
    let named = |part: &str| {
        let name: String = part.chars().take_while(|c| c.is_ascii_lowercase() || *c == '_').collect();
        format!("gailou_{name}")
    };
    text.split(&format!("{before}gailou_")).skip(1).map(named).collect()
}

fn assert_same<T: Ord + std::fmt::Debug>(code: &BTreeSet<T>, runbook: &BTreeSet<T>) {
    let missing: Vec<_> = code.difference(runbook).collect();
    let outdated: Vec<_> = runbook.difference(code).collect();
    assert!(missing.is_empty(), "docs/operations.md needs a row for each of these: {missing:#?}");
    assert!(outdated.is_empty(), "docs/operations.md names what origin/src does not have: {outdated:#?}");
}

#[test]
fn every_metric_has_a_row() {
    let rows = metrics(&read("docs/operations.md"), "\n| `");
    assert!(!rows.is_empty());
    // The names of cookies begin like those of metrics.
    let code = origin_code().replace("_COOKIE: &str = \"", "");
    assert_same(&metrics(&code, "\""), &rows);
}

#[test]
fn documents_name_existing_metrics() {
    let existing = metrics(&origin_code(), "\"");
    for name in files(".md") {
        let unknown: Vec<_> = metrics(&read(&name), "`").into_iter().filter(|name| !existing.contains(name)).collect();
        assert!(unknown.is_empty(), "{name}: {unknown:?}");
    }
}

/// Warnings and errors in code: level and sentence. The sentence is the first literal that is not a field.
fn log_lines(code: &str) -> BTreeSet<(&'static str, String)> {
    let mut lines = BTreeSet::new();
    for (level, call) in [("WARN", "warn!("), ("ERROR", "error!(")] {
        for arguments in code.split(call).skip(1) {
            let parts: Vec<&str> = arguments.split('"').collect();
            let is_field = |before: &str| !(before.is_empty() || before.trim_end().ends_with(','));
            let sentence = parts.chunks_exact(2).find(|pair| !is_field(pair[0])).map(|pair| pair[1]);
            lines.insert((level, sentence.expect("a log line has a sentence").to_owned()));
        }
    }
    lines
}

/// The rows of the runbook's tables of log lines: level and sentence.
fn runbook_lines(runbook: &str) -> BTreeSet<(&'static str, String)> {
    let mut lines = BTreeSet::new();
    for row in runbook.lines().filter_map(|line| line.strip_prefix("| ")) {
        let [levels, sentence, meaning] = row.trim_end_matches(" |").splitn(3, " | ").collect::<Vec<_>>()[..] else {
            continue;
        };
        for level in ["WARN", "ERROR"].into_iter().filter(|level| levels.split(", ").any(|named| named == *level)) {
            assert!(!meaning.is_empty(), "{sentence} has no meaning");
            lines.insert((level, sentence.trim_matches('`').to_owned()));
        }
    }
    lines
}

#[test]
fn every_warning_and_error_has_a_row() {
    let rows = runbook_lines(&read("docs/operations.md"));
    assert!(!rows.is_empty());
    assert_same(&log_lines(&origin_code()), &rows);
}

#[test]
fn sentence_of_a_log_line_is_no_field() {
    let code = "a(); tracing::warn!(\n    topic = \"rebuild\",\n    %error,\n    \"Could not read {x}; going on\"\n); b(\"c\")";
    assert_eq!(log_lines(code), BTreeSet::from([("WARN", "Could not read {x}; going on".to_owned())]));
    let rows = "| level | line | meaning |\n|---|---|---|\n| ERROR, WARN | `Driver: {x}` | Check it. |";
    let expected = ["ERROR", "WARN"].map(|level| (level, "Driver: {x}".to_owned()));
    assert_eq!(runbook_lines(rows), BTreeSet::from(expected));
}
