//! Names: unique types, constants with a purpose, and words that the field does not use.

use std::collections::BTreeMap;

use crate::sources::{code_lines, is_test_code};

/// Constants of one word that say enough: each belongs to a type whose name precedes it.
const ONE_WORD_CONSTANTS: [&str; 8] = ["ALL", "DEFAULT", "FIRST", "LAST", "MAX", "MIN", "NONE", "ZERO"];

/// Words of a private dialect, where the field has its own.
const BANNED_WORDS: [&str; 9] = ["told", "tell", "tells", "telling", "whoever", "somebody", "nobody", "untold", "bury"];

/// Types whose name occurs more than once.
pub(crate) fn doubled_types(files: &[(String, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, number, line) in
        code_lines(files).filter(|(path, ..)| path.starts_with("tests/src/") || !is_test_code(path))
    {
        if let Some(name) = declared(line, &["struct ", "enum ", "trait ", "union "]) {
            places.entry(name).or_default().push(format!("{path}:{number}"));
        }
    }
    let doubled = places.into_iter().filter(|(_, places)| places.len() > 1);
    doubled.map(|(name, places)| format!("{name}: {}", places.join(", "))).collect()
}

/// The name of a declaration at the beginning of a line.
fn declared<'a>(line: &'a str, keywords: &[&str]) -> Option<&'a str> {
    let rest = match (line.strip_prefix("pub("), line.strip_prefix("pub ")) {
        (Some(rest), _) => rest.split_once(") ")?.1,
        (None, Some(rest)) => rest,
        (None, None) => line,
    };
    let rest = keywords.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

/// Constants and statics of one word.
pub(crate) fn one_word_constants(files: &[(String, String)]) -> Vec<String> {
    let mut vague = Vec::new();
    for (path, number, line) in code_lines(files).filter(|(path, ..)| !is_test_code(path)) {
        let Some(at) = ["const ", "static "].iter().find_map(|keyword| Some(line.find(keyword)? + keyword.len()))
        else {
            continue;
        };
        let name = line[at..].split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        let is_constant = name.len() > 1 && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit());
        let is_associated = line.starts_with("    ");
        if is_constant && !(is_associated && ONE_WORD_CONSTANTS.contains(&name)) {
            vague.push(format!("{path}:{number}: {name}"));
        }
    }
    vague
}

/// Lines of code, comments and documents with a banned word.
pub(crate) fn banned_words(files: &[(String, String)]) -> Vec<String> {
    let kinds = [".rs", ".lua", ".sql", ".sh", ".ts", ".mjs", ".md", ".toml", ".yml", ".yaml"];
    let mut found = Vec::new();
    for (path, text) in files {
        if !kinds.iter().any(|kind| path.ends_with(kind)) || path == "tests/tests/tidy/names.rs" {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let words = line.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
            if let Some(word) = words.into_iter().find(|word| BANNED_WORDS.contains(&word.as_str())) {
                found.push(format!("{path}:{}: {word}", number + 1));
            }
        }
    }
    found
}

#[test]
fn declarations_are_recognised() {
    let types = ["struct ", "enum "];
    assert_eq!(declared("pub struct Page {", &types), Some("Page"));
    assert_eq!(declared("pub(crate) enum Verdict<'a> {", &types), Some("Verdict"));
    assert_eq!(declared("struct Private;", &types), Some("Private"));
    assert_eq!(declared("    struct Local;", &types), None);
    assert_eq!(declared("pub fn page() {", &types), None);
}
