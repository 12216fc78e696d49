//! The page that a reader's browser shows in place of a problem, where the address is that of a page without a script.
//!
//! Origin and edge refuse such an address for reasons of their own, and both answer with this page. A program that
//! does not ask for HTML gets the problem.

mod words;

use alloc::format;
use alloc::string::String;

pub use self::words::RefusalPageWords;
use crate::page_language::ReaderLanguage;
use crate::wire::Code;

/// The only style of the page.
const PAGE_STYLE: &str = "body{margin:0 auto;max-width:40rem;padding:2rem 1rem;font:1rem/1.6 system-ui,sans-serif}\
                     h1{font-size:1.25rem}small{opacity:.7}:root{color-scheme:light dark}";
/// Nothing runs and nothing loads; the hash is that of the style.
pub const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; style-src 'sha256-5pFHI3zMI7PX/ZWdNqM52FuaUdp0A/o9VYG6fuGKroE='; \
                                           base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

/// A browser's read of the address of a document: a page of comments, or a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentRead {
    /// `type/key`, as they are in the address.
    segments: String,
    language: ReaderLanguage,
}

impl DocumentRead {
    /// The read, if `Accept` names HTML. What a host's server puts into a page of its own (`fragment=1`) is no document.
    /// The language is that of the parameter `lang`, else the one that the reader prefers.
    #[must_use]
    pub fn of(path: &str, query: Option<&str>, accept: &str, accept_language: &str) -> Option<Self> {
        // First, because every request is asked.
        let segments = subject_segments(path)?;
        let mut pairs = query.unwrap_or_default().split('&');
        if !accept.contains("text/html") || pairs.clone().any(|pair| pair == "fragment=1") {
            return None;
        }
        let named = pairs.find_map(|pair| pair.strip_prefix("lang=")).and_then(ReaderLanguage::parse);
        let language = named.unwrap_or_else(|| ReaderLanguage::preferred(accept_language));
        Some(Self { segments: segments.into(), language })
    }

    /// The document for a problem: what is wrong in a sentence, the way to the subject's first page where there may be one,
    /// and the code and the request's id for whom the reader asks.
    #[must_use]
    pub fn refused(&self, code: &str, request_id: &str) -> String {
        let Self { segments, language } = self;
        let words = RefusalPageWords::of(*language);
        let (sentence, has_list) = sentence(words, code);
        let link = if has_list && segments.bytes().all(is_plain) {
            format!("<p><a href=\"/t/{segments}?lang={}\">{}</a></p>", language.name(), words.all_comments)
        } else {
            String::new()
        };
        let [code, request_id] = [code, request_id].map(|text| if text.bytes().all(is_plain) { text } else { "" });
        format!(
            "<!doctype html>\n<html lang=\"{}\" dir=\"{}\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"robots\" content=\"noindex\"><title>{sentence}</title><style>{PAGE_STYLE}</style></head>\
             <body><main><h1>{sentence}</h1>{link}<p><small dir=\"ltr\">{code} · {request_id}</small></p></main></body>\
             </html>\n",
            language.tag(),
            language.direction(),
        )
    }
}

/// What is wrong, and whether the subject has a first page nevertheless.
fn sentence(words: &RefusalPageWords, code: &str) -> (&'static str, bool) {
    let is = |codes: &[Code]| codes.iter().any(|each| each.parts().0 == code);
    if is(&[Code::UnknownSubjectType]) {
        (words.not_set_up, false)
    } else if is(&[Code::CommentNotFound, Code::ParentNotFound]) {
        (words.comment_gone, true)
    } else if is(&[Code::CursorExpired, Code::BadCursor]) {
        (words.list_moved, true)
    } else if is(&[Code::RateLimited]) {
        (words.too_fast, true)
    } else if is(&[Code::Unavailable, Code::Overloaded, Code::OriginUnreachable]) {
        (words.no_answer, true)
    } else if is(&[Code::Internal]) {
        (words.failed, true)
    } else {
        (words.no_page, false)
    }
}

