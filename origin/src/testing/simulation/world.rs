//! What one seed decides for all parts: random numbers, the time of each trip over the network, what fails, and
//! the trace of everything that happened.
//!
//! Every call to a server passes [`Node::call`]. It may be refused before anything happens, it may be lost on its
//! way there or its answer on its way back, and it takes its time. A process that was killed never gets an
//! answer and sends nothing; what it had sent may still arrive.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::pending;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use tokio::time::{Instant, sleep, sleep_until};

use crate::clock::Clock;
use crate::testing::faults::lock;
use crate::testing::fixtures::TEST_START_MS;

/// Of a thousand, for chances.
const PER_MILLE: u32 = 1_000;

/// A server of the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Server {
    Database(usize),
    Redis,
    Broker,
}

impl Server {
    /// The longest time that a call takes from there and back, in milliseconds, while nothing is wrong.
    fn usual_trip_ms(self) -> u64 {
        match self {
            Self::Database(_) => 4,
            Self::Redis => 2,
            Self::Broker => 6,
        }
    }

    /// After what time a driver gives up.
    fn timeout(self) -> Duration {
        match self {
            Self::Database(_) => Duration::from_millis(1_000),
            Self::Redis => Duration::from_millis(500),
            Self::Broker => Duration::from_millis(1_500),
        }
    }

    fn number(self) -> u64 {
        match self {
            Self::Redis => 0,
            Self::Broker => 1,
            Self::Database(number) => 2 + number as u64,
        }
    }
}

/// What is wrong with a server.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Condition {
    /// It refuses connections.
    pub(super) is_down: bool,
    /// What a call takes in addition, at most.
    pub(super) slow_ms: u64,
    /// Of a thousand calls, how many are lost on their way, and how many answers.
    pub(super) lost_requests: u32,
    pub(super) lost_answers: u32,
}

struct WorldState {
    random: SmallRng,
    conditions: BTreeMap<Server, Condition>,
    /// Processes and servers that do not reach each other.
    cuts: BTreeSet<(u32, Server)>,
    hash: u64,
    lines: Vec<String>,
}

/// What is common to all parts of a run.
pub(super) struct World {
    started: Instant,
    is_verbose: bool,
    state: Mutex<WorldState>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World")
    }
}

/// Why a call has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unanswered {
    /// Nothing was sent.
    Refused,
    /// It may have been carried out.
    TimedOut,
}

/// The way of one call.
struct Trip {
    there: Duration,
    back: Duration,
    is_lost: bool,
    answer_is_lost: bool,
}

impl World {
    pub(super) fn new(seed: u64, is_verbose: bool) -> Arc<Self> {
        let state = WorldState {
            random: SmallRng::seed_from_u64(seed),
            conditions: BTreeMap::new(),
            cuts: BTreeSet::new(),
            hash: seed,
            lines: Vec::new(),
        };
        Arc::new(Self { started: Instant::now(), is_verbose, state: Mutex::new(state) })
    }

    fn state(&self) -> MutexGuard<'_, WorldState> {
        lock(&self.state)
    }

    /// Milliseconds since the run began.
    pub(super) fn elapsed_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// A number below `bound`.
    pub(super) fn below(&self, bound: u64) -> u64 {
        self.state().random.random_range(0..bound.max(1))
    }

    /// True in so many of a thousand cases.
    pub(super) fn chance(&self, per_mille: u32) -> bool {
        self.state().random.random_range(0..PER_MILLE) < per_mille
    }

    /// Sleeps for a random time between two numbers of milliseconds.
    pub(super) async fn pause(&self, from_ms: u64, to_ms: u64) {
        let pause = from_ms + self.below(to_ms - from_ms + 1);
        sleep(Duration::from_millis(pause)).await;
    }

    /// Adds an event to the trace. Its hash is the same whenever the same happens at the same times.
    pub(super) fn note(&self, what: &'static str, numbers: [u64; 3]) {
        let at = self.elapsed_ms();
        let mut state = self.state();
        for number in numbers.into_iter().chain([at, what.len() as u64, u64::from(what.as_bytes()[0])]) {
            state.hash = (state.hash.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
        }
        if self.is_verbose {
            let [first, second, third] = numbers;
            state.lines.push(format!("{at:>7} ms    {what} {first} {second} {third}"));
        }
    }

    /// Adds a line to the trace that a report shows.
    pub(super) fn explain(&self, text: impl FnOnce() -> String) {
        if self.is_verbose {
            let line = format!("{:>7} ms  {}", self.elapsed_ms(), text());
            self.state().lines.push(line);
        }
    }

    /// The hash of everything that happened.
    pub(super) fn hash(&self) -> u64 {
        self.state().hash
    }

    /// All events, if they were asked for.
    pub(super) fn take_lines(&self) -> Vec<String> {
        std::mem::take(&mut self.state().lines)
    }

    pub(super) fn set_condition(&self, server: Server, condition: Condition) {
        self.state().conditions.insert(server, condition);
    }

    /// Whether a server answers connections.
    pub(super) fn is_up(&self, server: Server) -> bool {
        self.state().conditions.get(&server).is_none_or(|condition| !condition.is_down)
    }

    pub(super) fn cut(&self, node: u32, server: Server) {
        self.state().cuts.insert((node, server));
    }

    pub(super) fn join(&self, node: u32, server: Server) {
        self.state().cuts.remove(&(node, server));
    }

    /// Whether a process and a server reach each other.
    pub(super) fn is_joined(&self, node: u32, server: Server) -> bool {
        let state = self.state();
        !state.cuts.contains(&(node, server)) && state.conditions.get(&server).is_none_or(|of| !of.is_down)
    }

    /// Ends everything that is wrong with servers and links.
    pub(super) fn heal(&self) {
        let mut state = self.state();
        state.conditions.clear();
        state.cuts.clear();
    }

    /// The way of a call; `None` when it is refused at once.
    fn plan_trip(&self, node: u32, server: Server) -> Option<Trip> {
        let mut state = self.state();
        let condition = state.conditions.get(&server).copied().unwrap_or_default();
        if condition.is_down {
            return None;
        }
        let is_cut = state.cuts.contains(&(node, server));
        let longest = server.usual_trip_ms() + condition.slow_ms;
        let there = Duration::from_millis(state.random.random_range(0..=longest / 2));
        let back = Duration::from_millis(state.random.random_range(0..=longest / 2));
        let lost: u32 = state.random.random_range(0..PER_MILLE);
        let is_lost = is_cut || lost < condition.lost_requests;
        let answer_is_lost = !is_lost && lost >= PER_MILLE - condition.lost_answers;
        Some(Trip { there, back, is_lost, answer_is_lost })
    }
}

