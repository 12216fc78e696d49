//! The merge of a guest into the member that the reader has signed in as.
//!
//! It is a row before it is acknowledged: from then on every process refuses the guest's token. What the guest wrote
//! and liked is moved by [`move_all`], which may be repeated, and which several processes may do at the same time: at
//! first here, so that a history of some hundred comments is the member's when the request is answered, and then by
//! [`crate::jobs::end_members`].

use std::collections::HashSet;
use std::time::Duration;

use futures_util::{TryStreamExt as _, stream};
use gailou_shared::id::{CommentId, MemberId, MemberKind};
use gailou_shared::token::Member;
use gailou_shared::wire::{MemberRef, OwnProfile};
use tokio::time::timeout;

use crate::domain::operation::{CommentChange, MergeStep, Operation, OperationOutcome, ReactionChange};
use crate::ports::journal::JournalError;
use crate::service::bulk_changes::{
    COMMENTS_PER_READ, IDS_PER_READ, change_all, change_answers, change_naming, list_pages,
};
use crate::service::publish::author_of;
use crate::service::standing::check_not_muted;
use crate::service::{ServiceError, ServiceResult, account, guest, profile, watch};
use crate::state::AppState;

/// How long a request moves what the guest has left. Shorter than the deadline of a request.
const FIRST_PASS_TIME: Duration = Duration::from_secs(2);
/// Reactions that are moved at the same time.
const CONCURRENT_REACTIONS: usize = 100;
const TOKEN_FIELD: &str = "guest_token";

/// Makes what a guest wrote and liked the member's. Doing so again changes nothing.
///
/// # Errors
/// [`ServiceError::Forbidden`] for a guest; `WrongFields` for a token that is not of a guest, or of one who is erased
/// or another member already; `Muted` for a guest who is muted; or the journal's.
pub async fn merge(app: &AppState, member: &Member, guest_token: &str) -> ServiceResult<OwnProfile> {
    if member.id.kind() == MemberKind::Guest {
        return Err(ServiceError::Forbidden("a guest is merged into a member; sign in first"));
    }
    let Member { id: guest, name: guest_name, .. } = verify(app, member, guest_token)?;
    if app.erased_members.heir_of(guest).is_none() {
        let author = author_of(&heir(app, member, guest_name).await?);
        let _place = app.writes.admit().await?;
        let step = MergeStep::Begin(Box::new(author));
        if let OperationOutcome::Conflict = app.journal.append(Operation::Merge { guest, step }).await? {
            return Err(is_another());
        }
        app.erased_members.add_heir(guest, member.id);
        tracing::info!(%guest, member = %member.id, "The merge of guest {guest} into member {} begins", member.id);
    }
    match timeout(FIRST_PASS_TIME, move_all(app, guest)).await {
        Ok(Ok(_)) => {}
        Ok(Err(error)) => tracing::debug!(%guest, %error, "Could not move everything of guest {guest} at once"),
        Err(_) => tracing::debug!(%guest, "Guest {guest} has left more than is moved at once"),
    }
    profile::read(app, member).await
}

/// The member as the author of what the guest wrote. Who has chosen no name yet has the guest's, and so has their account,
/// unless a new comment may not have it.
async fn heir(app: &AppState, member: &Member, guest_name: String) -> ServiceResult<Member> {
    let author = account::author(app, member).await;
    if !author.name.is_empty() || guest_name.is_empty() {
        return Ok(author);
    }
    match guest::check_name(app, &guest_name, Some(member.id)).await {
        Ok(()) => app.tables.name_account(member.id, &guest_name).await?,
        Err(ServiceError::NameRejected(_)) => {}
        Err(error) => return Err(error),
    }
    let author = account::author(app, member).await;
    Ok(if author.name.is_empty() { Member { name: guest_name, ..author } } else { author })
}

