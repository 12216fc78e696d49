//! Comments as an Atom feed (RFC 4287). Pure text work, no IO.
//!
//! **Promise.** Whatever names, texts, titles and addresses hold, the feed is well-formed and has the elements written
//! here and no others: every text passes [`escape`], and a character that XML cannot have is replaced. A comment's HTML,
//! which is cleaned when it is written, is a text of the feed as well.

use std::fmt::Write as _;

use gailou_shared::limits;
use gailou_shared::wire::{Comment, SubjectRef};
use sha2::{Digest, Sha256};

use crate::clock::rfc3339;
use crate::http::html::text::{is_web_address, without_bidi_controls};

/// A feed of the newest comments.
pub(super) struct AtomFeed<'f> {
    /// What makes it another feed than all others.
    pub(super) identity: &'f str,
    pub(super) title: &'f str,
    /// Where its subject is.
    pub(super) address: Option<&'f str>,
    /// Its own path and query.
    pub(super) path: &'f str,
    pub(super) comments: &'f [Comment],
}

impl AtomFeed<'_> {
    /// The document. Entries that do not fit into [`limits::MAX_LIST_BYTES`] are left out.
    pub(super) fn write(&self) -> String {
        let mut out = String::from("<?xml version=\"1.0\" encoding=\"utf-8\"?>\n");
        out.push_str("<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
        element(&mut out, "id", &[], &stable_id(&["feed", self.identity]));
        element(&mut out, "title", &[], &without_bidi_controls(self.title));
        // Without comments there was no change: the start of the calendar, so that the feed stays the same.
        let updated = self.comments.iter().map(updated_ms).max().unwrap_or(0);
        element(&mut out, "updated", &[], &rfc3339(updated));
        link(&mut out, "self", "application/atom+xml", self.path);
        if let Some(address) = self.address.filter(|address| is_web_address(address)) {
            link(&mut out, "alternate", "text/html", &as_iri(address));
        }
        element(&mut out, "generator", &[], "Gailou");
        let end = "</feed>\n";
        for comment in self.comments {
            let entry = entry(comment);
            if out.len() + entry.len() + end.len() > limits::MAX_LIST_BYTES {
                break;
            }
            out.push_str(&entry);
        }
        out.push_str(end);
        out
    }
}

