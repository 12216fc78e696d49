//! Pictures from elsewhere in a Markdown text: which there are, and the text without those that are pictures here.
//!
//! Pure. A picture is an image of the text, or a link of it that was a picture where the text comes from.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Parser, Tag, TagEnd};

use crate::domain::markdown::MARKDOWN_EXTENSIONS;

/// What is the text of a link whose picture has no description.
pub(crate) const UNNAMED_PICTURE: &str = "image";

/// A picture of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ForeignPicture {
    pub(crate) address: String,
    /// What it shows, in words; may be empty.
    pub(crate) alt: String,
    /// Where it is in the text, in bytes.
    pub(crate) place: Range<usize>,
    /// Whether it stands in a link.
    pub(crate) is_in_link: bool,
    /// Where its description is.
    label: Range<usize>,
}

impl ForeignPicture {
    /// The description as it is in the text.
    fn label<'t>(&self, text: &'t str) -> &'t str {
        if self.alt.is_empty() { "" } else { &text[self.label.clone()] }
    }
}

/// Whether it is an address by HTTP.
pub(crate) fn is_web(address: &str) -> bool {
    let has = |scheme: &str| address.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    has("http://") || has("https://")
}

/// The addresses of the images of a text, in their order.
pub(crate) fn image_addresses(text: &str) -> Vec<String> {
    find(text, &[]).into_iter().map(|picture| picture.address).collect()
}

/// The pictures of a text: its images, and links that lead to one of `linked`.
pub(crate) fn find(text: &str, linked: &[String]) -> Vec<ForeignPicture> {
    let mut found: Vec<ForeignPicture> = Vec::new();
    // How many tags are open inside of the last one.
    let mut open = 0_usize;
    let mut is_in_link = false;
    for (event, place) in Parser::new_ext(text, MARKDOWN_EXTENSIONS).into_offset_iter() {
        let inside = found.last_mut().filter(|_| open > 0);
        let Some(picture) = inside else {
            if let Event::Start(tag) = &event
                && let Some(address) = address_of(tag, linked)
            {
                let (label, alt) = (place.start..place.start, String::new());
                found.push(ForeignPicture { address, alt, place, is_in_link, label });
                open = 1;
            } else {
                match event {
                    Event::Start(Tag::Link { .. }) => is_in_link = true,
                    Event::End(TagEnd::Link) => is_in_link = false,
                    _ => {}
                }
            }
            continue;
        };
        match &event {
            Event::Start(_) => open += 1,
            Event::End(_) => open -= 1,
            Event::Text(text) | Event::Code(text) | Event::InlineHtml(text) => picture.alt.push_str(text),
            Event::SoftBreak | Event::HardBreak => picture.alt.push(' '),
            _ => {}
        }
        if open > 0 {
            let start = if picture.label.is_empty() { place.start } else { picture.label.start };
            picture.label = start..place.end.max(picture.label.end);
        } else if picture.alt == UNNAMED_PICTURE {
            picture.alt.clear();
        }
    }
    found
}

fn address_of(tag: &Tag<'_>, linked: &[String]) -> Option<String> {
    let address = match tag {
        Tag::Image { dest_url, .. } => dest_url.to_string(),
        Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. } => return None,
        Tag::Link { dest_url, .. } if linked.iter().any(|linked| **linked == **dest_url) => dest_url.to_string(),
        _ => return None,
    };
    Some(address).filter(|address| is_web(address))
}

/// The text without these pictures of it, in their order. One that stands in a line with words leaves its description.
pub(crate) fn without(text: &str, pictures: &[&ForeignPicture]) -> String {
    let is_alone = alone(text, pictures);
    let (mut out, mut at) = (String::with_capacity(text.len()), 0);
    for (picture, is_alone) in pictures.iter().zip(is_alone) {
        out.push_str(&text[at..picture.place.start]);
        at = picture.place.end;
        if is_alone {
            at += text[at..].len() - text[at..].trim_start_matches(' ').len();
            while text[at..].starts_with('\n') && (out.is_empty() || out.ends_with("\n\n")) {
                at += 1;
            }
            if text[at..].starts_with('\n') && out.ends_with('\n') {
                at += 1;
            }
            continue;
        }
        let label = picture.label(text);
        let marks = |of: Option<char>, marks: &str| of.is_some_and(|of| marks.contains(of));
        if !label.is_empty() {
            out.push_str(label);
        } else if picture.is_in_link
            || (marks(out.chars().next_back(), "[*_~") && marks(text[at..].chars().next(), "]*_~"))
        {
            // Marks around nothing would be shown, and a link around nothing would not.
            out.push_str(UNNAMED_PICTURE);
        } else if matches!(text[at..].chars().next(), None | Some('\n')) {
            out.truncate(out.trim_end_matches(' ').len());
        } else if text[at..].starts_with(' ') && (out.is_empty() || out.ends_with(char::is_whitespace)) {
            at += 1;
        }
    }
    out.push_str(&text[at..]);
    out.truncate(out.trim_end().len());
    out
}

