//! A subject: its row, how its threads are built, how readers see it, its counts.

use std::collections::{BTreeSet, HashMap};

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{CountsBySubject, Subject, SubjectCounts, SubjectState};

use crate::domain::row::{CommentRow, SubjectRow, SubjectRules};
use crate::service::answer_rows::fitting;
use crate::service::{ServiceError, ServiceResult, comment_view};
use crate::state::AppState;

/// Who reads: a hidden subject looks empty to every reader, and to moderators as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubjectAudience {
    EveryReader,
    Moderators,
}

impl SubjectAudience {
    /// The audience that a member belongs to.
    pub fn of(member: &Member) -> Self {
        if member.role >= Role::Moderator { Self::Moderators } else { Self::EveryReader }
    }
}

/// A subject with its pinned comments.
///
/// # Errors
/// [`ServiceError::UnknownSubjectType`], or the store's.
pub async fn read_subject(app: &AppState, key: &SubjectKey, audience: SubjectAudience) -> ServiceResult<Subject> {
    let row = read_row_for(app, key, audience).await?;
    let threading = threading_of(app, key.kind(), row.mode)?;
    let comments = app.store.read_comments(&row.pinned).await?;
    Ok(subject_view(app, &row, threading, &comments))
}

/// Counts the visible roots and comments of these subjects.
///
/// # Errors
/// The store's.
pub async fn count_subjects(app: &AppState, keys: &[SubjectKey]) -> ServiceResult<CountsBySubject> {
    let rows = app.store.read_subjects(keys).await?;
    let counts = keys.iter().zip(rows).map(|(key, row)| {
        let row = row.map(|row| as_seen_by(row, SubjectAudience::EveryReader));
        (key.to_string(), row.map_or_else(<_>::default, |row| counts_of(&row)))
    });
    Ok(counts.collect())
}

pub(super) fn counts_of(row: &SubjectRow) -> SubjectCounts {
    SubjectCounts { roots: row.roots, comments: row.comments }
}

/// The subject of a comment, and its own id where this is a second one. Both never change.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], or the store's.
pub async fn of_comment(app: &AppState, id: CommentId) -> ServiceResult<(SubjectKey, CommentId)> {
    if let Some(known) = app.comment_subjects.get(&id) {
        return Ok(known);
    }
    if let Some((subject, rules)) = app.store.read_subjects_of(&[id]).await?.remove(&id) {
        app.subject_rules.insert(subject.clone(), rules);
        app.comment_subjects.insert(id, (subject.clone(), id));
        return Ok((subject, id));
    }
    let row = app.store.read_comments(&[id]).await?.remove(&id).ok_or(ServiceError::CommentNotFound)?;
    let found = (row.subject.clone(), row.id());
    // Without a row it is not known yet whether the id is a second one.
    if row.version > 0 {
        app.comment_subjects.insert(id, found.clone());
    }
    Ok(found)
}

/// What a write asks of the subject. In another process's memory it may be a second old.
///
/// # Errors
/// The store's.
pub(super) async fn read_rules(app: &AppState, key: &SubjectKey) -> ServiceResult<SubjectRules> {
    if let Some(known) = app.subject_rules.get(key) {
        return Ok(known);
    }
    let found = app.store.read_subject_rules(std::slice::from_ref(key)).await?.pop().unwrap_or_default();
    app.subject_rules.insert(key.clone(), found);
    Ok(found)
}

/// Refuses what is about a comment of a subject that this audience does not see.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], or the store's.
pub(super) async fn check_seen(app: &AppState, key: &SubjectKey, audience: SubjectAudience) -> ServiceResult<()> {
    let is_seen = audience == SubjectAudience::Moderators || read_rules(app, key).await?.state != SubjectState::Hidden;
    if is_seen { Ok(()) } else { Err(ServiceError::CommentNotFound) }
}

/// Those of the subjects that readers do not see.
///
/// # Errors
/// The store's.
pub(super) async fn hidden_among<'a>(
    app: &AppState,
    keys: impl IntoIterator<Item = &'a SubjectKey>,
) -> ServiceResult<BTreeSet<SubjectKey>> {
    let keys: BTreeSet<_> = keys.into_iter().cloned().collect();
    let (mut hidden, mut unknown) = (BTreeSet::new(), Vec::new());
    for key in keys {
        match app.subject_rules.get(&key) {
            Some(SubjectRules { state: SubjectState::Hidden, .. }) => drop(hidden.insert(key)),
            Some(_) => {}
            None => unknown.push(key),
        }
    }
    if !unknown.is_empty() {
        for (key, rules) in unknown.iter().zip(app.store.read_subject_rules(&unknown).await?) {
            app.subject_rules.insert(key.clone(), rules);
            if rules.state == SubjectState::Hidden {
                hidden.insert(key.clone());
            }
        }
    }
    Ok(hidden)
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

/// The subject's row as this audience sees it.
pub(super) async fn read_row_for(
    app: &AppState,
    key: &SubjectKey,
    audience: SubjectAudience,
) -> ServiceResult<SubjectRow> {
    Ok(as_seen_by(read_row(app, key).await?, audience))
}

/// A hidden subject has no comments for readers. What its host or an admin registered of it is no comment.
fn as_seen_by(row: SubjectRow, audience: SubjectAudience) -> SubjectRow {
    match (row.state, audience) {
        (SubjectState::Hidden, SubjectAudience::EveryReader) => {
            SubjectRow { roots: 0, comments: 0, pinned: vec![], ..row }
        }
        _ => row,
    }
}

/// A subject as readers see it; `comments` holds the rows of its pinned comments.
pub(super) fn subject_view(
    app: &AppState,
    row: &SubjectRow,
    threading: Threading,
    comments: &HashMap<CommentId, CommentRow>,
) -> Subject {
    let pinned = row.pinned.iter().filter_map(|id| comments.get(id));
    let pinned =
        fitting(pinned, limits::MAX_PINNED_BYTES).map(|c| comment_view::for_every_reader(app, c, threading)).collect();
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
        earlier_texts: app.settings().values.rules.show_earlier_texts,
    }
}
