//! A comment's text as safe HTML: a Markdown subset.
//!
//! Parsed by pulldown-cmark, cleaned by ammonia. Images and headings are not part of the subset; tables and task lists
//! are. Addresses with a scheme, or that begin with `www.`, become links by linkify; an e-mail address does not, because
//! programs gather those. Links open nothing of ours (`nofollow ugc noopener`).
//!
//! Promise: the HTML of a text that the contract accepts has at most [`limits::MAX_HTML_BYTES`] and
//! [`limits::MAX_HTML_NESTING`]. A text whose markup would need more is shown as plain text.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;
use std::sync::LazyLock;

use gailou_shared::limits;
use linkify::{LinkFinder, LinkKind};
use pulldown_cmark::{CowStr, Event, LinkType, Options, Parser, Tag, TagEnd, TextMergeStream, html};

/// Beside what Markdown has by itself.
pub(crate) const MARKDOWN_EXTENSIONS: Options =
    Options::ENABLE_STRIKETHROUGH.union(Options::ENABLE_TABLES).union(Options::ENABLE_TASKLISTS);
/// The schemes of the addresses that a link may have.
const LINK_SCHEMES: [&str; 3] = ["http", "https", "mailto"];
/// What an address begins with that has no scheme.
const WEB_PREFIX: &str = "www.";
/// A longer word is no address: to search each place of it would take its square.
const MAX_WORD_BYTES: usize = 2_048;
/// Where the text of a column may stand.
const COLUMN_ALIGNMENTS: [&str; 3] = ["left", "center", "right"];
/// They end an address, because Chinese and Japanese have no space before them.
const WIDE_PUNCTUATION: &str = "，。；：！？、（）《》〈〉「」『』【】“”‘’…—";

static HTML_CLEANER: LazyLock<ammonia::Builder<'static>> = LazyLock::new(|| {
    let mut cleaner = ammonia::Builder::empty();
    cleaner
        .tags(HashSet::from(["p", "br", "em", "strong", "del", "code", "pre", "blockquote", "ul", "ol", "li", "a"]))
        .add_tags(["table", "thead", "tbody", "tr", "th", "td"])
        .tag_attributes([("a", HashSet::from(["href"])), ("ol", HashSet::from(["start"]))].into())
        .tag_attribute_values(["td", "th"].map(|cell| (cell, [("align", COLUMN_ALIGNMENTS.into())].into())).into())
        // A title would be text that no reader sees and the word filter neither.
        .generic_attributes(HashSet::new())
        .url_schemes(HashSet::from(LINK_SCHEMES))
        .url_relative(ammonia::UrlRelative::Deny)
        .link_rel(Some("nofollow ugc noopener"));
    cleaner
});

static LINK_FINDER: LazyLock<LinkFinder> = LazyLock::new(|| link_finder(true));

/// Finds the end of an address without a scheme.
static WEB_FINDER: LazyLock<LinkFinder> = LazyLock::new(|| link_finder(false));

fn link_finder(must_have_scheme: bool) -> LinkFinder {
    let mut finder = LinkFinder::new();
    finder.kinds(&[LinkKind::Url]).url_must_have_scheme(must_have_scheme);
    finder
}

/// The HTML of a text.
pub fn html(text: &str) -> String {
    if is_plain(text) {
        return plain(text);
    }
    markup(text).unwrap_or_else(|| {
        let mut out = String::with_capacity(text.len() * 2);
        html::push_html(&mut out, lines(text));
        out
    })
}

