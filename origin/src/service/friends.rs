//! The comments of a reader's friends.

use gailou_shared::cursor::{Cursor, CursorList};
use gailou_shared::id::SubjectKey;
use gailou_shared::token::Member;
use gailou_shared::wire::CommentPage;

use crate::service::member::{below_cursor, page_of_ids};
use crate::service::{ServiceResult, account};
use crate::state::AppState;

/// A page of the comments that the reader's friends have in a subject and that every reader sees, newest first. Their
/// friends are those that moderators gave them, else those that the host's service says.
///
/// # Errors
/// [`ServiceError::BadCursor`], or those of the admission or the store.
///
/// [`ServiceError::BadCursor`]: crate::service::ServiceError::BadCursor
pub async fn list_comments(
    app: &AppState,
    reader: &Member,
    subject: &SubjectKey,
    limit: usize,
    cursor: Option<Cursor>,
) -> ServiceResult<CommentPage> {
    let list = CursorList::friends(reader.id, subject);
    let below = below_cursor(cursor, list)?;
    let account = account::look_up(app, reader.id).await;
    let _place = app.reads.admit().await?;
    let standing = app.tables.read_standings(&[reader.id]).await?.pop();
    let mut friends = standing.map(|(_, standing)| standing.friends).unwrap_or_default();
    if friends.is_empty() {
        friends = account.and_then(|account| account.friends.clone()).unwrap_or_default();
    }
    friends.retain(|friend| !app.erased_members.contains(*friend));
    let ids = match friends.as_slice() {
        [] => vec![],
        friends => app.tables.list_by_authors(subject, friends, below, limit + 1).await?,
    };
    page_of_ids(app, list, cursor, ids, limit).await
}
