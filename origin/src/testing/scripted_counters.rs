//! Counters that answer what tests set, fold onto the state they are given, and can be lost.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, SLOT_COUNT, Slot};
use gailou_shared::wire::Reaction;
use tokio::time::Instant;

use crate::domain::row::ReactionCounts;
use crate::ports::counters::{
    CountBase, CounterSlots, Counters, CountersError, FoldRequest, FoldedReaction, PersistedReaction, Recovery,
};
use crate::testing::faults::lock;

#[derive(Debug, Default)]
pub(crate) struct ScriptedCounters {
    counts: Mutex<HashMap<CommentId, ReactionCounts>>,
    pending: Mutex<HashMap<CommentId, Option<Reaction>>>,
    /// Errors of the next folds.
    fold_errors: Mutex<VecDeque<CountersError>>,
    folds: Mutex<Vec<FoldRequest>>,
    lost: Mutex<BTreeSet<Slot>>,
    /// Who recovers, and until when.
    claims: Mutex<HashMap<Slot, (String, Instant)>>,
    /// Whether claims can be neither taken nor read.
    pub(crate) fails_claims: AtomicBool,
    /// Whether a recovery never gets further than its beginning.
    pub(crate) hangs_in_recovery: AtomicBool,
    /// How many recoveries find the slots lost again.
    pub(crate) failing_recoveries: AtomicUsize,
    pub(crate) begun: AtomicUsize,
    pub(crate) finished: AtomicUsize,
    /// Calls that read or settled.
    pub(crate) calls: AtomicUsize,
}

impl ScriptedCounters {
    /// Sets the counts of a comment that has a view.
    pub(crate) fn set_counts(&self, id: CommentId, likes: u64, dislikes: u64) {
        lock(&self.counts).insert(id, ReactionCounts { likes, dislikes });
    }

    /// Sets what every member thinks of a comment after pending operations.
    pub(crate) fn set_pending(&self, id: CommentId, reaction: Option<Reaction>) {
        lock(&self.pending).insert(id, reaction);
    }

    /// Makes the next folds fail, each with one of these errors.
    pub(crate) fn fail_folds(&self, errors: impl IntoIterator<Item = CountersError>) {
        lock(&self.fold_errors).extend(errors);
    }

    /// The requests of all folds so far.
    pub(crate) fn folds(&self) -> Vec<FoldRequest> {
        lock(&self.folds).clone()
    }

    /// Loses every slot.
    pub(crate) fn lose_all(&self) {
        lock(&self.lost).extend((0..SLOT_COUNT).filter_map(Slot::new));
    }

    /// The slots that are not lost.
    pub(crate) fn open_slots(&self) -> Vec<Slot> {
        let lost = lock(&self.lost);
        (0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| !lost.contains(slot)).collect()
    }

    fn check_claims(&self) -> Result<(), CountersError> {
        let fails = self.fails_claims.load(Ordering::SeqCst);
        if fails { Err(CountersError::Unavailable("no claims".into())) } else { Ok(()) }
    }

    fn check(&self) -> Result<(), CountersError> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        if lock(&self.lost).is_empty() { Ok(()) } else { Err(CountersError::Lost) }
    }
}

#[async_trait]
impl Counters for ScriptedCounters {
    async fn fold(&self, request: FoldRequest) -> Result<FoldedReaction, CountersError> {
        lock(&self.folds).push(request.clone());
        if let Some(error) = lock(&self.fold_errors).pop_front() {
            if matches!(error, CountersError::Lost) {
                lock(&self.lost).insert(request.id.slot());
            }
            return Err(error);
        }
        let (before, reaction) = (request.state.reaction, request.change.fold(request.state.reaction));
        let delta = |which| i64::from(reaction == Some(which)) - i64::from(before == Some(which));
        let counts = ReactionCounts {
            likes: request.state.likes.saturating_add_signed(delta(Reaction::Like)),
            dislikes: request.state.dislikes.saturating_add_signed(delta(Reaction::Dislike)),
        };
        Ok(FoldedReaction { counts, reaction })
    }

    async fn read_counts(&self, _: &[CountBase]) -> Result<HashMap<CommentId, ReactionCounts>, CountersError> {
        self.check()?;
        Ok(lock(&self.counts).clone())
    }

    async fn read_pending_reactions(
        &self,
        _: MemberId,
        _: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError> {
        self.check()?;
        Ok(lock(&self.pending).clone())
    }

    async fn settle(&self, _: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError> {
        self.check()?;
        Ok(vec![])
    }
}

#[async_trait]
impl CounterSlots for ScriptedCounters {
    async fn find_lost_slots(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError> {
        let lost = lock(&self.lost);
        Ok(slots.iter().filter(|slot| lost.contains(slot)).copied().collect())
    }

    async fn claim_recovery(&self, first: Slot, holder: &str, lease: Duration) -> Result<bool, CountersError> {
        self.check_claims()?;
        let mut claims = lock(&self.claims);
        let is_of_another = |(of, until): &(String, Instant)| of != holder && *until > Instant::now();
        let is_free = !claims.get(&first).is_some_and(is_of_another);
        if is_free {
            claims.insert(first, (holder.to_owned(), Instant::now() + lease));
        }
        Ok(is_free)
    }

    async fn is_recovery_claimed(&self, first: Slot) -> Result<bool, CountersError> {
        self.check_claims()?;
        Ok(lock(&self.claims).get(&first).is_some_and(|(_, until)| *until > Instant::now()))
    }

    async fn release_recovery(&self, first: Slot, holder: &str) -> Result<(), CountersError> {
        self.check_claims()?;
        lock(&self.claims).retain(|slot, (of, _)| *slot != first || of != holder);
        Ok(())
    }

    async fn begin_recovery(&self, slots: &[Slot]) -> Result<Recovery, CountersError> {
        self.begun.fetch_add(1, Ordering::SeqCst);
        if self.hangs_in_recovery.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        Ok(Recovery { slots: slots.to_vec(), token: String::new() })
    }

    async fn finish_recovery(&self, recovery: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError> {
        let failing = self.failing_recoveries.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        if failing.is_ok() {
            return Err(CountersError::Lost);
        }
        assert!(recovery.slots.iter().all(|slot| reached.contains_key(slot)), "every slot has a position");
        lock(&self.lost).retain(|slot| !recovery.slots.contains(slot));
        self.finished.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
