//! Rows of comments as MySQL stores them.

use gailou_shared::id::{CommentId, Slot, SubjectKey};
use gailou_shared::path::Mode;
use gailou_shared::wire::{Author, CommentState, MemberRef, Visibility};
use sqlx::Row as _;
use sqlx::mysql::MySqlRow;

pub(super) use crate::domain::columns::*;
use crate::domain::row::CommentRow;
use crate::ports::store::{Result, StoreError};

/// The columns that [`comment_row`] reads, from a comment `c` and [`COMMENT_JOINS`].
pub(super) const COMMENT_COLUMNS: &str = "c.path, c.parent_id, c.floor, c.state, c.visibility, c.flags, c.author_id, \
     c.author_name, c.author_avatar, c.author_level, c.reply_to_id, c.reply_to_name, c.likes, c.dislikes, c.reacted, \
     c.replies, c.created_at, c.edited_at, s.type, s.`key`, s.mode, t.content, t.html, t.mentions, p.state, s.version, \
     c.author_role, t.media";
/// The number of [`COMMENT_COLUMNS`]: further columns of a statement follow them.
pub(super) const COLUMN_COUNT: usize = 28;
/// A comment's subject, its content, and the comment that it answers, joined in this order whatever the
/// statistics say.
pub(super) const COMMENT_JOINS: &str = "STRAIGHT_JOIN subject_{n} s FORCE INDEX (PRIMARY) ON s.id = c.subject \
     STRAIGHT_JOIN content_{n} t FORCE INDEX (PRIMARY) ON t.id = c.id \
     LEFT JOIN comment_{n} p FORCE INDEX (PRIMARY) ON p.id = c.parent_id";

/// The error of a row that breaks the rules of the tables.
pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
    StoreError::damaged(what)
}

pub(super) fn number_at(r: &MySqlRow, index: usize) -> Result<i64> {
    Ok(r.try_get(index)?)
}

pub(super) fn optional_number_at(r: &MySqlRow, index: usize) -> Result<Option<i64>> {
    Ok(r.try_get(index)?)
}

pub(super) fn id_at(r: &MySqlRow, index: usize) -> Result<CommentId> {
    Ok(comment_id(number_at(r, index)?)?)
}

pub(super) fn count_at(r: &MySqlRow, index: usize) -> Result<u64> {
    Ok(count(number_at(r, index)?))
}

/// The slot in a column.
pub(super) fn slot_at(r: &MySqlRow, column: usize) -> Result<Slot> {
    let number = number_at(r, column)?;
    let slot = u16::try_from(number).ok().and_then(Slot::new);
    slot.ok_or_else(|| damaged(format_args!("slot {number}")))
}

/// The subject whose type and key are in this column and the next.
pub(super) fn subject_at(r: &MySqlRow, index: usize) -> Result<SubjectKey> {
    let (kind, key): (&str, &[u8]) = (r.try_get(index)?, r.try_get(index + 1)?);
    SubjectKey::new(kind, std::str::from_utf8(key).map_err(damaged)?).map_err(damaged)
}

/// A row of [`COMMENT_COLUMNS`].
pub(super) fn comment_row(r: &MySqlRow) -> Result<CommentRow> {
    let reply_to = match optional_number_at(r, 10)? {
        Some(id) => {
            Some(MemberRef { id: member_id(id)?, name: r.try_get::<Option<String>, _>(11)?.unwrap_or_default() })
        }
        None => None,
    };
    let (mentions, media) = (list_at(r, 23)?, list_at(r, 27)?);
    Ok(CommentRow {
        subject: subject_at(r, 18)?,
        version: count_at(r, 25)?,
        mode: optional_number_at(r, 20)?.map(Mode::from_number).transpose()?,
        path: path(r.try_get(0)?)?,
        parent_id: optional_number_at(r, 1)?.map(comment_id).transpose()?,
        reply_to,
        parent_gone: optional_number_at(r, 24)?.is_some_and(|state| state != CommentState::Published.number()),
        floor: optional_number_at(r, 2)?.map(count),
        state: CommentState::from_number(number_at(r, 3)?)?,
        visibility: Visibility::from_number(number_at(r, 4)?)?,
        flags: flags(number_at(r, 5)?),
        author: Author::new(
            member_id(number_at(r, 6)?)?,
            r.try_get(7)?,
            r.try_get(8)?,
            number_at(r, 9)?.try_into().map_err(damaged)?,
            role(number_at(r, 26)?)?,
        ),
        likes: count_at(r, 12)?,
        dislikes: count_at(r, 13)?,
        reactions_offset: count_at(r, 14)?,
        replies: count_at(r, 15)?,
        created_at: count_at(r, 16)?,
        edited_at: optional_number_at(r, 17)?.map(count),
        content: r.try_get(21)?,
        html: r.try_get(22)?,
        mentions,
        media,
    })
}

/// A list in a column of JSON, which may be empty.
fn list_at<T: serde::de::DeserializeOwned>(r: &MySqlRow, index: usize) -> Result<Vec<T>> {
    match r.try_get::<Option<&str>, _>(index)? {
        Some(json) => serde_json::from_str(json).map_err(damaged),
        None => Ok(Vec::new()),
    }
}

/// A column of JSON.
pub(super) fn json_at<T: serde::de::DeserializeOwned>(r: &MySqlRow, index: usize) -> Result<T> {
    serde_json::from_str(r.try_get(index)?).map_err(damaged)
}
