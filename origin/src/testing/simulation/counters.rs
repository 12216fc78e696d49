//! The counters in Redis, by the rules of `adapters/redis/counters/lua`: views at an offset, pairs with pending
//! operations, markers with the name of the server. Each method is one script.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;
use tokio::time::Instant;

use crate::domain::operation::ReactionChange;
use crate::domain::row::ReactionCounts;
use crate::ports::broker::{PartitionOffsets as _, Topic};
use crate::ports::counters::{
    CountBase, CounterSlots, Counters, CountersError, FoldRequest, FoldedReaction, PersistedReaction, Recovery,
};
use crate::testing::simulation::broker_log::SimulatedBroker;
use crate::testing::simulation::redis_double::{RedisData, SimulatedRedis};
use crate::testing::simulation::world::Unanswered;

/// How long a view without pending operations is kept.
const VIEW_TTL: Duration = Duration::from_secs(60);
/// How long a recovery may take.
const RECOVERY_TTL: Duration = Duration::from_secs(10);
/// Comments that are named as not settled, of each slot.
const MAX_UNSETTLED: usize = 10;

/// The counters of one slot.
#[derive(Debug, Clone, Default)]
pub(super) struct CounterSlot {
    marker: Option<SlotMarker>,
    views: BTreeMap<CommentId, SimulatedView>,
    /// Recoveries: the server at which each began, and its end.
    openings: BTreeMap<String, (u64, Instant)>,
    claim: Option<SimulatedClaim>,
}

/// Who recovers the slots of which this is the first.
#[derive(Debug, Clone)]
struct SimulatedClaim {
    server: u64,
    holder: String,
    until: Instant,
}

/// The mark of an open slot.
#[derive(Debug, Clone)]
struct SlotMarker {
    server: u64,
    /// The offset that its rows had reached.
    reached: u64,
    /// The newest base of a view that may have been dropped since.
    evictable: u64,
}

#[derive(Debug, Clone)]
struct SimulatedView {
    base: u64,
    counts: ReactionCounts,
    pairs: BTreeMap<MemberId, PendingPair>,
    /// While no operation is pending.
    kept_until: Option<Instant>,
}

#[derive(Debug, Clone)]
struct PendingPair {
    from: u64,
    state: Option<Reaction>,
    operations: BTreeMap<u64, ReactionChange>,
}

impl PendingPair {
    fn last_state(&self) -> Option<Reaction> {
        self.operations.values().fold(self.state, |state, change| change.fold(state))
    }

    /// Adds an operation, unless it is from before `from`.
    fn add(&mut self, offset: u64, change: ReactionChange) {
        if offset >= self.from {
            self.operations.entry(offset).or_insert(change);
        }
    }

    /// Folds what is before an offset into the state.
    fn settle(&mut self, position: u64) {
        while let Some((&offset, &change)) = self.operations.first_key_value()
            && offset < position
        {
            self.state = change.fold(self.state);
            self.from = position;
            self.operations.remove(&offset);
        }
    }
}

impl SimulatedView {
    fn new(base: u64, counts: ReactionCounts) -> Self {
        Self { base, counts, pairs: BTreeMap::new(), kept_until: None }
    }

    /// The counts with the pending operations.
    fn current(&self) -> ReactionCounts {
        let count = |which, at_base: u64| {
            let is = |state: Option<Reaction>| i64::from(state == Some(which));
            let added: i64 = self.pairs.values().map(|pair| is(pair.last_state()) - is(pair.state)).sum();
            at_base.saturating_add_signed(added)
        };
        ReactionCounts {
            likes: count(Reaction::Like, self.counts.likes),
            dislikes: count(Reaction::Dislike, self.counts.dislikes),
        }
    }

    /// Moves the base to counts at a later offset.
    fn rebase(&mut self, position: u64, counts: ReactionCounts) {
        (self.base, self.counts) = (position, counts);
        self.settle_pairs();
    }

    fn settle_pairs(&mut self) {
        let base = self.base;
        self.pairs.values_mut().for_each(|pair| pair.settle(base));
        self.pairs.retain(|_, pair| !pair.operations.is_empty());
    }

