//! Discussions of GitHub as its GraphQL interface answers them: pages of discussions with their comments and replies.
//!
//! giscus names a discussion by the path or the address of its page, or by its title.

use anyhow::ensure;
use serde::Deserialize;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, json, text};

#[derive(Deserialize)]
struct Discussion {
    title: String,
    comments: DiscussionNodes,
}

#[derive(Deserialize)]
struct DiscussionNodes {
    nodes: Vec<DiscussionComment>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DiscussionComment {
    id: String,
    /// None for an account that is gone.
    author: Option<DiscussionAuthor>,
    #[serde(default)]
    body: String,
    created_at: String,
    last_edited_at: Option<String>,
    deleted_at: Option<String>,
    #[serde(default)]
    upvote_count: u64,
    replies: Option<DiscussionNodes>,
}

#[derive(Deserialize)]
struct DiscussionAuthor {
    login: String,
}

/// What a discussion is about.
struct DiscussionPage {
    address: String,
    /// Empty where the discussion is named by the address.
    title: String,
}

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let mut discussions = 0;
    let mut each = |discussion: Result<Discussion, String>| {
        discussions += 1;
        match discussion {
            Ok(discussion) => add(discussion, found),
            Err(reason) => found.bad(&format!("discussion {discussions} of the file"), &reason),
        }
    };
    if json::is_array(file)? {
        json::each(file, &[], &mut each)?;
    } else {
        json::each(file, &["data", "repository", "discussions", "nodes"], &mut each)?;
    }
    ensure!(
        discussions > 0,
        "the file has no discussions, as an answer of `data.repository.discussions.nodes` or as an array"
    );
    Ok(())
}

fn add(discussion: Discussion, found: &mut Found<'_>) -> anyhow::Result<()> {
    let Discussion { title, comments } = discussion;
    // giscus leaves out the slash that a path begins with.
    let page = if title.contains("://") || title.starts_with('/') { title.clone() } else { format!("/{title}") };
    let page = DiscussionPage { title: if is_path(&title) { String::new() } else { title }, address: page };
    for mut comment in comments.nodes {
        let (id, replies) = (comment.id.clone(), comment.replies.take());
        add_one(&page, None, comment, found)?;
        for reply in replies.map_or(vec![], |replies| replies.nodes) {
            add_one(&page, Some(&id), reply, found)?;
        }
    }
    Ok(())
}

/// Whether it may be the path or the address of a page: those have neither spaces nor letters of other scripts.
fn is_path(title: &str) -> bool {
    title.chars().all(|c| c.is_ascii_graphic())
}

fn add_one(
    page: &DiscussionPage,
    parent: Option<&str>,
    entry: DiscussionComment,
    found: &mut Found<'_>,
) -> anyhow::Result<()> {
    let what = format!("comment {:?}", entry.id);
    found.comment_or_bad(&what, comment(page, parent, entry))
}

fn comment(page: &DiscussionPage, parent: Option<&str>, entry: DiscussionComment) -> Result<ForeignComment, String> {
    let login = entry.author.map(|author| author.login);
    Ok(ForeignComment {
        page: page.address.clone(),
        title: page.title.clone(),
        has_no_address: !page.title.is_empty(),
        id: entry.id,
        parent: parent.map(str::to_owned),
        name: login.clone().unwrap_or_default(),
        author_key: login,
        content: Content::Markdown(entry.body),
        created_at: text::time(&entry.created_at)?,
        edited_at: entry.last_edited_at.map(|time| text::time(&time)).transpose()?,
        // GitHub counts the author's own, too.
        likes: entry.upvote_count,
        deleted: entry.deleted_at.is_some(),
        ..ForeignComment::default()
    })
}
