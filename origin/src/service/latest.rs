//! The newest comments: of all subjects, of those of a type, of one subject.
//!
//! Promise: what every reader sees and nothing else, newest first, each with the title and the address of its subject.
//! The cost does not depend on how many comments there are, so of a type that few write to only those are found that
//! are among the newest of all.

use std::collections::{BTreeSet, HashMap};

use gailou_shared::id::{CommentId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::wire::{Comment, Subject, SubjectRef, SubjectState};

use crate::domain::row::{CommentRow, SubjectRow};
use crate::service::answer_rows::json_bytes;
use crate::service::subject::{SubjectAudience, read_row_for, subject_view, threading_of};
use crate::service::{ServiceResult, comment_view};
use crate::state::AppState;

/// Ids that are read for each comment of an answer: some are of hidden subjects.
const IDS_PER_COMMENT: usize = 4;
/// The comments of an answer, in bytes of JSON: titles and addresses have as much room beside them.
const MAX_COMMENT_BYTES: usize = limits::MAX_LIST_BYTES / 2;

/// The newest comments of all subjects that readers see, or of those of one type.
///
/// # Errors
/// The store's.
pub async fn list_latest(app: &AppState, kind: Option<&str>, limit: usize) -> ServiceResult<Vec<Comment>> {
    let ids = app.tables.list_latest(kind, limit * IDS_PER_COMMENT).await?;
    let mut latest = LatestComments { limit, ..LatestComments::default() };
    for chunk in ids.chunks(limit) {
        let rows = read_visible(app, chunk).await?;
        latest.read_subjects(app, &rows).await?;
        for row in rows.into_iter().filter(|row| kind.is_none_or(|kind| kind == row.subject.kind())) {
            if !latest.take(app, &row) {
                return Ok(latest.comments);
            }
        }
    }
    Ok(latest.comments)
}

/// A subject, without its pinned comments, and its newest comments, roots and replies.
///
/// # Errors
/// [`crate::service::ServiceError::UnknownSubjectType`], or the store's.
pub async fn list_latest_of(app: &AppState, key: &SubjectKey, limit: usize) -> ServiceResult<(Subject, Vec<Comment>)> {
    let row = read_row_for(app, key, SubjectAudience::EveryReader).await?;
    let subject = subject_view(app, &row, threading_of(app, key.kind(), row.mode)?, &HashMap::new());
    let mut latest = LatestComments { limit, ..LatestComments::default() };
    if row.state != SubjectState::Hidden {
        let ids = app.tables.list_latest_of(key, limit).await?;
        latest.subjects.insert(key.clone(), row);
        for row in read_visible(app, &ids).await?.into_iter().filter(|row| row.subject == *key) {
            if !latest.take(app, &row) {
                break;
            }
        }
    }
    Ok((subject, latest.comments))
}

/// The rows that every reader sees, in the order of the ids.
async fn read_visible(app: &AppState, ids: &[CommentId]) -> ServiceResult<Vec<CommentRow>> {
    let mut rows = app.store.read_comments(ids).await?;
    Ok(ids.iter().filter_map(|id| rows.remove(id)).filter(CommentRow::is_visible).collect())
}

/// An answer that is filled.
#[derive(Default)]
struct LatestComments {
    limit: usize,
    comments: Vec<Comment>,
    used_bytes: usize,
    subjects: HashMap<SubjectKey, SubjectRow>,
}

impl LatestComments {
    async fn read_subjects(&mut self, app: &AppState, rows: &[CommentRow]) -> ServiceResult<()> {
        let unknown = rows.iter().map(|row| &row.subject).filter(|key| !self.subjects.contains_key(*key));
        let unknown: Vec<SubjectKey> = unknown.cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let found = app.store.read_subjects(&unknown).await?;
        self.subjects.extend(unknown.into_iter().zip(found).filter_map(|(key, row)| Some((key, row?))));
        Ok(())
    }

    /// Takes a comment, unless its subject is not shown. Whether there is room for another one.
    fn take(&mut self, app: &AppState, row: &CommentRow) -> bool {
        let Some(subject) = self.subjects.get(&row.subject).filter(|subject| subject.state != SubjectState::Hidden)
        else {
            return true;
        };
        // A comment whose type is not configured any more is left out.
        let Some(threading) = app.threading_of(row.subject.kind(), row.mode) else { return true };
        self.used_bytes += json_bytes(row);
        if self.used_bytes > MAX_COMMENT_BYTES && !self.comments.is_empty() {
            return false;
        }
        let (title, url) = (Some(subject.title.clone()), Some(subject.url.clone()));
        let subject = SubjectRef { title, url, ..SubjectRef::from(&row.subject) };
        self.comments.push(Comment { subject, ..comment_view::for_every_reader(app, row, threading) });
        self.comments.len() < self.limit
    }
}
