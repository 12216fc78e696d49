//! Overwrites what erased members have left: their comments, and their names in the rows of others.
//!
//! An erasure is a row before it is acknowledged, so a process that dies in the middle leaves it to the
//! next one, which begins again; what is overwritten already is only looked at. A second pass, after
//! [`SPREAD_TIME`], and a last one, after [`SETTLE_MS`], find what was on its way when the first one passed;
//! then the erasure is done. Several processes may do the same at the same time.
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
//!   know. After [`SPREAD_TIME`] none is left that does not know: what is stored later is stored without its
//!   content, and what was stored before is overwritten by the second pass, which voids the page like the first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use gailou_shared::id::{CommentId, MemberId};
use tokio::time::{Instant, MissedTickBehavior};

use crate::domain::erasure::ErasedMember;
use crate::domain::operation::{CommentChange, ErasureStep, Operation};
use crate::domain::row::CommentRow;
use crate::jobs::follow_erasures::ERASURE_READ_INTERVAL;
use crate::outage_log::OutageLog;
use crate::ports::journal::JournalError;
use crate::ports::store;
use crate::state::AppState;

/// How often unfinished erasures are looked for. The edge is at most 3 s behind the tables, so 1.5 s are left
/// to overwrite a history that is to be gone everywhere within 5 s.
const ERASURE_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long after it is first seen the second pass begins: by then every process that reaches the tables has
/// read the erasure.
pub const SPREAD_TIME: Duration = ERASURE_READ_INTERVAL.saturating_mul(2);
/// How long after the request the last pass begins, in milliseconds: by then every process refuses the
/// member's tokens, and what they wrote before is in the tables.
pub const SETTLE_MS: u64 = 600_000;
/// Unfinished erasures that are read at once, two numbers each: as many are requested in the time until the
/// last pass at 16 a second.
const MAX_UNFINISHED_ERASURES: usize = 10_000;
/// Members that are erased at the same time, so that a large history does not delay a small one.
const MAX_ERASURES_IN_PROGRESS: usize = 4;
/// Ids of comments that are read at once.
const IDS_PER_READ: usize = 1_000;
/// Comments of others that are read at once. The largest take 8 MB.
const COMMENTS_PER_READ: usize = 100;
/// Comments of a list that are overwritten at the same time: a store writes as many in one transaction.
const CONCURRENT_CHANGES: usize = 1_000;
/// Comments whose answers are looked through at the same time.
const CONCURRENT_ANSWER_LISTS: usize = 4;

/// How far this process is with an erasure.
#[derive(Debug, Clone, Copy)]
struct ErasureProgress {
    first_seen: Instant,
    /// Passes that have ended well.
    passes: usize,
    is_in_progress: bool,
    /// Whether the last pass has failed.
    has_failed: bool,
}

impl ErasureProgress {
    fn new(now: Instant) -> Self {
        Self { first_seen: now, passes: 0, is_in_progress: false, has_failed: false }
    }

    fn is_due(&self, now: Instant, is_settled: bool) -> bool {
        let is_next = match self.passes {
            0 => true,
            1 => now.duration_since(self.first_seen) >= SPREAD_TIME,
            _ => false,
        };
        !self.is_in_progress && (is_next || is_settled)
    }

    fn end_pass<E>(&mut self, done: &Result<(), E>) {
        self.is_in_progress = false;
        self.has_failed = done.is_err();
        self.passes += usize::from(done.is_ok());
    }
}

/// Erases until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let outage = OutageLog::default();
    let mut tick = tokio::time::interval(ERASURE_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut known, mut passes) = (BTreeMap::new(), FuturesUnordered::new());
    loop {
        tokio::select! {
            biased;
            Some((erasure, done)) = passes.next() => {
                let ErasedMember { member, .. } = erasure;
                if let Some(progress) = known.get_mut(&erasure) {
                    ErasureProgress::end_pass(progress, &done);
                }
                if let Err(error) = done {
                    outage.begin(|| {
                        let retry_ms = ERASURE_POLL_INTERVAL.as_millis() as u64;
                        tracing::warn!(%member, retry_ms, %error, "Could not erase member {member}; retrying every {retry_ms} ms");
                    });
                }
            }
            _ = tick.tick() => {
                let Some(state) = state.upgrade() else { return };
                let unfinished = match state.tables.list_unfinished_erasures(MAX_UNFINISHED_ERASURES).await {
                    Ok(unfinished) => BTreeSet::from_iter(unfinished),
                    Err(error) => {
                        tracing::debug!(%error, "Could not read the unfinished erasures");
                        continue;
                    }
                };
                let now = Instant::now();
                known.retain(|erasure, progress| progress.is_in_progress || unfinished.contains(erasure));
                for erasure in unfinished {
                    known.entry(erasure).or_insert_with(|| ErasureProgress::new(now));
                }
                for erasure in begin_passes(&mut known, now, |erasure| is_settled(&state, erasure)) {
                    passes.push(pass(state.clone(), erasure));
                }
            }
        }
        if known.values().all(|progress| !progress.has_failed) {
            outage.end(|| tracing::info!("The erasure of members goes on"));
        }
    }
}

