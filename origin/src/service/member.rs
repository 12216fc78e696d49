//! What belongs to one member: their history, and their layer over shared pages.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{CommentPage, CommentState, Overlay, OverlayEntry, PageInfo, Reaction};
use gailou_shared::word_filter::{MASK_CHARACTER, count_masked};

use crate::domain::row::CommentRow;
use crate::service::answer_rows::{AnswerRows, fitting};
use crate::service::edit::{may_delete, may_edit};
use crate::service::subject::{hidden_among, threading_around};
use crate::service::{ServiceError, ServiceResult, comment_view};
use crate::state::AppState;

/// Comments on a page of a history, in bytes of JSON.
const MAX_HISTORY_BYTES: usize = limits::MAX_LIST_BYTES - 4 * 1024;
/// A reader's comments in an overlay, in bytes of JSON; the entries beside them take at most 400 times 100.
const MAX_PENDING_BYTES: usize = limits::MAX_LIST_BYTES - 64 * 1024;

/// A member's visible comments, newest first.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn list_history(
    app: &AppState,
    member: MemberId,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<CommentPage> {
    let list = CursorList::Member(member);
    let ids = app.store.list_history(member, below_cursor(cursor, list)?, limit + 1).await?;
    page_of_ids(app, list, cursor, ids, limit).await
}

/// The comment below which a list goes on, newest first.
///
/// # Errors
/// [`ServiceError::BadCursor`] for the cursor of another list.
pub(super) fn below_cursor(cursor: Option<Cursor>, list: CursorList) -> ServiceResult<Option<CommentId>> {
    match cursor {
        None => Ok(None),
        Some(Cursor { list: of, at: WalkPosition::After(id), .. }) if of == list => {
            CommentId::new(id).map(Some).map_err(|_| ServiceError::BadCursor("does not fit this list"))
        }
        Some(_) => Err(ServiceError::BadCursor("belongs to another list")),
    }
}

/// A page of up to `limit` of these comments of any subjects, as every reader sees them; one more says that another page
/// follows.
///
/// # Errors
/// The store's.
pub(super) async fn page_of_ids(
    app: &AppState,
    list: CursorList,
    cursor: Option<Cursor>,
    mut ids: Vec<CommentId>,
    limit: usize,
) -> ServiceResult<CommentPage> {
    let listed = ids.len();
    ids.truncate(limit);
    let groups: Vec<_> = ids.iter().map(|id| vec![*id]).collect();
    let AnswerRows { rows, shown } = AnswerRows::read(app, &[], &groups, MAX_HISTORY_BYTES, None).await?;
    let has_more = listed > shown;
    ids.truncate(shown);
    let epoch = cursor.map_or_else(|| ids.first().map_or(0, |id| id.get()), |c| c.epoch);
    let next = ids.last().filter(|_| has_more).map(|last| {
        app.cursor_key.encode(&Cursor { list, sort: Sort::New, epoch, at: WalkPosition::After(last.get()) })
    });
    let hidden = hidden_among(app, rows.values().map(|row| &row.subject)).await?;
    let is_seen = |row: &&CommentRow| row.is_visible() && !hidden.contains(&row.subject);
    let seen = ids.iter().filter_map(|id| rows.get(id)).filter(is_seen);
    // A comment whose type is not configured any more is left out.
    let data = seen
        .filter_map(|row| {
            Some(comment_view::for_every_reader(app, row, app.threading_of(row.subject.kind(), row.mode)?))
        })
        .collect();
    Ok(CommentPage {
        data,
        page: PageInfo { next, has_more, sort: Sort::New, epoch: epoch.to_string() },
        subject: None,
        floors: None,
    })
}

/// The reader's reactions to these comments. One that was published twice has a second id, by which it may be asked for;
/// its reactions are stored by its own.
async fn read_reactions(
    app: &AppState,
    reader: MemberId,
    ids: &[CommentId],
    rows: &HashMap<CommentId, CommentRow>,
) -> ServiceResult<HashMap<CommentId, Reaction>> {
    let own = ids.iter().filter_map(|id| rows.get(id)).map(CommentRow::id);
    let wanted: BTreeSet<CommentId> = ids.iter().copied().chain(own).collect();
    Ok(app.store.read_reactions(reader, &wanted.into_iter().collect::<Vec<_>>()).await?)
}