/// The HTML of a text with its markup; `None` if it is longer or nested deeper than a comment's may be, or
/// shows nothing, such as a rule.
fn markup(text: &str) -> Option<String> {
    // A link that leads nowhere is its text.
    let mut is_in_dropped_link = false;
    let subset = Parser::new_ext(text, MARKDOWN_EXTENSIONS).filter_map(|event| match event {
        // Raw HTML is shown as it was typed; line breaks are meant.
        Event::Html(raw) | Event::InlineHtml(raw) => Some(Event::Text(raw)),
        Event::SoftBreak => Some(Event::HardBreak),
        Event::TaskListMarker(is_done) => Some(Event::Text(if is_done { "☑ " } else { "☐ " }.into())),
        Event::Start(Tag::Heading { .. } | Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::Heading(_) | TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) | Event::Rule => None,
        Event::Start(Tag::Link { link_type, ref dest_url, .. })
            if link_type != LinkType::Email && !has_link_scheme(dest_url) =>
        {
            is_in_dropped_link = true;
            None
        }
        Event::End(TagEnd::Link) if std::mem::take(&mut is_in_dropped_link) => None,
        other => Some(other),
    });
    let (open, is_too_deep) = (Cell::new(0), Cell::new(false));
    let bounded = with_links(TextMergeStream::new(subset)).take_while(|event| {
        let inside = match event {
            // `<pre><code>`, `<thead><tr>`, `<tbody><tr>`
            Event::Start(Tag::CodeBlock(_) | Tag::TableHead | Tag::TableRow) => 2,
            Event::Start(_) | Event::Code(_) | Event::HardBreak => 1,
            _ => 0,
        };
        is_too_deep.set(open.get() + inside > limits::MAX_HTML_NESTING);
        match event {
            Event::Start(_) => open.set(open.get() + inside),
            Event::End(TagEnd::CodeBlock | TagEnd::TableHead | TagEnd::TableRow) => open.set(open.get() - 2),
            Event::End(_) => open.set(open.get() - 1),
            _ => {}
        }
        !is_too_deep.get()
    });
    let mut out = BoundedHtml(String::with_capacity(text.len() * 2));
    // Cleaning is the expensive part, and quadratic in the depth: it gets bounded input.
    if html::write_html_fmt(&mut out, bounded).is_err() || is_too_deep.get() {
        return None;
    }
    // A style could say more. In a text `<` is escaped.
    let aligned =
        out.0.replace("<th style=\"text-align: ", "<th align=\"").replace("<td style=\"text-align: ", "<td align=\"");
    let html = HTML_CLEANER.clean(&aligned).to_string();
    (html.len() <= limits::MAX_HTML_BYTES && !html.trim().is_empty()).then_some(html)
}

fn has_link_scheme(address: &str) -> bool {
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    scheme.is_some_and(|scheme| LINK_SCHEMES.iter().any(|allowed| scheme.eq_ignore_ascii_case(allowed)))
}

/// The same events, with the addresses of texts as links, but for those in links and in code.
fn with_links<'a>(events: impl Iterator<Item = Event<'a>>) -> impl Iterator<Item = Event<'a>> {
    let mut is_literal = false;
    events.flat_map(move |event| {
        match event {
            Event::Start(Tag::Link { .. } | Tag::CodeBlock(_)) => is_literal = true,
            Event::End(TagEnd::Link | TagEnd::CodeBlock) => is_literal = false,
            Event::Text(text) if !is_literal && may_have_address(&text) => return link_addresses(&text),
            _ => {}
        }
        vec![event]
    })
}

/// A text with its addresses as links.
fn link_addresses(text: &str) -> Vec<Event<'static>> {
    let written = |text: &str| Event::Text(CowStr::from(text.to_owned()));
    let (mut events, mut done) = (Vec::new(), 0);
    // The next one of each kind, so that no part of the text is searched again for each address.
    let (mut with_scheme, mut without) = (find_with_scheme(text, 0), find_without_scheme(text, 0));
    while let Some((start, address)) = [with_scheme, without].into_iter().flatten().min_by_key(|(start, _)| *start) {
        let scheme = if has_prefix(address, WEB_PREFIX) { "https://" } else { "" };
        let dest_url = CowStr::from(format!("{scheme}{address}"));
        let (title, id) = (CowStr::Borrowed(""), CowStr::Borrowed(""));
        events.push(written(&text[done..start]));
        events.push(Event::Start(Tag::Link { link_type: LinkType::Autolink, dest_url, title, id }));
        events.push(written(address));
        events.push(Event::End(TagEnd::Link));
        done = start + address.len();
        let is_behind = |found: Option<(usize, &str)>| found.is_some_and(|(start, _)| start < done);
        if is_behind(with_scheme) {
            with_scheme = find_with_scheme(text, done);
        }
        if is_behind(without) {
            without = find_without_scheme(text, done);
        }
    }
    events.push(written(&text[done..]));
    events
}

/// Where the next address with a scheme begins, and the address.
fn find_with_scheme(text: &str, from: usize) -> Option<(usize, &str)> {
    LINK_FINDER.links(&text[from..]).find_map(|link| {
        let address = before_wide_punctuation(link.as_str());
        let is_web = ["http://", "https://"].iter().any(|scheme| is_longer(address, scheme));
        is_web.then_some((from + link.start(), address))
    })
}

/// Where the next address begins that begins with `www.` alone, and the address. A Chinese word may stand right before it.
fn find_without_scheme(text: &str, from: usize) -> Option<(usize, &str)> {
    let begins_a_word = |start: &usize| {
        let before = start.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        !before.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_.@/:".contains(byte))
    };
    let mut starts = prefix_places(&text[from..]).map(|at| from + at).filter(begins_a_word);
    starts.find_map(|start| {
        let word = before_wide_punctuation(text[start..].split_whitespace().next()?);
        let mut links = WEB_FINDER.links(word);
        let link = (word.len() <= MAX_WORD_BYTES).then(|| links.next()).flatten()?;
        (link.start() == 0 && is_longer(link.as_str(), WEB_PREFIX)).then(|| (start, link.as_str()))
    })
}

