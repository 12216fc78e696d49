//! Pictures in the texts of other systems: links to where they lie, since the pages here load nothing from elsewhere.

use std::fmt::Write as _;

use crate::domain::markdown_pictures::{ForeignPicture, UNNAMED_PICTURE, find};

/// What a picture in a link becomes: a link has no other inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PictureInLink {
    /// Its description.
    Description,
    /// A picture, for who fetches it.
    Picture,
}

impl PictureInLink {
    /// The Markdown of such a picture.
    pub(super) fn markdown(self, description: &str, address: &str) -> String {
        match self {
            Self::Description => text(description),
            Self::Picture => format!("!{}", link(description, address)),
        }
    }
}

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

/// The same Markdown, with its pictures as links, but for those that stand in a link. One that lies nowhere on the web stays
/// as it is.
pub(super) fn as_links(markdown: String, in_link: PictureInLink) -> String {
    if !markdown.contains("![") {
        return markdown;
    }
    let (mut out, mut end) = (String::with_capacity(markdown.len()), 0);
    for picture in find(&markdown, &[]) {
        let ForeignPicture { address, alt, place, is_in_link, .. } = picture;
        out.push_str(&markdown[end..place.start]);
        out.push_str(&if is_in_link { in_link.markdown(&alt, &address) } else { link(&alt, &address) });
        end = place.end;
    }
    out.push_str(&markdown[end..]);
    out
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
            assert_eq!(as_links(text.to_owned(), PictureInLink::Description), expected, "{text}");
        }
        for (text, expected) in [
            (
                "[![a \"b\"](https://e.example/1_(2) \"title\")](https://e.example/3) ![c](https://e.example/4)",
                "[![a \"b\"](https://e.example/1_%282%29)](https://e.example/3) [c](https://e.example/4)",
            ),
            (
                "[![][a] b](/c)\n\n[a]: https://e.example/a",
                "[![image](https://e.example/a) b](/c)\n\n[a]: https://e.example/a",
            ),
        ] {
            assert_eq!(as_links(text.to_owned(), PictureInLink::Picture), expected, "{text}");
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
            assert_eq!(as_links(text.to_owned(), PictureInLink::Description), text);
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
