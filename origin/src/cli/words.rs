//! `gailou words load`: replaces the dictionary of the word filter.
//!
//! Does not look at comments that are there already. Promise: a file with a bad line or a term
//! that cannot be built changes nothing.

use anyhow::Context as _;
use gailou_shared::word_filter::{Dictionary, DictionaryError, TermAction, parse_tsv};

use crate::cli::input::{Input, read_all};
use crate::cli::output::Console;
use crate::domain::operation::Operation;
use crate::state::AppState;

/// Longest file, in bytes: every term at its longest with category and action fits many times.
const FILE_BYTES: usize = 64 << 20;

/// The action with this name.
pub(super) fn action(name: &str) -> Result<TermAction, String> {
    match name {
        "mask" => Ok(TermAction::Mask),
        "review" => Ok(TermAction::Review),
        "block" => Ok(TermAction::Block),
        _ => Err("must be mask, review or block".into()),
    }
}

/// Loads the dictionary that `input` holds.
pub(super) async fn load(
    app: &AppState,
    action: TermAction,
    input: &mut dyn Input,
    console: &mut dyn Console,
) -> anyhow::Result<u8> {
    let text = String::from_utf8(read_all(input, FILE_BYTES).await?).context("the file is not UTF-8")?;
    let terms = parse_tsv(&text, action)?;
    if let Err(error) = Dictionary::build(0, &terms) {
        let term = match error {
            DictionaryError::Term { index, .. } => terms.get(index).map(|term| term.term.as_str()),
            _ => None,
        };
        return Err(error).with_context(|| format!("the dictionary cannot be built{}", near(term)));
    }
    let count = terms.len();
    app.journal.append(Operation::Dictionary(terms)).await?;
    app.reload_dictionary().await?;
    console.out(&format!("{count} terms, version {}\n", app.dictionary().version())).await?;
    Ok(0)
}

fn near(term: Option<&str>) -> String {
    term.map(|term| format!(", at {:?}", term.chars().take(40).collect::<String>())).unwrap_or_default()
}