    fn first_pending(&self) -> Option<u64> {
        self.pairs.values().filter_map(|pair| pair.operations.keys().next()).min().copied()
    }
}

impl CounterSlot {
    /// The offset that the rows had reached when the slot was opened; `None` when it is lost.
    fn enter(&self, server: u64) -> Option<u64> {
        self.marker.as_ref().filter(|marker| marker.server == server).map(|marker| marker.reached)
    }

    /// Drops a view that has expired, or is from before the slot was opened.
    fn drop_old(&mut self, id: CommentId, reached: u64) {
        let is_old =
            |view: &SimulatedView| view.base < reached || view.kept_until.is_some_and(|until| until <= Instant::now());
        if self.views.get(&id).is_some_and(is_old) {
            self.views.remove(&id);
        }
    }

    /// What is done when a view was changed.
    fn save(&mut self, id: CommentId, is_open: bool) {
        let Some(view) = self.views.get_mut(&id) else { return };
        let is_idle = view.pairs.is_empty();
        view.kept_until = is_idle.then(|| Instant::now() + VIEW_TTL);
        if let Some(marker) = self.marker.as_mut().filter(|_| is_idle && is_open) {
            marker.evictable = marker.evictable.max(view.base);
        }
    }

    fn fold(&mut self, server: u64, request: &FoldRequest) -> Result<FoldedReaction, CountersError> {
        let FoldRequest { id, member, change, offset, state } = request;
        let Some(reached) = self.enter(server) else { return Err(CountersError::Lost) };
        self.drop_old(*id, reached);
        let row = ReactionCounts { likes: state.likes, dislikes: state.dislikes };
        let evictable = self.marker.as_ref().map_or(0, |marker| marker.evictable);
        if !self.views.contains_key(id) {
            if state.position < evictable {
                return Err(CountersError::StaleState);
            }
            self.views.insert(*id, SimulatedView::new(state.position, row));
        }
        let Some(view) = self.views.get_mut(id) else { return Err(CountersError::StaleState) };
        if state.position > view.base {
            view.rebase(state.position, row);
        }
        let reaction = match view.pairs.get_mut(member) {
            None if state.position < view.base => None,
            None if *offset < view.base => Some(state.reaction),
            None => {
                let operations = BTreeMap::from([(*offset, *change)]);
                let pair = PendingPair { from: state.position, state: state.reaction, operations };
                let last = pair.last_state();
                view.pairs.insert(*member, pair);
                Some(last)
            }
            Some(pair) => {
                if state.position > pair.from {
                    (pair.from, pair.state) = (state.position, state.reaction);
                }
                pair.add(*offset, *change);
                pair.settle(view.base);
                let last = pair.last_state();
                view.settle_pairs();
                Some(last)
            }
        };
        let counts = view.current();
        self.save(*id, true);
        reaction.map(|reaction| FoldedReaction { counts, reaction }).ok_or(CountersError::StaleState)
    }

    fn read_counts(&mut self, server: u64, row: &CountBase) -> Result<Option<ReactionCounts>, CountersError> {
        let Some(reached) = self.enter(server) else { return Err(CountersError::Lost) };
        self.drop_old(row.id, reached);
        let Some(view) = self.views.get_mut(&row.id) else { return Ok(None) };
        let is_older = row.offset > view.base;
        if is_older {
            view.rebase(row.offset, row.counts);
        }
        let counts = view.current();
        if is_older {
            self.save(row.id, true);
        }
        Ok(Some(counts))
    }

    fn settle(&mut self, server: u64, rows: &[&PersistedReaction]) -> Vec<CommentId> {
        let (open, mut newest) = (self.enter(server), 0);
        let reached = open.unwrap_or(0);
        for PersistedReaction { base: CountBase { id, counts, offset }, operations } in rows {
            self.drop_old(*id, reached);
            newest = newest.max(*offset);
            match self.views.get_mut(id) {
                Some(view) => {
                    for of in operations {
                        if let Some(pair) = view.pairs.get_mut(&of.member) {
                            pair.add(of.offset, of.change);
                        }
                    }
                    view.settle_pairs();
                    if *offset > view.base {
                        view.rebase(*offset, *counts);
                    }
                    self.save(*id, open.is_some());
                }
                None if open.is_some() && *offset >= reached => {
                    self.views.insert(*id, SimulatedView::new(*offset, *counts));
                    self.save(*id, true);
                }
                None => {}
            }
        }
        let is_unsettled = |view: &SimulatedView| view.first_pending().is_some_and(|first| first < newest);
        self.views.iter().filter(|(_, view)| is_unsettled(view)).map(|(id, _)| *id).take(MAX_UNSETTLED).collect()
    }

