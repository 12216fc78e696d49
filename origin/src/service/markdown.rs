//! A comment's text as safe HTML: a Markdown subset, rendered once, when it is written.
//!
//! Parsed by pulldown-cmark, cleaned by ammonia. Images and headings are not part of the subset;
//! links open nothing of ours (`nofollow ugc noopener`).

use std::collections::HashSet;
use std::sync::LazyLock;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, html};

static HTML_CLEANER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = ammonia::Builder::empty();
    cleaner
        .tags(HashSet::from(["p", "br", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a"]))
        .tag_attributes([("a", HashSet::from(["href"])), ("ol", HashSet::from(["start"]))].into())
        .url_schemes(HashSet::from(["http", "https", "mailto"]))
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(Some("nofollow ugc noopener"));
    cleaner
});

/// The HTML of a text.
pub fn html(text: &str) -> String {
    if is_plain(text) {
        return plain(text);
    }
    let subset = Parser::new_ext(text, Options::ENABLE_STRIKETHROUGH).filter_map(|event| match event {
        // Raw HTML is shown as it was typed; line breaks are meant.
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::SoftBreak => Some(Event::HardBreak),
        Event::Start(Tag::Heading { .. } | Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::Heading(_) | TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) | Event::Rule => None,
        other => Some(other),
    });
    let mut out = String::with_capacity(text.len() * 2);
    html::push_html(&mut out, subset);
    HTML_CLEANER.clean(&out).to_string()
}

/// Whether the text has nothing that Markdown or HTML could mean. Most comments are so.
fn is_plain(text: &str) -> bool {
    let special = |b: u8| {
        matches!(
            b,
            b'*' | b'_' | b'`' | b'~' | b'[' | b']' | b'<' | b'>' | b'&' | b'\\' | b'"' | b'#' | b'\t' | b'\r' | 0
        )
    };
    if text.bytes().any(special) || text.contains("://") || text.contains("  ") {
        return false;
    }
    // Lists, rules and headings of the underlined kind begin a line.
    text.lines().all(|line| {
        let first = line.bytes().next();
        !matches!(first, Some(b'-' | b'+' | b'=' | b' '))
            && !first.is_some_and(|b| b.is_ascii_digit() && line.contains(['.', ')']))
    })
}

fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for paragraph in text.split("\n\n").map(|p| p.trim_matches('\n')).filter(|p| !p.trim().is_empty()) {
        out.push_str("<p>");
        for (i, line) in paragraph.lines().enumerate() {
            if i > 0 {
                out.push_str("<br>\n");
            }
            out.push_str(line);
        }
        out.push_str("</p>\n");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_and_html_become_safe_html() {
        let check = |text: &str, expected: &str| assert_eq!(html(text).trim_end(), expected, "{text:?}");
        check("hi", "<p>hi</p>");
        check("一\n二\n\n三", "<p>一<br>\n二</p>\n<p>三</p>");
        check("**b** _i_ ~~d~~ `c`", "<p><strong>b</strong> <em>i</em> <del>d</del> <code>c</code></p>");
        check("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
        check("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>");
        check("[x](javascript:alert(1))", "<p><a rel=\"nofollow ugc noopener\">x</a></p>");
        check("[x](https://example.org)", "<p><a href=\"https://example.org\" rel=\"nofollow ugc noopener\">x</a></p>");
        check("![x](https://example.org/a.png)", "<p>x</p>");
        check("# big", "<p>big</p>");
        check("1 & 2", "<p>1 &amp; 2</p>");
        check("", "");
    }

    #[test]
    fn plain_text_renders_as_by_the_parser() {
        for text in ["hi", "a\nb", "a\n\nb\n\n\nc", "你好，世界！(真的)", "what? yes! ok: 3", "C'est bien"] {
            let long = {
                let mut out = String::new();
                let events = Parser::new(text).map(|e| if e == Event::SoftBreak { Event::HardBreak } else { e });
                html::push_html(&mut out, events);
                HTML_CLEANER.clean(&out).to_string()
            };
            assert!(is_plain(text), "{text:?}");
            assert_eq!(html(text), long, "{text:?}");
        }
    }
}
