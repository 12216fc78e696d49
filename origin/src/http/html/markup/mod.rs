//! A page of comments as HTML: pure text work, no IO.
//!
//! **Promise.** Whatever names, texts, titles, keys and addresses hold, the page has the elements and
//! attributes written here and no others: `maud` escapes every text. Only three texts go in as they
//! are: the styles, the JSON-LD, and a comment's own HTML, which is cleaned when it is written.
//! Names and texts are in elements with a direction of their own (`bdi`, `dir="auto"`), so no bidi
//! control in one turns its neighbour.
//!
//! The markup has the measures of the embed element, so nothing moves when the element replaces it.

mod building;
mod comment;
mod form;
mod links;

use gailou_shared::page_language::ReaderLanguage;
use gailou_shared::wire::{Comment, CommentPage, Subject, SubjectState};
use maud::{Markup, PreEscaped, html};

use self::comment::CommentMarkup;
pub(super) use self::form::{FormFields, FormNotice, FormPage};
pub(super) use self::links::PageLinks;
use crate::http::html::json_ld;
use crate::http::html::text::{title, web_address, window_title};
use crate::http::html::words::PageWords;

/// Style of the fragment.
pub(super) const THREAD_STYLE: &str = concat!(include_str!("../thread.css"), include_str!("../building.css"));
/// Style of the document around the fragment.
pub(super) const DOCUMENT_STYLE: &str = include_str!("../page.css");

/// What a page shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageContent<'p> {
    pub(super) subject: &'p Subject,
    /// The roots of the subject, or the replies of `chain`'s last comment.
    pub(super) page: &'p CommentPage,
    /// On the page of one comment: from the root to that comment. Else empty.
    pub(super) chain: &'p [Comment],
    pub(super) is_first_page: bool,
    pub(super) language: ReaderLanguage,
}

/// The whole document.
pub(super) fn document(shown: PageContent<'_>) -> String {
    let PageContent { subject, page, chain, is_first_page, language } = shown;
    let (words, links) = (PageWords::of(language), PageLinks::in_document(subject, language));
    let address = web_address(subject);
    let is_hidden = subject.state == SubjectState::Hidden;
    // A page that is not registered must not fill search engines with strangers' texts.
    let is_registered = subject.title.is_some() || subject.url.is_some();
    let is_indexed = is_registered && is_first_page && !is_hidden && chain.is_empty();
    let next_page = page.page.next.as_deref().filter(|_| !is_hidden);
    let linked = chain.last();
    let heading = html! { bdi { (title(subject)) } };
    html! {
        (PreEscaped("<!doctype html>\n"))
        html lang=(language.tag()) dir=(language.direction()) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (window_title(subject)) }
                @if !is_indexed { meta name="robots" content="noindex"; }
                @if let Some(address) = address { link rel="canonical" href=(address); }
                link rel="alternate" type="application/atom+xml" href=(links.feed());
                style { (PreEscaped(DOCUMENT_STYLE)) }
            }
            body {
                main {
                    h1 {
                        @match address {
                            Some(address) => a href=(address) { (heading) },
                            None => (heading),
                        }
                    }
                    (languages(language, &links, linked))
                    @if linked.is_some() {
                        p { a href=(links.list()) { (words.common.all_comments) } }
                    }
                    (thread(shown, &links, false))
                    @if let Some(cursor) = next_page {
                        p {
                            a rel="next" href=(links.next(cursor, linked)) {
                                @if linked.is_some() { (words.more_replies) } @else { (words.more_comments) }
                            }
                        }
                    }
                }
            }
        }
    }
    .into_string()
}

/// The links to the page in its other languages, each in its own.
fn languages(language: ReaderLanguage, links: &PageLinks, linked: Option<&Comment>) -> Markup {
    let words = PageWords::of(language);
    let others = ReaderLanguage::ALL.into_iter().filter(|other| *other != language);
    html! {
        nav.languages aria-label=(words.languages) {
            details {
                summary { (words.name) }
                ul {
                    @for other in others {
                        li {
                            a href=(links.in_language(other, linked)) hreflang=(other.tag()) lang=(other.tag()) {
                                (PageWords::of(other).name)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The comments alone, for a page of the host's.
pub(super) fn fragment(shown: PageContent<'_>) -> String {
    thread(shown, &PageLinks::in_fragment(shown.subject, shown.language), true).into_string()
}

fn thread(shown: PageContent<'_>, links: &PageLinks, is_fragment: bool) -> Markup {
    let PageContent { subject, language, .. } = shown;
    let words = PageWords::of(language);
    let note = match subject.state {
        SubjectState::Open => None,
        SubjectState::Closed => Some(words.closed),
        SubjectState::Hidden => Some(words.hidden),
    };
    html! {
        section.gailou.embedded[is_fragment] data-subject={ (subject.r#type) "/" (subject.key) }
            lang=(language.tag()) dir=(language.direction()) {
            style { (PreEscaped(THREAD_STYLE)) }
            div.top {
                h2 { (words.heading(subject.comments)) }
                @if is_fragment { div class="controls sorts" {} }
            }
            @match note {
                Some(note) => p.note { (note) },
                None => {
                    @if is_fragment { div class="controls form" {} }
                    @if let Some(address) = links.write(shown.chain.last().map(|comment| comment.id)) {
                        p { a.write href=(address) { @if shown.chain.is_empty() { (words.write_comment) } @else { (words.write_reply) } } }
                    }
                },
            }
            @if subject.state != SubjectState::Hidden { (list(shown, links)) }
        }
        "\n"
    }
}

fn list(shown: PageContent<'_>, links: &PageLinks) -> Markup {
    let PageContent { subject, page, chain, language, .. } = shown;
    let words = PageWords::of(language);
    let markup = CommentMarkup::new(subject, page, chain, links, words);
    if let Some(comment) = chain.last() {
        return html! {
            ol.list { (markup.linked(comment, &page.data)) }
        };
    }
    let roots = listed_roots(subject, page);
    html! {
        @if roots.is_empty() && !page.page.has_more {
            p.empty { (words.empty) }
        }
        ol.list {
            @for root in &roots { (markup.root(root)) }
        }
        div.foot.more[page.page.has_more] {}
        (json_ld::script(subject, &roots))
    }
}

/// The roots of the list, each once: the pinned ones first, with the replies the page has of them.
fn listed_roots<'p>(subject: &'p Subject, page: &'p CommentPage) -> Vec<&'p Comment> {
    let in_page = |pinned: &'p Comment| page.data.iter().find(|c| c.id == pinned.id).unwrap_or(pinned);
    let is_pinned = |c: &&Comment| subject.pinned.iter().any(|pinned| pinned.id == c.id);
    subject.pinned.iter().map(in_page).chain(page.data.iter().filter(|c| !is_pinned(c))).collect()
}

#[cfg(test)]
mod tests;
