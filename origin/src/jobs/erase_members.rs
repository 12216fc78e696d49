//! Overwrites what erased members have left: their comments, and their names in the rows of others.
//!
//! [`crate::jobs::end_members`] does so until nothing is left.
//!
//! **How soon the edge forgets.** What voids a cached page is the row that the change feed has of each
//! overwritten comment, so a history of thousands is overwritten in a few large transactions. Nothing that
//! is fetched meanwhile stays longer, even from an origin that does not know of the erasure yet
//! ([`crate::jobs::follow_erasures`]) or that has the row in a cache.
//!
//! - *It shows a comment that is overwritten later.* It tags the comment with the version of the row that it
//!   read. The commit that overwrites the row has a larger version, and so has the comment's row in the feed:
//!   the page is void within 3 s of that commit, and what is fetched after it is a tombstone at every origin.
//! - *It shows a comment that was on its way at the first pass*, accepted or stored by a process that did not
//!   know. After [`crate::jobs::end_members::SPREAD_TIME`] none is left that does not know: what is stored later is
//!   stored without its content, and what was stored before is overwritten by the second pass, which voids the page
//!   like the first.

use futures_util::TryStreamExt as _;
use gailou_shared::id::MemberId;

use crate::domain::operation::{CommentChange, ErasureStep, Operation};
use crate::ports::journal::JournalError;
use crate::service::bulk_changes::{
    COMMENTS_PER_READ, IDS_PER_READ, change_all, change_answers, change_naming, list_pages,
};
use crate::state::AppState;

/// Overwrites everything of a member that is in the tables; how many comments that were.
///
/// # Errors
/// The store's or the journal's; what was overwritten before stays so.
pub async fn erase(state: &AppState, member: MemberId) -> Result<usize, JournalError> {
    let guests = state.tables.list_merged_guests(member).await?;
    for guest in &guests {
        // What the merge has not moved, and what it does not move.
        let step = ErasureStep::Begin;
        state.journal.append(Operation::Erasure { member: *guest, step, audit: None }).await?;
    }
    // Once more, since a comment that was on its way has stored the name again.
    state.journal.append(Operation::Erasure { member, step: ErasureStep::Name, audit: None }).await?;
    state.tables.delete_refused_of(member).await?;
    state.tables.delete_notifications_of(member).await?;
    state.tables.delete_watches_of(member).await?;
    state.tables.delete_identities(member).await?;
    let own = list_pages(|above| state.tables.list_comments_of(member, above, IDS_PER_READ));
    let left = own.and_then(|ids| async move { Ok(state.tables.list_not_erased(member, &ids).await?) });
    let mentioning = |above| state.tables.list_mentioning(member, above, COMMENTS_PER_READ);
    let shown = CommentChange::Forget { member, is_shown: true };
    let (erased, ()) = tokio::try_join!(
        change_all(state, left, &CommentChange::Erase),
        change_naming(state, member, mentioning, &shown)
    )?;
    let reported = list_pages(|above| async move {
        let found = state.tables.list_reports_of(member, above, COMMENTS_PER_READ).await?;
        Ok(found.into_iter().map(|(id, _)| id).collect())
    });
    change_all(state, reported, &CommentChange::Forget { member, is_shown: false }).await?;
    // Readers do not see the name in the answers to a comment: what is answered is a tombstone. Some may name the guest
    // who wrote the comment, and who has become the member since.
    for named in [member].into_iter().chain(guests) {
        let forget = CommentChange::Forget { member: named, is_shown: false };
        change_answers(state, member, named, &forget).await?;
    }
    state.tables.expire_media_of(member).await?;
    Ok(erased)
}
