//! Isso: its database, or the JSON file of its generic importer.

use std::io::Read as _;

use rusqlite::{Connection, OpenFlags, Row};
use serde::Deserialize;
use serde_json::Value;

use crate::importers::source::ExportSource;
use crate::importers::{Content, ForeignComment, Found, json, text};

/// What a database of SQLite begins with.
const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";
/// States of a comment in its database: bits.
const MODE_PUBLISHED: i64 = 1;
const MODE_PENDING: i64 = 2;
const MODE_DELETED: i64 = 4;

pub(super) fn read(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let mut magic = Vec::new();
    file.peek()?.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut magic)?;
    if magic == SQLITE_MAGIC { read_database(file, found) } else { read_json(file, found) }
}

fn read_database(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    let database = Connection::open_with_flags(file.path(), OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut statement = database.prepare(
        "SELECT t.uri, c.id, c.parent, c.created, c.modified, c.mode, c.text, c.author, c.email, c.likes, c.dislikes, \
         t.title \
         FROM comments c JOIN threads t ON t.id = c.tid ORDER BY c.id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (id, mode): (i64, i64) = (row.get(1)?, row.get(5)?);
        let parent = row.get::<_, Option<i64>>(2)?.map(|parent| parent.to_string());
        match mode {
            MODE_PUBLISHED | MODE_DELETED => found.comment(stored_comment(row, mode)?)?,
            MODE_PENDING => {
                let comment = stored_comment(row, mode)?;
                found.waiting(id.to_string(), parent, || Ok(comment))?;
            }
            other => found.bad(&format!("comment \"{id}\""), &format!("has the unknown state {other}"))?,
        }
    }
    Ok(())
}

fn stored_comment(row: &Row<'_>, mode: i64) -> rusqlite::Result<ForeignComment> {
    let ms = |seconds: f64| (seconds * 1_000.0) as u64;
    let count = |number: Option<i64>| u64::try_from(number.unwrap_or(0)).unwrap_or(0);
    let text = |text: Option<String>| text.unwrap_or_default();
    Ok(ForeignComment {
        page: row.get(0)?,
        title: text(row.get(11)?),
        id: row.get::<_, i64>(1)?.to_string(),
        parent: row.get::<_, Option<i64>>(2)?.map(|parent| parent.to_string()),
        name: text(row.get(7)?),
        author_key: Some(text(row.get(8)?)).filter(|email| !email.is_empty()),
        content: Content::Markdown(text(row.get(6)?)),
        created_at: ms(row.get(3)?),
        edited_at: row.get::<_, Option<f64>>(4)?.map(ms).filter(|_| mode != MODE_DELETED),
        likes: count(row.get(9)?),
        dislikes: count(row.get(10)?),
        deleted: mode == MODE_DELETED,
        ..ForeignComment::default()
    })
}

#[derive(Deserialize)]
struct IssoThread {
    id: String,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    comments: Vec<Value>,
}

#[derive(Deserialize)]
struct IssoComment {
    id: Value,
    #[serde(default)]
    parent: Value,
    #[serde(default)]
    author: Option<String>,
    #[serde(default)]
    email: Option<String>,
    created: String,
    #[serde(default)]
    text: String,
}

fn read_json(file: &ExportSource, found: &mut Found<'_>) -> anyhow::Result<()> {
    json::each(file, &[], |thread: Result<IssoThread, String>| {
        let mut thread = match thread {
            Ok(thread) => thread,
            Err(reason) => return found.bad("a page", &reason),
        };
        for (number, entry) in (1..).zip(std::mem::take(&mut thread.comments)) {
            let read = serde_json::from_value::<IssoComment>(entry).map_err(|error| error.to_string());
            let what = format!("comment {number} of {}", thread.id);
            found.comment_or_bad(&what, read.and_then(|entry| comment(&thread, entry)))?;
        }
        Ok(())
    })
}

fn comment(thread: &IssoThread, entry: IssoComment) -> Result<ForeignComment, String> {
    let id = |value: &Value| match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    };
    Ok(ForeignComment {
        page: thread.id.clone(),
        title: thread.title.clone().unwrap_or_default(),
        id: id(&entry.id).unwrap_or_default(),
        parent: id(&entry.parent),
        name: entry.author.unwrap_or_default(),
        author_key: entry.email.filter(|email| !email.is_empty()),
        content: Content::Markdown(entry.text),
        created_at: text::time(&entry.created)?,
        ..ForeignComment::default()
    })
}
