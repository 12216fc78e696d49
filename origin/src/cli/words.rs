//! `gailou words load`: replaces the dictionary of the word filter.
//!
//! Existing comments are not filtered again. Promise: a file with a bad line or an invalid term changes
//! nothing.

use anyhow::Context as _;
use gailou_shared::word_filter::{Dictionary, DictionaryError, TermAction, parse_tsv};
use serde_json::json;

use crate::cli::input::read_all;
use crate::cli::output::Console;
use crate::domain::audit::AuditEntry;
use crate::domain::operation::Operation;
use crate::service::audit_log;
use crate::service::import::Input;
use crate::state::AppState;

/// Longest file, in bytes: many times the largest dictionary.
const MAX_FILE_BYTES: usize = 64 << 20;

/// The action with this name.
pub(super) fn action(name: &str) -> Result<TermAction, String> {
    match name {
        "mask" => Ok(TermAction::Mask),
        "review" => Ok(TermAction::Review),
        "block" => Ok(TermAction::Block),
        _ => Err("must be mask, review or block".into()),
    }
}

/// Loads the dictionary from `input`.
pub(super) async fn load(
    app: &AppState,
    action: TermAction,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let text = String::from_utf8(read_all(input, MAX_FILE_BYTES).await?).context("the file is not UTF-8")?;
    let terms = parse_tsv(&text, action)?;
    if let Err(error) = Dictionary::build(0, &terms) {
        let term = match error {
            DictionaryError::Term { index, .. } => terms.get(index).map(|term| term.term.as_str()),
            _ => None,
        };
        return Err(error).with_context(|| format!("the dictionary is invalid{}", describe_term(term)));
    }
    let count = terms.len();
    let audit = Some(AuditEntry {
        before: Some(json!({"version": app.tables.read_dictionary_version().await?})),
        after: Some(json!({"count": count})),
        ..audit_log::operator_entry(app, "words")
    });
    app.journal.append(Operation::Dictionary { terms, expected_version: None, audit }).await?;
    app.reload_dictionary().await?;
    console.out(&format!("{count} terms, version {}\n", app.dictionary().version())).await?;
    Ok(0)
}

fn describe_term(term: Option<&str>) -> String {
    term.map(|term| format!(" at the term {:?}", term.chars().take(40).collect::<String>())).unwrap_or_default()
}
