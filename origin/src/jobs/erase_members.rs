//! Overwrites what erased members have left: their comments, and their names in the rows of others.
//!
//! An erasure is a row before it is acknowledged, so a process that dies in the middle leaves it to the
//! next one, which begins again; what is overwritten already is only looked at. A second pass,
//! [`SETTLE_MS`] later, finds what was on its way when the first one passed; then the erasure is done.
//! Several processes may do the same at the same time.

use std::collections::BTreeSet;
use std::sync::Weak;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gailou_shared::id::{CommentId, MemberId};
use tokio::time::MissedTickBehavior;

use crate::domain::erasure::ErasedMember;
use crate::domain::operation::{CommentChange, ErasureStep, Operation};
use crate::domain::row::CommentRow;
use crate::outage_log::OutageLog;
use crate::ports::journal::JournalError;
use crate::state::AppState;

/// How often unfinished erasures are looked for: with the change feed's two seconds at the edge, a small
/// erasure is everywhere within five.
const ERASURE_POLL_INTERVAL: Duration = Duration::from_secs(1);
/// How long after the request the last pass begins, in milliseconds: by then every process refuses the
/// member's tokens, and what they wrote before is in the tables.
pub const SETTLE_MS: u64 = 600_000;
/// Erasures that are looked at in one turn.
const ERASURES_PER_TURN: usize = 100;
/// Comments that are read at once. The largest take 8 MB.
const COMMENTS_PER_READ: usize = 100;
/// Comments that are overwritten at the same time, so that a store can write them together.
const CONCURRENT_CHANGES: usize = 32;

/// Erases until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let outage = OutageLog::default();
    // Those whose first pass this process has finished.
    let mut passed = BTreeSet::new();
    let mut tick = tokio::time::interval(ERASURE_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        let unfinished = match state.tables.list_unfinished_erasures(ERASURES_PER_TURN).await {
            Ok(unfinished) => unfinished,
            Err(error) => {
                tracing::debug!(%error, "Could not read the unfinished erasures");
                continue;
            }
        };
        passed.retain(|erasure| unfinished.contains(erasure));
        let mut failed = None;
        for ErasedMember { at, member } in unfinished {
            if let Err(error) = pass(&state, ErasedMember { at, member }, &mut passed).await {
                failed = Some((member, error));
            }
        }
        match failed {
            None => outage.end(|| tracing::info!("The erasure of members goes on")),
            Some((member, error)) => outage.begin(|| {
                let retry_s = ERASURE_POLL_INTERVAL.as_secs();
                tracing::warn!(%member, retry_s, %error, "Could not erase member {member}; retrying every {retry_s} s");
            }),
        }
    }
}

/// The first pass of a new erasure, or the last of one that has settled.
async fn pass(
    state: &AppState,
    erasure: ErasedMember,
    passed: &mut BTreeSet<ErasedMember>,
) -> Result<(), JournalError> {
    let member = erasure.member;
    let is_settled = state.now() >= erasure.at.saturating_add(SETTLE_MS);
    if passed.contains(&erasure) && !is_settled {
        return Ok(());
    }
    let comments = erase(state, member).await?;
    passed.insert(erasure);
    if is_settled {
        state.journal.append(Operation::Erasure { member, step: ErasureStep::Finish }).await?;
        tracing::info!(%member, comments, "Member {member} is erased; the last pass overwrote {comments} comments");
    } else {
        tracing::info!(%member, comments, "Overwrote {comments} comments of member {member}");
    }
    Ok(())
}

/// Overwrites everything of a member that is in the tables; how many comments that were.
///
/// # Errors
/// The store's or the journal's; what was overwritten before stays so.
pub async fn erase(state: &AppState, member: MemberId) -> Result<usize, JournalError> {
    // Once more, since a comment that was on its way has stored the name again.
    state.journal.append(Operation::Erasure { member, step: ErasureStep::Name }).await?;
    let mut erased = 0;
    let mut above = None;
    while let Some((last, rows)) =
        read_rows(state, state.tables.list_comments_of(member, above, COMMENTS_PER_READ).await?).await?
    {
        above = Some(last);
        let left: Vec<_> = rows.iter().filter(|row| !row.is_erased()).map(CommentRow::id).collect();
        erased += left.len();
        change_all(state, left, &CommentChange::Erase).await?;
    }
    let mut above = None;
    while let Some((last, rows)) =
        read_rows(state, state.tables.list_mentioning(member, above, COMMENTS_PER_READ).await?).await?
    {
        above = Some(last);
        forget(state, member, &rows, true).await?;
    }
    forget_in_answers(state, member).await?;
    Ok(erased)
}

/// Removes the member's name from the answers to their comments. Readers do not see it there: what is
/// answered is a tombstone.
async fn forget_in_answers(state: &AppState, member: MemberId) -> Result<(), JournalError> {
    let mut above = None;
    loop {
        let ids = state.tables.list_comments_of(member, above, COMMENTS_PER_READ).await?;
        let Some(last) = ids.last() else { return Ok(()) };
        above = Some(*last);
        for id in ids {
            let mut above = None;
            while let Some((last, rows)) =
                read_rows(state, state.tables.list_answers(id, above, COMMENTS_PER_READ).await?).await?
            {
                above = Some(last);
                forget(state, member, &rows, false).await?;
            }
        }
    }
}

/// Removes a member's name from those of these rows that have it.
async fn forget(state: &AppState, member: MemberId, rows: &[CommentRow], is_shown: bool) -> Result<(), JournalError> {
    let naming = rows.iter().filter(|row| row.names(member)).map(CommentRow::id).collect();
    change_all(state, naming, &CommentChange::Forget { member, is_shown }).await
}

/// The last of these ids and the rows of all; `None` at the end of a list.
async fn read_rows(
    state: &AppState,
    ids: Vec<CommentId>,
) -> Result<Option<(CommentId, Vec<CommentRow>)>, JournalError> {
    let Some(last) = ids.last() else { return Ok(None) };
    Ok(Some((*last, state.tables.read_comments(&ids).await?.into_values().collect())))
}

async fn change_all(state: &AppState, ids: Vec<CommentId>, change: &CommentChange) -> Result<(), JournalError> {
    let changes = ids.into_iter().map(|id| Operation::Change { id, change: change.clone(), audit: None });
    let changed = stream::iter(changes).map(|operation| state.journal.append(operation));
    changed.buffer_unordered(CONCURRENT_CHANGES).try_for_each(|_| async { Ok(()) }).await
}
