//! The JSON file of Commento and of Comentario before its version 3: comments, and who wrote them.

use std::collections::HashMap;

use serde::Deserialize;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, LeftOut, comentario, json, text};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Commenter {
    commenter_hex: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommentoComment {
    comment_hex: String,
    #[serde(default, alias = "host")]
    domain: String,
    /// Commento writes one of them; Comentario both, of which one may be empty.
    #[serde(default)]
    path: String,
    #[serde(default)]
    url: String,
    #[serde(default)]
    commenter_hex: String,
    #[serde(default)]
    markdown: String,
    #[serde(default)]
    html: String,
    #[serde(default)]
    parent_hex: String,
    #[serde(default)]
    score: i64,
    #[serde(default)]
    state: String,
    creation_date: String,
    #[serde(default)]
    deleted: bool,
}

/// The parent of a comment that has none.
const NO_PARENT: &str = "root";
/// The author of a comment that has none.
const NO_COMMENTER: &str = "anonymous";

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let pages = comentario::pages(file)?;
    if !pages.is_empty() {
        return comentario::read(file, pages, found);
    }
    let mut commenters = HashMap::new();
    json::each(file, &["commenters"], |commenter: Result<Commenter, String>| {
        if let Ok(commenter) = commenter {
            commenters.insert(commenter.commenter_hex.clone(), commenter);
        }
        Ok(())
    })?;
    let mut number = 0;
    json::each(file, &["comments"], |entry: Result<CommentoComment, String>| {
        number += 1;
        match entry {
            Ok(entry) if entry.state == "unapproved" => {
                let (id, above) = (entry.comment_hex.clone(), parent(entry.parent_hex.clone()));
                found.waiting(id, above, || comment(entry, &commenters))?;
            }
            Ok(entry) if entry.state == "flagged" => {
                found.left_out(LeftOut::Spam, entry.comment_hex, parent(entry.parent_hex));
            }
            Ok(entry) => {
                let what = format!("comment {:?}", entry.comment_hex);
                found.comment_or_bad(&what, comment(entry, &commenters))?;
            }
            Err(reason) => found.bad(&format!("comment {number} of the file"), &reason)?,
        }
        Ok(())
    })
}

fn parent(hex: String) -> Option<String> {
    Some(hex).filter(|parent| !parent.is_empty() && parent != NO_PARENT)
}

fn comment(entry: CommentoComment, commenters: &HashMap<String, Commenter>) -> Result<ForeignComment, String> {
    let author = commenters.get(&entry.commenter_hex).filter(|_| entry.commenter_hex != NO_COMMENTER);
    let page = if entry.path.is_empty() { entry.url } else { entry.path };
    let page = match page.starts_with('/') && !entry.domain.is_empty() {
        true => format!("https://{}{page}", entry.domain),
        false => page,
    };
    Ok(ForeignComment {
        page,
        id: entry.comment_hex,
        parent: parent(entry.parent_hex),
        name: author.map(|author| author.name.clone()).unwrap_or_default(),
        author_key: author.map(|author| match author.email.is_empty() {
            true => author.commenter_hex.clone(),
            false => author.email.clone(),
        }),
        content: if entry.markdown.is_empty() { Content::Html(entry.html) } else { Content::Markdown(entry.markdown) },
        created_at: text::time(&entry.creation_date)?,
        likes: u64::try_from(entry.score).unwrap_or(0),
        dislikes: u64::try_from(entry.score.saturating_neg()).unwrap_or(0),
        deleted: entry.deleted,
        ..ForeignComment::default()
    })
}
