//! The scripts against a model of broker, rows and folds, through random interleavings: processes that
//! fold late, out of order, twice or never, a job that settles late or never, views that expire, and a
//! server that loses everything.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::adapters::redis::RedisConnection;
use crate::adapters::redis::counters::RedisCounters;
use crate::domain::operation::ReactionChange;
use crate::domain::reaction_state::ReactionState;
use crate::domain::row::ReactionCounts;
use crate::ports::counters::{
    CountBase, CounterSlots as _, CounterView, CounterViews as _, Counters as _, CountersError, FoldRequest,
    PersistedOperation, PersistedReaction, Recovery,
};
use crate::testing::memory_broker::MemoryBroker;
use crate::testing::redis_server::RedisServer;

const COMMENTS: u64 = 2;
const MEMBERS: u64 = 3;
const STEPS: usize = 150;
const RUNS: u64 = 30;
const CHANGES: [ReactionChange; 4] = [
    ReactionChange::Put(Reaction::Like),
    ReactionChange::Put(Reaction::Dislike),
    ReactionChange::Take(Reaction::Like),
    ReactionChange::Take(Reaction::Dislike),
];

#[derive(Debug, Clone, Copy)]
struct Reacted {
    id: CommentId,
    member: MemberId,
    change: ReactionChange,
}

/// What happens, and what the counters must show of it.
struct CounterModel {
    random: StdRng,
    counters: RedisCounters,
    /// The records of the partition; `None` belongs to another slot.
    records: Vec<Option<Reacted>>,
    /// The tables contain every record before this offset.
    stored: u64,
    /// Reactions whose state was read and that are not appended yet.
    decided: Vec<(Reacted, ReactionState)>,
    /// Reactions that were appended and not folded yet.
    appended: Vec<(u64, ReactionState)>,
    /// Offsets that Redis has got since the slot was opened: folded, or settled by the job.
    received: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
    /// Batches that were stored and not settled yet.
    unsettled: Vec<Vec<PersistedReaction>>,
    recovery: Option<(Recovery, u64)>,
}

fn slot() -> Slot {
    Slot::new(7).unwrap()
}

fn comment(number: u64) -> CommentId {
    CommentId::from_parts(1_700_000_000_000 + number, slot(), 0, 0)
}

fn member(number: u64) -> MemberId {
    // Beyond the precision of a double: as numbers in a script they would collide.
    MemberId::new((1 << 62) + number).unwrap()
}

impl CounterModel {
    /// The slot's next offset in the tables.
    fn position(&self) -> u64 {
        let stored = &self.records[..self.stored as usize];
        stored.iter().rposition(Option::is_some).map_or(0, |last| last as u64 + 1)
    }

    /// What members think after the operations whose offsets are included.
    fn reactions(&self, id: CommentId, is_included: impl Fn(u64) -> bool) -> BTreeMap<MemberId, Reaction> {
        let mut state = BTreeMap::new();
        for (offset, operation) in self.records.iter().enumerate() {
            let Some(operation) = operation.filter(|o| o.id == id && is_included(offset as u64)) else { continue };
            match operation.change.fold(state.remove(&operation.member)) {
                Some(reaction) => state.insert(operation.member, reaction),
                None => None,
            };
        }
        state
    }

    fn counts(state: &BTreeMap<MemberId, Reaction>) -> ReactionCounts {
        let of = |reaction| state.values().filter(|r| **r == reaction).count() as u64;
        ReactionCounts { likes: of(Reaction::Like), dislikes: of(Reaction::Dislike) }
    }

    fn read_state(&self, id: CommentId, member: MemberId) -> ReactionState {
        let position = self.position();
        let state = self.reactions(id, |offset| offset < position);
        let ReactionCounts { likes, dislikes } = Self::counts(&state);
        ReactionState {
            position,
            reaction: state.get(&member).copied(),
            visible: Some(true),
            likes,
            dislikes,
            reactions_offset: position,
        }
    }

    fn row(&self, id: CommentId) -> CountBase {
        let ReactionState { position, likes, dislikes, .. } = self.read_state(id, member(0));
        CountBase { id, counts: ReactionCounts { likes, dislikes }, offset: position }
    }

