//! The XML file that Disqus mails: pages as `thread`, then comments as `post`.

use std::collections::HashMap;

use anyhow::ensure;

use crate::importers::source::ExportSource;
use crate::importers::xml::{Fields, XmlFile};
use crate::importers::{Content, ForeignComment, Found, LeftOut, text};

/// A page.
struct DisqusThread {
    link: String,
    title: String,
}

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let mut xml = XmlFile::open(file)?;
    let root = xml.next_start()?.map(|(name, _)| name);
    ensure!(root.as_deref() == Some("disqus"), "the file is no export of Disqus: it does not begin with <disqus>");
    let mut pages = HashMap::new();
    while let Some((name, attributes)) = xml.next_start()? {
        let fields = xml.fields()?;
        let id = attributes.get("@dsq:id").cloned().unwrap_or_default();
        match name.as_str() {
            "thread" => {
                let get = |name: &str| fields.get(name).map_or("", |value| value.trim()).to_owned();
                pages.insert(id, DisqusThread { link: get("link"), title: get("title") });
            }
            "post" => match comment(&id, &fields, &pages) {
                _ if is_set(&fields, "isSpam") => {
                    found.left_out(LeftOut::Spam, id, fields.get("parent@dsq:id").cloned());
                }
                Ok(comment) => found.comment(comment)?,
                Err(reason) => found.bad(&format!("post {id:?}"), &reason)?,
            },
            _ => {}
        }
    }
    Ok(())
}

fn is_set(fields: &Fields, name: &str) -> bool {
    fields.get(name).is_some_and(|value| value.trim() == "true")
}

fn comment(id: &str, fields: &Fields, pages: &HashMap<String, DisqusThread>) -> Result<ForeignComment, String> {
    let get = |name: &str| fields.get(name).map(|value| value.trim()).filter(|value| !value.is_empty());
    let thread = get("thread@dsq:id").ok_or("has no thread")?;
    let page = pages.get(thread).ok_or_else(|| format!("its thread {thread:?} is not in the file"))?;
    Ok(ForeignComment {
        page: page.link.clone(),
        title: page.title.clone(),
        id: id.to_owned(),
        parent: get("parent@dsq:id").map(str::to_owned),
        name: get("author/name").unwrap_or("").to_owned(),
        author_key: get("author/email").or_else(|| get("author/username")).map(str::to_owned),
        content: Content::Html(fields.get("message").cloned().unwrap_or_default()),
        created_at: text::time(get("createdAt").unwrap_or(""))?,
        deleted: is_set(fields, "isDeleted"),
        ..ForeignComment::default()
    })
}
