//! Deletes the files of pictures that no comment shows: a day after the upload, or after the comment was deleted.
//!
//! Every picture is looked at once a day. Promise: a file that a comment shows is never deleted. What is about to be
//! deleted is first taken from its deleted comments, in a transaction that does nothing to one that is restored; then no
//! new comment can use it; then its file goes, and its row last. Whatever dies in between is done again, by any process:
//! several may do the same at the same time.

use std::collections::HashMap;
use std::sync::Weak;
use std::time::Duration;

use gailou_shared::id::CommentId;
use gailou_shared::limits::MEDIA_RETENTION_MS;
use gailou_shared::wire::CommentState;
use tokio::time::MissedTickBehavior;

use crate::domain::media::{MediaName, MediaRow, MediaUse};
use crate::domain::operation::{CommentChange, Operation, OperationOutcome};
use crate::domain::row::CommentRow;
use crate::outage_log::OutageLog;
use crate::ports::blobs::BlobError;
use crate::ports::journal::JournalError;
use crate::ports::store::StoreError;
use crate::state::AppState;
use crate::state::media::MediaStore;

/// How often pictures are looked for whose time has come.
const MEDIA_SWEEP_INTERVAL: Duration = Duration::from_secs(60);
/// Pictures that are looked at at once; their comments take 8 MB at most.
const PICTURES_PER_READ: usize = 100;
/// Reads of one sweep: 5,000 pictures a minute are 7 million a day.
const MAX_READS_PER_SWEEP: usize = 50;
/// How long after one look a picture is looked at again.
const CHECK_INTERVAL_MS: u64 = MEDIA_RETENTION_MS;

/// Why pictures could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum MediaSweepError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Blob(#[from] BlobError),
}

/// Sweeps until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let outage = OutageLog::default();
    let mut tick = tokio::time::interval(MEDIA_SWEEP_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        match sweep(&state).await {
            Ok(_) => outage.end(|| tracing::info!("Pictures that no comment shows are deleted again")),
            Err(error) => outage.begin(|| {
                let retry_s = MEDIA_SWEEP_INTERVAL.as_secs();
                tracing::warn!(retry_s, %error, "Could not delete the pictures that no comment shows; retrying every {retry_s} s");
            }),
        }
    }
}

/// Looks at the pictures whose time has come; how many files it deleted.
///
/// # Errors
/// The first of a store; what was done before stays so.
pub async fn sweep(state: &AppState) -> Result<usize, MediaSweepError> {
    let Some(store) = &state.media else { return Ok(0) };
    // It waits for a backup that copies the files.
    let _deletions = store.deletions.lock().await;
    let mut deleted = 0;
    for _ in 0..MAX_READS_PER_SWEEP {
        let due = state.tables.list_due_media(state.now(), PICTURES_PER_READ).await?;
        let ids: Vec<CommentId> = due.iter().flat_map(|row| row.uses.iter().copied()).collect();
        let comments = state.tables.read_comments(&ids).await?;
        for row in &due {
            deleted += usize::from(check(state, store, row, &comments).await?);
        }
        if due.len() < PICTURES_PER_READ {
            break;
        }
    }
    if deleted > 0 {
        tracing::info!(deleted, "Deleted {deleted} pictures that no comment shows");
    }
    Ok(deleted)
}

/// Looks at one picture; whether it deleted its file.
async fn check(
    state: &AppState,
    store: &MediaStore,
    row: &MediaRow,
    comments: &HashMap<CommentId, CommentRow>,
) -> Result<bool, MediaSweepError> {
    let now = state.now();
    let found = use_of(row, comments);
    if !row.is_deleted && !row.is_over(found, now) {
        let unused_since = if found == MediaUse::Shown { None } else { Some(row.unused_since.unwrap_or(now)) };
        state.tables.put_media_check(row, unused_since, now + CHECK_INTERVAL_MS).await?;
        return Ok(false);
    }
    for id in row.uses.iter().filter(|id| comments.get(id).is_some_and(|comment| has_picture(comment, row))) {
        let drop = Operation::Change { id: *id, change: CommentChange::DropMedia, audit: None };
        if matches!(state.journal.append(drop).await?, OperationOutcome::Conflict) {
            // It has been restored since it was read.
            state.tables.put_media_check(row, None, now + CHECK_INTERVAL_MS).await?;
            return Ok(false);
        }
    }
    if !state.tables.begin_media_deletion(row).await? {
        return Ok(false);
    }
    if let Some(name) = MediaName::parse(&row.media.name) {
        store.blobs.delete(&name).await?;
    }
    state.tables.delete_media(row.media.id).await?;
    Ok(true)
}

fn has_picture(comment: &CommentRow, row: &MediaRow) -> bool {
    comment.media.iter().any(|media| media.id == row.media.id)
}

/// What the comments do that were to use a picture.
fn use_of(row: &MediaRow, comments: &HashMap<CommentId, CommentRow>) -> MediaUse {
    let of_it = || row.uses.iter().map(|id| comments.get(id));
    if of_it().flatten().any(|comment| comment.state != CommentState::Deleted && has_picture(comment, row)) {
        MediaUse::Shown
    } else if of_it().any(|comment| comment.is_none()) {
        MediaUse::Unknown
    } else {
        MediaUse::Unused
    }
}
