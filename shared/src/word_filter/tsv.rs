//! The text form of a dictionary: `term TAB category [TAB action]`, one term on each line.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use super::{Term, TermAction};

/// A line that is not a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TsvError {
    /// Its number, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: InvalidTsvLine,
}

/// What is wrong with a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidTsvLine {
    /// Not two or three fields.
    Fields,
    /// The first field is empty.
    Term,
    /// The second field is empty.
    Category,
    /// The third field is not `mask`, `review` or `block`.
    Action,
}

impl fmt::Display for TsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl fmt::Display for InvalidTsvLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Fields => "not `term TAB category` or `term TAB category TAB action`",
            Self::Term => "the term is empty",
            Self::Category => "the category is empty",
            Self::Action => "the action is not mask, review or block",
        })
    }
}

impl core::error::Error for TsvError {}

/// Reads terms from `term TAB category [TAB action]`, one on each line.
///
/// Without a third field, or with an empty one, a term gets `default_action`. A byte order mark
/// and CRLF are accepted; spaces around a field and blank lines are ignored. A line is a comment if it is
/// `#` alone or begins with `#` and a space: `#topic` is a term.
/// [`Dictionary::build`](super::Dictionary::build) checks the lengths.
///
/// # Errors
///
/// [`TsvError`] names the first line that is not a term.
///
/// ```
/// use gailou_shared::word_filter::{TermAction, parse_tsv};
/// let terms = parse_tsv("# term, category\n兼职\tad\nx.com\tspam\tblock\n", TermAction::Review)?;
/// assert_eq!((terms[0].action, terms[1].action), (TermAction::Review, TermAction::Block));
/// assert_eq!(parse_tsv("兼职", TermAction::Mask).unwrap_err().line, 1);
/// # Ok::<(), gailou_shared::word_filter::TsvError>(())
/// ```
pub fn parse_tsv(text: &str, default_action: TermAction) -> Result<Vec<Term>, TsvError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .filter(|(_, line)| !is_comment_or_blank(line))
        .map(|(i, line)| parse_line(line, default_action).map_err(|reason| TsvError { line: i + 1, reason }))
        .collect()
}

fn is_comment_or_blank(line: &str) -> bool {
    let line = line.trim_end();
    line.is_empty() || line == "#" || line.starts_with("# ")
}

fn parse_line(line: &str, default_action: TermAction) -> Result<Term, InvalidTsvLine> {
    let mut fields = line.split('\t').map(str::trim);
    let (Some(term), Some(category), action, None) = (fields.next(), fields.next(), fields.next(), fields.next())
    else {
        return Err(InvalidTsvLine::Fields);
    };
    if term.is_empty() {
        return Err(InvalidTsvLine::Term);
    }
    if category.is_empty() {
        return Err(InvalidTsvLine::Category);
    }
    let action = match action {
        None | Some("") => default_action,
        Some("mask") => TermAction::Mask,
        Some("review") => TermAction::Review,
        Some("block") => TermAction::Block,
        Some(_) => return Err(InvalidTsvLine::Action),
    };
    Ok(Term { term: term.to_string(), category: category.to_string(), action })
}