/// Chooses the erasures whose next passes begin.
fn begin_passes(
    known: &mut BTreeMap<ErasedMember, ErasureProgress>,
    now: Instant,
    is_settled: impl Fn(ErasedMember) -> bool,
) -> Vec<ErasedMember> {
    let in_progress = known.values().filter(|progress| progress.is_in_progress).count();
    let due = known.iter().filter(|(erasure, progress)| progress.is_due(now, is_settled(**erasure)));
    // One that fails delays no other, and a later pass no first one.
    let mut due: Vec<_> = due.map(|(erasure, progress)| (progress.has_failed, progress.passes, *erasure)).collect();
    due.sort_unstable();
    due.truncate(MAX_ERASURES_IN_PROGRESS.saturating_sub(in_progress));
    let begun: Vec<_> = due.into_iter().map(|(_, _, erasure)| erasure).collect();
    for erasure in &begun {
        known.entry(*erasure).and_modify(|progress| progress.is_in_progress = true);
    }
    begun
}

fn is_settled(state: &AppState, erasure: ErasedMember) -> bool {
    state.now() >= erasure.at.saturating_add(SETTLE_MS)
}

/// A pass; the last one when the erasure has settled.
async fn pass(state: Arc<AppState>, erasure: ErasedMember) -> (ErasedMember, Result<(), JournalError>) {
    let done = async {
        let (member, is_last) = (erasure.member, is_settled(&state, erasure));
        let comments = erase(&state, member).await?;
        if is_last {
            let finish = Operation::Erasure { member, step: ErasureStep::Finish, audit: None };
            state.journal.append(finish).await?;
            tracing::info!(%member, comments, "Member {member} is erased; the last pass overwrote {comments} comments");
        } else if comments > 0 {
            tracing::info!(%member, comments, "Overwrote {comments} comments of member {member}");
        }
        Ok(())
    };
    let done = done.await;
    (erasure, done)
}

/// Overwrites everything of a member that is in the tables; how many comments that were.
///
/// # Errors
/// The store's or the journal's; what was overwritten before stays so.
pub async fn erase(state: &AppState, member: MemberId) -> Result<usize, JournalError> {
    // Once more, since a comment that was on its way has stored the name again.
    state.journal.append(Operation::Erasure { member, step: ErasureStep::Name, audit: None }).await?;
    state.tables.delete_refused_of(member).await?;
    state.tables.delete_notifications_of(member).await?;
    state.tables.delete_identities(member).await?;
    let own = || list_pages(|above| state.tables.list_comments_of(member, above, IDS_PER_READ));
    let left = own().and_then(|ids| async move { Ok(state.tables.list_not_erased(&ids).await?) });
    let mentioning = |above| state.tables.list_mentioning(member, above, COMMENTS_PER_READ);
    let (erased, ()) =
        tokio::try_join!(change_all(state, left, &CommentChange::Erase), forget(state, member, mentioning, true))?;
    let reported = list_pages(|above| async move {
        let found = state.tables.list_reports_of(member, above, COMMENTS_PER_READ).await?;
        Ok(found.into_iter().map(|(id, _)| id).collect())
    });
    change_all(state, reported, &CommentChange::Forget { member, is_shown: false }).await?;
    // Readers do not see the name in the answers to a comment: what is answered is a tombstone.
    let in_answers = flatten(own()).try_for_each_concurrent(CONCURRENT_ANSWER_LISTS, |id| {
        forget(state, member, move |above| state.tables.list_answers(id, above, COMMENTS_PER_READ), false)
    });
    in_answers.await?;
    state.tables.expire_media_of(member).await?;
    Ok(erased)
}

