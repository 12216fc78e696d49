//! The files of the repository, and their lines of code.

use std::path::Path;
use std::process::Command;

/// Every file of the repository that is not ignored: its path and its text. Binary files are left out.
pub(crate) fn read_sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard", "-z"])
        .current_dir(&root)
        .output()
        .expect("git runs");
    assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    let files = names
        .split_terminator('\0')
        .filter_map(|name| Some((name.to_owned(), std::fs::read_to_string(root.join(name)).ok()?)));
    let files: Vec<_> = files.collect();
    assert!(
        files.len() > 50 && files.iter().any(|(name, _)| name == "shared/src/lib.rs"),
        "this is not the repository"
    );
    files
}

/// Whether `line` has `word` where a name begins.
pub(crate) fn begins_a_name(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

/// The text of a Rust file without its inline tests.
pub(crate) fn product(text: &str) -> &str {
    let ends = ["\n#[cfg(test)]\nmod tests {", "\n#[cfg(all(test, feature = \"cluster\"))]\nmod tests {"];
    ends.iter().filter_map(|end| text.find(end)).min().map_or(text, |end| &text[..end])
}

/// Lines of code that are neither comments nor inline tests: `(path, number, line)`.
pub(crate) fn code_lines(files: &[(String, String)]) -> impl Iterator<Item = (&str, usize, &str)> {
    let rust = files.iter().filter(|(name, _)| name.ends_with(".rs"));
    rust.flat_map(|(name, text)| {
        let lines = product(text).lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        lines.map(|(number, line)| (name.as_str(), number + 1, line))
    })
}

/// Whether a file is compiled for tests alone.
pub(crate) fn is_test_code(path: &str) -> bool {
    let part = |part: &str| matches!(part, "tests" | "tests.rs" | "testing" | "contract.rs" | "fuzz" | "benches");
    path.split('/').any(part)
}