/// The reader's reactions to these comments and what they may do with them; their own comments that
/// are in no list. Comments of types that do not allow the site are left out.
///
/// # Errors
/// The store's.
pub async fn read_overlay(
    app: &AppState,
    reader: &Member,
    ids: &[CommentId],
    site: Option<&str>,
) -> ServiceResult<Overlay> {
    let pending = app.store.list_pending(reader.id, limits::MAX_PENDING_SHOWN).await?;
    let wanted: Vec<_> = ids.iter().chain(&pending).copied().collect();
    let mut rows = app.store.read_comments(&wanted).await?;
    let reactions = read_reactions(app, reader.id, ids, &rows).await?;
    if reader.role < Role::Moderator {
        let hidden = hidden_among(app, rows.values().map(|row| &row.subject)).await?;
        rows.retain(|_, row| !hidden.contains(&row.subject));
    }
    if let Some(site) = site.filter(|_| app.config.origins_depend_on_type()) {
        rows.retain(|_, row| app.may_write(row.subject.kind(), site));
    }
    let owners = owners(app, rows.values()).await?;
    // What is pending although every reader sees it is an edit of it.
    let edited = pending.iter().filter(|id| rows.get(id).is_some_and(CommentRow::is_visible)).copied();
    let edited: Vec<_> = edited.collect();
    let edits = if edited.is_empty() { HashMap::new() } else { app.tables.read_reviews(&edited).await? };
    let masked = count_masked_of(app, reader, &rows).await?;
    let mut data = BTreeMap::new();
    for id in ids {
        if let Some(row) = rows.get(id).filter(|row| comment_view::is_readable_by_id(row) || row.author.id == reader.id)
        {
            let owner = owners.get(&row.subject).copied();
            let own = OverlayEntry {
                reaction: reactions.get(&row.id()).or_else(|| reactions.get(id)).copied(),
                can_edit: may_edit(row, reader, app.now()),
                can_delete: row.state != CommentState::Deleted && may_delete(row, reader, owner),
                masked: masked.get(id).copied(),
            };
            data.insert(*id, own);
        }
    }
    let mut own = Vec::with_capacity(pending.len());
    for row in fitting(pending.iter().filter_map(|id| rows.get(id)), MAX_PENDING_BYTES) {
        let comment = comment_view::for_author(app, row, threading_around(app, row)?);
        own.push(match edits.get(&row.id()).and_then(|review| review.item.edit.as_ref()) {
            Some(edit) => comment_view::with_edit(comment, edit),
            None => comment,
        });
    }
    Ok(Overlay { data, pending: own })
}

/// How many passages of the reader's own texts the word filter has masked; those without one are left out.
async fn count_masked_of(
    app: &AppState,
    reader: &Member,
    rows: &HashMap<CommentId, CommentRow>,
) -> ServiceResult<HashMap<CommentId, u32>> {
    let may_be = |row: &&CommentRow| row.author.id == reader.id && row.content.contains(MASK_CHARACTER);
    let ids: Vec<_> = rows.values().filter(may_be).map(CommentRow::id).collect();
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let written = app.tables.read_original_texts(&ids).await?;
    let count = |(id, text): (CommentId, String)| Some((id, count_masked(&text, &rows.get(&id)?.content)));
    Ok(written.into_iter().filter_map(count).filter(|(_, passages)| *passages > 0).collect())
}

/// The owners of the subjects of these comments, for the subjects that have one.
async fn owners(
    app: &AppState,
    rows: impl Iterator<Item = &CommentRow>,
) -> ServiceResult<HashMap<SubjectKey, MemberId>> {
    let subjects: Vec<_> = rows.map(|row| row.subject.clone()).collect::<BTreeSet<_>>().into_iter().collect();
    let found = app.store.read_subjects(&subjects).await?;
    Ok(found.into_iter().flatten().filter_map(|subject| Some((subject.key, subject.owner_id?))).collect())
}
