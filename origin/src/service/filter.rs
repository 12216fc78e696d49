//! What the dictionary makes of a text, before it is stored: of what its author wrote, and of what its readers
//! see.

use std::collections::BTreeSet;
use std::sync::Arc;

use gailou_shared::wire::{CommentState, ReviewReason, ReviewReasonKind};
use gailou_shared::word_filter::{Dictionary, FilterVerdict};

use crate::service::readable_text::readable_text;
use crate::service::{ServiceError, ServiceResult, markdown};

/// A text as it is stored.
#[derive(Debug)]
pub(super) struct FilteredText {
    /// The text as readers see it.
    pub(super) content: String,
    pub(super) html: String,
    /// The text as it was written, where part of it is masked.
    pub(super) original_text: Option<String>,
    pub(super) state: CommentState,
    /// Why it is held, where its state is `Review`.
    pub(super) reasons: Vec<ReviewReason>,
}

/// Checks a text against the dictionary, renders it, and checks what readers see of it. The stricter verdict
/// counts. A word to mask that only the rendered text has is at no place of the text as written, so a moderator
/// decides.
///
/// # Errors
/// [`ServiceError::ContentRejected`] with the categories of the blocked words, never the words.
pub(super) async fn filter_and_render(dictionary: &Arc<Dictionary>, text: String) -> ServiceResult<FilteredText> {
    let mut held_for = BTreeSet::new();
    let (content, original_text) = match dictionary.check(&text) {
        FilterVerdict::Pass => (text, None),
        FilterVerdict::Mask { text: masked, .. } => (masked, Some(text)),
        FilterVerdict::Review { categories } => {
            held_for.extend(categories);
            (text, None)
        }
        FilterVerdict::Block { categories } => return Err(ServiceError::ContentRejected(categories)),
    };
    let html = markdown::render(content.clone()).await;
    let seen = readable_text(&html);
    match dictionary.check(&seen) {
        FilterVerdict::Pass => {}
        FilterVerdict::Mask { categories, .. } | FilterVerdict::Review { categories } => held_for.extend(categories),
        FilterVerdict::Block { categories } => return Err(ServiceError::ContentRejected(categories)),
    }
    let state = if held_for.is_empty() { CommentState::Published } else { CommentState::Review };
    let reason = |category| ReviewReason { kind: ReviewReasonKind::Word, detail: category, count: 1 };
    let reasons = held_for.into_iter().map(reason).collect();
    Ok(FilteredText { content, html, original_text, state, reasons })
}

/// A text that a moderator accepts, whatever its words are.
pub(super) async fn render_unfiltered(text: String) -> FilteredText {
    let html = markdown::render(text.clone()).await;
    FilteredText { content: text, html, original_text: None, state: CommentState::Published, reasons: vec![] }
}

#[cfg(test)]
mod tests {
    use gailou_shared::word_filter::{Term, TermAction};

    use super::*;

    #[tokio::test]
    async fn each_action_has_its_outcome() {
        let term = |term: &str, action| Term { term: term.into(), category: "ad".into(), action };
        let terms =
            [term("maskme", TermAction::Mask), term("holdme", TermAction::Review), term("blockme", TermAction::Block)];
        let dictionary = Arc::new(Dictionary::build(1, &terms).unwrap());
        let filtered = async |text: &str| filter_and_render(&dictionary, text.into()).await;
        let pass = filtered("hello").await.unwrap();
        assert_eq!((pass.content.as_str(), pass.original_text, pass.state), ("hello", None, CommentState::Published));
        let masked = filtered("hello maskme").await.unwrap();
        assert!(!masked.content.contains("maskme") && !masked.html.contains("maskme"), "{masked:?}");
        assert_eq!((masked.original_text.as_deref(), masked.state), (Some("hello maskme"), CommentState::Published));
        assert_eq!(filtered("holdme").await.unwrap().state, CommentState::Review);
        for text in ["blockme", "bl`ock`me", "holdme **block**me"] {
            let blocked = filtered(text).await.unwrap_err();
            assert!(matches!(&blocked, ServiceError::ContentRejected(categories) if *categories == ["ad"]), "{text}");
            assert!(!blocked.to_string().contains("blockme"), "{blocked}");
        }
        for text in ["mask&#109;e", "hold*me*", "maskme hold*me*"] {
            assert_eq!(filtered(text).await.unwrap().state, CommentState::Review, "{text}");
        }
    }
}