/// Removes a member's name from those comments of a list that have it. `is_shown`: readers may have seen it.
async fn forget<F>(
    state: &AppState,
    member: MemberId,
    list: impl Fn(Option<CommentId>) -> F + Send,
    is_shown: bool,
) -> Result<(), JournalError>
where
    F: Future<Output = store::Result<Vec<CommentId>>> + Send,
{
    let naming = list_pages(list).and_then(|ids| async move {
        let rows = state.tables.read_comments(&ids).await?;
        Ok(rows.values().filter(|row| row.names(member)).map(CommentRow::id).collect())
    });
    change_all(state, naming, &CommentChange::Forget { member, is_shown }).await?;
    Ok(())
}

/// Appends the same change of all these comments; how many they are. The next page is read meanwhile.
async fn change_all(
    state: &AppState,
    pages: impl Stream<Item = Result<Vec<CommentId>, JournalError>> + Send,
    change: &CommentChange,
) -> Result<usize, JournalError> {
    let changes = flatten(pages).map_ok(|id| Operation::Change { id, change: change.clone(), audit: None });
    let appended = changes.map_ok(|operation| state.journal.append(operation)).try_buffer_unordered(CONCURRENT_CHANGES);
    appended.try_fold(0, |count, _| async move { Ok(count + 1) }).await
}

/// The pages of a list, one after the other.
fn list_pages<F>(
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

#[cfg(test)]
mod tests {
    use super::*;

    fn erasure(number: u64) -> ErasedMember {
        ErasedMember { at: number, member: MemberId::new(number).unwrap() }
    }

    struct Schedule {
        known: BTreeMap<ErasedMember, ErasureProgress>,
        begun: Instant,
    }

    impl Schedule {
        /// The members whose passes begin so long after the start; each ends at once.
        fn run(&mut self, after: Duration, settled: &[u64], failing: &[u64]) -> Vec<u64> {
            let is_settled = |erasure: ErasedMember| settled.contains(&erasure.at);
            let begun = begin_passes(&mut self.known, self.begun + after, is_settled);
            for erasure in &begun {
                let done = if failing.contains(&erasure.at) { Err(()) } else { Ok(()) };
                self.known.get_mut(erasure).unwrap().end_pass(&done);
            }
            begun.into_iter().map(|erasure| erasure.at).collect()
        }
    }

    fn schedule(numbers: std::ops::RangeInclusive<u64>) -> Schedule {
        let begun = Instant::now();
        Schedule { known: numbers.map(|number| (erasure(number), ErasureProgress::new(begun))).collect(), begun }
    }

    #[test]
    fn passes_are_at_once_when_all_know_and_when_it_has_settled() {
        let mut schedule = schedule(1..=1);
        assert_eq!(schedule.run(Duration::ZERO, &[], &[]), [1]);
        assert_eq!(schedule.run(SPREAD_TIME - Duration::from_millis(1), &[], &[]), [0; 0]);
        assert_eq!(schedule.run(SPREAD_TIME, &[], &[]), [1]);
        assert_eq!(schedule.run(SPREAD_TIME * 9, &[], &[]), [0; 0]);
        assert_eq!(schedule.run(SPREAD_TIME * 9, &[1], &[]), [1]);
        assert!(SPREAD_TIME >= ERASURE_READ_INTERVAL * 2, "every process has read it");
    }

    #[test]
    fn erasure_that_fails_or_lasts_delays_no_other() {
        let mut schedule = schedule(1..=9);
        schedule.known.get_mut(&erasure(1)).unwrap().is_in_progress = true;
        let failing = [2, 3, 4];
        assert_eq!(schedule.run(Duration::ZERO, &[], &failing), [2, 3, 4], "three places are left");
        assert_eq!(schedule.run(Duration::ZERO, &[], &failing), [5, 6, 7]);
        // First passes, then those that were tried, then second ones.
        assert_eq!(schedule.run(SPREAD_TIME, &[5], &failing), [8, 9, 5]);
        assert_eq!(schedule.run(SPREAD_TIME, &[], &failing), [6, 7, 8]);
        assert_eq!(schedule.run(SPREAD_TIME, &[], &failing), [9, 2, 3]);
    }
}
