//! The JSON file of Comentario since its version 3: pages, comments, and who wrote them.

use std::collections::HashMap;

use serde::Deserialize;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, LeftOut, json, text};

#[derive(Deserialize)]
pub(super) struct ComentarioPage {
    id: String,
    path: String,
    #[serde(default)]
    title: String,
}

#[derive(Deserialize)]
struct ComentarioAuthor {
    id: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    email: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ComentarioComment {
    id: String,
    parent_id: Option<String>,
    page_id: String,
    /// Its own address, with a fragment.
    #[serde(default)]
    url: String,
    #[serde(default)]
    markdown: String,
    #[serde(default)]
    html: String,
    #[serde(default)]
    score: i64,
    #[serde(default)]
    is_sticky: bool,
    #[serde(default)]
    is_approved: bool,
    #[serde(default)]
    is_pending: bool,
    #[serde(default)]
    is_deleted: bool,
    created_time: String,
    edited_time: Option<String>,
    user_created: Option<String>,
    /// Of an author without an account.
    #[serde(default)]
    author_name: String,
}

/// What the comments of a file refer to, by its id.
struct Referred {
    pages: HashMap<String, ComentarioPage>,
    authors: HashMap<String, ComentarioAuthor>,
}

/// The author of comments that have none.
const ANONYMOUS_ID: &str = "00000000-0000-0000-0000-000000000000";

/// The pages of the file, by their ids. None of the older form, which has no such list.
///
/// # Errors
/// When the file is no JSON.
pub(super) fn pages(file: &ExportSource) -> anyhow::Result<HashMap<String, ComentarioPage>> {
    let mut pages = HashMap::new();
    json::each(file, &["pages"], |page: Result<ComentarioPage, String>| {
        // A comment of a page that cannot be read is named.
        if let Ok(page) = page {
            pages.insert(page.id.clone(), page);
        }
        Ok(())
    })?;
    Ok(pages)
}

pub(super) fn read(
    file: &ExportSource,
    pages: HashMap<String, ComentarioPage>,
    found: &mut Found<'_>,
) -> anyhow::Result<()> {
    let mut referred = Referred { pages, authors: HashMap::new() };
    json::each(file, &["commenters"], |author: Result<ComentarioAuthor, String>| {
        if let Some(author) = author.ok().filter(|author| author.id != ANONYMOUS_ID) {
            referred.authors.insert(author.id.clone(), author);
        }
        Ok(())
    })?;
    let mut number = 0;
    json::each(file, &["comments"], |entry: Result<ComentarioComment, String>| {
        number += 1;
        match entry {
            Ok(entry) if !entry.is_deleted && entry.is_pending => {
                let (id, above) = (entry.id.clone(), entry.parent_id.clone());
                found.waiting(id, above, || comment(entry, &referred))?;
            }
            // It was rejected.
            Ok(entry) if !entry.is_deleted && !entry.is_approved => {
                found.left_out(LeftOut::Spam, entry.id, entry.parent_id);
            }
            Ok(entry) => {
                let what = format!("comment {:?}", entry.id);
                found.comment_or_bad(&what, comment(entry, &referred))?;
            }
            Err(reason) => found.bad(&format!("comment {number} of the file"), &reason)?,
        }
        Ok(())
    })
}

fn comment(entry: ComentarioComment, referred: &Referred) -> Result<ForeignComment, String> {
    let page = referred.pages.get(&entry.page_id);
    let page = page.ok_or_else(|| format!("its page {:?} is not in the file", entry.page_id))?;
    let address = entry.url.split('#').next().unwrap_or("");
    let author = entry.user_created.and_then(|id| referred.authors.get(&id));
    Ok(ForeignComment {
        page: if address.is_empty() { page.path.clone() } else { address.to_owned() },
        title: page.title.clone(),
        id: entry.id,
        parent: entry.parent_id.filter(|parent| !parent.is_empty()),
        name: author.map(|author| author.name.clone()).filter(|name| !name.is_empty()).unwrap_or(entry.author_name),
        author_key: author.map(|author| match author.email.is_empty() {
            true => author.id.clone(),
            false => author.email.clone(),
        }),
        content: if entry.markdown.is_empty() { Content::Html(entry.html) } else { Content::Markdown(entry.markdown) },
        created_at: text::time(&entry.created_time)?,
        edited_at: entry.edited_time.map(|time| text::time(&time)).transpose()?,
        likes: u64::try_from(entry.score).unwrap_or(0),
        dislikes: u64::try_from(entry.score.saturating_neg()).unwrap_or(0),
        deleted: entry.is_deleted,
        pinned: entry.is_sticky,
        ..ForeignComment::default()
    })
}
