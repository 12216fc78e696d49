//! Texts of other systems: HTML as Markdown, times, names.

use std::cell::Cell;
use std::sync::LazyLock;

use chrono::{DateTime, NaiveDateTime};
use gailou_shared::limits;
use htmd::element_handler::{HandlerResult, Handlers};
use htmd::{Element, HtmlToMarkdown};

use crate::domain::import_line::MAX_SUBJECT_TEXT_CHARS;
use crate::domain::markdown_pictures::is_web;
use crate::importers::pictures::{self, PictureInLink};

/// The name of who gave none.
const UNNAMED_AUTHOR: &str = "Anonymous";

/// A converter for each thread: it is not shared.
fn converter(in_link: PictureInLink) -> HtmlToMarkdown {
    HtmlToMarkdown::builder()
        .skip_tags(vec!["script", "style", "noscript", "iframe", "template", "svg"])
        .add_handler(vec!["img"], move |_: &dyn Handlers, element: Element| picture_as_link(&element, in_link))
        .add_handler(vec!["a"], link)
        .add_handler(vec!["div"], block)
        .build()
}

fn attribute(element: &Element, name: &str) -> Option<String> {
    let found = element.attrs.iter().find(|attribute| &*attribute.name.local == name);
    found.map(|attribute| attribute.value.to_string()).filter(|value| !value.is_empty())
}

/// A picture is a link to where it lies: the pages here load none from elsewhere.
fn picture_as_link(element: &Element, in_link: PictureInLink) -> Option<HandlerResult> {
    let alt = attribute(element, "alt");
    match attribute(element, "src").filter(|address| is_web(address)) {
        Some(address) => {
            let description = alt.unwrap_or_default();
            let is_in_link = IS_IN_LINK.get();
            let markdown = if is_in_link {
                in_link.markdown(&description, &address)
            } else {
                pictures::link(&description, &address)
            };
            Some(markdown.into())
        }
        // Smileys are pictures with their text.
        None => alt.map(HandlerResult::from),
    }
}

/// A link has no other inside: [`PictureInLink`].
fn link(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let was_in_link = IS_IN_LINK.get();
    IS_IN_LINK.set(was_in_link || attribute(&element, "href").is_some());
    let converted = handlers.fallback(element);
    IS_IN_LINK.set(was_in_link);
    converted
}

/// Under a picture that is a link, Discourse has its size.
fn block(handlers: &dyn Handlers, element: Element) -> Option<HandlerResult> {
    let is_size = IS_IN_LINK.get() && attribute(&element, "class").as_deref() == Some("meta");
    if is_size { Some(String::new().into()) } else { handlers.fallback(element) }
}

thread_local! {
    static WITHOUT_PICTURES: HtmlToMarkdown = converter(PictureInLink::Description);
    static WITH_PICTURES_IN_LINKS: HtmlToMarkdown = converter(PictureInLink::Picture);
    /// Whether what is converted stands in a link.
    static IS_IN_LINK: Cell<bool> = const { Cell::new(false) };
}

/// The Markdown of a text in HTML, without pictures.
pub(crate) fn markdown(html: &str) -> String {
    markdown_with(html, PictureInLink::Description)
}

/// The same, in which a picture in a link becomes this.
pub(super) fn markdown_with(html: &str, in_link: PictureInLink) -> String {
    let converter = match in_link {
        PictureInLink::Description => &WITHOUT_PICTURES,
        PictureInLink::Picture => &WITH_PICTURES_IN_LINKS,
    };
    converter.with(|converter| converter.convert(html)).unwrap_or_else(|_| html.to_owned())
}

/// A name as it is shown: in one line, and not longer than names are.
pub(super) fn shown_name(name: &str) -> String {
    let name: String = words(name).join(" ").chars().take(limits::MAX_NAME_CHARS).collect();
    let name = name.trim();
    if name.is_empty() { UNNAMED_AUTHOR.to_owned() } else { name.to_owned() }
}

/// A title as it is stored: in one line, not longer than titles are; `None` where it is empty.
pub(super) fn title(title: &str) -> Option<String> {
    let title: String = words(title).join(" ").chars().take(MAX_SUBJECT_TEXT_CHARS).collect();
    Some(title).filter(|title| !title.is_empty())
}

fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect()
}

/// How other systems write times, beside RFC 3339: with an offset, or in UTC.
static OFFSET_FORMATS: LazyLock<[&str; 2]> = LazyLock::new(|| ["%Y-%m-%d %H:%M:%S%.f %z", "%a, %d %b %Y %H:%M:%S %z"]);
static UTC_FORMATS: LazyLock<[&str; 3]> =
    LazyLock::new(|| ["%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.fZ"]);

/// A time in Unix milliseconds.
///
/// # Errors
/// Names the text that is no time.
pub(super) fn time(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let with_offset = DateTime::parse_from_rfc3339(text)
        .ok()
        .or_else(|| OFFSET_FORMATS.iter().find_map(|format| DateTime::parse_from_str(text, format).ok()))
        .map(|time| time.timestamp_millis());
    let in_utc = || UTC_FORMATS.iter().find_map(|format| NaiveDateTime::parse_from_str(text, format).ok());
    let ms = with_offset.or_else(|| in_utc().map(|time| time.and_utc().timestamp_millis()));
    ms.and_then(|ms| u64::try_from(ms).ok()).ok_or_else(|| format!("{text:?} is no time"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn html_becomes_markdown_without_what_runs_or_loads() {
        for (html, expected) in [
            ("<p>one</p><p>two <b>bold</b></p>", "one\n\ntwo **bold**"),
            ("a<br>b", "a  \nb"),
            ("<a href=\"https://e.example/x\">x</a>", "[x](https://e.example/x)"),
            ("<script>alert(1)</script><iframe src=x></iframe>ok", "ok"),
            ("<img src=\"https://e.example/p.png\" alt=\"a [cat]\">", "[a cat](https://e.example/p.png)"),
            ("<img src=\"https://e.example/a b(1).png\">", "[image](https://e.example/a%20b%281%29.png)"),
            (
                "<a href=\"https://e.example/\"><img src=\"https://e.example/p.png\" alt=cat></a>",
                "[cat](https://e.example/)",
            ),
            ("<img class=smiley src=\"data:x\" alt=\":)\">", ":)"),
            (
                "<a href=\"https://e.example/\"><img src=\"https://e.example/p.png\" alt=cat><div class=meta>1×1</div></a>",
                "[cat](https://e.example/)",
            ),
            ("<div class=meta>a block</div>", "a block"),
            ("1 &lt; 2 &amp; 3", "1 < 2 & 3"),
        ] {
            assert_eq!(markdown(html), expected, "{html}");
        }
        let html = "<a href=\"https://e.example/\"><img src=\"https://e.example/p(1).png\" alt=\"a [cat]\"> *</a>\
                    <img src=\"https://e.example/q.png\">";
        let expected =
            "[![a cat](https://e.example/p%281%29.png) \\*](https://e.example/)[image](https://e.example/q.png)";
        assert_eq!(markdown_with(html, PictureInLink::Picture), expected);
    }

    #[test]
    fn times_of_all_systems_are_read() {
        for text in [
            "2021-10-28T12:50:15Z",
            "2021-10-28T12:50:15.000Z",
            "2021-10-28T20:50:15+08:00",
            "2021-10-28 20:50:15 +0800",
            "2021-10-28 12:50:15",
            "2021-10-28T12:50:15",
            "Thu, 28 Oct 2021 12:50:15 +0000",
        ] {
            assert_eq!(time(text), Ok(1_635_425_415_000), "{text}");
        }
        assert_eq!(time("2021-10-28 12:50:15.250"), Ok(1_635_425_415_250));
        for text in ["", "yesterday", "0000-00-00 00:00:00", "1900-01-01 00:00:00"] {
            assert!(time(text).unwrap_err().ends_with("is no time"), "{text}");
        }
    }

    #[test]
    fn name_is_one_line() {
        assert_eq!(shown_name(" Ann\n\u{7}B "), "Ann B");
        assert_eq!(shown_name(" \t"), UNNAMED_AUTHOR);
        assert_eq!(shown_name(&"楼".repeat(80)).chars().count(), limits::MAX_NAME_CHARS);
    }
}