/// For each picture, whether its line has nothing but pictures.
fn alone(text: &str, pictures: &[&ForeignPicture]) -> Vec<bool> {
    let (mut rest, mut places, mut at) = (String::with_capacity(text.len()), Vec::with_capacity(pictures.len()), 0);
    for picture in pictures {
        rest.push_str(&text[at..picture.place.start]);
        places.push(rest.len());
        at = picture.place.end;
    }
    rest.push_str(&text[at..]);
    let is_alone = |place: usize| {
        let before = rest[..place].rsplit('\n').next().unwrap_or_default();
        let after = rest[place..].split('\n').next().unwrap_or_default();
        before.trim().is_empty() && after.trim().is_empty()
    };
    places.into_iter().map(is_alone).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "https://e.example/a.png";

    #[test]
    fn images_and_named_links_are_pictures() {
        let check = |text: &str, expected: &[(&str, &str)]| {
            let found = find(text, &[A.to_owned()]);
            let found: Vec<_> = found.iter().map(|found| (found.address.as_str(), found.alt.as_str())).collect();
            assert_eq!(found, expected, "{text}");
        };
        check(
            &format!("a [cat]({A}) ![*dog*](http://e.example/d.png)"),
            &[(A, "cat"), ("http://e.example/d.png", "dog")],
        );
        check(&format!("[image]({A}) [{A}]({A})"), &[(A, ""), (A, A)]);
        check(
            &format!("{A} <{A}> `[cat]({A})` [cat](https://e.example/b.png) ![x](x.png) [x](mailto:a@e.example)"),
            &[],
        );
        check(
            &format!("[![cat]({A})](https://e.example/) [[cat]({A})](https://e.example/)"),
            &[(A, "cat"), (A, "cat")],
        );
        check(&format!("[![cat]({A})]({A})"), &[(A, "cat")]);
        check(&format!("[a\nb][1]\n\n[1]: {A}"), &[(A, "a b")]);
    }

    #[test]
    fn text_without_pictures_reads_well() {
        let check = |text: &str, expected: &str| {
            let text = text.replace("URL", A);
            let found = find(&text, &[A.to_owned()]);
            assert!(!found.is_empty(), "{text}");
            assert_eq!(without(&text, &found.iter().collect::<Vec<_>>()), expected, "{text}");
        };
        check("[cat](URL)", "");
        check("one\n\n[cat](URL)\n\ntwo", "one\n\ntwo");
        check("[cat](URL)\n\ntwo", "two");
        check("one\n\n![](URL) [cat](URL)\n", "one");
        check("one  \n[cat](URL)  \ntwo", "one  \ntwo");
        check("see my [cat](URL) here", "see my cat here");
        check("see my ![*cat*](URL)!", "see my *cat*!");
        check("see [image](URL) here ![](URL)", "see here");
        check("> quoted\n>\n> [image](URL)\n\nmine", "> quoted\n>\n>\n\nmine");
        check("**[image](URL)**", "**image**");
        check("[![](URL)](https://e.example/)", "[image](https://e.example/)");
        check("[![](URL) ![](URL)](https://e.example/)", "[image image](https://e.example/)");
        check("[![cat](URL)](https://e.example/) ![dog](URL)", "[cat](https://e.example/) dog");
        check("[[cat](URL)](https://e.example/)", "[cat](https://e.example/)");
        check("一[猫](URL)二![](URL)三", "一猫二三");
    }

    #[test]
    fn picture_that_stays_is_untouched() {
        let text = format!("[cat]({A})\n\n![dog](https://e.example/d.png)");
        let found = find(&text, &[A.to_owned()]);
        assert_eq!(without(&text, &[]), text);
        assert_eq!(without(&text, &[&found[1]]), format!("[cat]({A})"));
        assert_eq!(without(&text, &[&found[0]]), "![dog](https://e.example/d.png)");
    }

    proptest! {
        #[test]
        fn any_text_is_taken(pieces in prop::collection::vec("\\[|\\]|!|\\(https://e.example/a.png\\)|楼|x|\n| |\\*|> |`|\\[x\\]", 0..40)) {
            let text = pieces.concat();
            let found = find(&text, &[A.to_owned()]);
            let left = without(&text, &found.iter().collect::<Vec<_>>());
            prop_assert!(left.len() <= text.len());
        }
    }
}
