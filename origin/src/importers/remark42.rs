//! A backup of remark42: a line about itself, then a comment in JSON a line.

use std::collections::HashMap;
use std::io::{BufRead as _, BufReader};

use anyhow::ensure;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, text};

#[derive(Deserialize)]
struct RemarkComment {
    id: String,
    #[serde(default)]
    pid: String,
    /// HTML.
    #[serde(default)]
    text: String,
    /// What was typed: Markdown.
    #[serde(default)]
    orig: String,
    user: RemarkUser,
    locator: RemarkLocator,
    #[serde(default)]
    votes: HashMap<String, bool>,
    #[serde(default)]
    score: i64,
    time: String,
    edit: Option<RemarkEdit>,
    #[serde(default)]
    pin: bool,
    #[serde(default)]
    delete: bool,
    /// Of its page.
    #[serde(default)]
    title: String,
}

#[derive(Deserialize)]
struct RemarkUser {
    #[serde(default)]
    name: String,
    #[serde(default)]
    id: String,
}

#[derive(Deserialize)]
struct RemarkLocator {
    url: String,
}

#[derive(Deserialize)]
struct RemarkEdit {
    time: String,
}

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    for (number, line) in (1..).zip(BufReader::new(file.open()?).lines()) {
        let line = line?;
        if number == 1 {
            ensure!(
                is_about_itself(&line),
                "the file is no unpacked backup of remark42: its first line has no version"
            );
        } else if !line.trim().is_empty() {
            let read = serde_json::from_str::<RemarkComment>(&line).map_err(|error| error.to_string());
            found.comment_or_bad(&format!("line {number}"), read.and_then(comment))?;
        }
    }
    Ok(())
}

/// Whether this is the line that a backup begins with.
fn is_about_itself(line: &str) -> bool {
    let about = serde_json::from_str::<HashMap<String, IgnoredAny>>(line).unwrap_or_default();
    about.contains_key("version") && (about.contains_key("users") || about.contains_key("posts"))
}

fn comment(line: RemarkComment) -> Result<ForeignComment, String> {
    let RemarkComment { id, pid, text, orig, user, locator, votes, score, time, edit, pin, delete, title } = line;
    // Old backups have the sum alone.
    let up = votes.values().filter(|is_up| **is_up).count() as u64;
    let (likes, dislikes) = match votes.len() as u64 {
        0 if score >= 0 => (score.unsigned_abs(), 0),
        0 => (0, score.unsigned_abs()),
        all => (up, all - up),
    };
    Ok(ForeignComment {
        page: locator.url,
        title,
        id,
        parent: Some(pid).filter(|pid| !pid.is_empty()),
        name: user.name,
        author_key: Some(user.id).filter(|id| !id.is_empty() && id != "deleted"),
        content: if orig.is_empty() { Content::Html(text) } else { Content::Markdown(orig) },
        created_at: text::time(&time)?,
        edited_at: edit.map(|edit| text::time(&edit.time)).transpose()?,
        likes,
        dislikes,
        deleted: delete,
        pinned: pin,
        ..ForeignComment::default()
    })
}