/// The guest of a token, who is none other than this member.
fn verify(app: &AppState, member: &Member, token: &str) -> ServiceResult<Member> {
    let wrong = |detail: String| ServiceError::wrong_field(TOKEN_FIELD, detail);
    let verified = app.member_keys.verify_token(token, &app.config.auth.audience, app.now() / 1_000);
    let verified = verified.map_err(|error| wrong(format!("must be a guest's token: {error}")))?;
    let guest = verified.member.id;
    if guest.kind() != MemberKind::Guest {
        return Err(wrong("must be a guest's token; this is a member's".into()));
    }
    if app.erased_members.contains(guest) {
        return Err(wrong("is of a guest who is erased".into()));
    }
    match app.erased_members.heir_of(guest) {
        Some(heir) if heir == member.id => return Ok(verified.member),
        Some(_) => return Err(is_another()),
        None => {}
    }
    let revoked = || wrong("is too old; older tokens of this guest are refused".into());
    let verified = app.accept_token(verified).ok_or_else(revoked)?;
    // A merge is no way around it.
    check_not_muted(app, &verified)?;
    Ok(verified)
}

fn is_another() -> ServiceError {
    ServiceError::wrong_field(TOKEN_FIELD, "is of a guest who has become another member")
}

/// Moves what a guest has left to the member that the guest has become; how many comments that were.
///
/// # Errors
/// The store's or the journal's; what was moved before stays so.
pub async fn move_all(app: &AppState, guest: MemberId) -> Result<usize, JournalError> {
    let Some(heir) = app.tables.read_heir(guest).await? else { return Ok(0) };
    let is_erased = || app.erased_members.contains(heir.id);
    if is_erased() {
        // The guest is erased with the member.
        return Ok(0);
    }
    let own = list_pages(|above| app.tables.list_comments_of(guest, above, IDS_PER_READ));
    let left = own.and_then(|ids| async move {
        // Nothing gets the name of a member who is erased meanwhile.
        if is_erased() { Ok(vec![]) } else { Ok(app.tables.list_not_erased(guest, &ids).await?) }
    });
    let transfer = CommentChange::Transfer { from: guest, to: Box::new(heir.clone()) };
    let moved = change_all(app, left, &transfer).await?;
    move_reactions(app, guest, heir.id).await?;
    let to = MemberRef { id: heir.id, name: heir.name };
    let rename = CommentChange::Rename { from: guest, to };
    let mentioning = |above| app.tables.list_mentioning(guest, above, COMMENTS_PER_READ);
    change_naming(app, guest, mentioning, &rename).await?;
    // An answer may have been written while its comment was the guest's still: those to all of the member's are read.
    change_answers(app, heir.id, guest, &rename).await?;
    watch::move_watches(app, guest, heir.id).await?;
    app.tables.delete_notifications_of(guest).await?;
    app.journal.append(Operation::Merge { guest, step: MergeStep::History }).await?;
    Ok(moved)
}

/// Moves the reactions of a guest. The member has one before the guest's is taken, so that none is lost in between; one
/// that the member has already stays.
async fn move_reactions(app: &AppState, guest: MemberId, heir: MemberId) -> Result<(), JournalError> {
    let pages = list_pages(|above| async move {
        let found = app.tables.list_reactions_of(guest, above, IDS_PER_READ).await?;
        Ok(found.into_iter().map(|(id, _)| id).collect())
    });
    let moved = pages.try_for_each(|ids| async move {
        // The tables may be behind what was appended.
        let (left, own) =
            tokio::try_join!(app.store.read_reactions(guest, &ids), app.store.read_reactions(heir, &ids))?;
        let has_own: HashSet<CommentId> = own.into_keys().collect();
        let moves = left.into_iter().map(|(id, reaction)| (id, reaction, has_own.contains(&id)));
        stream::iter(moves.map(Ok))
            .try_for_each_concurrent(CONCURRENT_REACTIONS, |(id, reaction, has_own)| async move {
                let react = |member, change| app.journal.append(Operation::React { id, member, change });
                // That of a comment that no reader sees stays where it is.
                if !has_own && let OperationOutcome::NoComment = react(heir, ReactionChange::Put(reaction)).await? {
                    return Ok(());
                }
                react(guest, ReactionChange::Take(reaction)).await.map(|_| ())
            })
            .await
    });
    moved.await
}
