//! Faults: which of them a run has, when they begin and when they end.
//!
//! Each run has a few kinds of faults only, chosen by its seed, so that some runs have much of one kind. Faults
//! overlap, except those that must be alone for what they prove.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gailou_shared::id::{CommentId, SLOT_COUNT, Slot};
use tokio::sync::RwLock;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::ports::broker::Topic;
use crate::testing::faults::lock;
use crate::testing::simulation::database_slots::{SimulatedSlots, database_of};
use crate::testing::simulation::oracle::{Doubt, Oracle};
use crate::testing::simulation::process::Cluster;
use crate::testing::simulation::world::{Condition, Node, Server, World};

/// A kind of fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// A server refuses connections for some seconds.
    Down,
    /// A server is slow, and loses some calls and some answers.
    Lossy,
    /// A process and a server do not reach each other.
    Cut,
    KillServe,
    KillJob,
    FreezeServe,
    FreezeJob,
    /// The clock of a process is wrong.
    ClockJump,
    /// A database goes back to what it was some seconds ago.
    Rewind,
    /// Redis goes on as another server, with what a replica had some seconds ago, or with nothing.
    RedisFailover,
    /// One database alone does not answer for long: others go on.
    DatabaseAway,
    /// No job runs for more than a minute.
    JobsAway,
    /// The jobs are deployed anew: they stop in order.
    Deployment,
    /// The broker loses the end of a partition, or a topic is made again, or another cluster takes its place.
    LogDamage,
    /// Slots begin to move to another database; their mover may die or stand still.
    Move,
    /// The stored slot map alone goes back to what it was some seconds ago, or to the first one.
    MapReset,
}

impl Fault {
    /// Those that any run may have together.
    const COMMON: [Self; 11] = [
        Self::Down,
        Self::Lossy,
        Self::Cut,
        Self::KillServe,
        Self::KillJob,
        Self::FreezeServe,
        Self::FreezeJob,
        Self::ClockJump,
        Self::Rewind,
        Self::RedisFailover,
        Self::Deployment,
    ];

    /// Whether nothing else may be wrong meanwhile.
    fn is_alone(self) -> bool {
        matches!(self, Self::DatabaseAway | Self::JobsAway)
    }
}

/// What a run has.
#[derive(Debug, Clone)]
pub(super) struct FaultPlan {
    pub(super) kinds: Vec<Fault>,
    pub(super) count: u64,
    /// The only database that goes back, where slots move ("Known limits" in docs/cluster.md).
    pub(super) rewinds_only: Option<usize>,
}

impl FaultPlan {
    /// Chooses the faults of a run.
    pub(super) fn choose(world: &World, databases: usize) -> Self {
        let (mut count, mut rewinds_only) = (1 + world.below(6), None);
        let mut kinds = match world.below(20) {
            0 => vec![],
            1 | 2 => vec![Fault::LogDamage],
            3 => vec![Fault::DatabaseAway],
            4 => vec![Fault::JobsAway],
            _ => {
                let kinds = 1 + world.below(4);
                let pick = |_| Fault::COMMON[world.below(Fault::COMMON.len() as u64) as usize];
                (0..kinds).map(pick).collect()
            }
        };
        if databases > 1 && !kinds.iter().any(|kind| kind.is_alone()) && world.chance(MOVES_PER_MILLE) {
            kinds.extend([Fault::Move; 2]);
            if world.chance(MAP_RESETS_PER_MILLE) {
                kinds.push(Fault::MapReset);
                count += 1;
            }
            count += 2;
            rewinds_only = Some(world.below(databases as u64) as usize);
        }
        let is_long = kinds.iter().any(|kind| kind.is_alone() || *kind == Fault::LogDamage);
        Self { kinds, count: if is_long { 1 } else { count }, rewinds_only }
    }

    pub(super) fn has(&self, kind: Fault) -> bool {
        self.kinds.contains(&kind)
    }
}

/// Makes faults.
#[derive(Clone)]
pub(super) struct FaultMaker {
    pub(super) world: Arc<World>,
    pub(super) cluster: Arc<Cluster>,
    pub(super) oracle: Arc<Mutex<Oracle>>,
    /// When each database last went back.
    pub(super) rewound: Arc<Mutex<BTreeMap<usize, Instant>>>,
}

