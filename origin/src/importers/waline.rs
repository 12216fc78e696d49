//! The JSON file of Waline's export, and what its hosted database exports, also of Valine.

use std::io::{BufRead as _, BufReader, Read as _};

use anyhow::ensure;
use serde::Deserialize;
use serde_json::Value;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, LeftOut, json, text};

#[derive(Deserialize)]
struct WalineComment {
    #[serde(alias = "id", rename = "objectId")]
    id: Value,
    /// Markdown in Waline; HTML where Valine stored it.
    #[serde(default)]
    comment: String,
    #[serde(default)]
    nick: Option<String>,
    #[serde(default)]
    mail: Option<String>,
    #[serde(default)]
    user_id: Value,
    url: String,
    #[serde(default)]
    pid: Value,
    #[serde(default)]
    rid: Value,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    sticky: Value,
    #[serde(default)]
    like: Value,
    #[serde(default, rename = "insertedAt", alias = "insertedat")]
    inserted_at: Value,
    #[serde(default, rename = "createdAt", alias = "createdat")]
    created_at: Value,
}

/// Longest line that is a comment: a whole file may be one line.
const MAX_COMMENT_LINE_BYTES: u64 = 1 << 20;
/// What a line about the file begins with, where its hosted database writes one before the comments.
const LINE_ABOUT_FILE: &str = "#";
/// In that line, where the file has no comments.
const CLASS_OF_VIEWS: &str = r#""class":"Counter""#;

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let mut number = 0;
    let mut each = |entry: Result<WalineComment, String>| {
        number += 1;
        let entry = match entry {
            Ok(entry) => entry,
            Err(reason) => return found.bad(&format!("comment {number} of the file"), &reason),
        };
        let why = match entry.status.as_deref() {
            Some("spam") => LeftOut::Spam,
            Some("waiting") => {
                return found.waiting(json::as_text(&entry.id), some(&entry.pid), || comment(&entry));
            }
            _ => {
                let what = format!("comment {:?}", json::as_text(&entry.id));
                return found.comment_or_bad(&what, comment(&entry));
            }
        };
        found.left_out(why, json::as_text(&entry.id), some(&entry.pid));
        Ok(())
    };
    if has_comment_a_line(file)? {
        for line in BufReader::new(file.open()?).lines() {
            let line = line?;
            if !line.trim().is_empty() && !line.starts_with(LINE_ABOUT_FILE) {
                each(serde_json::from_str(&line).map_err(|error| error.to_string()))?;
            }
        }
        return Ok(());
    }
    if json::is_array(file)? {
        return json::each(file, &[], each);
    }
    json::each(file, &["data", "Comment"], &mut each)?;
    json::each(file, &["results"], &mut each)
}

/// Whether the file has a comment a line, as the hosted database exports them, with or without a line about the file before;
/// else it has a list of results.
fn has_comment_a_line(file: &ExportSource) -> anyhow::Result<bool> {
    let mut first = Vec::new();
    BufReader::new(file.peek()?.take(MAX_COMMENT_LINE_BYTES)).read_until(b'\n', &mut first)?;
    if first.starts_with(LINE_ABOUT_FILE.as_bytes()) {
        // Lines of the class `Counter` have an address and a time, too.
        let about = String::from_utf8_lossy(&first).replace(' ', "");
        ensure!(
            !about.contains(CLASS_OF_VIEWS),
            "the file has the views of pages, and the comments are the class Comment"
        );
        return Ok(true);
    }
    Ok(serde_json::from_slice::<WalineComment>(&first).is_ok())
}

fn some(value: &Value) -> Option<String> {
    Some(json::as_text(value)).filter(|text| !text.is_empty())
}

fn time_of(value: &Value) -> Result<u64, String> {
    match value {
        Value::Number(number) => number.as_u64().ok_or_else(|| format!("{number} is no time")),
        Value::Object(date) => time_of(date.get("iso").unwrap_or(&Value::Null)),
        other => text::time(&json::as_text(other)),
    }
}

fn comment(entry: &WalineComment) -> Result<ForeignComment, String> {
    let time = if entry.inserted_at.is_null() { &entry.created_at } else { &entry.inserted_at };
    let is_html = entry.comment.trim_start().starts_with('<');
    Ok(ForeignComment {
        page: entry.url.clone(),
        id: json::as_text(&entry.id),
        parent: some(&entry.pid),
        root: some(&entry.rid),
        name: entry.nick.clone().unwrap_or_default(),
        author_key: entry.mail.clone().filter(|mail| !mail.is_empty()).or_else(|| some(&entry.user_id)),
        content: if is_html { Content::Html(entry.comment.clone()) } else { Content::Markdown(entry.comment.clone()) },
        created_at: time_of(time)?,
        likes: json::as_text(&entry.like).parse().unwrap_or(0),
        pinned: matches!(json::as_text(&entry.sticky).as_str(), "1" | "true"),
        ..ForeignComment::default()
    })
}
