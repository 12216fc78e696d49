//! The same change of every comment in a list, as the erasure of a member and the merge of a guest need it. Lists are
//! read in pages, and a page is changed while the next one is read.

use futures_util::{Stream, TryStreamExt as _, stream};
use gailou_shared::id::{CommentId, MemberId};

use crate::domain::operation::{CommentChange, Operation};
use crate::domain::row::CommentRow;
use crate::ports::journal::JournalError;
use crate::ports::store;
use crate::state::AppState;

/// Ids of comments that are read at once.
pub const IDS_PER_READ: usize = 1_000;
/// Comments of others that are read at once. The largest take 8 MB.
pub const COMMENTS_PER_READ: usize = 100;
/// Comments of a list that are changed at the same time: a store writes as many in one transaction.
const CONCURRENT_CHANGES: usize = 1_000;
/// Comments whose answers are looked through at the same time.
const CONCURRENT_ANSWER_LISTS: usize = 4;

/// Appends the same change of all these comments; how many they are. The next page is read meanwhile.
///
/// # Errors
/// The store's or the journal's; what was changed before stays so.
pub async fn change_all(
    app: &AppState,
    pages: impl Stream<Item = Result<Vec<CommentId>, JournalError>> + Send,
    change: &CommentChange,
) -> Result<usize, JournalError> {
    let changes = flatten(pages).map_ok(|id| Operation::Change { id, change: change.clone(), audit: None });
    let appended = changes.map_ok(|operation| app.journal.append(operation)).try_buffer_unordered(CONCURRENT_CHANGES);
    appended.try_fold(0, |count, _| async move { Ok(count + 1) }).await
}

/// The same of those comments of a list that name a member.
///
/// # Errors
/// As [`change_all`].
pub async fn change_naming<F>(
    app: &AppState,
    member: MemberId,
    list: impl Fn(Option<CommentId>) -> F + Send,
    change: &CommentChange,
) -> Result<(), JournalError>
where
    F: Future<Output = store::Result<Vec<CommentId>>> + Send,
{
    let naming = list_pages(list).and_then(|ids| async move {
        let rows = app.tables.read_comments(&ids).await?;
        Ok(rows.values().filter(|row| row.names(member)).map(CommentRow::id).collect())
    });
    change_all(app, naming, change).await?;
    Ok(())
}

/// The same of the answers to a member's own comments that name `named`.
///
/// # Errors
/// As [`change_all`].
pub async fn change_answers(
    app: &AppState,
    member: MemberId,
    named: MemberId,
    change: &CommentChange,
) -> Result<(), JournalError> {
    let own = list_pages(|above| app.tables.list_comments_of(member, above, IDS_PER_READ));
    let changed = flatten(own).try_for_each_concurrent(CONCURRENT_ANSWER_LISTS, |id| {
        change_naming(app, named, move |above| app.tables.list_answers(id, above, COMMENTS_PER_READ), change)
    });
    changed.await
}

/// The pages of a list, one after the other.
pub fn list_pages<F>(
    list: impl Fn(Option<CommentId>) -> F + Send,
) -> impl Stream<Item = Result<Vec<CommentId>, JournalError>> + Send
where
    F: Future<Output = store::Result<Vec<CommentId>>> + Send,
{
    stream::try_unfold(None, move |above| {
        let page = list(above);
        async move {
            let ids = page.await?;
            Ok(ids.last().copied().map(|last| (ids, Some(last))))
        }
    })
}

fn flatten(
    pages: impl Stream<Item = Result<Vec<CommentId>, JournalError>> + Send,
) -> impl Stream<Item = Result<CommentId, JournalError>> + Send {
    pages.map_ok(|ids| stream::iter(ids.into_iter().map(Ok))).try_flatten()
}