    /// One thing happens.
    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..22 => {
                let (id, who) = (comment(self.random.random_range(0..COMMENTS)), self.random.random_range(0..MEMBERS));
                let change = CHANGES[self.random.random_range(0..CHANGES.len())];
                let reacted = Reacted { id, member: member(who), change };
                self.decided.push((reacted, self.read_state(id, member(who))));
            }
            22..44 if !self.decided.is_empty() => {
                let at = self.random.random_range(0..self.decided.len());
                let (operation, state) = self.decided.swap_remove(at);
                self.appended.push((self.records.len() as u64, state));
                self.records.push(Some(operation));
            }
            44..47 => self.records.push(None),
            47..70 if !self.appended.is_empty() => {
                let at = self.random.random_range(0..self.appended.len());
                let (offset, state) = match self.random.random_range(0..10) {
                    // Folded, and once more later.
                    0 => self.appended[at],
                    _ => self.appended.swap_remove(at),
                };
                self.fold(offset, state).await;
            }
            70..72 if !self.appended.is_empty() => {
                // A process dies between append and fold.
                let at = self.random.random_range(0..self.appended.len());
                self.appended.swap_remove(at);
            }
            72..80 => self.persist(),
            80..88 if !self.unsettled.is_empty() => {
                let at = self.random.random_range(0..self.unsettled.len());
                let batch = self.unsettled.swap_remove(at);
                self.settle_batch(&batch).await;
            }
            88 if !self.unsettled.is_empty() => {
                self.unsettled.pop();
            }
            89..94 => {
                let rows: Vec<_> = (0..COMMENTS).map(|n| self.row(comment(n))).collect();
                if let Err(error) = self.counters.read_counts(&rows).await {
                    assert!(matches!(error, CountersError::Lost));
                }
            }
            94..96 => {
                // No request takes a minute.
                let position = self.position();
                self.decided.retain(|(_, state)| state.position == position);
                self.appended.retain(|(_, state)| state.position == position);
                self.expire().await;
            }
            96 => {
                self.command(&["FLUSHALL"]).await;
                self.received.clear();
            }
            97 => {
                let recovery = self.counters.begin_recovery(&[slot()]).await.unwrap();
                self.recovery = Some((recovery, self.records.len() as u64));
            }
            98..100 => {
                if let Some((recovery, end)) = self.recovery.take() {
                    self.stored = self.stored.max(end);
                    let reached = HashMap::from([(slot(), self.position())]);
                    let _ = self.counters.finish_recovery(&recovery, &reached).await;
                }
            }
            _ => {}
        }
    }

    async fn fold(&mut self, offset: u64, mut state: ReactionState) {
        let Reacted { id, member, change } = self.records[offset as usize].unwrap();
        for _ in 0..3 {
            match self.counters.fold(FoldRequest { id, member, change, offset, state }).await {
                Ok(folded) => {
                    self.received.insert(offset);
                    self.acknowledged.insert(offset);
                    let (reactions, uncertain) = self.expected(id).await;
                    let off = folded.counts.likes.abs_diff(Self::counts(&reactions).likes) as usize;
                    assert!(off <= uncertain.len(), "{folded:?} of {reactions:?}, {uncertain:?}");
                    assert!(uncertain.contains(&member) || folded.reaction == reactions.get(&member).copied());
                    return;
                }
                Err(CountersError::StaleState) => state = self.read_state(id, member),
                Err(CountersError::Lost) => {
                    self.recover().await;
                    state = self.read_state(id, member);
                }
                Err(error) => panic!("{error}"),
            }
        }
        panic!("stale three times");
    }

    async fn recover(&mut self) {
        let recovery = self.counters.begin_recovery(&[slot()]).await.unwrap();
        self.stored = self.records.len() as u64;
        self.counters.finish_recovery(&recovery, &HashMap::from([(slot(), self.position())])).await.unwrap();
    }

    fn persist(&mut self) {
        let until = (self.stored + self.random.random_range(1..6)).min(self.records.len() as u64);
        let mut comments = BTreeMap::<CommentId, Vec<_>>::new();
        for offset in self.stored..until {
            if let Some(Reacted { id, member, change }) = self.records[offset as usize] {
                comments.entry(id).or_default().push(PersistedOperation { offset, member, change });
            }
        }
        self.stored = until;
        let settled = comments.into_iter().map(|(id, operations)| {
            let mut base = self.row(id);
            if let (true, Some(last)) = (until.is_multiple_of(2), operations.last()) {
                base.offset = last.offset + 1;
            }
            PersistedReaction { base, operations }
        });
        let settled: Vec<_> = settled.collect();
        self.unsettled.push(settled);
    }

    async fn settle_batch(&mut self, batch: &[PersistedReaction]) {
        let named = self.counters.settle(batch).await.unwrap();
        self.received.extend(batch.iter().flat_map(|settled| &settled.operations).map(|operation| operation.offset));
        let named = named.into_iter().map(|id| PersistedReaction { base: self.row(id), operations: vec![] });
        let named: Vec<_> = named.collect();
        self.counters.settle(&named).await.unwrap();
    }

    /// A minute passes: views without pending operations expire.
    async fn expire(&self) {
        for number in 0..COMMENTS {
            let key = self.counters.keys.of(slot()).view(comment(number));
            let script = "if redis.call('TTL', KEYS[1]) >= 0 then redis.call('DEL', KEYS[1]) end";
            self.command(&["EVAL", script, "1", &key]).await;
        }
    }

    async fn command(&self, words: &[&str]) {
        let mut command = ::redis::cmd(words[0]);
        command.arg(&words[1..]);
        self.counters.connection.query::<()>("test", "", &command).await.unwrap();
    }

    /// What the view must show now, and the members of whom it may lack something: one of their operations
    /// is in the base and was not settled while they had a later one pending.
    async fn expected(&self, id: CommentId) -> (BTreeMap<MemberId, Reaction>, BTreeSet<MemberId>) {
        let base = match self.counters.read_view(id).await.unwrap() {
            Some(view) => view.base.offset,
            None => self.position(),
        };
        for offset in &self.acknowledged {
            let own = self.records[*offset as usize].is_some_and(|operation| operation.id == id);
            assert!(!own || *offset < base || self.received.contains(offset), "{offset} was dropped");
        }
        let member_of = |offset: &u64| self.records[*offset as usize].filter(|o| o.id == id).map(|o| o.member);
        let later: BTreeSet<_> = self.received.range(base..).filter_map(member_of).collect();
        let missed = (0..base).filter(|offset| !self.received.contains(offset));
        let uncertain =
            missed.filter_map(|offset| member_of(&offset)).filter(|member| later.contains(member)).collect();
        (self.reactions(id, |offset| offset < base || self.received.contains(&offset)), uncertain)
    }

    /// The views show what they must.
    async fn check(&self) {
        if !self.counters.find_lost_slots(&[slot()]).await.unwrap().is_empty() {
            return;
        }
        for id in (0..COMMENTS).map(comment) {
            let (state, uncertain) = self.expected(id).await;
            let Some(CounterView { base, current }) = self.counters.read_view(id).await.unwrap() else { continue };
            let mut pending = 0;
            for who in (0..MEMBERS).map(member) {
                let reaction = self.counters.read_pending_reactions(who, &[id]).await.unwrap().remove(&id);
                pending += usize::from(reaction.is_some());
                assert!(uncertain.contains(&who) || reaction.is_none_or(|r| r == state.get(&who).copied()));
            }
            // Without pending operations the view is an old row, and each reader has one at least as new.
            let state = if pending == 0 { self.reactions(id, |offset| offset < base.offset) } else { state };
            let must = Self::counts(&state);
            let off = current.likes.abs_diff(must.likes).max(current.dislikes.abs_diff(must.dislikes)) as usize;
            assert!(off <= uncertain.len(), "{base:?} shows {current:?}, must be {must:?}, {uncertain:?}");
        }
    }

    /// Everything is stored and settled: the views equal the rows, and nothing is pending.
    async fn settle_all(&mut self) {
        self.recover().await;
        self.stored = self.records.len() as u64;
        for batch in std::mem::take(&mut self.unsettled) {
            self.settle_batch(&batch).await;
        }
        let rows: Vec<_> = (0..COMMENTS).map(|n| self.row(comment(n))).collect();
        let all: Vec<_> = rows.iter().map(|base| PersistedReaction { base: *base, operations: vec![] }).collect();
        assert!(self.counters.settle(&all).await.unwrap().is_empty());
        let counts = self.counters.read_counts(&rows).await.unwrap();
        for row in rows {
            assert!(counts.get(&row.id).is_none_or(|shown| *shown == row.counts), "{counts:?} {row:?}");
            for who in (0..MEMBERS).map(member) {
                assert!(self.counters.read_pending_reactions(who, &[row.id]).await.unwrap().is_empty());
            }
        }
        self.expire().await;
        let mut keys = ::redis::cmd("KEYS");
        keys.arg(self.counters.keys.of(slot()).marker().replace("open", "*"));
        let remaining: Vec<String> = self.counters.connection.query("test", "", &keys).await.unwrap();
        assert!(remaining.iter().all(|key| key.contains(":open")), "{remaining:?}");
    }
}

#[tokio::test]
async fn views_show_what_broker_and_rows_say() {
    let Some(server) = RedisServer::start().await else { return };
    let connection = RedisConnection::open(&server.urls(), None).await.unwrap();
    for seed in 0..RUNS {
        eprintln!("seed {seed}");
        let mut model = CounterModel {
            random: StdRng::seed_from_u64(seed),
            counters: RedisCounters::new(connection.clone(), &format!("run{seed}"), Arc::new(MemoryBroker::new(1))),
            records: vec![],
            stored: 0,
            decided: vec![],
            appended: vec![],
            received: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            unsettled: vec![],
            recovery: None,
        };
        for _ in 0..STEPS {
            model.step().await;
            model.check().await;
        }
        model.settle_all().await;
    }
}