/// `type/key` of `/t/type/key` or `/write/type/key`, as they are in the address.
fn subject_segments(path: &str) -> Option<&str> {
    let segments = path.strip_prefix("/t/").or_else(|| path.strip_prefix("/write/"))?;
    let (kind, key) = segments.split_once('/')?;
    (!kind.is_empty() && !key.is_empty() && !key.contains('/')).then_some(segments)
}

/// Whether a byte means nothing in HTML.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'%' | b'/')
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;

    use super::*;

    const BROWSER: &str = "text/html,application/xhtml+xml,*/*;q=0.8";

    fn page(code: &str, path: &str, language: &str) -> String {
        DocumentRead::of(path, None, BROWSER, language).expect("a document").refused(code, "id-1")
    }

    #[test]
    fn only_a_browsers_read_of_a_subjects_page_is_one() {
        let check = |path, query, accept, expected| {
            assert_eq!(DocumentRead::of(path, query, accept, "").is_some(), expected, "{path} {query:?} {accept}");
        };
        check("/t/article/7", None, BROWSER, true);
        check("/write/article/7", Some("to=5&lang=de"), BROWSER, true);
        check("/t/article/7", Some("fragment=1"), BROWSER, false);
        check("/t/article/7", None, "*/*", false);
        check("/t/article/7/more", None, BROWSER, false);
        check("/t/article", None, BROWSER, false);
        check("/v1/subjects/article/7", None, BROWSER, false);
    }

    #[test]
    fn document_says_what_is_wrong_and_leads_to_the_list() {
        let html = page("comment_not_found", "/t/article/7", "en");
        assert!(html.contains("<h1>This comment is not here, or no longer.</h1>"), "{html}");
        assert!(html.contains("<a href=\"/t/article/7?lang=en\">All comments</a>"), "{html}");
        assert!(html.contains("comment_not_found · id-1"), "{html}");
        let html = page("unavailable", "/write/article/%E4%B8%80", "ar");
        assert!(html.contains("<html lang=\"ar\" dir=\"rtl\">"), "{html}");
        assert!(html.contains("/t/article/%E4%B8%80?lang=ar"), "{html}");
        let html = page("unknown_subject_type", "/t/nothing/7", "en");
        assert!(!html.contains("<a "), "{html}");
    }

    #[test]
    fn nothing_of_the_request_is_markup() {
        for path in ["/t/a\"><script>/7", "/t/a/{\"x\":1}", "/t/a/7'&<"] {
            let html = page("rate_limited", path, "en");
            assert!(!html.contains("<a ") && !html.contains("<script"), "{html}");
        }
        let html = DocumentRead::of("/t/a/7", None, BROWSER, "").map(|read| read.refused("<i>", "<b>"));
        assert!(html.is_some_and(|html| !html.contains("<b>") && !html.contains("<i>")));
    }

    #[test]
    fn policy_allows_the_style_of_the_page() {
        use base64::Engine as _;
        use sha2::{Digest as _, Sha256};
        let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(PAGE_STYLE));
        assert!(CONTENT_SECURITY_POLICY.contains(&format!("'sha256-{hash}'")), "{hash}");
    }

    #[test]
    fn each_language_has_sentences_of_its_own() {
        let codes =
            ["comment_not_found", "bad_cursor", "rate_limited", "unavailable", "internal", "unknown_subject_type", "x"];
        let all = ReaderLanguage::ALL.iter().flat_map(|language| {
            codes.map(|code| (language.name(), sentence(RefusalPageWords::of(*language), code).0))
        });
        let sentences: BTreeSet<_> = all.map(|(_, sentence)| sentence).collect();
        assert_eq!(sentences.len(), ReaderLanguage::ALL.len() * codes.len(), "{sentences:?}");
    }

    #[test]
    fn language_is_the_one_that_was_asked_for() {
        let check = |query, accepted, expected: &str| {
            let html = DocumentRead::of("/t/a/7", query, BROWSER, accepted).map(|read| read.refused("x", ""));
            let tag = format!("<html lang=\"{expected}\"");
            assert!(html.as_ref().is_some_and(|html| html.contains(&tag)), "{html:?}");
        };
        check(Some("sort=new&lang=de"), "fr", "de");
        check(Some("lang=xx"), "fr", "fr");
        check(None, "", "en");
    }
}
