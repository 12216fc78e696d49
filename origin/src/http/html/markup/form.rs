//! The page with the form for a comment.

use gailou_shared::id::CommentId;
use gailou_shared::limits;
use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::wire::{Code, Comment, FieldError};
use maud::{DOCTYPE, PreEscaped, html};

use crate::http::html::markup::{DOCUMENT_STYLE, PageLinks};
use crate::http::html::words::PageWords;

/// What a page says above its form.
#[derive(Debug, Clone, Copy)]
pub(in crate::http::html) enum FormNotice<'p> {
    /// The comment waits for a moderator.
    Held,
    Refused {
        code: Code,
        errors: &'p [FieldError],
        /// The most that a comment here may have.
        max_chars: usize,
    },
}

/// What a form holds.
#[derive(Debug, Default)]
pub(in crate::http) struct FormFields {
    pub(in crate::http::html) name: String,
    pub(in crate::http::html) content: String,
    pub(in crate::http::html) to: Option<CommentId>,
    /// The same however often the form is sent.
    pub(in crate::http::html) key: String,
    /// A guest's, who has no name yet.
    pub(in crate::http::html) token: String,
}

/// The page.
#[derive(Debug, Clone, Copy)]
pub(in crate::http::html) struct FormPage<'p> {
    /// `None` where there is nothing to send.
    pub(in crate::http::html) form: Option<&'p FormFields>,
    pub(in crate::http::html) answered: Option<&'p Comment>,
    pub(in crate::http::html) notice: Option<FormNotice<'p>>,
}

impl FormPage<'_> {
    pub(in crate::http::html) fn document(&self, kind: &str, key: &str, language: ReaderLanguage) -> String {
        let (words, links) = (PageWords::of(language), PageLinks::of(kind, key, language));
        let title = if self.answered.is_some() { words.write_reply } else { words.write_comment };
        html! {
            (DOCTYPE)
            html lang=(language.tag()) dir=(language.direction()) {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="robots" content="noindex";
                    title { (title) }
                    style { (PreEscaped(DOCUMENT_STYLE)) }
                }
                body {
                    main {
                        h1 { (title) }
                        @match self.notice {
                            Some(FormNotice::Held) => p role="status" { (words.held) },
                            Some(FormNotice::Refused { code, errors, max_chars }) => {
                                div.error role="alert" {
                                    @for sentence in words.refusal(code, errors, max_chars) { p { (sentence) } }
                                }
                            },
                            None => {},
                        }
                        @if let Some(answered) = self.answered {
                            blockquote {
                                @match &answered.author {
                                    Some(author) => {
                                        p { strong { bdi { (author.name) } } }
                                        div dir="auto" { (PreEscaped(&answered.html)) }
                                    },
                                    None => p { (words.deleted) },
                                }
                            }
                        }
                        @if let Some(form) = self.form {
                            form method="post" action=(links.write(None).unwrap_or_default()) {
                                @if let Some(to) = form.to { input type="hidden" name="to" value=(to); }
                                input type="hidden" name="key" value=(form.key);
                                input type="hidden" name="token" value=(form.token);
                                label for="name" { (words.your_name) }
                                input id="name" name="name" value=(form.name) required autocomplete="nickname"
                                    dir="auto" maxlength=(limits::MAX_NAME_CHARS);
                                label for="content" { (words.your_comment) }
                                textarea id="content" name="content" required dir="auto" rows="8" { (form.content) }
                                button { (words.post) }
                            }
                        }
                        p { a href=(links.list()) { (words.common.all_comments) } }
                    }
                }
            }
        }
        .into_string()
    }
}
