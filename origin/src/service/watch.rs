//! The threads that a member watches.
//!
//! Not here: who is notified of what ([`crate::jobs::notify`]).

use std::collections::HashMap;

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{EventId, MemberId, SubjectKey};
use gailou_shared::rank::Sort;
use gailou_shared::token::Member;
use gailou_shared::wire::{ListPageInfo, SubjectState, WatchPage, WatchedThread};

use crate::domain::row::SubjectRow;
use crate::domain::watch::{MAX_WATCHES, StoredWatch, WatchInsertion};
use crate::ports::store::StoreError;
use crate::service::subject::SubjectAudience;
use crate::service::{ServiceError, ServiceResult};
use crate::state::AppState;

/// Has a member notified of the new comments of a subject. Doing so again changes nothing.
///
/// # Errors
/// [`ServiceError::VersionConflict`] for who watches too many, or those of the admission or the store.
pub async fn watch(app: &AppState, member: MemberId, subject: SubjectKey) -> ServiceResult<()> {
    let _place = app.writes.admit().await?;
    match app.tables.add_watches(member, &[StoredWatch::new(subject, app.now())]).await? {
        WatchInsertion::Watching => Ok(()),
        WatchInsertion::Full => {
            Err(ServiceError::VersionConflict("you watch 1,000 threads already; end one of these watches first"))
        }
    }
}

/// Ends that. Doing so again changes nothing.
///
/// # Errors
/// Those of the admission or the store.
pub async fn unwatch(app: &AppState, member: MemberId, subject: &SubjectKey) -> ServiceResult<()> {
    let _place = app.writes.admit().await?;
    Ok(app.tables.delete_watch(member, subject).await?)
}

/// Whether a member watches a subject.
///
/// # Errors
/// Those of the admission or the store.
pub async fn is_watching(app: &AppState, member: MemberId, subject: &SubjectKey) -> ServiceResult<bool> {
    let _place = app.reads.admit().await?;
    Ok(app.tables.is_watching(member, subject).await?)
}

/// A page of what a member watches, the latest first.
///
/// # Errors
/// [`ServiceError::BadCursor`], or those of the admission or the store.
pub async fn list(app: &AppState, reader: &Member, limit: usize, cursor: Option<Cursor>) -> ServiceResult<WatchPage> {
    let list = CursorList::moderation("watches", &[Some(&reader.id.to_string())]);
    let below = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::After(id), .. }) if of == list => {
            Some(EventId::new(id).map_err(|_| ServiceError::BadCursor("does not fit this list"))?)
        }
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let _place = app.reads.admit().await?;
    let mut watches = app.tables.list_watches(reader.id, below, limit + 1).await?;
    let has_more = watches.len() > limit;
    watches.truncate(limit);
    let next = watches.last().filter(|_| has_more).map(|last| {
        let at = WalkPosition::After(last.id.get());
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch: 0, at })
    });
    let keys: Vec<SubjectKey> = watches.iter().map(|watch| watch.subject.clone()).collect();
    let shown = read_shown(app, &keys, SubjectAudience::of(reader)).await?;
    let data = watches.into_iter().map(|StoredWatch { subject, created_at, .. }| {
        let row = shown.get(&subject);
        WatchedThread {
            title: row.and_then(|row| row.title.clone()),
            url: row.and_then(|row| row.url.clone()),
            r#type: subject.kind().to_owned(),
            key: subject.key().to_owned(),
            created_at,
        }
    });
    Ok(WatchPage { data: data.collect(), page: ListPageInfo { next, has_more } })
}

/// The rows of those subjects that this audience sees.
///
/// # Errors
/// The store's.
pub(super) async fn read_shown(
    app: &AppState,
    keys: &[SubjectKey],
    audience: SubjectAudience,
) -> ServiceResult<HashMap<SubjectKey, SubjectRow>> {
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let rows = app.store.read_subjects(keys).await?.into_iter().flatten();
    let shown = rows.filter(|row| audience == SubjectAudience::Moderators || row.state != SubjectState::Hidden);
    Ok(shown.map(|row| (row.key.clone(), row)).collect())
}

/// Makes what a guest watches the member's, as far as the member may watch more, the latest first.
///
/// # Errors
/// The store's.
pub(super) async fn move_watches(app: &AppState, guest: MemberId, heir: MemberId) -> Result<(), StoreError> {
    let watches = app.tables.list_watches(guest, None, MAX_WATCHES).await?;
    if !watches.is_empty() {
        app.tables.add_watches(heir, &watches).await?;
        app.tables.delete_watches_of(guest).await?;
    }
    Ok(())
}
