//! A page of comments as HTML: pure text work, no IO.
//!
//! **Promise.** Whatever names, texts, titles, keys and addresses hold, the page has the elements and
//! attributes written here and no others. Every text goes through [`escape`] or [`data`], but a
//! comment's own HTML, which was cleaned when it was written. Names and texts stand in elements with
//! a direction of their own (`bdi`, `dir="auto"`), so no bidi control in one turns what is beside it.
//!
//! The markup has the measures of the embed element, so that nothing moves when the element takes
//! its place.

use std::collections::HashMap;
use std::fmt::Write as _;

use gailou_shared::content::summary;
use gailou_shared::id::CommentId;
use gailou_shared::path::Mode;
use gailou_shared::wire::{Comment, Flag, Page, Subject, SubjectState};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

/// Styles of the fragment and of the document around it.
pub(super) const STYLES: [&str; 2] = [include_str!("thread.css"), include_str!("page.css")];
/// Replies deeper than this keep the indentation of this level, as in the element.
const INDENT_MOST: usize = 3;

/// The whole document.
pub(super) fn document(subject: &Subject, page: &Page, is_first: bool) -> String {
    let address = web_address(subject);
    let title = title(subject);
    let mut out = String::from("<!doctype html>\n<html>\n<head>\n<meta charset=\"utf-8\">\n");
    out.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    // No element has a direction of its own in here.
    let plain: String = title.chars().filter(|c| !is_bidi_control(*c)).collect();
    let _ = writeln!(out, "<title>{}</title>", escape(&plain));
    // A page nobody has registered must not fill search engines with strangers' texts.
    let is_registered = subject.title.is_some() || subject.url.is_some();
    if !is_registered || !is_first || subject.state == SubjectState::Hidden {
        out.push_str("<meta name=\"robots\" content=\"noindex\">\n");
    }
    if let Some(address) = address {
        let _ = writeln!(out, "<link rel=\"canonical\" href=\"{}\">", escape(address));
    }
    let heading = format!("<bdi>{}</bdi>", escape(title));
    let heading = match address {
        Some(address) => format!("<a href=\"{}\">{heading}</a>", escape(address)),
        None => heading,
    };
    let _ = write!(out, "<style>{}</style>\n</head>\n<body>\n<h1>{heading}</h1>\n", STYLES[1]);
    out.push_str(&fragment(subject, page));
    if let Some(cursor) = page.page.next.as_deref().filter(|_| subject.state != SubjectState::Hidden) {
        let key = utf8_percent_encode(&subject.key, NON_ALPHANUMERIC);
        let cursor = utf8_percent_encode(cursor, NON_ALPHANUMERIC);
        let href = format!("/t/{}/{key}?cursor={cursor}", escape(&subject.r#type));
        let _ = writeln!(out, "<p><a rel=\"next\" href=\"{href}\">More comments · 更多评论</a></p>");
    }
    out.push_str("</body>\n</html>\n");
    out
}

/// The comments alone, for a page of the host's.
pub(super) fn fragment(subject: &Subject, page: &Page) -> String {
    let name = format!("{}/{}", subject.r#type, subject.key);
    let mut out =
        format!("<section class=\"gailou\" data-subject=\"{}\">\n<style>{}</style>\n", escape(&name), STYLES[0]);
    out.push_str("<div class=\"top\"><h2>");
    if subject.comments > 0 {
        let _ = write!(out, "{} ", subject.comments);
    }
    out.push_str("Comments · 评论</h2><div class=\"controls sorts\"></div></div>\n");
    let note = match subject.state {
        SubjectState::Open => {
            out.push_str("<div class=\"controls form\"></div>\n");
            None
        }
        SubjectState::Closed => Some("Comments are closed here. · 评论已关闭。"),
        SubjectState::Hidden => Some("The comments of this page are hidden. · 本页评论已隐藏。"),
    };
    if let Some(note) = note {
        let _ = writeln!(out, "<p class=\"note\">{note}</p>");
    }
    if subject.state != SubjectState::Hidden {
        let roots = roots(subject, page);
        if roots.is_empty() && !page.page.has_more {
            out.push_str("<p class=\"empty\">No comments yet. · 还没有评论。</p>\n");
        }
        out.push_str("<ol class=\"list\">\n");
        for root in &roots {
            item(&mut out, &Thread::of(root, subject.mode), root, None);
        }
        out.push_str("</ol>\n");
        let _ = writeln!(out, "<div class=\"foot{}\"></div>", if page.page.has_more { " more" } else { "" });
        out.push_str(&json_ld(subject, &roots));
    }
    out.push_str("</section>\n");
    out
}

/// What stands in the list, each once: the pinned ones first, with the replies the page has of them.
fn roots<'p>(subject: &'p Subject, page: &'p Page) -> Vec<&'p Comment> {
    let in_page = |pinned: &'p Comment| page.data.iter().find(|c| c.id == pinned.id).unwrap_or(pinned);
    let is_pinned = |c: &&Comment| subject.pinned.iter().any(|pinned| pinned.id == c.id);
    subject.pinned.iter().map(in_page).chain(page.data.iter().filter(|c| !is_pinned(c))).collect()
}

/// The replies shown of a root, by the comment they are drawn under.
struct Thread<'p>(HashMap<CommentId, Vec<&'p Comment>>);

impl<'p> Thread<'p> {
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
            let place = match mode {
                Mode::Tree => above.iter().take(usize::from(reply.level.max(1))).rev().find(is_shown),
                _ => above.iter().find(is_shown),
            };
            under.entry(place.copied().unwrap_or(root.id)).or_default().push(reply);
            shown.push(reply.id);
        }
        Self(under)
    }

    fn under(&self, comment: &Comment) -> &[&'p Comment] {
        self.0.get(&comment.id).map_or(&[], Vec::as_slice)
    }
}

