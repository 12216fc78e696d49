//! The XML file of Tools → Export (WXR): comments stand in the `item` of their page.

use std::borrow::Cow;

use anyhow::ensure;
use quick_xml::escape::{resolve_html5_entity, unescape_with};

use crate::importers::source::ExportSource;
use crate::importers::xml::{Fields, XmlFile};
use crate::importers::{Content, ForeignComment, Found, LeftOut, text};

/// What a comment stands under.
#[derive(Default)]
struct BlogPage {
    link: String,
    title: String,
}

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let mut xml = XmlFile::open(file)?;
    let root = xml.next_start()?.map(|(name, _)| name);
    ensure!(root.as_deref() == Some("rss"), "the file is no export of WordPress: it does not begin with <rss>");
    let mut page = BlogPage::default();
    while let Some((name, _)) = xml.next_start()? {
        match name.as_str() {
            "item" => page = BlogPage::default(),
            "title" if page.title.is_empty() => page.title = title_of(&mut xml)?,
            // The address of the page is the first one in its item.
            "link" => page.link = xml.fields()?.remove("").unwrap_or_default().trim().to_owned(),
            // They are long.
            "content:encoded" | "excerpt:encoded" => drop(xml.fields()?),
            "wp:comment" => add(&page, &xml.fields()?, found)?,
            _ => {}
        }
    }
    Ok(())
}

/// The title of a page, which some versions write with entities in it.
fn title_of(xml: &mut XmlFile) -> anyhow::Result<String> {
    let title = xml.fields()?.remove("").unwrap_or_default();
    let plain = unescape_with(&title, resolve_html5_entity).map(Cow::into_owned);
    Ok(plain.unwrap_or(title))
}

fn add(page: &BlogPage, fields: &Fields, found: &mut Found<'_>) -> anyhow::Result<()> {
    let get = |name: &str| fields.get(name).map_or("", |value| value.trim());
    let why = match (get("wp:comment_type"), get("wp:comment_approved")) {
        ("pingback" | "trackback", _) => LeftOut::Pingback,
        (_, "spam") => LeftOut::Spam,
        (_, "trash" | "post-trashed") => LeftOut::Deleted,
        (_, "1" | "approve") => {
            let what = format!("comment {:?}", get("wp:comment_id"));
            return found.comment_or_bad(&what, comment(page, get));
        }
        _ => return found.waiting(get("wp:comment_id").to_owned(), parent(get), || comment(page, get)),
    };
    found.left_out(why, get("wp:comment_id").to_owned(), parent(get));
    Ok(())
}

fn parent<'a>(get: impl Fn(&str) -> &'a str) -> Option<String> {
    Some(get("wp:comment_parent").to_owned()).filter(|parent| !parent.is_empty() && parent != "0")
}

fn comment<'a>(page: &BlogPage, get: impl Fn(&str) -> &'a str) -> Result<ForeignComment, String> {
    let some = |name: &str| Some(get(name).to_owned()).filter(|value| !value.is_empty());
    Ok(ForeignComment {
        page: page.link.clone(),
        title: page.title.clone(),
        id: get("wp:comment_id").to_owned(),
        parent: parent(&get),
        name: get("wp:comment_author").to_owned(),
        author_key: some("wp:comment_author_email"),
        content: Content::Html(with_paragraphs(get("wp:comment_content"))),
        created_at: text::time(get("wp:comment_date_gmt"))?,
        ..ForeignComment::default()
    })
}

/// What stands between empty lines is a paragraph there, and a new line a break.
fn with_paragraphs(text: &str) -> String {
    text.replace("\r\n", "\n").replace("\n\n", "<p>").replace('\n', "<br>")
}
