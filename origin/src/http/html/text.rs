//! Texts of a page that are not a comment's: its title, its address. Pure, no IO.

use gailou_shared::wire::Subject;

/// What the subject is called: its registered title, else its key.
pub(super) fn title(subject: &Subject) -> &str {
    subject.title.as_deref().unwrap_or(&subject.key)
}

/// The title for `<title>`, where no element isolates its direction: without bidi controls.
pub(super) fn window_title(subject: &Subject) -> String {
    without_bidi_controls(title(subject))
}

/// A text that nothing isolates from its neighbours.
pub(in crate::http) fn without_bidi_controls(text: &str) -> String {
    text.chars().filter(|c| !is_bidi_control(*c)).collect()
}

/// Where the subject is, if that is an address that a link may open.
pub(super) fn web_address(subject: &Subject) -> Option<&str> {
    subject.url.as_deref().filter(|url| is_web_address(url))
}

/// Whether a link may open this address.
pub(in crate::http) fn is_web_address(url: &str) -> bool {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    scheme.eq_ignore_ascii_case("https") || scheme.eq_ignore_ascii_case("http")
}

/// Marks that turn the direction of the text that follows them, across elements.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn subject(title: Option<&str>, url: &str) -> Subject {
        serde_json::from_value(json!({"type": "article", "key": "1", "title": title, "url": url, "owner_id": null,
            "mode": "tree", "state": "open", "roots": 0, "comments": 0, "pinned": []}))
        .unwrap()
    }

    #[test]
    fn only_addresses_of_the_web_are_links() {
        let check = |url: &str, is_web| assert_eq!(web_address(&subject(None, url)).is_some(), is_web, "{url}");
        check("https://example.org/a", true);
        check("HTTP://example.org", true);
        check("javascript:alert(1)//://", false);
        check("javascript://%0aalert(1)", false);
        check(" https://example.org", false);
        check("data:text/html,x", false);
        check("/relative", false);
    }

    #[test]
    fn window_title_has_no_bidi_control() {
        assert_eq!(window_title(&subject(Some("a\u{202e}b\u{2066}"), "")), "ab");
        assert_eq!(window_title(&subject(None, "")), "1");
    }
}