fn item(out: &mut String, thread: &Thread<'_>, comment: &Comment, under: Option<CommentId>) {
    let _ = write!(out, "<li class=\"item\"><article id=\"comment-{}\">", comment.id);
    let name = comment.author.as_ref().map(|author| author.name.as_str());
    let letter = name.and_then(|name| name.chars().next()).map_or("·".into(), |c| c.to_uppercase().to_string());
    let _ = writeln!(out, "<div class=\"avatar\" aria-hidden=\"true\">{}</div><div>", escape(&letter));
    head(out, comment);
    if let (Some(answered), Some(parent)) = (&comment.reply_to, comment.parent_id)
        && under != Some(parent)
    {
        let name = escape(&answered.name);
        let _ = writeln!(out, "<p class=\"answer\">→ <a href=\"#comment-{parent}\"><bdi>{name}</bdi></a></p>");
    }
    match comment.author {
        None => out.push_str("<div class=\"body gone\">This comment was deleted · 该评论已删除</div>\n"),
        Some(_) => {
            let _ = writeln!(out, "<div class=\"body\" dir=\"auto\">{}</div>", comment.html);
            let _ = writeln!(out, "<footer class=\"actions\">♥ {}</footer>", comment.likes);
        }
    }
    out.push_str("</div></article>\n");
    let replies = thread.under(comment);
    if !replies.is_empty() {
        let flat = if comment.path.len() > INDENT_MOST { " flat" } else { "" };
        let _ = writeln!(out, "<ol class=\"replies{flat}\">");
        replies.iter().for_each(|reply| item(out, thread, reply, Some(comment.id)));
        out.push_str("</ol>\n");
    }
    let more = comment.more_replies.unwrap_or(if under.is_none() { comment.replies } else { 0 });
    if more > 0 {
        let _ = write!(out, "<span class=\"more-replies\">{more} more · 还有 {more} 条回复</span>");
    }
    out.push_str("</li>\n");
}

fn head(out: &mut String, comment: &Comment) {
    let name = comment.author.as_ref().map_or("Deleted · 已删除", |author| &author.name);
    let _ = write!(out, "<header class=\"head\"><strong class=\"author\"><bdi>{}</bdi></strong>", escape(name));
    if let Some(level) = comment.author.as_ref().map(|author| author.level).filter(|level| *level > 0) {
        let _ = write!(out, "<span class=\"badge\">Lv {level}</span>");
    }
    if comment.flags.iter().any(|flag| matches!(flag, Flag::Pinned | Flag::OwnerPinned)) {
        out.push_str("<span class=\"badge\">Pinned · 置顶</span>");
    }
    if comment.flags.contains(&Flag::Featured) {
        out.push_str("<span class=\"badge\">Featured · 神评论</span>");
    }
    let at = iso(comment.created_at);
    let day = at.get(..10).unwrap_or_default();
    let _ = write!(out, "<a class=\"when\" href=\"#comment-{}\"><time datetime=\"{at}\">{day}</time></a>", comment.id);
    if comment.edited_at.is_some() && comment.author.is_some() {
        out.push_str("<span class=\"edited\">edited · 已编辑</span>");
    }
    if let Some(floor) = comment.floor {
        let _ = write!(out, "<span class=\"floor\">#{floor}</span>");
    }
    out.push_str("</header>\n");
}

