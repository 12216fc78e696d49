//! The frames of a building: the floors that a comment quotes, the newest outermost.

use gailou_shared::wire::Author;
use maud::{Markup, PreEscaped, html};

use crate::domain::building::{Frame, FrameRow};
use crate::http::html::words::PageWords;

/// A floor as it is drawn.
#[derive(Debug, Clone, Copy)]
pub(super) struct Floor<'p> {
    /// `None` of a tombstone.
    pub(super) author: Option<&'p Author>,
    pub(super) html: &'p str,
}

/// The frames of a chain of so many floors, the comment's own among them. Where `whole` leads, all of them are.
pub(super) fn building(words: &PageWords, frame: &Frame<Floor<'_>>, floors: usize, whole: Option<&str>) -> Markup {
    html! {
        div.bld role="list" aria-label=((words.conversation)(floors)) { (nested(words, frame, 1, whole)) }
    }
}

fn nested(words: &PageWords, frame: &Frame<Floor<'_>>, depth: usize, whole: Option<&str>) -> Markup {
    html! {
        div class={ "fr fr-" (depth) } role="none" {
            @if let Some(inside) = &frame.inside { (nested(words, inside, depth + 1, whole)) }
            @for row in &frame.rows {
                @match row {
                    FrameRow::Floor(number, floor) => (drawn(words, *number, *floor)),
                    FrameRow::Gap(count) => (gap(words, *count, whole)),
                }
            }
        }
    }
}

fn drawn(words: &PageWords, number: usize, Floor { author, html }: Floor<'_>) -> Markup {
    html! {
        div.fl role="listitem" {
            div.floor-head {
                span.author { bdi { (author.map_or(words.deleted_author, |author| &author.name)) } }
                @if author.is_some_and(|author| author.guest) {
                    span.badge.guest title=(words.guest_title) { (words.guest) }
                }
                span.number { ((words.storey)(number)) }
            }
            div.fold {
                div.clip {
                    @if author.is_some() {
                        div.body dir="auto" { (PreEscaped(html)) }
                    } @else {
                        div class="body gone" { (words.deleted) }
                    }
                }
            }
        }
    }
}

fn gap(words: &PageWords, count: usize, whole: Option<&str>) -> Markup {
    let label = html! { span { ((words.gap)(count)) } };
    html! {
        div.gap role="listitem" {
            @match whole {
                Some(whole) => a href=(whole) { (label) },
                None => div { (label) },
            }
        }
    }
}