    fn claim(&mut self, server: u64, holder: &str, lease: Duration) -> bool {
        let is_of_another =
            |claim: &SimulatedClaim| claim.server == server && claim.holder != holder && claim.until > Instant::now();
        let is_free = !self.claim.as_ref().is_some_and(is_of_another);
        if is_free {
            self.claim = Some(SimulatedClaim { server, holder: holder.into(), until: Instant::now() + lease });
        }
        is_free
    }

    fn is_claimed(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.until > Instant::now())
    }

    fn release(&mut self, server: u64, holder: &str) {
        self.claim.take_if(|claim| claim.server == server && claim.holder == holder);
    }

    fn finish_recovery(&mut self, server: u64, token: &str, reached: u64) -> bool {
        let is_valid = |(begun_at, until): &(u64, Instant)| *begun_at == server && *until > Instant::now();
        if !self.openings.get(token).is_some_and(is_valid) {
            return false;
        }
        if self.enter(server).is_none() {
            self.views.retain(|_, view| view.pairs.is_empty());
            self.marker = Some(SlotMarker { server, reached, evictable: reached });
        }
        self.openings.remove(token);
        true
    }
}

impl From<Unanswered> for CountersError {
    fn from(_: Unanswered) -> Self {
        Self::Unavailable("no answer".into())
    }
}

/// The counters as one process reaches them.
#[derive(Debug, Clone)]
pub(super) struct SimulatedCounters {
    pub(super) redis: Arc<SimulatedRedis>,
    /// It knows how often the log was accepted.
    pub(super) broker: SimulatedBroker,
}

/// What the keys of a slot are made of: the slot, and how often the log was accepted.
pub(super) type CounterKey = (Slot, u64);

impl SimulatedCounters {
    fn key(&self, slot: Slot) -> CounterKey {
        (slot, self.broker.accept_count())
    }

    fn keys(&self, slots: impl IntoIterator<Item = Slot>) -> BTreeMap<Slot, CounterKey> {
        slots.into_iter().map(|slot| (slot, self.key(slot))).collect()
    }
}

#[async_trait]
impl Counters for SimulatedCounters {
    async fn fold(&self, request: FoldRequest) -> Result<FoldedReaction, CountersError> {
        let key = self.key(request.id.slot());
        if request.offset < self.broker.base(Topic::Reactions, self.broker.partition_of(request.id.slot())) {
            return Err(CountersError::StaleState);
        }
        let fold = |data: &mut RedisData| {
            let server = data.server;
            let folded = data.counters.entry(key).or_default().fold(server, &request);
            self.redis.node.world.explain(|| format!("{request:?} is folded: {folded:?}"));
            folded
        };
        self.redis.run("fold", fold).await?
    }

    async fn read_counts(&self, rows: &[CountBase]) -> Result<HashMap<CommentId, ReactionCounts>, CountersError> {
        let keys = self.keys(rows.iter().map(|row| row.id.slot()));
        let read = |data: &mut RedisData| {
            let server = data.server;
            let mut found = HashMap::new();
            for row in rows {
                let slot = data.counters.entry(keys[&row.id.slot()]).or_default();
                found.extend(slot.read_counts(server, row)?.map(|counts| (row.id, counts)));
            }
            Ok(found)
        };
        self.redis.run("read_counts", read).await?
    }

