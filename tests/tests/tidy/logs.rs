//! Log lines: a warning or an error says in its sentence, and in a field, what it is about.

use crate::sources::{is_test_code, product};

/// Warnings and errors without a field of their own or without it in the sentence.
pub(crate) fn without_identifier(files: &[(String, String)]) -> Vec<String> {
    let mut wrong = Vec::new();
    for (path, text) in files.iter().filter(|(path, _)| path.ends_with(".rs") && !is_test_code(path)) {
        let text = product(text);
        for level in ["tracing::warn!(", "tracing::error!("] {
            for (at, _) in text.match_indices(level) {
                let call = arguments(&text[at + level.len()..]);
                if let Some(why) = fault(call) {
                    let number = text[..at].lines().count() + 1;
                    wrong.push(format!("{path}:{number}: {why}"));
                }
            }
        }
    }
    wrong
}

/// What is wrong with a call's arguments.
fn fault(call: &str) -> Option<&'static str> {
    let arguments = split(call);
    let message = arguments.iter().find_map(|argument| argument.strip_prefix('"'))?;
    let fields = arguments.iter().filter(|argument| !argument.is_empty() && !argument.starts_with('"'));
    let names = fields.map(|field| field.split('=').next().unwrap_or("").trim().trim_start_matches(['%', '?']));
    if !message.starts_with(|c: char| c.is_uppercase() || c == '{') {
        Some("the message is not a sentence")
    } else if names.filter(|name| *name != "error").count() == 0 {
        Some("no field but the error")
    } else if !message.contains('{') {
        Some("the sentence does not have the identifier")
    } else {
        None
    }
}

/// The arguments of a call.
fn split(call: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth, mut quoted) = (Vec::new(), 0, 0, false);
    for (at, c) in call.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' | '[' if !quoted => depth += 1,
            ')' | ']' if !quoted => depth -= 1,
            ',' if !quoted && depth == 0 => {
                parts.push(call[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(call[begin..].trim());
    parts
}

/// The text up to the parenthesis that closes the call.
fn arguments(text: &str) -> &str {
    let (mut depth, mut quoted, mut escaped) = (0, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted && depth == 0 => return &text[..at],
            ')' if !quoted => depth -= 1,
            _ => {}
        }
    }
    text
}

#[test]
fn calls_are_judged_by_fields_and_sentence() {
    assert_eq!(fault(arguments(r#"topic, %error, "Could not read {topic} (again)"); f()"#)), None);
    assert_eq!(fault(r#"%error, "Could not read {x}""#), Some("no field but the error"));
    assert_eq!(fault(r#"topic, "Could not read""#), Some("the sentence does not have the identifier"));
    assert_eq!(fault(r#"topic = name(f), "sweep {topic}""#), Some("the message is not a sentence"));
}
