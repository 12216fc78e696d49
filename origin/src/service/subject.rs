//! A subject: its row, how its threads are built, how readers see it, its counts.

use std::collections::HashMap;

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::wire::{CountsBySubject, Subject, SubjectCounts};

use crate::domain::row::{CommentRow, SubjectRow};
use crate::service::answer_rows::fitting;
use crate::service::{ServiceError, ServiceResult, comment_view};
use crate::state::AppState;

/// A subject as every reader sees it, with its pinned comments.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`], or the store's.
pub async fn read_subject(app: &AppState, key: &SubjectKey) -> ServiceResult<Subject> {
    let row = read_row(app, key).await?;
    let threading = threading_of(app, key.kind(), row.mode)?;
    let comments = app.store.read_comments(&row.pinned).await?;
    Ok(subject_view(&row, threading, &comments))
}

/// Counts the visible roots and comments of these subjects.
///
/// # Errors
/// The store's.
pub async fn count_subjects(app: &AppState, keys: &[SubjectKey]) -> ServiceResult<CountsBySubject> {
    let rows = app.store.read_subjects(keys).await?;
    let counts =
        keys.iter().zip(rows).map(|(key, row)| (key.to_string(), row.map_or_else(<_>::default, |row| counts_of(&row))));
    Ok(counts.collect())
}

fn counts_of(row: &SubjectRow) -> SubjectCounts {
    SubjectCounts { roots: row.roots, comments: row.comments }
}

/// How the threads of a subject are built: by its own mode, or by its type's.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`] for a type that is not configured.
pub fn threading_of(app: &AppState, kind: &str, mode: Option<Mode>) -> ServiceResult<Threading> {
    app.threading_of(kind, mode).ok_or(ServiceError::UnknownSubjectType)
}

/// How the thread of a comment is built.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`] for a type that is not configured.
pub(super) fn threading_around(app: &AppState, row: &CommentRow) -> ServiceResult<Threading> {
    threading_of(app, row.subject.kind(), row.mode)
}

/// The subject's row; an empty one where there is no comment yet.
pub(super) async fn read_row(app: &AppState, key: &SubjectKey) -> ServiceResult<SubjectRow> {
    let found = app.store.read_subjects(std::slice::from_ref(key)).await?.pop().flatten();
    Ok(found.unwrap_or_else(|| SubjectRow::empty(key.clone())))
}

/// A subject as readers see it; `comments` holds the rows of its pinned comments.
pub(super) fn subject_view(
    row: &SubjectRow,
    threading: Threading,
    comments: &HashMap<CommentId, CommentRow>,
) -> Subject {
    let pinned = row.pinned.iter().filter_map(|id| comments.get(id));
    let pinned =
        fitting(pinned, limits::MAX_PINNED_BYTES).map(|c| comment_view::for_every_reader(c, threading)).collect();
    Subject {
        version: row.version,
        r#type: row.key.kind().to_owned(),
        key: row.key.key().to_owned(),
        title: row.title.clone(),
        url: row.url.clone(),
        owner_id: row.owner_id,
        mode: threading.mode,
        state: row.state,
        roots: row.roots,
        comments: row.comments,
        pinned,
    }
}
