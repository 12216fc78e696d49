//! The scripts against a model of log, rows and what was folded, through random interleavings:
//! servers that fold late, out of order, twice or never, a job whose word comes late or gets lost,
//! views that expire and a memory that is lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use gailou_shared::id::{CommentId, MemberId, Slot};
use gailou_shared::wire::Reaction;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::adapters::redis::Connection;
use crate::adapters::redis::counters::RedisCounters;
use crate::domain::operation::ReactionChange;
use crate::domain::reaction_state::ReactionState;
use crate::ports::counters::{Base, Counters, CountersError, Fold, PersistedReaction, Recovery};
use crate::testing::redis_server::Server;

const COMMENTS: u64 = 2;
const MEMBERS: u64 = 3;
const STEPS: usize = 150;
const RUNS: u64 = 30;
const REACTS: [ReactionChange; 4] = [
    ReactionChange::Put(Reaction::Like),
    ReactionChange::Put(Reaction::Dislike),
    ReactionChange::Take(Reaction::Like),
    ReactionChange::Take(Reaction::Dislike),
];

#[derive(Debug, Clone, Copy)]
struct Operation {
    id: CommentId,
    member: MemberId,
    react: ReactionChange,
}

/// What happens, and what must be seen of it.
struct World {
    random: StdRng,
    counters: RedisCounters,
    /// The partition's log; `None` belongs to another slot.
    log: Vec<Option<Operation>>,
    /// The tables hold everything before it.
    stored: u64,
    /// Read and not appended yet; appended and not folded yet.
    read: Vec<(Operation, ReactionState)>,
    appended: Vec<(u64, ReactionState)>,
    /// Known to Redis since the slot was opened: folded, or told by the job.
    known: BTreeSet<u64>,
    acknowledged: BTreeSet<u64>,
    untold: Vec<Vec<PersistedReaction>>,
    begun: Option<(Recovery, u64)>,
}

fn slot() -> Slot {
    Slot::new(7).unwrap()
}

fn comment(number: u64) -> CommentId {
    CommentId::from_parts(1_700_000_000_000 + number, slot(), 0, 0)
}

fn member(number: u64) -> MemberId {
    // Beyond what a double holds: numbers in a script would collide.
    MemberId::new((1 << 62) + number).unwrap()
}

impl World {
    /// The slot's own next position.
    fn position(&self) -> u64 {
        let stored = &self.log[..self.stored as usize];
        stored.iter().rposition(Option::is_some).map_or(0, |last| last as u64 + 1)
    }

    /// What everybody thinks after the operations that `counts` lets in.
    fn state(&self, id: CommentId, counts: impl Fn(u64) -> bool) -> BTreeMap<MemberId, Reaction> {
        let mut state = BTreeMap::new();
        for (offset, operation) in self.log.iter().enumerate() {
            let Some(operation) = operation.filter(|o| o.id == id && counts(offset as u64)) else { continue };
            match operation.react.fold(state.remove(&operation.member)) {
                Some(reaction) => state.insert(operation.member, reaction),
                None => None,
            };
        }
        state
    }

    fn counts(state: &BTreeMap<MemberId, Reaction>) -> (u64, u64) {
        let of = |reaction| state.values().filter(|r| **r == reaction).count() as u64;
        (of(Reaction::Like), of(Reaction::Dislike))
    }

    fn standing(&self, id: CommentId, member: MemberId) -> ReactionState {
        let position = self.position();
        let state = self.state(id, |offset| offset < position);
        let (likes, dislikes) = Self::counts(&state);
        ReactionState {
            position,
            reaction: state.get(&member).copied(),
            visible: Some(true),
            likes,
            dislikes,
            reacted: position,
        }
    }

    fn row(&self, id: CommentId) -> Base {
        let ReactionState { position, likes, dislikes, .. } = self.standing(id, member(0));
        Base { id, likes, dislikes, reacted: position }
    }

