//! A page of comments as HTML: pure text work, no IO.
//!
//! **Promise.** Whatever names, texts, titles, keys and addresses hold, the page has the elements and
//! attributes written here and no others: `maud` escapes every text. Only three texts go in as they
//! are: the styles, the JSON-LD, and a comment's own HTML, which is cleaned when it is written.
//! Names and texts are in elements with a direction of their own (`bdi`, `dir="auto"`), so no bidi
//! control in one turns its neighbour.
//!
//! The markup has the measures of the embed element, so nothing moves when the element replaces it.

use std::collections::HashMap;

use gailou_shared::id::CommentId;
use gailou_shared::path::Mode;
use gailou_shared::wire::{Comment, CommentFlag, CommentPage, StaffRole, Subject, SubjectState};
use maud::{Markup, PreEscaped, html};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::clock::rfc3339;
use crate::http::html::json_ld;
use crate::http::html::text::{title, web_address, window_title};

/// Style of the fragment.
pub(super) const THREAD_STYLE: &str = include_str!("../thread.css");
/// Style of the document around the fragment.
pub(super) const DOCUMENT_STYLE: &str = include_str!("../page.css");
/// Replies deeper than this keep the indentation of this level, as in the element.
const MAX_INDENT_LEVELS: usize = 3;

/// The whole document.
pub(super) fn document(subject: &Subject, page: &CommentPage, is_first_page: bool) -> String {
    let address = web_address(subject);
    let is_hidden = subject.state == SubjectState::Hidden;
    // A page that is not registered must not fill search engines with strangers' texts.
    let is_registered = subject.title.is_some() || subject.url.is_some();
    let is_indexed = is_registered && is_first_page && !is_hidden;
    let next_page = page.page.next.as_deref().filter(|_| !is_hidden);
    let heading = html! { bdi { (title(subject)) } };
    html! {
        (PreEscaped("<!doctype html>\n"))
        html {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (window_title(subject)) }
                @if !is_indexed { meta name="robots" content="noindex"; }
                @if let Some(address) = address { link rel="canonical" href=(address); }
                link rel="alternate" type="application/atom+xml" href=(feed_address(subject));
                style { (PreEscaped(DOCUMENT_STYLE)) }
            }
            body {
                h1 {
                    @match address {
                        Some(address) => a href=(address) { (heading) },
                        None => (heading),
                    }
                }
                (thread(subject, page))
                @if let Some(cursor) = next_page {
                    p { a rel="next" href=(next_address(subject, cursor)) { "More comments · 更多评论" } }
                }
            }
        }
    }
    .into_string()
}

/// The comments alone, for a page of the host's.
pub(super) fn fragment(subject: &Subject, page: &CommentPage) -> String {
    thread(subject, page).into_string()
}

