//! Rows of comments as SQLite stores them.

use gailou_shared::id::SubjectKey;
use gailou_shared::path::Mode;
use gailou_shared::wire::{Author, CommentState, MemberRef, Visibility};
use rusqlite::Row;

pub(super) use crate::domain::columns::*;
use crate::domain::row::CommentRow;
use crate::ports::store::{Result, StoreError};

/// The columns that [`comment_row`] reads, from a comment `c` and [`COMMENT_JOINS`].
pub(super) const COMMENT_COLUMNS: &str = "c.path, c.parent_id, c.floor, c.state, c.visibility, c.flags, c.author_id, \
     c.author_name, c.author_avatar, c.author_level, c.reply_to_id, c.reply_to_name, c.likes, c.dislikes, c.replies, \
     c.created_at, c.edited_at, s.type, s.key, t.content, t.html, t.mentions, p.state, s.mode, s.version, c.author_role, \
     t.media";
/// The number of [`COMMENT_COLUMNS`]: further columns of a statement follow them.
pub(super) const COLUMN_COUNT: usize = 27;
/// A comment's subject, its content, and the comment that it answers.
pub(super) const COMMENT_JOINS: &str = "JOIN subject s ON s.id = c.subject JOIN content t ON t.id = c.id \
     LEFT JOIN comment p ON p.id = c.parent_id";

/// The error of a row that breaks the rules of the tables.
pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
    StoreError::damaged(what)
}

/// A row of [`COMMENT_COLUMNS`].
pub(super) fn comment_row(r: &Row<'_>) -> Result<CommentRow> {
    let (kind, key): (String, String) = (r.get(17)?, r.get(18)?);
    let reply_to = match r.get::<_, Option<i64>>(10)? {
        Some(id) => Some(MemberRef { id: member_id(id)?, name: r.get::<_, Option<String>>(11)?.unwrap_or_default() }),
        None => None,
    };
    let (mentions, media) = (list_at(r, 21)?, list_at(r, 26)?);
    Ok(CommentRow {
        subject: SubjectKey::new(&kind, &key).map_err(damaged)?,
        version: count(r.get(24)?),
        mode: r.get::<_, Option<i64>>(23)?.map(Mode::from_number).transpose()?,
        path: path(r.get_ref(0)?.as_blob().map_err(damaged)?)?,
        parent_id: r.get::<_, Option<i64>>(1)?.map(comment_id).transpose()?,
        reply_to,
        parent_gone: r.get::<_, Option<i64>>(22)?.is_some_and(|state| state != CommentState::Published.number()),
        floor: r.get::<_, Option<i64>>(2)?.map(count),
        state: CommentState::from_number(r.get(3)?)?,
        visibility: Visibility::from_number(r.get(4)?)?,
        flags: flags(r.get(5)?),
        author: Author::new(
            member_id(r.get(6)?)?,
            r.get(7)?,
            r.get(8)?,
            r.get::<_, i64>(9)?.try_into().map_err(damaged)?,
            role(r.get(25)?)?,
        ),
        likes: count(r.get(12)?),
        dislikes: count(r.get(13)?),
        reactions_offset: 0,
        replies: count(r.get(14)?),
        created_at: count(r.get(15)?),
        edited_at: r.get::<_, Option<i64>>(16)?.map(count),
        content: r.get(19)?,
        html: r.get(20)?,
        mentions,
        media,
    })
}

/// A list in a column of JSON, which may be empty.
fn list_at<T: serde::de::DeserializeOwned>(r: &Row<'_>, index: usize) -> Result<Vec<T>> {
    match r.get_ref(index)?.as_str_or_null().map_err(damaged)? {
        Some(json) => serde_json::from_str(json).map_err(damaged),
        None => Ok(Vec::new()),
    }
}

/// A column of JSON.
pub(super) fn parse_json<T: serde::de::DeserializeOwned>(r: &Row<'_>, index: usize) -> Result<T> {
    serde_json::from_str(r.get_ref(index)?.as_str().map_err(damaged)?).map_err(damaged)
}
