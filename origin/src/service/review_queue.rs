//! The review queue: what waits for moderators, in the order of its urgency.

use std::collections::HashMap;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gailou_shared::cursor::{Cursor, CursorList, WalkPosition};
use gailou_shared::id::{CommentId, Slot};
use gailou_shared::limits;
use gailou_shared::rank::Sort;
use gailou_shared::token::Member;
use gailou_shared::wire::{LeasedComments, ListPageInfo, MemberRef, QueueEntry, QueuePage, Report, ReviewKind};

use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::review::{QueuePosition, QueuedReview, SeenComment};
use crate::domain::row::CommentRow;
use crate::service::edit::read_any_row;
use crate::service::subject::threading_around;
use crate::service::{ServiceError, ServiceResult, comment_view};
use crate::state::AppState;

/// How long a moderator has a comment.
const LEASE_MS: u64 = 60_000;
/// Comments above a queued one that are shown with it.
const MAX_CONTEXT_COMMENTS: usize = 2;
/// A page of the queue, in bytes of JSON, but for its first entry.
const MAX_QUEUE_BYTES: usize = limits::MAX_LIST_BYTES - 128 * 1024;
/// Slots whose leases are written at the same time.
const CONCURRENT_LEASES: usize = 8;
/// Reports of one comment that are shown.
const MAX_REPORTS_SHOWN: usize = 100;

/// A page of a part of the queue, or of both.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
pub async fn list(
    app: &AppState,
    kind: Option<ReviewKind>,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<QueuePage> {
    let name = match kind {
        Some(ReviewKind::Held) => Some("held"),
        Some(ReviewKind::Reported) => Some("reported"),
        None => None,
    };
    let list = CursorList::moderation("queue", &[name]);
    let after = match cursor {
        None => None,
        Some(Cursor { list: of, at: WalkPosition::Queued(rank, since, id), .. }) if of == list => {
            Some(QueuePosition { rank, since, id })
        }
        Some(_) => return Err(ServiceError::BadCursor("belongs to another list")),
    };
    let (queued, counts) = tokio::try_join!(app.tables.list_queue(kind, after, limit + 1), app.tables.count_queue())?;
    let shown = &queued[..queued.len().min(limit)];
    let mut data = Vec::with_capacity(shown.len());
    let (mut used, mut last) = (0, None);
    let entries = read_entries(app, shown).await?;
    for (review, entry) in shown.iter().zip(entries) {
        // A comment whose type is not configured any more is left out.
        if let Some(entry) = entry {
            used += serde_json::to_vec(&entry).map_or(0, |json| json.len());
            if used > MAX_QUEUE_BYTES && !data.is_empty() {
                break;
            }
            data.push(entry);
        }
        last = Some(review.position);
    }
    let has_more = last.is_some() && last != queued.last().map(|review| review.position);
    let next = last.filter(|_| has_more).map(|QueuePosition { rank, since, id }| {
        let at = WalkPosition::Queued(rank, since, id);
        app.cursor_key.encode(&Cursor { list, sort: Sort::default(), epoch: 0, at })
    });
    Ok(QueuePage { data, page: ListPageInfo { next, has_more }, count: counts.of(kind) })
}

/// The entries of these items; `None` for a comment that cannot be shown.
async fn read_entries(app: &AppState, queued: &[QueuedReview]) -> ServiceResult<Vec<Option<QueueEntry>>> {
    let ids: Vec<CommentId> = queued.iter().map(|review| review.position.id).collect();
    let rows = app.store.read_comments(&ids).await?;
    let above: Vec<CommentId> = rows.values().flat_map(context_ids).collect();
    let (context, written) = tokio::try_join!(app.store.read_comments(&above), app.tables.read_original_texts(&ids))?;
    let entry = |review: &QueuedReview| {
        let row = rows.get(&review.position.id)?;
        queue_entry(app, review, row, &context, written.get(&review.position.id))
    };
    Ok(queued.iter().map(entry).collect())
}

/// Up to [`MAX_CONTEXT_COMMENTS`] comments above this one, the higher one first.
fn context_ids(row: &CommentRow) -> Vec<CommentId> {
    let ids: Vec<CommentId> = row.path.ids().collect();
    let above = ids.len().saturating_sub(1);
    ids[above.saturating_sub(MAX_CONTEXT_COMMENTS)..above].to_vec()
}

fn queue_entry(
    app: &AppState,
    review: &QueuedReview,
    row: &CommentRow,
    context: &HashMap<CommentId, CommentRow>,
    original_text: Option<&String>,
) -> Option<QueueEntry> {
    let threading = threading_around(app, row).ok()?;
    let comment = comment_view::for_author(app, row, threading);
    let (comment, written, published) = match &review.item.edit {
        Some(edit) => {
            let written = edit.original_text.as_ref().unwrap_or(&edit.content).clone();
            (comment_view::with_edit(comment, edit), written, Some(row.content.clone()))
        }
        None => (comment, original_text.unwrap_or(&row.content).clone(), None),
    };
    let above = context_ids(row);
    let context = above.iter().filter_map(|id| context.get(id));
    let lease = review.lease.as_ref().filter(|(_, until)| *until > app.now());
    Some(QueueEntry {
        comment,
        written,
        published,
        why: review.item.reasons.clone(),
        context: context.map(|row| comment_view::for_every_reader(app, row, threading)).collect(),
        version: SeenComment::of(row.state, row.edited_at, Some(&review.item)).to_string(),
        waiting_since: review.item.since,
        leased_by: lease.map(|(holder, _)| app.erased_members.without_name(holder.clone())),
    })
}

/// Gives a moderator those of these comments that are in the queue and that no other moderator has, for
/// 60 seconds.
///
/// # Errors
/// The journal's.
pub async fn lease(app: &AppState, moderator: &Member, ids: Vec<CommentId>) -> ServiceResult<LeasedComments> {
    let _place = app.writes.admit().await?;
    let mut slots: HashMap<Slot, Vec<CommentId>> = HashMap::new();
    for id in &ids {
        slots.entry(id.slot()).or_default().push(*id);
    }
    let holder = MemberRef { id: moderator.id, name: moderator.name.clone() };
    let until = app.now() + LEASE_MS;
    let leases = slots.into_iter().map(|(slot, ids)| {
        let holder = holder.clone();
        app.journal.append(Operation::LeaseReviews { slot, ids, holder, until })
    });
    let outcomes: Vec<_> = stream::iter(leases).buffer_unordered(CONCURRENT_LEASES).try_collect().await?;
    let given: Vec<CommentId> = outcomes
        .into_iter()
        .flat_map(|outcome| match outcome {
            OperationOutcome::Leased(ids) => ids,
            _ => vec![],
        })
        .collect();
    Ok(LeasedComments { leased: ids.into_iter().filter(|id| given.contains(id)).collect() })
}

/// The reports of a comment, the newest first.
///
/// # Errors
/// [`ServiceError::CommentNotFound`], or the store's.
pub async fn list_reports(app: &AppState, id: CommentId) -> ServiceResult<Vec<Report>> {
    read_any_row(app, id).await?;
    let reports = app.tables.list_reports(id, MAX_REPORTS_SHOWN).await?;
    let shown =
        reports.into_iter().map(|report| Report { member: app.erased_members.without_name(report.member), ..report });
    Ok(shown.collect())
}
