//! Rules about the tree itself that no compiler knows: who may name whom, how long files are, and
//! what must not be in any file.

use std::path::Path;
use std::process::Command;

/// Rust files that may be longer than [`LINES`], and why.
const LONG: [(&str, &str); 0] = [];
const LINES: usize = 500;

/// Every file of the repository that is not ignored: its path and its text. Binary files are left out.
fn files() -> Vec<(String, String)> {
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

/// Whether `line` has `word`, beginning where a name begins.
fn names(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || c == '_' || c == ':')
    })
}

/// Lines of code that are neither comments nor what only tests compile: `(path, number, line)`.
fn code(files: &[(String, String)]) -> impl Iterator<Item = (&str, usize, &str)> {
    let rust = files.iter().filter(|(name, _)| name.ends_with(".rs"));
    rust.flat_map(|(name, text)| {
        let product = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap_or(text);
        let lines = product.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"));
        lines.map(|(number, line)| (name.as_str(), number + 1, line))
    })
}

/// Fails with every line of code in `of` that has one of the words, unless `may` lets the file.
#[track_caller]
fn forbid(files: &[(String, String)], of: &str, words: &[&str], may: impl Fn(&str) -> bool, why: &str) {
    let wrong: Vec<_> = code(files)
        .filter(|(path, ..)| path.starts_with(of) && !path.starts_with("tests/") && !may(path))
        .filter(|(.., line)| words.iter().any(|word| names(line, word)))
        .map(|(path, number, line)| format!("{path}:{number}: {}", line.trim()))
        .collect();
    assert!(wrong.is_empty(), "{why}:\n{}", wrong.join("\n"));
}

#[test]
fn drivers_stay_in_their_adapters() {
    let files = files();
    let table: [(&[&str], &str); 5] = [
        (&["rusqlite::", "rusqlite_migration::"], "origin/src/adapters/sqlite/"),
        (&["sqlx::"], "origin/src/adapters/mysql/"),
        (&["redis::", "fred::"], "origin/src/adapters/redis/"),
        (&["rdkafka::"], "origin/src/adapters/kafka/"),
        (&["reqwest::", "hyper_rustls::", "hyper_util::client"], "origin/src/adapters/cloudflare"),
    ];
    for (words, folder) in table {
        forbid(&files, "", words, |path| path.contains(folder), "a driver is known to its adapter alone");
    }
    forbid(
        &files,
        "",
        &["worker::"],
        |path| path.starts_with("edge/src/cloudflare/"),
        "only edge/src/cloudflare knows the platform",
    );
}

#[test]
fn layers_know_what_is_below_them_alone() {
    let files = files();
    let none = |_: &str| false;
    forbid(&files, "edge/", &["gailou::"], none, "the edge does not know the origin");
    forbid(&files, "origin/", &["gailou_edge"], none, "the origin does not know the edge");
    forbid(&files, "shared/", &["gailou::", "gailou_edge"], none, "the shared crate knows nobody");
    let below_bootstrap = |path: &str| {
        ["adapters", "bootstrap", "state", "testing"]
            .iter()
            .any(|room| path.starts_with(&format!("origin/src/{room}/")))
            || path.starts_with("origin/src/cli/")
            || path.starts_with("origin/benches/")
            || path.ends_with("/tests.rs")
    };
    forbid(&files, "origin/", &["crate::adapters"], below_bootstrap, "only bootstrap chooses adapters");
    for layer in ["service", "domain", "ports", "cluster", "jobs"] {
        let layer = format!("origin/src/{layer}/");
        forbid(&files, &layer, &["axum::", "crate::http", "http::"], none, "HTTP is known to origin/src/http alone");
    }
    for layer in ["domain", "ports", "adapters", "cluster"] {
        let layer = format!("origin/src/{layer}/");
        forbid(&files, &layer, &["crate::service"], none, "what is below the services does not know them");
    }
}

#[test]
fn the_shared_crate_has_no_std() {
    let files = files();
    let (_, lib) = files.iter().find(|(name, _)| name == "shared/src/lib.rs").unwrap();
    assert!(lib.lines().any(|line| line == "#![no_std]"));
    forbid(&files, "shared/src/", &["std::", "::std::", "extern crate std"], |_| false, "the shared crate is no_std");
    let clocks = ["SystemTime", "Instant", "rand::", "tokio", "futures"];
    forbid(&files, "shared/src/", &clocks, |_| false, "no clock, no randomness, no async in the shared crate");
}

#[test]
fn files_are_short_enough_to_be_read() {
    let files = files();
    let long: Vec<_> =
        files.iter().filter(|(name, text)| name.ends_with(".rs") && text.lines().count() > LINES).collect();
    let unlisted: Vec<_> =
        long.iter().filter(|(name, _)| LONG.iter().all(|(listed, _)| listed != name)).map(|(name, _)| name).collect();
    assert!(unlisted.is_empty(), "more than {LINES} lines, and no reason: {unlisted:?}");
    for (name, _) in LONG {
        assert!(long.iter().any(|(long, _)| long == name), "{name} is short now: take it off the list");
    }
}

#[test]
fn modules_say_what_they_do() {
    let silent: Vec<_> = files()
        .into_iter()
        .filter(|(name, text)| name.ends_with(".rs") && !text.starts_with("//!"))
        .map(|(name, _)| name)
        .filter(|name| !name.ends_with("/tests.rs") && !name.ends_with("_tests.rs"))
        .collect();
    assert!(silent.is_empty(), "without //!: {silent:?}");
}

#[test]
fn no_file_holds_a_secret_or_a_host_of_its_author() {
    // Put together here, so that this file is not one of them.
    let secrets = [
        ["-----BEGIN ", "PRIVATE KEY"],
        ["-----BEGIN RSA ", "PRIVATE KEY"],
        ["-----BEGIN EC ", "PRIVATE KEY"],
        ["-----BEGIN OPENSSH ", "PRIVATE KEY"],
        ["AKIA", "IOSFODNN"],
        ["ghp", "_"],
        ["github", "_pat_"],
        ["glpat", "-"],
        ["xoxb", "-"],
        ["npm", "_token"],
        ["_auth", "Token"],
        ["artif", "actory"],
        ["registry-", "mirror"],
        ["/home", "/"],
        ["/Us", "ers/"],
        ["/ro", "ot/"],
    ]
    .map(|parts| parts.concat());
    let mut wrong = Vec::new();
    for (name, text) in files() {
        for (number, line) in text.lines().enumerate() {
            if secrets.iter().any(|secret| line.contains(secret)) {
                wrong.push(format!("{name}:{}: {}", number + 1, line.chars().take(120).collect::<String>()));
            }
        }
        // Packages come from the public registries, whatever mirror the last machine used.
        let (mark, registry) = match name.as_str() {
            "Cargo.lock" => ("source = ", "source = \"registry+https://github.com/rust-lang/crates.io-index\""),
            "package-lock.json" => ("\"resolved\": ", "\"resolved\": \"https://registry.npmjs.org/"),
            _ => continue,
        };
        for line in text.lines().map(str::trim).filter(|line| line.starts_with(mark) && !line.starts_with(registry)) {
            wrong.push(format!("{name}: {line}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
