//! What the dictionary makes of a text, before it is stored.

use gailou_shared::wire::CommentState;
use gailou_shared::word_filter::{Dictionary, FilterVerdict};

use crate::service::{ServiceError, ServiceResult};

/// A text as it is stored.
#[derive(Debug)]
pub(super) struct FilteredText {
    /// The text as readers see it.
    pub(super) content: String,
    /// The text as it was written, where part of it is masked.
    pub(super) original_text: Option<String>,
    pub(super) state: CommentState,
}

/// Checks a text against the dictionary.
///
/// # Errors
/// [`ServiceError::ContentRejected`] with the categories of the blocked words, never the words.
pub(super) fn filter_text(dictionary: &Dictionary, text: String) -> ServiceResult<FilteredText> {
    match dictionary.check(&text) {
        FilterVerdict::Pass => Ok(FilteredText { content: text, original_text: None, state: CommentState::Published }),
        FilterVerdict::Mask { text: masked, .. } => {
            Ok(FilteredText { content: masked, original_text: Some(text), state: CommentState::Published })
        }
        FilterVerdict::Review { .. } => {
            Ok(FilteredText { content: text, original_text: None, state: CommentState::Review })
        }
        FilterVerdict::Block { categories } => Err(ServiceError::ContentRejected(categories)),
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::word_filter::{Term, TermAction};

    use super::*;

    #[test]
    fn each_action_has_its_outcome() {
        let term = |term: &str, action| Term { term: term.into(), category: "ad".into(), action };
        let terms =
            [term("maskme", TermAction::Mask), term("holdme", TermAction::Review), term("blockme", TermAction::Block)];
        let dictionary = Dictionary::build(1, &terms).unwrap();
        let filtered = |text: &str| filter_text(&dictionary, text.into());
        let pass = filtered("hello").unwrap();
        assert_eq!((pass.content.as_str(), pass.original_text, pass.state), ("hello", None, CommentState::Published));
        let masked = filtered("hello maskme").unwrap();
        assert!(!masked.content.contains("maskme"), "{}", masked.content);
        assert_eq!((masked.original_text.as_deref(), masked.state), (Some("hello maskme"), CommentState::Published));
        assert_eq!(filtered("holdme").unwrap().state, CommentState::Review);
        let blocked = filtered("blockme").unwrap_err();
        assert!(matches!(&blocked, ServiceError::ContentRejected(categories) if *categories == ["ad"]));
        assert!(!blocked.to_string().contains("blockme"), "{blocked}");
    }
}