impl FaultMaker {
    /// Makes the faults of a plan, and returns when all are over.
    pub(super) async fn run(&self, plan: &FaultPlan) {
        let (mut running, alone) = (JoinSet::new(), Arc::new(RwLock::new(())));
        self.world.pause(500, 3_000).await;
        for _ in 0..plan.count {
            self.world.pause(100, 3_000).await;
            if plan.kinds.is_empty() {
                continue;
            }
            let kind = plan.kinds[self.world.below(plan.kinds.len() as u64) as usize];
            let (maker, alone, plan) = (self.clone(), alone.clone(), plan.clone());
            if kind.is_alone() {
                let _alone = alone.write().await;
                self.make(&plan, kind).await;
            } else {
                running.spawn(async move {
                    let _together = alone.read().await;
                    maker.make(&plan, kind).await;
                });
            }
        }
        while running.join_next().await.is_some() {}
        self.world.pause(500, 3_000).await;
    }

    fn databases(&self) -> usize {
        lock(&self.cluster.databases).len()
    }

    fn pick_database(&self) -> usize {
        self.world.below(self.databases() as u64) as usize
    }

    fn pick_server(&self) -> Server {
        match self.world.below(4) {
            0 => Server::Redis,
            1 => Server::Broker,
            _ => Server::Database(self.pick_database()),
        }
    }

    fn pick_node(&self, nodes: &[Arc<Node>]) -> Option<Arc<Node>> {
        nodes.get(self.world.below(nodes.len() as u64) as usize).cloned()
    }

    fn pick_serve(&self) -> Option<Arc<Node>> {
        self.pick_node(&self.cluster.serve().iter().map(|process| process.node.clone()).collect::<Vec<_>>())
    }

    fn pick_job(&self) -> Option<Arc<Node>> {
        self.pick_node(&self.cluster.jobs().iter().map(|process| process.node.clone()).collect::<Vec<_>>())
    }

    async fn make(&self, plan: &FaultPlan, kind: Fault) {
        self.world.note("fault", [kind as u64, 0, 0]);
        self.world.explain(|| format!("fault: {kind:?}"));
        match kind {
            Fault::Down => {
                let server = self.pick_server();
                self.change(server, Condition { is_down: true, ..Condition::default() }, 300, 9_000).await;
            }
            Fault::Lossy => {
                let (lost_requests, lost_answers) = (self.world.below(150) as u32, self.world.below(250) as u32);
                let slow_ms = self.world.below(400);
                let condition = Condition { is_down: false, slow_ms, lost_requests, lost_answers };
                self.change(self.pick_server(), condition, 500, 8_000).await;
            }
            Fault::Cut => {
                let Some(node) = self.pick_node(&self.cluster.nodes()) else { return };
                let server = self.pick_server();
                self.world.explain(|| format!("process {} is cut from {server:?}", node.number));
                self.world.cut(node.number, server);
                self.world.pause(500, 10_000).await;
                self.world.join(node.number, server);
            }
            Fault::KillServe => self.kill(self.pick_serve()).await,
            Fault::KillJob => self.kill(self.pick_job()).await,
            Fault::FreezeServe => self.freeze(self.pick_serve()),
            Fault::FreezeJob => self.freeze(self.pick_job()),
            Fault::ClockJump => {
                let Some(node) = self.pick_node(&self.cluster.nodes()) else { return };
                let ahead = self.world.below(MAX_CLOCK_JUMP_MS) as i64;
                node.set_clock_ahead(if self.world.chance(500) { ahead } else { -ahead });
                self.world.pause(1_000, 10_000).await;
                node.set_clock_ahead(0);
            }
            Fault::Rewind => self.rewind(plan).await,
            Fault::RedisFailover => {
                let copy = self.cluster.redis.copy();
                let is_emptied = self.world.chance(300);
                self.world.pause(0, 5_000).await;
                self.change(Server::Redis, Condition { is_down: true, ..Condition::default() }, 1, 2_000).await;
                self.cluster.redis.fail_over(if is_emptied { Default::default() } else { copy });
            }
            Fault::DatabaseAway => self.take_database_away().await,
            Fault::JobsAway => {
                for job in self.cluster.jobs() {
                    job.node.freeze(Duration::from_secs(90));
                }
                sleep(Duration::from_secs(95)).await;
            }
            Fault::Deployment => {
                self.cluster.stop_jobs();
                self.world.pause(500, 4_000).await;
            }
            Fault::LogDamage => self.damage_log().await,
            Fault::Move => self.begin_move().await,
            Fault::MapReset => self.reset_slot_map().await,
        }
    }

