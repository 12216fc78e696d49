//! The comments of a reader's friends.

use gailou_shared::cursor::{Cursor, CursorList};
use gailou_shared::id::SubjectKey;
use gailou_shared::token::Member;
use gailou_shared::wire::CommentPage;

use crate::service::ServiceResult;
use crate::service::member::{below_cursor, page_of_ids};
use crate::state::AppState;

/// A page of the comments that the reader's friends have in a subject and that every reader sees, newest first.
///
/// # Errors
/// [`ServiceError::BadCursor`], or the store's.
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
    let standing = app.tables.read_standings(&[reader.id]).await?.pop();
    let mut friends = standing.map(|(_, standing)| standing.friends).unwrap_or_default();
    friends.retain(|friend| !app.erased_members.contains(*friend));
    let ids = match friends.as_slice() {
        [] => vec![],
        friends => app.tables.list_by_authors(subject, friends, below, limit + 1).await?,
    };
    page_of_ids(app, list, cursor, ids, limit).await
}
