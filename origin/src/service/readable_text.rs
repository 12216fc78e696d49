//! What readers see of a comment's HTML: its text without markup, and where its links lead.
//!
//! Reads the HTML that [`crate::domain::markdown`] has cleaned, so nothing that renders is left out. It is for the word
//! filter; not here: making HTML safe.

use percent_encoding::percent_decode_str;

/// Elements within a line: a word goes on through them. Any other element ends the line.
const INLINE_ELEMENTS: [&str; 5] = ["a", "code", "del", "em", "strong"];

/// The text of the HTML, with entities decoded. Lines follow for what is written otherwise than it is meant: the
/// text with its percent-encoded characters decoded, where there are any, and the decoded address of each link.
pub(super) fn readable_text(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    let mut addresses = String::new();
    let mut rest = html;
    while let Some((before, after)) = rest.split_once('<') {
        push_decoded(&mut text, before);
        let (tag, after) = split_tag(after);
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        if !INLINE_ELEMENTS.contains(&name) {
            text.push('\n');
        }
        if let Some((_, address)) = tag.split_once(" href=\"") {
            addresses.push('\n');
            push_decoded(&mut addresses, address.split('"').next().unwrap_or_default());
        }
        rest = after;
    }
    push_decoded(&mut text, rest);
    let decoded = percent_decode_str(&text).decode_utf8_lossy();
    let decoded = (decoded != text).then(|| decoded.into_owned());
    if let Some(decoded) = decoded {
        text.push('\n');
        text.push_str(&decoded);
    }
    text.push_str(&percent_decode_str(&addresses).decode_utf8_lossy());
    text
}

/// A tag, and what follows its `>`, which may be in a quoted value as well.
fn split_tag(html: &str) -> (&str, &str) {
    let mut is_quoted = false;
    let end = html.find(|c| {
        is_quoted ^= c == '"';
        c == '>' && !is_quoted
    });
    end.and_then(|end| html.split_at_checked(end)).map_or((html, ""), |(tag, rest)| (tag, rest.trim_start_matches('>')))
}

/// Appends text with the entities decoded that a serializer of HTML writes.
fn push_decoded(out: &mut String, mut html: &str) {
    while let Some((before, after)) = html.split_once('&') {
        out.push_str(before);
        let entity = [("amp;", '&'), ("lt;", '<'), ("gt;", '>'), ("quot;", '"'), ("nbsp;", '\u{a0}'), ("#39;", '\'')]
            .into_iter()
            .find_map(|(name, c)| Some((c, after.strip_prefix(name)?)));
        let (c, rest) = entity.unwrap_or(('&', after));
        out.push(c);
        html = rest;
    }
    out.push_str(html);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::markdown;

    #[test]
    fn text_is_what_readers_see() {
        for (written, seen) in [
            ("hello", vec!["hello"]),
            ("c&#97;s**i**n`o` ![x](y)<b>", vec!["casino x<b>"]),
            ("a & b < c", vec!["a & b < c"]),
            ("one\n\n- two\nthree", vec!["one", "two", "three"]),
            ("[a](https://x.org/%63%61?q=\"&r)", vec!["a", "https://x.org/ca?q=\"&r"]),
            ("<https://x.org/%E4%B8%AD>", vec!["https://x.org/%E4%B8%AD", "https://x.org/中", "https://x.org/中"]),
            ("[a](javascript:x)", vec!["a"]),
            ("100% %zz", vec!["100% %zz"]),
        ] {
            let text = readable_text(&markdown::html(written));
            assert_eq!(text.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(), seen, "{written}");
        }
        assert_eq!(split_tag("a href=\"x>y\">z>"), ("a href=\"x>y\"", "z>"));
        assert_eq!(split_tag("broken"), ("broken", ""));
    }

    proptest! {
        /// Plain words come through as they are, whatever markup stands between them. Three marks could fence code,
        /// whose language is not seen.
        #[test]
        fn every_written_letter_is_seen(words in prop::collection::vec("[a-z]{1,8}", 1..12), marks in prop::collection::vec("[*_`~>#\n -]{0,2}", 12)) {
            let written: String = words.iter().zip(&marks).map(|(word, mark)| format!("{word}{mark}")).collect();
            let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
            prop_assert_eq!(letters(&readable_text(&markdown::html(&written))), letters(&words.concat()));
        }

        #[test]
        fn any_html_is_read(html: String) {
            let _ = readable_text(&html);
        }
    }
}
