//! Carries out the ends of members: erases them ([`crate::jobs::erase_members`]), and moves what guests have left who
//! have become members ([`crate::service::merge`]).
//!
//! An end is a row before it is acknowledged, so a process that dies in the middle leaves it to the next one, which
//! begins again; what is done already is only looked at. A second pass, after [`SPREAD_TIME`], and a last one, after
//! [`SETTLE_MS`], find what was on its way when the first one passed; then the end is finished. Several processes may
//! do the same at the same time.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::time::{Instant, MissedTickBehavior};

use crate::domain::erasure::MemberEnd;
use crate::domain::operation::{ErasureStep, MergeStep, Operation};
use crate::jobs::erase_members::erase;
use crate::jobs::follow_erasures::ERASURE_READ_INTERVAL;
use crate::outage_log::OutageLog;
use crate::ports::journal::JournalError;
use crate::service::merge;
use crate::state::AppState;

/// How often unfinished ends are looked for. The edge is at most 3 s behind the tables, so 1.5 s are left
/// to overwrite a history that is to be gone everywhere within 5 s.
const END_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// How long after it is first seen the second pass begins: by then every process that reaches the tables has
/// read the end.
pub const SPREAD_TIME: Duration = ERASURE_READ_INTERVAL.saturating_mul(2);
/// How long after the request the last pass begins, in milliseconds: by then every process refuses the
/// member's tokens, and what they wrote before is in the tables.
pub const SETTLE_MS: u64 = 600_000;
/// Unfinished ends that are read at once, three numbers each: as many are requested in the time until the
/// last pass at 16 a second.
const MAX_UNFINISHED_ENDS: usize = 10_000;
/// Members whose ends are carried out at the same time, so that a large history does not delay a small one.
const MAX_ENDS_IN_PROGRESS: usize = 4;

/// How far this process is with an end.
#[derive(Debug, Clone, Copy)]
struct EndProgress {
    first_seen: Instant,
    /// Passes that have ended well.
    passes: usize,
    is_in_progress: bool,
    /// Whether the last pass has failed.
    has_failed: bool,
}

impl EndProgress {
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

/// Erases and merges until the state is dropped.
pub async fn run(state: Weak<AppState>) {
    let outage = OutageLog::default();
    let mut tick = tokio::time::interval(END_POLL_INTERVAL);
    tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut known, mut passes) = (BTreeMap::new(), FuturesUnordered::new());
    loop {
        tokio::select! {
            biased;
            Some((end, done)) = passes.next() => {
                let MemberEnd { member, heir, .. } = end;
                if let Some(progress) = known.get_mut(&end) {
                    EndProgress::end_pass(progress, &done);
                }
                if let Err(error) = done {
                    outage.begin(|| {
                        let retry_ms = END_POLL_INTERVAL.as_millis() as u64;
                        match heir {
                            None => tracing::warn!(%member, retry_ms, %error, "Could not erase member {member}; retrying every {retry_ms} ms"),
                            Some(heir) => tracing::warn!(%member, %heir, retry_ms, %error, "Could not merge guest {member} into member {heir}; retrying every {retry_ms} ms"),
                        }
                    });
                }
            }
            _ = tick.tick() => {
                let Some(state) = state.upgrade() else { return };
                let unfinished = match state.tables.list_unfinished_ends(MAX_UNFINISHED_ENDS).await {
                    Ok(unfinished) => BTreeSet::from_iter(unfinished),
                    Err(error) => {
                        tracing::debug!(%error, "Could not read the unfinished erasures and merges");
                        continue;
                    }
                };
                let now = Instant::now();
                known.retain(|end, progress| progress.is_in_progress || unfinished.contains(end));
                for end in unfinished {
                    known.entry(end).or_insert_with(|| EndProgress::new(now));
                }
                for end in begin_passes(&mut known, now, |end| is_settled(&state, end)) {
                    passes.push(pass(state.clone(), end));
                }
            }
        }
        if known.values().all(|progress| !progress.has_failed) {
            outage.end(|| tracing::info!("The erasures and merges of members go on"));
        }
    }
}

