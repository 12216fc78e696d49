//! Artrans, the JSON file of Artalk: an array of comments whose values are all texts.

use serde::Deserialize;
use serde_json::Value;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, json, text};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Artran {
    id: Value,
    rid: Value,
    content: String,
    created_at: String,
    is_pending: Value,
    is_pinned: Value,
    vote_up: Value,
    vote_down: Value,
    nick: String,
    email: String,
    page_key: String,
    page_title: Value,
    site_urls: String,
}

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let mut number = 0;
    json::each(file, &[], |artran: Result<Artran, String>| {
        number += 1;
        match artran {
            Ok(artran) if is_set(&artran.is_pending) => {
                found.waiting(json::as_text(&artran.id), parent(&artran), || comment(&artran))?;
            }
            Ok(artran) => {
                let what = format!("comment {:?}", json::as_text(&artran.id));
                found.comment_or_bad(&what, comment(&artran))?;
            }
            Err(reason) => found.bad(&format!("comment {number} of the file"), &reason)?,
        }
        Ok(())
    })
}

fn is_set(value: &Value) -> bool {
    json::as_text(value) == "true"
}

fn parent(artran: &Artran) -> Option<String> {
    Some(json::as_text(&artran.rid)).filter(|parent| !parent.is_empty() && parent != "0")
}

fn comment(artran: &Artran) -> Result<ForeignComment, String> {
    let count = |value: &Value| json::as_text(value).parse().unwrap_or(0);
    // A page may be a path of the site.
    let site = artran.site_urls.split(',').next().unwrap_or("").trim().trim_end_matches('/');
    let page =
        if artran.page_key.starts_with('/') { format!("{site}{}", artran.page_key) } else { artran.page_key.clone() };
    Ok(ForeignComment {
        page,
        title: json::as_text(&artran.page_title),
        id: json::as_text(&artran.id),
        parent: parent(artran),
        name: artran.nick.clone(),
        author_key: Some(artran.email.clone()).filter(|email| !email.is_empty()),
        content: Content::Markdown(artran.content.clone()),
        created_at: text::time(&artran.created_at)?,
        likes: count(&artran.vote_up),
        dislikes: count(&artran.vote_down),
        pinned: is_set(&artran.is_pinned),
        ..ForeignComment::default()
    })
}