    async fn read_pending_reactions(
        &self,
        member: MemberId,
        ids: &[CommentId],
    ) -> Result<HashMap<CommentId, Option<Reaction>>, CountersError> {
        let keys = self.keys(ids.iter().map(|id| id.slot()));
        let read = |data: &mut RedisData| {
            let mut found = HashMap::new();
            for id in ids {
                let slot = data.counters.entry(keys[&id.slot()]).or_default();
                let Some(reached) = slot.enter(data.server) else { return Err(CountersError::Lost) };
                let view = slot.views.get(id).filter(|view| view.base >= reached);
                found.extend(view.and_then(|view| view.pairs.get(&member)).map(|pair| (*id, pair.last_state())));
            }
            Ok(found)
        };
        self.redis.run("read_pending_reactions", read).await?
    }

    async fn settle(&self, rows: &[PersistedReaction]) -> Result<Vec<CommentId>, CountersError> {
        let mut slots: BTreeMap<CounterKey, Vec<&PersistedReaction>> = BTreeMap::new();
        rows.iter().for_each(|row| slots.entry(self.key(row.base.id.slot())).or_default().push(row));
        let settle = |data: &mut RedisData| {
            let server = data.server;
            let settle =
                |(key, rows): (CounterKey, Vec<_>)| data.counters.entry(key).or_default().settle(server, &rows);
            slots.into_iter().flat_map(settle).collect()
        };
        Ok(self.redis.run("settle", settle).await?)
    }
}

#[async_trait]
impl CounterSlots for SimulatedCounters {
    async fn find_lost_slots(&self, slots: &[Slot]) -> Result<Vec<Slot>, CountersError> {
        let keys = self.keys(slots.iter().copied());
        let find = |data: &mut RedisData| {
            let is_open = |key: CounterKey| data.counters.get(&key).is_some_and(|of| of.enter(data.server).is_some());
            slots.iter().filter(|slot| !is_open(keys[*slot])).copied().collect()
        };
        Ok(self.redis.run("find_lost_slots", find).await?)
    }

    async fn claim_recovery(&self, first: Slot, holder: &str, lease: Duration) -> Result<bool, CountersError> {
        let key = self.key(first);
        let claim = |data: &mut RedisData| {
            let server = data.server;
            data.counters.entry(key).or_default().claim(server, holder, lease)
        };
        Ok(self.redis.run("claim_recovery", claim).await?)
    }

    async fn is_recovery_claimed(&self, first: Slot) -> Result<bool, CountersError> {
        let key = self.key(first);
        let find = |data: &mut RedisData| data.counters.get(&key).is_some_and(CounterSlot::is_claimed);
        Ok(self.redis.run("is_recovery_claimed", find).await?)
    }

    async fn release_recovery(&self, first: Slot, holder: &str) -> Result<(), CountersError> {
        let key = self.key(first);
        let release = |data: &mut RedisData| {
            let server = data.server;
            data.counters.entry(key).or_default().release(server, holder);
        };
        Ok(self.redis.run("release_recovery", release).await?)
    }

    async fn begin_recovery(&self, slots: &[Slot]) -> Result<Recovery, CountersError> {
        let keys = self.keys(slots.iter().copied());
        let begin = |data: &mut RedisData| {
            data.recoveries += 1;
            let token = data.recoveries.to_string();
            for slot in slots {
                let opening = (data.server, Instant::now() + RECOVERY_TTL);
                data.counters.entry(keys[slot]).or_default().openings.insert(token.clone(), opening);
            }
            Recovery { slots: slots.to_vec(), token }
        };
        Ok(self.redis.run("begin_recovery", begin).await?)
    }

    async fn finish_recovery(&self, recovery: &Recovery, reached: &HashMap<Slot, u64>) -> Result<(), CountersError> {
        let keys = self.keys(recovery.slots.iter().copied());
        let finish = |data: &mut RedisData| {
            let server = data.server;
            let mut finish = |slot: &Slot| {
                let of = data.counters.entry(keys[slot]).or_default();
                reached.get(slot).is_some_and(|reached| of.finish_recovery(server, &recovery.token, *reached))
            };
            // Every slot is tried.
            recovery.slots.iter().filter(|slot| !finish(slot)).count() == 0
        };
        if self.redis.run("finish_recovery", finish).await? { Ok(()) } else { Err(CountersError::Lost) }
    }
}