/// Chooses the ends whose next passes begin.
fn begin_passes(
    known: &mut BTreeMap<MemberEnd, EndProgress>,
    now: Instant,
    is_settled: impl Fn(MemberEnd) -> bool,
) -> Vec<MemberEnd> {
    let in_progress = known.values().filter(|progress| progress.is_in_progress).count();
    let due = known.iter().filter(|(end, progress)| progress.is_due(now, is_settled(**end)));
    // One that fails delays no other, and a later pass no first one.
    let mut due: Vec<_> = due.map(|(end, progress)| (progress.has_failed, progress.passes, *end)).collect();
    due.sort_unstable();
    due.truncate(MAX_ENDS_IN_PROGRESS.saturating_sub(in_progress));
    let begun: Vec<_> = due.into_iter().map(|(_, _, end)| end).collect();
    for end in &begun {
        known.entry(*end).and_modify(|progress| progress.is_in_progress = true);
    }
    begun
}

fn is_settled(state: &AppState, end: MemberEnd) -> bool {
    state.now() >= end.at.saturating_add(SETTLE_MS)
}

/// A pass; the last one when the end has settled.
async fn pass(state: Arc<AppState>, end: MemberEnd) -> (MemberEnd, Result<(), JournalError>) {
    let is_last = is_settled(&state, end);
    let done = match end.heir {
        None => erasure_pass(&state, end, is_last).await,
        Some(_) => merge_pass(&state, end, is_last).await,
    };
    (end, done)
}

async fn erasure_pass(
    state: &AppState,
    MemberEnd { member, .. }: MemberEnd,
    is_last: bool,
) -> Result<(), JournalError> {
    let comments = erase(state, member).await?;
    if is_last {
        let step = ErasureStep::Finish;
        state.journal.append(Operation::Erasure { member, step, audit: None }).await?;
        tracing::info!(%member, comments, "Member {member} is erased; the last pass overwrote {comments} comments");
    } else if comments > 0 {
        tracing::info!(%member, comments, "Overwrote {comments} comments of member {member}");
    }
    Ok(())
}

async fn merge_pass(state: &AppState, MemberEnd { member, .. }: MemberEnd, is_last: bool) -> Result<(), JournalError> {
    let comments = merge::move_all(state, member).await?;
    if is_last {
        state.journal.append(Operation::Merge { guest: member, step: MergeStep::Finish }).await?;
        tracing::info!(%member, comments, "Guest {member} is merged; the last pass moved {comments} comments");
    } else if comments > 0 {
        tracing::info!(%member, comments, "Moved {comments} comments of guest {member}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use gailou_shared::id::MemberId;

    use super::*;

    fn end(number: u64) -> MemberEnd {
        MemberEnd { at: number, member: MemberId::new(number).unwrap(), heir: None }
    }

    struct Schedule {
        known: BTreeMap<MemberEnd, EndProgress>,
        begun: Instant,
    }

    impl Schedule {
        /// The members whose passes begin so long after the start; each ends at once.
        fn run(&mut self, after: Duration, settled: &[u64], failing: &[u64]) -> Vec<u64> {
            let is_settled = |end: MemberEnd| settled.contains(&end.at);
            let begun = begin_passes(&mut self.known, self.begun + after, is_settled);
            for end in &begun {
                let done = if failing.contains(&end.at) { Err(()) } else { Ok(()) };
                self.known.get_mut(end).unwrap().end_pass(&done);
            }
            begun.into_iter().map(|end| end.at).collect()
        }
    }

    fn schedule(numbers: std::ops::RangeInclusive<u64>) -> Schedule {
        let begun = Instant::now();
        Schedule { known: numbers.map(|number| (end(number), EndProgress::new(begun))).collect(), begun }
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
        schedule.known.get_mut(&end(1)).unwrap().is_in_progress = true;
        let failing = [2, 3, 4];
        assert_eq!(schedule.run(Duration::ZERO, &[], &failing), [2, 3, 4], "three places are left");
        assert_eq!(schedule.run(Duration::ZERO, &[], &failing), [5, 6, 7]);
        // First passes, then those that were tried, then second ones.
        assert_eq!(schedule.run(SPREAD_TIME, &[5], &failing), [8, 9, 5]);
        assert_eq!(schedule.run(SPREAD_TIME, &[], &failing), [6, 7, 8]);
        assert_eq!(schedule.run(SPREAD_TIME, &[], &failing), [9, 2, 3]);
    }
}
