//! Reactions: a like or a dislike of a comment, put or taken back.

use gailou_shared::id::CommentId;
use gailou_shared::token::Member;
use gailou_shared::wire::ReactionResult;

use crate::domain::operation::{Operation, OperationOutcome, ReactionChange};
use crate::service::subject::SubjectAudience;
use crate::service::{ServiceError, ServiceResult, subject};
use crate::state::AppState;

/// Puts a reaction or takes it back. Doing so again changes nothing.
///
/// # Errors
/// [`ServiceError::CommentNotFound`] for a comment that is not visible, or the journal's.
pub async fn react(
    app: &AppState,
    member: &Member,
    id: CommentId,
    change: ReactionChange,
) -> ServiceResult<ReactionResult> {
    let _place = app.writes.admit().await?;
    let (subject, own_id) = subject::of_comment(app, id).await?;
    subject::check_seen(app, &subject, SubjectAudience::of(member)).await?;
    match app.journal.append(Operation::React { id: own_id, member: member.id, change }).await? {
        OperationOutcome::Reacted { likes, dislikes, reaction } => Ok(ReactionResult { id, likes, dislikes, reaction }),
        _ => Err(ServiceError::CommentNotFound),
    }
}