    /// One thing happens.
    async fn step(&mut self) {
        match self.random.random_range(0..100) {
            0..22 => {
                let (id, who) = (comment(self.random.random_range(0..COMMENTS)), self.random.random_range(0..MEMBERS));
                let react = REACTS[self.random.random_range(0..REACTS.len())];
                self.read.push((Operation { id, member: member(who), react }, self.standing(id, member(who))));
            }
            22..44 if !self.read.is_empty() => {
                let at = self.random.random_range(0..self.read.len());
                let (operation, standing) = self.read.swap_remove(at);
                self.appended.push((self.log.len() as u64, standing));
                self.log.push(Some(operation));
            }
            44..47 => self.log.push(None),
            47..70 if !self.appended.is_empty() => {
                let at = self.random.random_range(0..self.appended.len());
                let (offset, standing) = match self.random.random_range(0..10) {
                    // Folded, and once more later.
                    0 => self.appended[at],
                    _ => self.appended.swap_remove(at),
                };
                self.fold(offset, standing).await;
            }
            70..72 if !self.appended.is_empty() => {
                // A server dies between append and fold.
                let at = self.random.random_range(0..self.appended.len());
                self.appended.swap_remove(at);
            }
            72..80 => self.persist(),
            80..88 if !self.untold.is_empty() => {
                let at = self.random.random_range(0..self.untold.len());
                let told = self.untold.swap_remove(at);
                self.tell(&told).await;
            }
            88 if !self.untold.is_empty() => {
                self.untold.pop();
            }
            89..94 => {
                let rows: Vec<_> = (0..COMMENTS).map(|n| self.row(comment(n))).collect();
                if let Err(error) = self.counters.counts(&rows).await {
                    assert!(matches!(error, CountersError::Lost));
                }
            }
            94..96 => {
                // No request lasts a minute.
                let position = self.position();
                self.read.retain(|(_, standing)| standing.position == position);
                self.appended.retain(|(_, standing)| standing.position == position);
                self.expire().await;
            }
            96 => {
                self.command(&["FLUSHALL"]).await;
                self.known.clear();
            }
            97 => {
                let opening = self.counters.begin(&[slot()]).await.unwrap();
                self.begun = Some((opening, self.log.len() as u64));
            }
            98..100 => {
                if let Some((opening, end)) = self.begun.take() {
                    self.stored = self.stored.max(end);
                    let _ = self.counters.reopen(&opening, &HashMap::from([(slot(), self.position())])).await;
                }
            }
            _ => {}
        }
    }

    async fn fold(&mut self, version: u64, mut standing: ReactionState) {
        let Operation { id, member, react } = self.log[version as usize].unwrap();
        for _ in 0..3 {
            match self.counters.fold(Fold { id, member, react, version, standing }).await {
                Ok(folded) => {
                    self.known.insert(version);
                    self.acknowledged.insert(version);
                    let (state, uncertain) = self.seen(id).await;
                    let off = (folded.likes.abs_diff(Self::counts(&state).0)) as usize;
                    assert!(off <= uncertain.len(), "{folded:?} of {state:?}, {uncertain:?}");
                    assert!(uncertain.contains(&member) || folded.reaction == state.get(&member).copied());
                    return;
                }
                Err(CountersError::Behind) => standing = self.standing(id, member),
                Err(CountersError::Lost) => {
                    self.open().await;
                    standing = self.standing(id, member);
                }
                Err(error) => panic!("{error}"),
            }
        }
        panic!("three times behind");
    }

    async fn open(&mut self) {
        let opening = self.counters.begin(&[slot()]).await.unwrap();
        self.stored = self.log.len() as u64;
        self.counters.reopen(&opening, &HashMap::from([(slot(), self.position())])).await.unwrap();
    }

    fn persist(&mut self) {
        let until = (self.stored + self.random.random_range(1..6)).min(self.log.len() as u64);
        let mut comments = BTreeMap::<CommentId, Vec<_>>::new();
        for offset in self.stored..until {
            if let Some(Operation { id, member, react }) = self.log[offset as usize] {
                comments.entry(id).or_default().push((offset, member, react));
            }
        }
        self.stored = until;
        let settled = comments.into_iter().map(|(id, operations)| {
            let mut base = self.row(id);
            if let (true, Some(last)) = (until.is_multiple_of(2), operations.last()) {
                base.reacted = last.0 + 1;
            }
            PersistedReaction { base, operations }
        });
        let settled: Vec<_> = settled.collect();
        self.untold.push(settled);
    }

    async fn tell(&mut self, told: &[PersistedReaction]) {
        let left = self.counters.persisted(told).await.unwrap();
        self.known.extend(told.iter().flat_map(|settled| &settled.operations).map(|operation| operation.0));
        let left: Vec<_> =
            left.into_iter().map(|id| PersistedReaction { base: self.row(id), operations: vec![] }).collect();
        self.counters.persisted(&left).await.unwrap();
    }

    /// A minute passes for views that nothing is pending in.
    async fn expire(&self) {
        for number in 0..COMMENTS {
            let key = self.counters.keys.view(comment(number));
            let script = "if redis.call('TTL', KEYS[1]) >= 0 then redis.call('DEL', KEYS[1]) end";
            self.command(&["EVAL", script, "1", &key]).await;
        }
    }