/// Where the text has `www.`.
fn prefix_places(text: &str) -> impl Iterator<Item = usize> {
    let parts = text.as_bytes().windows(WEB_PREFIX.len()).enumerate();
    parts.filter(|(_, part)| part.eq_ignore_ascii_case(WEB_PREFIX.as_bytes())).map(|(at, _)| at)
}

fn before_wide_punctuation(address: &str) -> &str {
    address.split(|c| WIDE_PUNCTUATION.contains(c)).next().unwrap_or_default()
}

fn has_prefix(address: &str, prefix: &str) -> bool {
    address.get(..prefix.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(prefix))
}

fn is_longer(address: &str, prefix: &str) -> bool {
    has_prefix(address, prefix) && prefix.len() < address.len()
}

/// Whether a text may have an address that becomes a link.
fn may_have_address(text: &str) -> bool {
    text.contains("://") || prefix_places(text).next().is_some()
}

/// A text without markup: its paragraphs and lines.
fn lines(text: &str) -> impl Iterator<Item = Event<'_>> {
    let paragraphs = text.split("\n\n").map(|p| p.trim_matches('\n')).filter(|p| !p.trim().is_empty());
    paragraphs.flat_map(|paragraph| {
        let lines = paragraph.lines().enumerate().flat_map(|(n, line)| {
            let line_break = (n > 0).then_some(Event::HardBreak);
            line_break.into_iter().chain([Event::Text(line.into())])
        });
        [Event::Start(Tag::Paragraph)].into_iter().chain(lines).chain([Event::End(TagEnd::Paragraph)])
    })
}

/// HTML that refuses to grow beyond a comment's.
struct BoundedHtml(String);

