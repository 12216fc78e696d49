//! How the types of the port lie in columns.

use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::path::{Mode, Path};
use gailou_shared::wire::{Author, Flag, Named, Reaction, State, SubjectState, Visibility};
use rusqlite::Row as Columns;

use crate::store::{Result, Row, StoreError};

pub(super) const PINNED: i64 = 1;
pub(super) const OWNER_PINNED: i64 = 2;
pub(super) const FEATURED: i64 = 4;
pub(super) const EDITED: i64 = 8;

/// What [`row`] reads, from `comment c JOIN subject s JOIN content t LEFT JOIN comment p` (the
/// comment that `c` answers).
pub(super) const COLUMNS: &str = "c.path, c.parent_id, c.floor, c.state, c.visibility, c.flags, c.author_id, \
     c.author_name, c.author_avatar, c.author_level, c.reply_to_id, c.reply_to_name, c.likes, c.dislikes, c.replies, \
     c.created_at, c.edited_at, s.type, s.key, t.content, t.html, t.mentions, p.state, s.mode";
pub(super) const JOINS: &str = "JOIN subject s ON s.id = c.subject JOIN content t ON t.id = c.id \
     LEFT JOIN comment p ON p.id = c.parent_id";

pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
    StoreError::Damaged(what.to_string())
}

pub(super) fn comment_id(number: i64) -> Result<CommentId> {
    CommentId::try_from(number).map_err(damaged)
}

pub(super) fn member_id(number: i64) -> Result<MemberId> {
    MemberId::try_from(number).map_err(damaged)
}

pub(super) fn path(bytes: &[u8]) -> Result<Path> {
    Path::from_bytes(bytes).map_err(damaged)
}

pub(super) const fn state_number(state: State) -> i64 {
    match state {
        State::Published => 0,
        State::Review => 1,
        State::Rejected => 2,
        State::Hidden => 3,
        State::Deleted => 4,
    }
}

pub(super) fn state(number: i64) -> Result<State> {
    Ok(match number {
        0 => State::Published,
        1 => State::Review,
        2 => State::Rejected,
        3 => State::Hidden,
        4 => State::Deleted,
        other => return Err(damaged(format_args!("state {other}"))),
    })
}

pub(super) const fn visibility_number(visibility: Visibility) -> i64 {
    match visibility {
        Visibility::Everyone => 0,
        Visibility::Author => 1,
    }
}

pub(super) const fn visibility(number: i64) -> Visibility {
    if number == 0 { Visibility::Everyone } else { Visibility::Author }
}

pub(super) const fn subject_state_number(state: SubjectState) -> i64 {
    match state {
        SubjectState::Open => 0,
        SubjectState::Closed => 1,
        SubjectState::Hidden => 2,
    }
}

pub(super) fn subject_state(number: i64) -> Result<SubjectState> {
    Ok(match number {
        0 => SubjectState::Open,
        1 => SubjectState::Closed,
        2 => SubjectState::Hidden,
        other => return Err(damaged(format_args!("subject state {other}"))),
    })
}

pub(super) const fn mode_number(mode: Mode) -> i64 {
    match mode {
        Mode::Flat => 0,
        Mode::TwoLevel => 1,
        Mode::Tree => 2,
        Mode::Building => 3,
    }
}

pub(super) fn mode(number: i64) -> Result<Mode> {
    Ok(match number {
        0 => Mode::Flat,
        1 => Mode::TwoLevel,
        2 => Mode::Tree,
        3 => Mode::Building,
        other => return Err(damaged(format_args!("mode {other}"))),
    })
}

pub(super) const fn reaction_number(reaction: Reaction) -> i64 {
    match reaction {
        Reaction::Like => 1,
        Reaction::Dislike => 2,
    }
}

pub(super) fn reaction(number: i64) -> Result<Reaction> {
    Ok(match number {
        1 => Reaction::Like,
        2 => Reaction::Dislike,
        other => return Err(damaged(format_args!("reaction {other}"))),
    })
}

fn flags(bits: i64) -> Vec<Flag> {
    [(PINNED, Flag::Pinned), (OWNER_PINNED, Flag::OwnerPinned), (FEATURED, Flag::Featured), (EDITED, Flag::Edited)]
        .into_iter()
        .filter_map(|(bit, flag)| (bits & bit != 0).then_some(flag))
        .collect()
}

pub(super) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// A row of [`COLUMNS`].
pub(super) fn row(r: &Columns<'_>) -> Result<Row> {
    let (kind, key): (String, String) = (r.get(17)?, r.get(18)?);
    let reply_to = match r.get::<_, Option<i64>>(10)? {
        Some(id) => Some(Named { id: member_id(id)?, name: r.get::<_, Option<String>>(11)?.unwrap_or_default() }),
        None => None,
    };
    let mentions = match r.get_ref(21)?.as_str_or_null().map_err(damaged)? {
        Some(json) => serde_json::from_str(json).map_err(damaged)?,
        None => Vec::new(),
    };
    Ok(Row {
        subject: SubjectKey::new(&kind, &key).map_err(damaged)?,
        mode: r.get::<_, Option<i64>>(23)?.map(mode).transpose()?,
        path: path(r.get_ref(0)?.as_blob().map_err(damaged)?)?,
        parent_id: r.get::<_, Option<i64>>(1)?.map(comment_id).transpose()?,
        reply_to,
        parent_gone: r.get::<_, Option<i64>>(22)?.is_some_and(|s| s != state_number(State::Published)),
        floor: r.get::<_, Option<i64>>(2)?.map(count),
        state: state(r.get(3)?)?,
        visibility: visibility(r.get(4)?),
        flags: flags(r.get(5)?),
        author: Author {
            id: member_id(r.get(6)?)?,
            name: r.get(7)?,
            avatar: r.get(8)?,
            level: r.get::<_, i64>(9)?.try_into().map_err(damaged)?,
        },
        likes: count(r.get(12)?),
        dislikes: count(r.get(13)?),
        replies: count(r.get(14)?),
        created_at: count(r.get(15)?),
        edited_at: r.get::<_, Option<i64>>(16)?.map(count),
        content: r.get(19)?,
        html: r.get(20)?,
        mentions,
    })
}
