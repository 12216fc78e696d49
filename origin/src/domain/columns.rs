//! How the types of the port lie in columns: the same numbers in every database.

use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::path::{Mode, Path};
use gailou_shared::wire::{CommentFlag, CommentState, Reaction, SubjectState, Visibility};

use crate::domain::damaged_data::{DamagedData, Result};

pub(crate) const PINNED: i64 = 1;
pub(crate) const OWNER_PINNED: i64 = 2;
pub(crate) const FEATURED: i64 = 4;
pub(crate) const EDITED: i64 = 8;

pub(crate) fn damaged(what: impl std::fmt::Display) -> DamagedData {
    DamagedData::new(what)
}

pub(crate) fn comment_id(number: i64) -> Result<CommentId> {
    CommentId::try_from(number).map_err(damaged)
}

pub(crate) fn member_id(number: i64) -> Result<MemberId> {
    MemberId::try_from(number).map_err(damaged)
}

pub(crate) fn path(bytes: &[u8]) -> Result<Path> {
    Path::from_bytes(bytes).map_err(damaged)
}

pub(crate) const fn state_number(state: CommentState) -> i64 {
    match state {
        CommentState::Published => 0,
        CommentState::Review => 1,
        CommentState::Rejected => 2,
        CommentState::Hidden => 3,
        CommentState::Deleted => 4,
    }
}

pub(crate) fn state(number: i64) -> Result<CommentState> {
    Ok(match number {
        0 => CommentState::Published,
        1 => CommentState::Review,
        2 => CommentState::Rejected,
        3 => CommentState::Hidden,
        4 => CommentState::Deleted,
        other => return Err(damaged(format_args!("state {other}"))),
    })
}

pub(crate) const fn visibility_number(visibility: Visibility) -> i64 {
    match visibility {
        Visibility::Everyone => 0,
        Visibility::Author => 1,
    }
}

pub(crate) const fn visibility(number: i64) -> Visibility {
    if number == 0 { Visibility::Everyone } else { Visibility::Author }
}

pub(crate) const fn subject_state_number(state: SubjectState) -> i64 {
    match state {
        SubjectState::Open => 0,
        SubjectState::Closed => 1,
        SubjectState::Hidden => 2,
    }
}

pub(crate) fn subject_state(number: i64) -> Result<SubjectState> {
    Ok(match number {
        0 => SubjectState::Open,
        1 => SubjectState::Closed,
        2 => SubjectState::Hidden,
        other => return Err(damaged(format_args!("subject state {other}"))),
    })
}

pub(crate) const fn mode_number(mode: Mode) -> i64 {
    match mode {
        Mode::Flat => 0,
        Mode::TwoLevel => 1,
        Mode::Tree => 2,
        Mode::Building => 3,
    }
}

pub(crate) fn mode(number: i64) -> Result<Mode> {
    Ok(match number {
        0 => Mode::Flat,
        1 => Mode::TwoLevel,
        2 => Mode::Tree,
        3 => Mode::Building,
        other => return Err(damaged(format_args!("mode {other}"))),
    })
}

pub(crate) const fn reaction_number(reaction: Reaction) -> i64 {
    match reaction {
        Reaction::Like => 1,
        Reaction::Dislike => 2,
    }
}

pub(crate) fn reaction(number: i64) -> Result<Reaction> {
    Ok(match number {
        1 => Reaction::Like,
        2 => Reaction::Dislike,
        other => return Err(damaged(format_args!("reaction {other}"))),
    })
}

pub(crate) fn flags(bits: i64) -> Vec<CommentFlag> {
    [
        (PINNED, CommentFlag::Pinned),
        (OWNER_PINNED, CommentFlag::OwnerPinned),
        (FEATURED, CommentFlag::Featured),
        (EDITED, CommentFlag::Edited),
    ]
    .into_iter()
    .filter_map(|(bit, flag)| (bits & bit != 0).then_some(flag))
    .collect()
}

pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