    async fn command(&self, words: &[&str]) {
        let mut command = ::redis::cmd(words[0]);
        command.arg(&words[1..]);
        self.counters.connection.query::<()>("", &command).await.unwrap();
    }

    /// What the view must show now, and the members of whom it may not know everything: an operation
    /// of theirs is in the base, and nobody told so while they had a later one pending.
    async fn seen(&self, id: CommentId) -> (BTreeMap<MemberId, Reaction>, BTreeSet<MemberId>) {
        let base = match self.counters.view(id).await.unwrap() {
            Some((base, _)) => base.reacted,
            None => self.position(),
        };
        for offset in &self.acknowledged {
            let own = self.log[*offset as usize].is_some_and(|operation| operation.id == id);
            assert!(!own || *offset < base || self.known.contains(offset), "{offset} was forgotten");
        }
        let of = |offset: &u64| self.log[*offset as usize].filter(|o| o.id == id).map(|o| o.member);
        let later: BTreeSet<_> = self.known.range(base..).filter_map(of).collect();
        let missed = (0..base).filter(|offset| !self.known.contains(offset));
        let uncertain = missed.filter_map(|offset| of(&offset)).filter(|member| later.contains(member)).collect();
        (self.state(id, |offset| offset < base || self.known.contains(&offset)), uncertain)
    }

    /// What is shown is what must be.
    async fn check(&self) {
        if !self.counters.lost(&[slot()]).await.unwrap().is_empty() {
            return;
        }
        for id in (0..COMMENTS).map(comment) {
            let (state, uncertain) = self.seen(id).await;
            let Some((base, shown)) = self.counters.view(id).await.unwrap() else { continue };
            let mut pending = 0;
            for who in (0..MEMBERS).map(member) {
                let reaction = self.counters.reactions(who, &[id]).await.unwrap().remove(&id);
                pending += usize::from(reaction.is_some());
                assert!(uncertain.contains(&who) || reaction.is_none_or(|r| r == state.get(&who).copied()));
            }
            // Without anything pending it is an old row, which every reader's row is at least as new as.
            let state = if pending == 0 { self.state(id, |offset| offset < base.reacted) } else { state };
            let must = Self::counts(&state);
            let off = shown.0.abs_diff(must.0).max(shown.1.abs_diff(must.1)) as usize;
            assert!(off <= uncertain.len(), "{base:?} shows {shown:?}, must be {must:?}, {uncertain:?}");
        }
    }

    /// Everything is stored and told: the views are the rows, and nothing is pending.
    async fn settle(&mut self) {
        self.open().await;
        self.stored = self.log.len() as u64;
        for told in std::mem::take(&mut self.untold) {
            self.tell(&told).await;
        }
        let rows: Vec<_> = (0..COMMENTS).map(|n| self.row(comment(n))).collect();
        let all: Vec<_> = rows.iter().map(|base| PersistedReaction { base: *base, operations: vec![] }).collect();
        assert!(self.counters.persisted(&all).await.unwrap().is_empty());
        let counts = self.counters.counts(&rows).await.unwrap();
        for row in rows {
            assert!(counts.get(&row.id).is_none_or(|shown| *shown == (row.likes, row.dislikes)), "{counts:?} {row:?}");
            for who in (0..MEMBERS).map(member) {
                assert!(self.counters.reactions(who, &[row.id]).await.unwrap().is_empty());
            }
        }
        self.expire().await;
        let mut keys = ::redis::cmd("KEYS");
        keys.arg(self.counters.keys.open(slot()).replace("open", "*"));
        let left: Vec<String> = self.counters.connection.query("", &keys).await.unwrap();
        assert!(left.iter().all(|key| key.contains(":open")), "{left:?}");
    }
}

#[tokio::test]
async fn views_show_what_log_and_rows_say() {
    let Some(server) = Server::start().await else { return };
    let connection = Connection::open(&server.urls()).await.unwrap();
    for seed in 0..RUNS {
        eprintln!("seed {seed}");
        let mut world = World {
            random: StdRng::seed_from_u64(seed),
            counters: RedisCounters::new(connection.clone(), &format!("run{seed}")),
            log: vec![],
            stored: 0,
            read: vec![],
            appended: vec![],
            known: BTreeSet::new(),
            acknowledged: BTreeSet::new(),
            untold: vec![],
            begun: None,
        };
        for _ in 0..STEPS {
            world.step().await;
            world.check().await;
        }
        world.settle().await;
    }
}