/// One process, as the servers know it: from its start to its death.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) world: Arc<World>,
    pub(super) number: u32,
    is_dead: AtomicBool,
    frozen_until: Mutex<Option<Instant>>,
    clock_ahead_ms: Arc<AtomicI64>,
}

impl Node {
    pub(super) fn new(world: Arc<World>, number: u32) -> Arc<Self> {
        let (is_dead, frozen_until) = (AtomicBool::new(false), Mutex::default());
        Arc::new(Self { world, number, is_dead, frozen_until, clock_ahead_ms: Arc::default() })
    }

    /// Ends the process in the middle of whatever it does.
    pub(super) fn kill(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
    }

    pub(super) fn is_alive(&self) -> bool {
        !self.is_dead.load(Ordering::SeqCst)
    }

    /// Stops the process for a while; it goes on as if no time had passed.
    pub(super) fn freeze(&self, time: Duration) {
        *lock(&self.frozen_until) = Some(Instant::now() + time);
    }

    pub(super) fn is_frozen(&self) -> bool {
        lock(&self.frozen_until).is_some_and(|until| Instant::now() < until)
    }

    /// Whether the broker hears of it.
    pub(super) fn sends_heartbeats(&self) -> bool {
        self.is_alive() && !self.is_frozen() && self.world.is_joined(self.number, Server::Broker)
    }

    /// Sets its clock ahead of the others, or behind them.
    pub(super) fn set_clock_ahead(&self, ahead_ms: i64) {
        self.clock_ahead_ms.store(ahead_ms, Ordering::SeqCst);
    }

    /// Its clock.
    pub(super) fn clock(&self) -> Clock {
        let (started, ahead_ms) = (self.world.started, self.clock_ahead_ms.clone());
        Clock::from_fn(move || {
            let now = TEST_START_MS + started.elapsed().as_millis() as u64;
            now.saturating_add_signed(ahead_ms.load(Ordering::SeqCst))
        })
    }

    /// Returns while the process runs: later when it is frozen, never when it is dead.
    pub(super) async fn run(&self) {
        loop {
            if !self.is_alive() {
                return pending().await;
            }
            let frozen_until = *lock(&self.frozen_until);
            match frozen_until {
                Some(until) if Instant::now() < until => sleep_until(until).await,
                _ => return,
            }
        }
    }

    /// Calls a server: `apply` is what it does, at one moment.
    pub(super) async fn call<T>(
        &self,
        server: Server,
        what: &'static str,
        apply: impl FnOnce() -> T,
    ) -> Result<T, Unanswered> {
        self.run().await;
        let Some(trip) = self.world.plan_trip(self.number, server) else {
            sleep(Duration::from_millis(1)).await;
            self.run().await;
            return Err(Unanswered::Refused);
        };
        sleep(trip.there).await;
        // It may have gone down meanwhile.
        if trip.is_lost || !self.world.is_up(server) {
            sleep(server.timeout()).await;
            self.run().await;
            return Err(Unanswered::TimedOut);
        }
        let value = apply();
        self.world.note(what, [u64::from(self.number), server.number(), 0]);
        sleep(trip.back).await;
        if trip.answer_is_lost || !self.world.is_up(server) {
            sleep(server.timeout()).await;
            self.run().await;
            return Err(Unanswered::TimedOut);
        }
        self.run().await;
        Ok(value)
    }
}
