//! Pictures in the texts of other systems: links to where they lie, since the pages here load nothing from elsewhere.

use std::fmt::Write as _;
use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use crate::domain::markdown::MARKDOWN_EXTENSIONS;
use crate::domain::markdown_pictures::{UNNAMED_PICTURE, is_web};

/// What a picture is called, as Markdown that shows it as it is.
pub(super) fn text(description: &str) -> String {
    let words: Vec<&str> = description.split_whitespace().collect();
    let words = words.join(" ").replace(['[', ']'], "");
    let mut text = String::with_capacity(words.len());
    for c in words.chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '~' | '<' | '>' | '&' | '|') {
            text.push('\\');
        }
        text.push(c);
    }
    if text.is_empty() { UNNAMED_PICTURE.to_owned() } else { text }
}

/// A link to a picture, in Markdown.
pub(super) fn link(description: &str, address: &str) -> String {
    format!("[{}]({})", text(description), link_address(address))
}

/// An address as it stands in a link.
pub(super) fn link_address(address: &str) -> String {
    let mut escaped = String::with_capacity(address.len());
    for c in address.chars() {
        // They would end the address, or the cell of a table that it stands in.
        if c.is_control() || c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '\\' | '|') {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| _ = write!(escaped, "%{byte:02X}"));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

/// The same Markdown, with its pictures as links. A picture in a link is its description, and one that lies nowhere on the
/// web stays as it is.
pub(super) fn as_links(markdown: String) -> String {
    if !markdown.contains("![") {
        return markdown;
    }
    let mut out = String::with_capacity(markdown.len());
    let (mut end, mut is_in_link) = (0, false);
    let mut picture: Option<OpenPicture> = None;
    for (event, range) in Parser::new_ext(&markdown, MARKDOWN_EXTENSIONS).into_offset_iter() {
        match (event, &mut picture) {
            (Event::Start(Tag::Image { .. }), Some(open)) => open.inside += 1,
            (Event::Start(Tag::Image { dest_url, .. }), None) => {
                let address = dest_url.to_string();
                picture = Some(OpenPicture { range, address, description: String::new(), inside: 0 });
            }
            (Event::End(TagEnd::Image), Some(open)) if open.inside > 0 => open.inside -= 1,
            (Event::End(TagEnd::Image), Some(open)) => {
                if is_web(&open.address) {
                    out.push_str(&markdown[end..open.range.start]);
                    out.push_str(&open.markdown(is_in_link));
                    end = open.range.end;
                }
                picture = None;
            }
            (Event::Text(text) | Event::Code(text) | Event::InlineHtml(text), Some(open)) => {
                open.description.push_str(&text);
            }
            (Event::SoftBreak | Event::HardBreak, Some(open)) => open.description.push(' '),
            (Event::Start(Tag::Link { .. }), None) => is_in_link = true,
            (Event::End(TagEnd::Link), None) => is_in_link = false,
            _ => {}
        }
    }
    out.push_str(&markdown[end..]);
    out
}

/// A picture whose description is being read.
struct OpenPicture {
    /// Where it stands in the text.
    range: Range<usize>,
    address: String,
    description: String,
    /// How many pictures are open in its description.
    inside: u32,
}

impl OpenPicture {
    fn markdown(&self, is_in_link: bool) -> String {
        if is_in_link { text(&self.description) } else { link(&self.description, &self.address) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::markdown;

    #[test]
    fn picture_becomes_link_to_where_it_lies() {
        for (text, expected) in [
            ("![a cat](https://e.example/cat.png)", "[a cat](https://e.example/cat.png)"),
            ("一 ![猫](https://e.example/猫.png \"title\") 二", "一 [猫](https://e.example/猫.png) 二"),
            ("![](https://e.example/cat.png)", "[image](https://e.example/cat.png)"),
            ("![*a* `b_c`\nd [e](f)](http://e.example/x)", "[a b\\_c d e](http://e.example/x)"),
            ("![a\\]b](<https://e.example/a b(1).png>)", "[ab](https://e.example/a%20b%281%29.png)"),
            (
                "![cat][c]\n\n[c]: https://e.example/c.png",
                "[cat](https://e.example/c.png)\n\n[c]: https://e.example/c.png",
            ),
            (
                "> - ![a](https://e.example/1) ![b](https://e.example/2)",
                "> - [a](https://e.example/1) [b](https://e.example/2)",
            ),
            (
                "[![a](https://e.example/1)](https://e.example/2) ![b](https://e.example/3)",
                "[a](https://e.example/2) [b](https://e.example/3)",
            ),
            ("![a ![b](https://e.example/1) c](https://e.example/2)", "[a b c](https://e.example/2)"),
            ("|a|\n|-|\n|![b\\|c](https://e.example/1)|", "|a|\n|-|\n|[b\\|c](https://e.example/1)|"),
        ] {
            assert_eq!(as_links(text.to_owned()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_picture_on_the_web_stays() {
        for text in [
            "`![a](https://e.example/a.png)`",
            "```\n![a](https://e.example/a.png)\n```",
            "    ![a](https://e.example/a.png)",
            "\\![a](https://e.example/a.png)",
            "![a](/a.png) ![b](data:image/png;base64,x) ![c](upload://x.png)",
            "![a] ![b][c]",
            "<!-- ![a](https://e.example/a.png) -->",
        ] {
            assert_eq!(as_links(text.to_owned()), text);
        }
    }

    #[test]
    fn link_leads_where_the_picture_lies_and_says_what_it_shows() {
        let mut random = fastrand::Rng::with_seed(7);
        let letters: Vec<char> = "ab *_`~<>&|\\\"'()#;:é楼".chars().collect();
        for _ in 0..500 {
            let description: String = (0..random.usize(1..8)).map(|_| *random.choice(&letters).unwrap()).collect();
            let address =
                format!("https://e.example/{}", random.choice(&["a?b=c&d", "楼.png", "x(y)z", "a b"]).unwrap());
            let html = markdown::html(&link(&description, &address));
            let plain = html.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&");
            let shown = plain.split_once(">").map_or("", |(_, rest)| rest);
            let words = description.split_whitespace().collect::<Vec<_>>().join(" ");
            let expected = if words.is_empty() { UNNAMED_PICTURE } else { &words };
            assert!(shown.contains(&format!(">{expected}</a>")), "{description:?} {html}");
        }
    }
}