/// Where the feed of the subject is.
fn feed_address(subject: &Subject) -> String {
    let key = utf8_percent_encode(&subject.key, NON_ALPHANUMERIC);
    format!("/v1/subjects/{}/{key}/feed.atom", subject.r#type)
}

fn next_address(subject: &Subject, cursor: &str) -> String {
    let key = utf8_percent_encode(&subject.key, NON_ALPHANUMERIC);
    let cursor = utf8_percent_encode(cursor, NON_ALPHANUMERIC);
    format!("/t/{}/{key}?cursor={cursor}", subject.r#type)
}

fn thread(subject: &Subject, page: &CommentPage) -> Markup {
    let note = match subject.state {
        SubjectState::Open => None,
        SubjectState::Closed => Some("Comments are closed here. · 评论已关闭。"),
        SubjectState::Hidden => Some("The comments of this page are hidden. · 本页评论已隐藏。"),
    };
    html! {
        section.gailou data-subject={ (subject.r#type) "/" (subject.key) } {
            style { (PreEscaped(THREAD_STYLE)) }
            div.top {
                h2 { @if subject.comments > 0 { (subject.comments) " " } "Comments · 评论" }
                div class="controls sorts" {}
            }
            @match note {
                Some(note) => p.note { (note) },
                None => div class="controls form" {},
            }
            @if subject.state != SubjectState::Hidden { (list(subject, page)) }
        }
        "\n"
    }
}

fn list(subject: &Subject, page: &CommentPage) -> Markup {
    let roots = listed_roots(subject, page);
    html! {
        @if roots.is_empty() && !page.page.has_more {
            p.empty { "No comments yet. · 还没有评论。" }
        }
        ol.list {
            @for root in &roots { (item(&ShownReplies::of(root, subject.mode), root, None)) }
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

/// The shown replies of a root, by the comment they are drawn under.
struct ShownReplies<'p>(HashMap<CommentId, Vec<&'p Comment>>);

impl<'p> ShownReplies<'p> {
    /// As the element draws them: in a tree under the nearest of their ancestors that is shown and
    /// above their level, else all under the root.
    fn of(root: &'p Comment, mode: Mode) -> Self {
        let mut replies: Vec<&Comment> = root.top_replies.iter().flatten().collect();
        if mode == Mode::Tree {
            replies.sort_by_key(|reply| reply.path.len());
        }
        let (mut shown, mut under) = (vec![root.id], HashMap::<_, Vec<_>>::new());
        for reply in replies {
            let above = &reply.path[..reply.path.len().saturating_sub(1)];
            let is_shown = |id: &&CommentId| shown.contains(id);
            let parent = match mode {
                Mode::Tree => above.iter().take(usize::from(reply.level.max(1))).rev().find(is_shown),
                _ => above.iter().find(is_shown),
            };
            under.entry(parent.copied().unwrap_or(root.id)).or_default().push(reply);
            shown.push(reply.id);
        }
        Self(under)
    }

    fn under(&self, comment: &Comment) -> &[&'p Comment] {
        self.0.get(&comment.id).map_or(&[], Vec::as_slice)
    }
}

/// A comment with the replies that are drawn under it; `under` is the comment it is drawn under.
fn item(shown: &ShownReplies<'_>, comment: &Comment, under: Option<CommentId>) -> Markup {
    let replies = shown.under(comment);
    let is_flat = comment.path.len() > MAX_INDENT_LEVELS;
    let more = comment.more_replies.unwrap_or(if under.is_none() { comment.replies } else { 0 });
    html! {
        li.item {
            article id={ "comment-" (comment.id) } {
                div.avatar aria-hidden="true" { (initial(comment)) }
                div {
                    (head(comment))
                    @if let (Some(answered), Some(parent)) = (&comment.reply_to, comment.parent_id) {
                        @if under != Some(parent) {
                            p.answer { "→ " a href={ "#comment-" (parent) } { bdi { (answered.name) } } }
                        }
                    }
                    @if comment.author.is_some() {
                        div.body dir="auto" { (PreEscaped(&comment.html)) }
                        footer.actions { "♥ " (comment.likes) }
                    } @else {
                        div class="body gone" { "This comment was deleted · 该评论已删除" }
                    }
                }
            }
            @if !replies.is_empty() {
                ol.replies.flat[is_flat] {
                    @for reply in replies { (item(shown, reply, Some(comment.id))) }
                }
            }
            @if more > 0 {
                span.more-replies { (more) " more · 还有 " (more) " 条回复" }
            }
        }
    }
}

/// The letter of the avatar.
fn initial(comment: &Comment) -> String {
    let first = comment.author.as_ref().and_then(|author| author.name.chars().next());
    first.map_or("·".into(), |c| c.to_uppercase().to_string())
}

fn head(comment: &Comment) -> Markup {
    let author = comment.author.as_ref();
    let level = author.map_or(0, |author| author.level);
    let is_pinned = comment.flags.iter().any(|flag| matches!(flag, CommentFlag::Pinned | CommentFlag::OwnerPinned));
    let at = rfc3339(comment.created_at);
    let day = at.get(..10).unwrap_or_default();
    html! {
        header.head {
            strong.author { bdi { (author.map_or("Deleted · 已删除", |author| &author.name)) } }
            @if author.is_some_and(|author| author.guest) {
                span.badge.guest title="Has no account here · 没有本站账号" { "Guest · 访客" }
            }
            @match author.and_then(|author| author.role) {
                Some(StaffRole::Moderator) => { span.badge.staff { "Moderator · 版主" } }
                Some(StaffRole::Admin) => { span.badge.staff { "Admin · 管理员" } }
                None => {}
            }
            @if level > 0 { span.badge { "Lv " (level) } }
            @if is_pinned { span.badge { "Pinned · 置顶" } }
            @if comment.flags.contains(&CommentFlag::Featured) { span.badge { "Featured · 神评论" } }
            a.when href={ "#comment-" (comment.id) } { time datetime=(at) { (day) } }
            @if comment.edited_at.is_some() && author.is_some() { span.edited { "edited · 已编辑" } }
            @if let Some(floor) = comment.floor { span.floor { "#" (floor) } }
        }
    }
}

#[cfg(test)]
mod tests;
