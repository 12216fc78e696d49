//! Where the links of a page lead: to pages of the same subject in the same language.

use gailou_shared::id::CommentId;
use gailou_shared::page_key::encode;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::wire::{Comment, Subject};

/// The addresses of a subject's pages.
#[derive(Debug)]
pub(in crate::http::html) struct PageLinks {
    /// `/t/type/key`.
    page: String,
    feed: String,
    /// `/write/type/key`.
    form: String,
    language: ReaderLanguage,
    /// Whether the page is a host's, whose own addresses are others.
    is_fragment: bool,
}

impl PageLinks {
    pub(in crate::http::html) fn of(kind: &str, key: &str, language: ReaderLanguage) -> Self {
        let segments = format!("{}/{}", encode(kind), encode(key));
        let (page, feed) = (format!("/t/{segments}"), format!("/v1/subjects/{segments}/feed.atom"));
        Self { page, feed, form: format!("/write/{segments}"), language, is_fragment: false }
    }

    pub(super) fn in_document(subject: &Subject, language: ReaderLanguage) -> Self {
        Self::of(&subject.r#type, &subject.key, language)
    }

    pub(super) fn in_fragment(subject: &Subject, language: ReaderLanguage) -> Self {
        Self { is_fragment: true, ..Self::in_document(subject, language) }
    }

    /// The feed of the subject.
    pub(super) fn feed(&self) -> &str {
        &self.feed
    }

    /// The first page.
    pub(super) fn list(&self) -> String {
        format!("{}?lang={}", self.page, self.language.name())
    }

    /// The page in another language, of the list or of one comment.
    pub(super) fn in_language(&self, language: ReaderLanguage, linked: Option<&Comment>) -> String {
        let address = format!("{}?lang={}", self.page, language.name());
        linked.map_or(address.clone(), |comment| format!("{address}&comment={}", comment.id))
    }

    /// The page behind this cursor, of the list or of one comment's replies.
    pub(super) fn next(&self, cursor: &str, linked: Option<&Comment>) -> String {
        format!("{}&cursor={}", self.in_language(self.language, linked), encode(cursor))
    }

    /// The form for a comment, or for an answer to this one; `None` where a link cannot lead there.
    pub(super) fn write(&self, to: Option<CommentId>) -> Option<String> {
        let address = format!("{}?lang={}", self.form, self.language.name());
        (!self.is_fragment).then(|| to.map_or(address.clone(), |to| format!("{address}&to={to}")))
    }

    /// The page of one comment with its replies; `None` where a link cannot lead there.
    pub(in crate::http::html) fn comment(&self, id: CommentId) -> Option<String> {
        (!self.is_fragment).then(|| format!("{}&comment={id}", self.list()))
    }
}