    /// An operator restores the table of the map, and perhaps moves slots by it.
    async fn reset_slot_map(&self) {
        let copy = lock(&self.cluster.databases)[0].slots.stored_map.clone();
        self.world.pause(1_000, 12_000).await;
        let first = SimulatedSlots::new(0, self.databases()).stored_map;
        let map = if self.world.chance(500) { copy } else { first };
        lock(&self.cluster.databases)[0].slots.stored_map = map;
        self.world.explain(|| "the stored slot map is set back".to_owned());
        if self.world.chance(500) {
            self.begin_move().await;
        }
    }

    /// Changes the condition of a server for a while.
    async fn change(&self, server: Server, condition: Condition, from_ms: u64, to_ms: u64) {
        self.world.explain(|| format!("{server:?} is {condition:?}"));
        self.world.set_condition(server, condition);
        if let Server::Database(database) = server
            && condition.is_down
        {
            let of = &mut lock(&self.cluster.databases)[database];
            of.connections = std::mem::take(&mut of.connections).without_clients();
        }
        self.world.pause(from_ms, to_ms).await;
        self.world.set_condition(server, Condition::default());
        self.world.explain(|| format!("{server:?} is well"));
    }

    pub(super) async fn kill(&self, node: Option<Arc<Node>>) {
        let Some(node) = node else { return };
        self.world.explain(|| format!("process {} is killed", node.number));
        node.kill();
        self.world.pause(0, 2_000).await;
    }

    fn freeze(&self, node: Option<Arc<Node>>) {
        let Some(node) = node else { return };
        let time = Duration::from_millis(self.world.below(15_000));
        self.world.explain(|| format!("process {} stands still for {time:?}", node.number));
        node.freeze(time);
    }

    async fn rewind(&self, plan: &FaultPlan) {
        let database = plan.rewinds_only.unwrap_or_else(|| self.pick_database());
        let (copy, since) = (lock(&self.cluster.databases)[database].clone(), self.world.elapsed_ms());
        self.world.pause(500, 8_000).await;
        self.wait_until_known(database).await;
        let outage = Duration::from_millis(self.world.below(2_001));
        // Before it happens, so that another one waits for it.
        lock(&self.rewound).insert(database, Instant::now() + outage);
        self.world.set_condition(Server::Database(database), Condition { is_down: true, ..Condition::default() });
        sleep(outage).await;
        let (before, after) = {
            let of = &mut lock(&self.cluster.databases)[database];
            let before = of.slots.clone();
            of.go_back(copy);
            (before, of.slots.clone())
        };
        let has = |slot: Slot| before.status(slot).state.is_readable() || after.status(slot).state.is_readable();
        let moved = |slot: Slot| before.status(slot) != after.status(slot);
        lock(&self.oracle).note_rewind(since, |subject| has(subject.slot()));
        lock(&self.oracle).note_dispute((0..SLOT_COUNT).filter_map(Slot::new).filter(|slot| moved(*slot)));
        self.world.explain(|| format!("database {database} goes back to {since} ms"));
        self.world.set_condition(Server::Database(database), Condition::default());
    }

    /// Waits until every job knows that a database went back before. One that does not know it sees the second time
    /// nothing of the first.
    async fn wait_until_known(&self, database: usize) {
        loop {
            let known_at = {
                let mut rewound = lock(&self.rewound);
                let Some(at) = rewound.get_mut(&database) else { return };
                if self.cluster.jobs().iter().any(|job| job.node.is_frozen()) {
                    *at = (*at).max(Instant::now());
                }
                *at + REWIND_KNOWN_TIME
            };
            if known_at <= Instant::now() {
                return;
            }
            sleep(KNOWN_POLL_INTERVAL).await;
        }
    }