fn json_ld(subject: &Subject, roots: &[&Comment]) -> String {
    let address = web_address(subject);
    let comments: Vec<_> = roots.iter().map(|root| comment_ld(root, address)).collect();
    let whole = json!({"@context": "https://schema.org", "@type": "DiscussionForumPosting",
        "headline": title(subject), "url": address, "mainEntityOfPage": address, "commentCount": subject.comments,
        "comment": comments});
    format!("<script type=\"application/ld+json\">{}</script>\n", data(&whole))
}

fn comment_ld(comment: &Comment, address: Option<&str>) -> Value {
    let replies = comment.top_replies.iter().flatten().map(|reply| comment_ld(reply, address)).collect::<Vec<_>>();
    let mut value = json!({"@type": "Comment", "dateCreated": iso(comment.created_at),
        "url": address.map(|address| format!("{}#comment-{}", without_fragment(address), comment.id))});
    let more = match &comment.author {
        None => json!({"creativeWorkStatus": "Deleted"}),
        Some(author) => json!({"text": summary(&comment.content), "dateModified": comment.edited_at.map(iso),
            "upvoteCount": comment.likes, "downvoteCount": comment.dislikes,
            "author": {"@type": "Person", "name": author.name}}),
    };
    if let (Value::Object(value), Value::Object(more)) = (&mut value, more) {
        value.extend(more);
        if !replies.is_empty() {
            value.insert("comment".into(), replies.into());
        }
        value.retain(|_, member| !member.is_null());
    }
    value
}

/// JSON that may stand in a script element: nothing in it can end the element, begin a comment, or
/// break a line for a reader older than the current standard.
fn data(value: &Value) -> String {
    let mut out = String::new();
    for c in value.to_string().chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Text as it may stand between tags and in quoted attributes.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '`' => out.push_str("&#96;"),
            c => out.push(c),
        }
    }
    out
}

fn title(subject: &Subject) -> &str {
    subject.title.as_deref().unwrap_or(&subject.key)
}

/// Where the subject is, when that is an address that a link may open.
fn web_address(subject: &Subject) -> Option<&str> {
    let is_web = |url: &&str| {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
    };
    subject.url.as_deref().filter(is_web)
}

fn without_fragment(address: &str) -> &str {
    address.split('#').next().unwrap_or_default()
}

/// Marks that turn the direction of what follows, wherever that stands.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn iso(ms: u64) -> String {
    let time = i64::try_from(ms).ok().and_then(chrono::DateTime::from_timestamp_millis);
    time.map_or(String::new(), |t| t.format("%Y-%m-%dT%H:%M:%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_stay_in_their_place() {
        assert_eq!(escape("<a href='x'>\"&`"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&#96;");
        let hostile = json!({"a": "</script><!-- & \u{2028}\u{2029}"});
        let written = data(&hostile);
        assert!(written.is_ascii() && !written.contains(['<', '>', '&']), "{written}");
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), hostile);
        assert_eq!(iso(1_700_000_000_000), "2023-11-14T22:13:20Z");
    }

    #[test]
    fn only_addresses_of_the_web_are_linked() {
        let check = |url: &str, is_web| {
            let subject: Subject = serde_json::from_value(json!({"type": "article", "key": "1", "title": null,
                "url": url, "owner_id": null, "mode": "tree", "state": "open", "roots": 0, "comments": 0, "pinned": []}))
            .unwrap();
            assert_eq!(web_address(&subject).is_some(), is_web, "{url}");
        };
        check("https://example.org/a", true);
        check("HTTP://example.org", true);
        check("javascript:alert(1)//://", false);
        check("javascript://%0aalert(1)", false);
        check(" https://example.org", false);
        check("data:text/html,x", false);
        check("/relative", false);
    }
}
