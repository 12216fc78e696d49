//! Rules about the tree that no compiler checks: who may name whom, the module graph, names, words,
//! log lines, the length of files, and what no file may contain.

mod graph;
mod logs;
mod names;
mod sources;

use sources::{code_lines, read_sources};

/// Lines of a Rust file at most.
const MAX_LINES: usize = 500;

/// Fails with every line of code in `of` that names one of the words, unless `may` allows the file.
#[track_caller]
fn forbid(files: &[(String, String)], of: &str, words: &[&str], may: impl Fn(&str) -> bool, why: &str) {
    let wrong: Vec<_> = code_lines(files)
        .filter(|(path, ..)| path.starts_with(of) && !path.starts_with("tests/") && !may(path))
        .filter(|(.., line)| words.iter().any(|word| sources::begins_a_name(line, word)))
        .map(|(path, number, line)| format!("{path}:{number}: {}", line.trim()))
        .collect();
    assert!(wrong.is_empty(), "{why}:\n{}", wrong.join("\n"));
}

#[test]
fn drivers_stay_in_their_adapters() {
    let files = read_sources();
    let table: [(&[&str], &[&str]); 8] = [
        (&["rusqlite::", "rusqlite_migration::"], &["sqlite/"]),
        (&["sqlx::"], &["mysql/"]),
        (&["redis::", "fred::"], &["redis/"]),
        (&["rdkafka::"], &["kafka/"]),
        (&["tantivy::"], &["tantivy/"]),
        (&["object_store::"], &["object_store/"]),
        (&["opentelemetry_otlp::", "opentelemetry_sdk::"], &["trace_collector"]),
        (&["reqwest::", "hyper_rustls::", "hyper_util::client"], &["https_client"]),
    ];
    for (words, adapters) in table {
        // Isso's export is a database, and a client's business is HTTP.
        let is_adapter = |path: &str| {
            path == "origin/src/importers/isso.rs"
                || path.starts_with("packages/rust/")
                || adapters.iter().any(|name| path.starts_with(&format!("origin/src/adapters/{name}")))
        };
        forbid(&files, "", words, is_adapter, "a driver is known to its adapter alone");
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
    let files = read_sources();
    let none = |_: &str| false;
    forbid(&files, "edge/", &["gailou::"], none, "the edge does not know the origin");
    forbid(&files, "origin/", &["gailou_edge"], none, "the origin does not know the edge");
    forbid(&files, "shared/", &["gailou::", "gailou_edge"], none, "the shared crate imports no other");
    forbid(&files, "packages/rust/", &["gailou::", "gailou_edge"], none, "a client knows the wire types alone");
    let below_bootstrap = |path: &str| {
        ["adapters", "bootstrap", "state", "testing"]
            .iter()
            .any(|room| path.starts_with(&format!("origin/src/{room}/")))
            || path.starts_with("origin/src/cli/")
            || path.starts_with("origin/benches/")
            || path.ends_with("/tests.rs")
            || path.contains("/tests/")
    };
    forbid(&files, "origin/", &["crate::adapters"], below_bootstrap, "only bootstrap chooses adapters");
    for layer in ["service", "domain", "ports", "cluster", "jobs"] {
        let layer = format!("origin/src/{layer}/");
        forbid(&files, &layer, &["axum::", "crate::http", "http::"], none, "HTTP is known to origin/src/http alone");
    }
    for room in ["state/", "config/", "cli/", "telemetry/"] {
        let commands = |path: &str| path == "origin/src/cli/serve.rs";
        let words = ["axum::", "crate::http"];
        forbid(&files, &format!("origin/src/{room}"), &words, commands, "HTTP is known to origin/src/http alone");
    }
    for layer in ["domain", "ports", "adapters", "cluster"] {
        let layer = format!("origin/src/{layer}/");
        forbid(&files, &layer, &["crate::service"], none, "what is below the services does not know them");
    }
}

#[test]
fn the_shared_crate_has_no_std() {
    let mut files = read_sources();
    let (_, lib) = files.iter_mut().find(|(name, _)| name == "shared/src/lib.rs").unwrap();
    assert!(lib.lines().any(|line| line == "#![no_std]"));
    // The one exception: the descriptions that only the origin turns on.
    *lib = lib.replace("#[cfg(feature = \"openapi\")]\n#[macro_use]\nextern crate std;\n", "");
    forbid(&files, "shared/src/", &["std::", "::std::", "extern crate std"], |_| false, "the shared crate is no_std");
    for (feature, why) in [
        ("openapi", "only the origin describes the wire types"),
        ("lookalikes", "the tables of look-alike letters are too large for the Worker"),
    ] {
        let feature = format!("\"{feature}\"");
        let with_it = files.iter().filter(|(name, text)| name.ends_with("Cargo.toml") && text.contains(&feature));
        assert_eq!(with_it.map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["origin/Cargo.toml"], "{why}");
    }
    let clocks = ["SystemTime", "Instant", "rand::", "tokio", "futures"];
    forbid(&files, "shared/src/", &clocks, |_| false, "no clock, no randomness, no async in the shared crate");
}

#[test]
fn files_are_short_enough_to_be_read() {
    let files = read_sources();
    let long = files.iter().filter(|(name, text)| name.ends_with(".rs") && text.lines().count() > MAX_LINES);
    let long: Vec<_> = long.map(|(name, _)| name).collect();
    assert!(long.is_empty(), "more than {MAX_LINES} lines: {long:?}");
}

#[test]
fn modules_say_what_they_do() {
    let silent: Vec<_> = read_sources()
        .into_iter()
        .filter(|(name, text)| name.ends_with(".rs") && !text.starts_with("//!"))
        .map(|(name, _)| name)
        .collect();
    assert!(silent.is_empty(), "without //!: {silent:?}");
}

#[test]
fn test_files_are_called_tests_and_declared_plainly() {
    let files = read_sources();
    let wrong: Vec<_> = code_lines(&files)
        .filter(|(path, ..)| path.contains("/src/"))
        .filter(|(path, _, line)| line.trim_start().starts_with("#[path") || path.ends_with("_tests.rs"))
        .map(|(path, ..)| path)
        .collect();
    let wrong: std::collections::BTreeSet<_> = wrong.into_iter().collect();
    assert!(wrong.is_empty(), "unit tests are inline or in tests.rs of their module's folder: {wrong:?}");
}

#[test]
fn modules_form_no_circle() {
    let files = read_sources();
    for root in ["shared/src", "edge/src", "origin/src", "packages/rust/src"] {
        let circles = graph::circles(&files, root);
        assert!(circles.is_empty(), "modules of {root} that know each other:\n{}", circles.join("\n"));
    }
}

#[test]
fn types_have_names_of_their_own() {
    let doubled = names::doubled_types(&read_sources());
    assert!(doubled.is_empty(), "one name, one thing, in the whole workspace:\n{}", doubled.join("\n"));
}

#[test]
fn constants_say_what_they_bound() {
    let vague = names::one_word_constants(&read_sources());
    assert!(vague.is_empty(), "a constant names its purpose and unit:\n{}", vague.join("\n"));
}

#[test]
fn simulated_code_chooses_nothing_by_chance() {
    let folders = ["origin/src/cluster/", "origin/src/jobs/", "origin/src/state/"];
    let begins_by_chance = |text: &str| {
        let mut lines = text.lines().skip_while(|line| !line.contains("select! {"));
        let found = lines.next().is_some();
        found && lines.next().is_none_or(|line| line.trim() != "biased;")
    };
    let wrong: Vec<_> = read_sources()
        .into_iter()
        .filter(|(name, _)| folders.iter().any(|folder| name.starts_with(folder)))
        .filter(|(_, text)| text.match_indices("select! {").any(|(at, _)| begins_by_chance(&text[at..])))
        .map(|(name, _)| name)
        .collect();
    assert!(wrong.is_empty(), "a `select!` of code that the simulation runs begins with `biased;`: {wrong:?}");
}

#[test]
fn words_are_the_fields_own() {
    let found = names::banned_words(&read_sources());
    assert!(found.is_empty(), "docs/glossary.md has the words instead:\n{}", found.join("\n"));
}

#[test]
fn warnings_and_errors_name_their_identifier() {
    let wrong = logs::without_identifier(&read_sources());
    assert!(wrong.is_empty(), "docs/logging.md has the rule:\n{}", wrong.join("\n"));
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
    for (name, text) in read_sources() {
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