fn entry(comment: &Comment) -> String {
    let mut out = String::from("<entry>\n");
    let SubjectRef { r#type, key, title, url } = &comment.subject;
    let id = comment.id.to_string();
    element(&mut out, "id", &[], &stable_id(&["comment", r#type, key, &id]));
    let author = without_bidi_controls(comment.author.as_ref().map_or("", |author| &author.name));
    let subject = without_bidi_controls(title.as_ref().and_then(Option::as_deref).unwrap_or(key));
    element(&mut out, "title", &[], &format!("{author} · {subject}"));
    out.push_str("<author>\n");
    element(&mut out, "name", &[], &author);
    out.push_str("</author>\n");
    element(&mut out, "published", &[], &rfc3339(comment.created_at));
    element(&mut out, "updated", &[], &rfc3339(updated_ms(comment)));
    if let Some(address) = url.as_ref().and_then(Option::as_deref).filter(|url| is_web_address(url)) {
        let page = address.split('#').next().unwrap_or_default();
        link(&mut out, "alternate", "text/html", &format!("{}#comment-{id}", as_iri(page)));
    }
    element(&mut out, "content", &[("type", "html")], &comment.html);
    out.push_str("</entry>\n");
    out
}

fn updated_ms(comment: &Comment) -> u64 {
    comment.edited_at.unwrap_or(0).max(comment.created_at)
}

/// A name that is always the same for these parts, and for others another one.
fn stable_id(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_be_bytes());
        hasher.update(part);
    }
    let mut bytes = [0; 16];
    bytes.iter_mut().zip(hasher.finalize()).for_each(|(to, from)| *to = from);
    // Version 8 and the variant of RFC 9562: an id of a kind of its own.
    (bytes[6], bytes[8]) = (bytes[6] & 0x0f | 0x80, bytes[8] & 0x3f | 0x80);
    let text = hex::encode(bytes);
    format!("urn:uuid:{}-{}-{}-{}-{}", &text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..])
}

/// An address with what no IRI may have percent-encoded.
fn as_iri(address: &str) -> String {
    let mut out = String::with_capacity(address.len());
    for c in address.chars() {
        match c {
            ' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' => {
                let _ = write!(out, "%{:02X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

fn link(out: &mut String, rel: &str, content_type: &str, href: &str) {
    out.push_str("<link");
    attributes(out, &[("rel", rel), ("type", content_type), ("href", href)]);
    out.push_str("/>\n");
}

fn element(out: &mut String, name: &str, with: &[(&str, &str)], text: &str) {
    let _ = write!(out, "<{name}");
    attributes(out, with);
    out.push('>');
    escape(out, text);
    let _ = writeln!(out, "</{name}>");
}

fn attributes(out: &mut String, attributes: &[(&str, &str)]) {
    for (name, value) in attributes {
        let _ = write!(out, " {name}=\"");
        escape(out, value);
        out.push('"');
    }
}

/// A text as the content of an element or as the value of an attribute.
fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // Parsers make a line feed or a space of them otherwise.
            '\r' => out.push_str("&#13;"),
            '\t' => out.push_str("&#9;"),
            '\n' => out.push_str("&#10;"),
            // What XML 1.0 has, but for C1 controls, which it advises against.
            ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..=char::MAX => out.push(c),
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::MemberId;
    use gailou_shared::wire::Author;
    use proptest::prelude::*;

    use super::*;
    use crate::http::openapi::examples;

    fn comment(name: &str, html: &str, title: Option<&str>, url: &str) -> Comment {
        let example = examples::root();
        let author = Author::new(MemberId::new(7).unwrap(), name.into(), None, 0, None);
        let (title, url) = (Some(title.map(Into::into)), Some(Some(url.into())));
        let subject = SubjectRef { title, url, ..example.subject };
        Comment { author: Some(author), html: html.into(), subject, ..example }
    }

    fn feed(title: &str, address: Option<&str>, comments: &[Comment]) -> String {
        AtomFeed { identity: "i", title, address, path: "/v1/latest.atom?type=a&b", comments }.write()
    }

    /// A text as it is read from the feed.
    fn as_read(text: &str) -> String {
        let is_xml =
            |c: char| matches!(c, '\t' | '\n' | '\r') || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'));
        text.chars().map(|c| if is_xml(c) { c } else { char::REPLACEMENT_CHARACTER }).collect()
    }

    proptest! {
        #[test]
        fn feed_of_any_text_is_well_formed_and_has_the_text(
            name in any::<String>(),
            html in "[\\x00-\\x1f<>&\"'\\]a\u{202e}\u{fffe}\u{85}]{0,40}|\\]\\]>|\\PC{0,40}",
            title in any::<String>(),
            rest in any::<String>(),
        ) {
            let comments = [comment(&name, &html, Some(&title), &format!("https://example.org/{rest}"))];
            let text = feed(&title, Some(&format!("http://{rest}")), &comments);
            let document = roxmltree::Document::parse(&text).unwrap();
            let named = |name: &'static str| document.descendants().filter(move |n| n.has_tag_name(name));
            let atom = "http://www.w3.org/2005/Atom";
            prop_assert!(document.descendants().filter(|n| n.is_element()).all(|n| n.tag_name().namespace() == Some(atom)));
            let content = document.descendants().find(|n| n.tag_name().name() == "content").unwrap();
            prop_assert_eq!(content.text().unwrap_or_default(), as_read(&html));
            prop_assert_eq!(content.attribute("type"), Some("html"));
            prop_assert_eq!(named("script").count(), 0);
            let author = document.descendants().find(|n| n.tag_name().name() == "name").unwrap();
            prop_assert_eq!(author.text().unwrap_or_default(), as_read(&without_bidi_controls(&name)));
            // Feed: 4 elements and 2 links; entry: itself, 6 elements, a link, the author's name.
            prop_assert_eq!(document.descendants().filter(|n| n.is_element()).count(), 1 + 4 + 2 + 1 + 6 + 1 + 1);
        }
    }

    #[test]
    fn only_addresses_of_the_web_are_links() {
        let check = |url: &str, expected: Option<&str>| {
            let text = feed("t", None, &[comment("a", "", None, url)]);
            let document = roxmltree::Document::parse(&text).unwrap();
            let links = document.descendants().filter(|n| n.attribute("rel") == Some("alternate"));
            let links: Vec<_> = links.filter_map(|n| n.attribute("href")).map(str::to_owned).collect();
            let id = examples::root().id;
            assert_eq!(links, expected.map(|page| format!("{page}#comment-{id}")).into_iter().collect::<Vec<_>>());
        };
        check("https://example.org/a?b=1&c=\"x y\"#old", Some("https://example.org/a?b=1&c=%22x%20y%22"));
        check("javascript:alert(1)//://", None);
        check("data:text/html,x", None);
        check("/relative", None);
    }

    #[test]
    fn ids_and_times_do_not_depend_on_the_moment() {
        let shown = comment("a", "<p>x</p>", Some("T"), "");
        let edited = Comment { edited_at: Some(shown.created_at + 60_000), ..shown.clone() };
        let (before, after) = (feed("t", None, &[shown]), feed("t", None, &[edited]));
        let ids =
            |text: &str| text.lines().filter(|line| line.starts_with("<id>")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(ids(&before), ids(&after));
        assert_ne!(before, after);
        assert!(feed("t", None, &[]).contains("<updated>1970-01-01T00:00:00Z</updated>"));
        assert_eq!(stable_id(&["a"]), "urn:uuid:3b196fd4-907b-8df5-9c30-90e9835f2f7c");
        assert_ne!(stable_id(&["a", "b"]), stable_id(&["ab"]));
    }

    #[test]
    fn feed_ends_before_it_is_too_large() {
        let large = comment("a", &"<".repeat(60_000), None, "");
        let text = feed("t", None, &vec![large; 20]);
        assert!(text.len() <= limits::MAX_LIST_BYTES && text.ends_with("</entry>\n</feed>\n"), "{}", text.len());
        roxmltree::Document::parse(&text).unwrap();
    }
}