    /// Takes one database away for long. What was acknowledged in others is a row some seconds later.
    async fn take_database_away(&self) {
        if self.databases() < 2 {
            return;
        }
        let database = self.pick_database();
        self.world.set_condition(Server::Database(database), Condition { is_down: true, ..Condition::default() });
        let began = self.world.elapsed_ms();
        sleep(Duration::from_secs(30)).await;
        let now = self.world.elapsed_ms();
        let mut oracle = lock(&self.oracle);
        let stored = lock(&self.cluster.databases);
        let waits: Vec<String> = oracle
            .posts
            .iter()
            .filter_map(|post| {
                let (id, at) = post.acknowledged?;
                let own = database_of(&stored, post.subject.slot());
                let is_due = own != database && at >= began && at + MAX_STORE_MS < now;
                let waits = is_due && post.is_there == Doubt::Yes && stored[own].stored(id).is_none();
                waits.then(|| format!("{} is no row of database {own} after {} ms", post.key, now - at))
            })
            .collect();
        drop(stored);
        waits.into_iter().for_each(|text| oracle.fail(format!("while database {database} is away, {text}")));
        drop(oracle);
        self.world.set_condition(Server::Database(database), Condition::default());
    }

    fn ends(&self, topic: Topic) -> Vec<u64> {
        let logs = self.cluster.broker.logs();
        let end = |partition| logs.partitions[&(topic, partition)].records.len() as u64;
        (0..self.cluster.broker.partitions).map(end).collect()
    }

    /// Loses the end of a partition, or all of a topic, or the whole cluster, while the broker is away, and lets clients
    /// append again.
    async fn damage_log(&self) {
        self.world.pause(0, 6_000).await;
        if self.world.chance(500) {
            // So that the log may be as long as it was before a job looks at it.
            let time = Duration::from_millis(3_000 + self.world.below(20_000));
            self.cluster.jobs().iter().for_each(|job| job.node.freeze(time));
        }
        let topic = if self.world.chance(600) { Topic::Comments } else { Topic::Reactions };
        self.world.set_condition(Server::Broker, Condition { is_down: true, ..Condition::default() });
        // Longer than an answer takes.
        self.world.pause(100, 2_000).await;
        let ends = |maker: &Self| maker.ends(topic);
        let before = ends(self);
        let is_replaced = self.world.chance(250);
        if is_replaced {
            self.cluster.broker.replace();
        } else if self.world.chance(500) {
            self.cluster.broker.recreate(topic);
        } else {
            for partition in 0..self.cluster.broker.partitions {
                let end = self.cluster.broker.logs().partitions[&(topic, partition)].records.len() as u64;
                self.cluster.broker.truncate(topic, partition, end.saturating_sub(1 + self.world.below(6)));
            }
        }
        let after = ends(self);
        let is_material = (0..self.cluster.broker.partitions).any(|partition| {
            let applied = self.cluster.applied(topic, partition);
            after[partition as usize] < before[partition as usize] && applied > after[partition as usize]
        });
        let is_material = is_material || is_replaced && self.cluster.is_cluster_remembered();
        self.cluster.note_log_damage(is_material);
        {
            let databases = lock(&self.cluster.databases);
            let is_row = |id: CommentId| databases.iter().any(|database| database.stored(id).is_some());
            lock(&self.oracle).note_log_damage(is_row);
        }
        self.world.explain(|| format!("{topic:?} is damaged: {before:?}, {after:?}, the tables know: {is_material}"));
        self.world.set_condition(Server::Broker, Condition::default());
        self.world.pause(1_000, 15_000).await;
    }
}

/// After what time every job that runs knows that a database went back.
const REWIND_KNOWN_TIME: Duration = Duration::from_secs(5);
const KNOWN_POLL_INTERVAL: Duration = Duration::from_millis(250);
/// How far a clock may be wrong, in milliseconds. Servers whose clocks are more than a minute ahead issue ids
/// that others take for invented ones.
pub(super) const MAX_CLOCK_JUMP_MS: u64 = 40_000;
/// After what time what was acknowledged is a row, when nothing of its own is wrong, in milliseconds.
const MAX_STORE_MS: u64 = 8_000;
/// Of a thousand runs with several databases, in how many slots move.
const MOVES_PER_MILLE: u32 = 750;
/// Of a thousand runs in which slots move, in how many the map is set back.
const MAP_RESETS_PER_MILLE: u32 = 400;