impl fmt::Write for BoundedHtml {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > limits::MAX_HTML_BYTES {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

/// Whether the text has nothing that Markdown or HTML could mean. Most comments are so.
pub fn is_plain(text: &str) -> bool {
    let special = |b: u8| {
        matches!(
            b,
            b'*' | b'_'
                | b'`'
                | b'~'
                | b'['
                | b']'
                | b'<'
                | b'>'
                | b'&'
                | b'\\'
                | b'"'
                | b'#'
                | b'|'
                | b'\t'
                | b'\r'
                | 0
        )
    };
    if text.bytes().any(special) || may_have_address(text) || text.contains("  ") {
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
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markdown_and_html_become_safe_html() {
        let check = |text: &str, expected: &str| assert_eq!(html(text).trim_end(), expected, "{text:?}");
        check("hi", "<p>hi</p>");
        check("一\n二\n\n三", "<p>一<br>\n二</p>\n<p>三</p>");
        check("**b** _i_ ~~d~~ `c`", "<p><strong>b</strong> <em>i</em> <del>d</del> <code>c</code></p>");
        check("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>");
        check("<img src=x onerror=alert(1)>", "<p>&lt;img src=x onerror=alert(1)&gt;</p>");
        check("[x](javascript:alert(1))", "<p>x</p>");
        check("[**x**](/y) [z](#t)", "<p><strong>x</strong> z</p>");
        check("[x](https://example.org)", "<p><a href=\"https://example.org\" rel=\"nofollow ugc noopener\">x</a></p>");
        check("![x](https://example.org/a.png)", "<p>x</p>");
        check("# big", "<p>big</p>");
        check("1 & 2", "<p>1 &amp; 2</p>");
        check("", "");
    }

    #[test]
    fn addresses_become_links() {
        let link = |address: &str| format!("<a href=\"{address}\" rel=\"nofollow ugc noopener\">{address}</a>");
        let check =
            |text: &str, expected: String| assert_eq!(html(text).trim_end(), format!("<p>{expected}</p>"), "{text:?}");
        let address = "https://example.org/a_b_c";
        check(address, link(address));
        check("see https://example.org/a_b_c.", format!("see {}.", link(address)));
        check("看https://example.org/a_b_c，很好", format!("看{}，很好", link(address)));
        check("（https://example.org/a_b_c）https://x.org", format!("（{}）{}", link(address), link("https://x.org")));
        check("*https://example.org/*", format!("<em>{}</em>", link("https://example.org/")));
        check("https://example.org/?a=1&b=2", link("https://example.org/?a=1&amp;b=2"));
        check("`https://example.org`", "<code>https://example.org</code>".into());
        let web = |address: &str| link(address).replace("href=\"", "href=\"https://");
        check("see www.example.org/a_b, please", format!("see {}, please", web("www.example.org/a_b")));
        check("看www.example.org。", format!("看{}。", web("www.example.org")));
        check("WWW.example.org", web("WWW.example.org"));
        check(
            "www.a.org，https://b.org www.c.org",
            format!("{}，{} {}", web("www.a.org"), link("https://b.org"), web("www.c.org")),
        );
        check("https://www.example.org/www.x.org", link("https://www.example.org/www.x.org"));
        for text in ["www.", "www", "ann@example.org", "README.md", "awww.example.org is none"] {
            check(text, text.into());
        }
        for text in ["ftp://example.org", "javascript://example.org/%0aalert(1)", "://", "https://", "example.org"] {
            check(text, text.into());
        }
        let named = html("[https://bank.example](https://example.org)");
        assert_eq!(named.matches("<a ").count(), 1, "{named}");
        assert_eq!(html("<a href=\"https://x.org\">").matches("<a ").count(), 1);
    }

    #[test]
    fn tables_and_tasks() {
        let table = html("| a | b |\n|---|--:|\n| 1 | *2* |\n| 3 |");
        let expected = "<table><thead><tr><th>a</th><th align=\"right\">b</th></tr></thead><tbody>\n\
                        <tr><td>1</td><td align=\"right\"><em>2</em></td></tr>\n\
                        <tr><td>3</td><td align=\"right\"></td></tr>\n</tbody></table>";
        assert_eq!(table.trim_end(), expected);
        assert_eq!(nesting(&table), 5);
        // The same words in a text are a text.
        let quoted = html("| <i style=\"text-align: left\"> |\n|:-:|");
        assert!(quoted.contains("<th align=\"center\">&lt;i style=\"text-align: left\"&gt;</th>"), "{quoted}");
        assert_eq!(html("- [x] one\n- [ ] two").trim_end(), "<ul>\n<li>☑ one</li>\n<li>☐ two</li>\n</ul>");
        // Many columns, and rows that have none of them.
        let wide = format!("{}\n{}\n{}", "|a".repeat(800), "|-".repeat(800), "|\n".repeat(800));
        assert!(html(&wide).len() <= limits::MAX_HTML_BYTES);
    }

    /// The deepest place of the HTML, in open elements.
    fn nesting(html: &str) -> usize {
        let (mut open, mut deepest) = (0usize, 0);
        for tag in html.split('<').skip(1) {
            if tag.starts_with('/') {
                open -= 1;
            } else {
                deepest = deepest.max(open + 1);
                open += usize::from(!tag.starts_with("br"));
            }
        }
        assert_eq!(open, 0, "{html}");
        deepest
    }

    #[test]
    fn html_that_would_be_too_large_or_too_deep_is_plain_text() {
        let link = format!("[a]: https://example.org/{}\n\n{}", "x".repeat(980), "[a] ".repeat(1_000));
        let deep = [">".repeat(4_990), "- ".repeat(2_490), format!("{}x", "> - ".repeat(1_000)), "*a _b ".repeat(800)];
        for text in deep.into_iter().chain([link, "- ".repeat(2_490) + "x", "[a]: http://x".into()]) {
            let html = html(&text);
            assert!(html.len() <= limits::MAX_HTML_BYTES && nesting(&html) <= 2, "{} bytes: {html:.200}", html.len());
            assert!(html.starts_with("<p>"), "{html:.200}");
        }
        let quoted = |levels: usize| html(&format!("{}x", "> ".repeat(levels)));
        // A paragraph is in the innermost quote.
        assert_eq!(nesting(&quoted(limits::MAX_HTML_NESTING - 1)), limits::MAX_HTML_NESTING);
        assert_eq!(quoted(limits::MAX_HTML_NESTING).trim_end(), format!("<p>{}x</p>", "&gt; ".repeat(16)));
        assert_eq!(html("<b>&\n\n\n> [").trim_end(), "<p>&lt;b&gt;&amp;</p>\n<blockquote>\n<p>[</p>\n</blockquote>");
    }

    proptest! {
        #[test]
        fn html_of_any_text_is_bounded(pieces in prop::collection::vec("> |- |1. |\\*|_|`|\n|\\[a\\]|\\(http://x/\\)|http://x|<|&|x|    |\\||\\|a\\|b\n\\|-\\|-\n", 0..1_200)) {
            let html = html(&pieces.concat());
            prop_assert!(html.len() <= limits::MAX_HTML_BYTES && nesting(&html) <= limits::MAX_HTML_NESTING);
        }
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
