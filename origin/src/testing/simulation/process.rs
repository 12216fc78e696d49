//! Processes: servers that answer requests and jobs that persist, built over the doubles as
//! `bootstrap/cluster.rs` builds them over the adapters. They die, and others take their place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use gailou_shared::id::{CommentId, SEQUENCE_COUNT, Slot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::broker_identity;
use crate::cluster::cached_store::{CachedStore, CachedStoreDeps};
use crate::cluster::catch_up::PartitionCatchUp;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::cluster::journal::{ClusterJournal, ClusterJournalDeps};
use crate::domain::broker_state::BrokerState;
use crate::domain::positions::OperationStream;
use crate::jobs::pass_rewinds::RewindPasser;
use crate::jobs::persist::{PersistJob, PersistSettings};
use crate::jobs::{deliver_outboxes, finish_moves, follow_change_feed, invalidate_changed, persist, rebuild};
use crate::ports::broker::{Broker as _, Topic};
use crate::ports::journal::CommitListeners;
use crate::ports::store::BrokerStates as _;
use crate::state::change_feed::ChangeFeed;
use crate::state::erased_members::ErasedMembers;
use crate::testing::faults::lock;
use crate::testing::simulation::broker_log::{BrokerServer, SimulatedBroker};
use crate::testing::simulation::counters::SimulatedCounters;
use crate::testing::simulation::pending::SimulatedPending;
use crate::testing::simulation::redis_double::{RedisServer, SimulatedRedis};
use crate::testing::simulation::shared_cache::SimulatedCache;
use crate::testing::simulation::tables::{Databases, SimulatedTables};
use crate::testing::simulation::world::{Node, World};

/// How often a process reads what was decided of the broker.
const BROKER_STATE_INTERVAL: Duration = Duration::from_secs(1);
/// After what time a process that ended by itself is started again.
const RESTART_DELAY: Duration = Duration::from_secs(1);
/// The number of the process that a command is.
const COMMAND_NUMBER: u32 = 1_000_000;
/// Node numbers of ids.
const NODES: u64 = 64;

/// A server that answers requests.
#[derive(Debug)]
pub(super) struct ServeProcess {
    pub(super) node: Arc<Node>,
    pub(super) cached_store: Arc<CachedStore>,
    pub(super) journal: ClusterJournal,
    pub(super) feed: Arc<ChangeFeed>,
    pub(super) broker: SimulatedBroker,
    /// The millisecond of the last id, and the next sequence in it.
    last_id: Mutex<(u64, u64)>,
}

impl ServeProcess {
    /// A new id: they grow, whatever the clock does.
    pub(super) fn next_id(&self, slot: Slot) -> CommentId {
        let mut last = lock(&self.last_id);
        let now = self.node.clock().now();
        if now > last.0 {
            *last = (now, 0);
        } else if last.1 >= SEQUENCE_COUNT {
            *last = (last.0 + 1, 0);
        }
        last.1 += 1;
        CommentId::from_parts(last.0, slot, u64::from(self.node.number) % NODES, last.1 - 1)
    }
}

/// A process that persists.
#[derive(Debug)]
pub(super) struct JobProcess {
    pub(super) node: Arc<Node>,
    stop: CancellationToken,
}

/// The servers and everything that runs over them.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) world: Arc<World>,
    pub(super) databases: Databases,
    pub(super) broker: Arc<BrokerServer>,
    pub(super) redis: Arc<RedisServer>,
    processes: Mutex<Processes>,
    /// Whether the log was damaged where the tables know what it was.
    is_log_damaged: AtomicBool,
}

#[derive(Debug, Default)]
struct Processes {
    started: u32,
    serve: Vec<Arc<ServeProcess>>,
    jobs: Vec<Arc<JobProcess>>,
    /// All that ever began.
    movers: Vec<Arc<Node>>,
}

/// What both kinds of processes are built of.
struct Parts {
    node: Arc<Node>,
    tables: Arc<SimulatedTables>,
    broker: SimulatedBroker,
    counters: Arc<SimulatedCounters>,
    pending: Arc<SimulatedPending>,
    recovery: Arc<CounterRecovery>,
    cached_store: Arc<CachedStore>,
}

impl Cluster {
    pub(super) fn new(world: Arc<World>, databases: Databases, partitions: u32) -> Arc<Self> {
        let (broker, redis) = (BrokerServer::new(partitions), RedisServer::new());
        Arc::new(Self {
            world,
            databases,
            broker,
            redis,
            processes: Mutex::default(),
            is_log_damaged: AtomicBool::new(false),
        })
    }

    fn processes(&self) -> MutexGuard<'_, Processes> {
        lock(&self.processes)
    }

    /// The tables and the broker as a command reaches them.
    pub(super) async fn command(&self) -> Option<(SimulatedTables, SimulatedBroker)> {
        let node = Node::new(self.world.clone(), COMMAND_NUMBER);
        let tables = SimulatedTables::new(node.clone(), self.databases.clone());
        tables.refresh_all_slots().await.ok()?;
        let broker = SimulatedBroker::new(node, self.broker.clone());
        broker.follow(&tables.read_broker_state().await.ok()?);
        Some((tables, broker))
    }

    fn new_node(&self) -> Arc<Node> {
        let mut processes = self.processes();
        processes.started += 1;
        Node::new(self.world.clone(), processes.started)
    }

    /// The tables as a new process reaches them that moves slots.
    pub(super) fn build_mover(&self) -> SimulatedTables {
        let node = self.new_node();
        self.processes().movers.push(node.clone());
        SimulatedTables::new(node, self.databases.clone())
    }

    /// Whether a process that moves slots has not ended.
    pub(super) fn has_movers(&self) -> bool {
        self.processes().movers.iter().any(|mover| mover.is_alive())
    }

    fn build(&self) -> Parts {
        let node = self.new_node();
        let tables = Arc::new(SimulatedTables::new(node.clone(), self.databases.clone()));
        let routing = tables.clone();
        tokio::spawn(async move {
            let _ = routing.refresh_all_slots().await;
            routing.keep_slot_map_fresh().await;
        });
        let broker = SimulatedBroker::new(node.clone(), self.broker.clone());
        // Nothing is appended before it is known.
        let stopped = Some("the databases do not answer yet".into());
        broker.follow(&BrokerState { stopped, ..BrokerState::default() });
        let redis = Arc::new(SimulatedRedis { node: node.clone(), server: self.redis.clone() });
        let counters = Arc::new(SimulatedCounters { redis: redis.clone(), broker: broker.clone() });
        let pending = Arc::new(SimulatedPending(redis.clone()));
        let recovery = Arc::new(CounterRecovery::new(Arc::new(broker.clone()), tables.clone(), counters.clone()));
        let clock = node.clock();
        let catch_up = PartitionCatchUp::new(Arc::new(broker.clone()), tables.clone(), clock.clone());
        let cached_store = Arc::new(CachedStore::new(CachedStoreDeps {
            tables: tables.clone(),
            cache: Arc::new(SimulatedCache(redis)),
            counters: counters.clone(),
            pending: pending.clone(),
            recovery: recovery.clone(),
            catch_up: Arc::new(catch_up),
            producer: Arc::new(broker.clone()),
            clock,
        }));
        let (follower, following) = (tables.clone(), broker.clone());
        tokio::spawn(async move {
            loop {
                if let Ok(state) = follower.read_broker_state().await {
                    following.follow(&state);
                }
                sleep(BROKER_STATE_INTERVAL).await;
            }
        });
        let recovering = recovery.clone();
        tokio::spawn(async move { recovering.recover_all().await });
        Parts { node, tables, broker, counters, pending, recovery, cached_store }
    }

    fn build_serve(&self) -> Arc<ServeProcess> {
        let Parts { node, tables, broker, counters, pending, recovery, cached_store } = self.build();
        let listeners = CommitListeners { shared: vec![cached_store.clone()], local: vec![] };
        let databases = lock(&self.databases).len();
        let journal = ClusterJournal::start(ClusterJournalDeps {
            producer: Arc::new(broker.clone()),
            tables: tables.clone(),
            comments: cached_store.clone(),
            counters,
            pending,
            recovery,
            listeners,
            clock: node.clock(),
        });
        let (watched, remembering) = (broker.clone(), tables.clone());
        tokio::spawn(async move { broker_identity::watch(&watched, &*remembering, |_| {}).await });
        let rewinds = RewindPasser::new(tables.clone(), node.clock());
        let feed = Arc::new(ChangeFeed::new(databases));
        for database in 0..databases {
            let (feed, clock) = (Arc::downgrade(&feed), node.clock());
            tokio::spawn(follow_change_feed::run(feed, tables.clone(), Some(rewinds.clone()), clock, database));
        }
        Arc::new(ServeProcess { node, cached_store, journal, feed, broker, last_id: Mutex::default() })
    }

    fn build_job(self: &Arc<Self>) -> Arc<JobProcess> {
        let Parts { node, tables, broker, cached_store, .. } = self.build();
        let listeners = CommitListeners { shared: vec![cached_store.clone()], local: vec![] };
        let (stop, databases) = (CancellationToken::new(), lock(&self.databases).len());
        let erased_members = Arc::<ErasedMembers>::default();
        let (watched, remembering, ending) = (broker.clone(), tables.clone(), node.clone());
        tokio::spawn(async move { broker_identity::watch(&watched, &*remembering, |_| ending.kill()).await });
        let rewinds = RewindPasser::new(tables.clone(), node.clock());
        for database in 0..databases {
            let (rewinds, stop) = (rewinds.clone(), stop.clone());
            tokio::spawn(deliver_outboxes::run(tables.clone(), erased_members.clone(), rewinds, database, stop));
        }
        tokio::spawn(finish_moves::run(tables.clone(), node.clock(), stop.clone()));
        let invalidation = cached_store.clone();
        let clock = node.clock();
        let followed = rewinds.clone();
        tokio::spawn(invalidate_changed::run(
            invalidation,
            tables.clone(),
            followed,
            databases,
            clock.clone(),
            stop.clone(),
        ));
        tokio::spawn(rebuild::run(cached_store, Arc::new(broker.clone()), stop.clone()));
        let job = Arc::new(PersistJob {
            broker: Arc::new(broker),
            tables,
            clock,
            erased_members,
            settings: PersistSettings {
                batch: 10,
                comments_wait: Duration::from_millis(20),
                reactions_wait: Duration::from_millis(60),
            },
            listeners,
            metrics: Arc::default(),
            rewinds,
        });
        let (ending, stopping) = (node.clone(), stop.clone());
        tokio::spawn(async move {
            let ended = persist::run(job, stopping).await;
            ending.run().await;
            ending.world.note("job ended", [u64::from(ending.number), u64::from(ended.is_ok()), 0]);
            ending.world.explain(|| format!("job {} ended: {ended:?}", ending.number));
            ending.kill();
        });
        Arc::new(JobProcess { node, stop })
    }

    /// Starts so many processes.
    pub(super) fn start(self: &Arc<Self>, serve: u64, jobs: u64) {
        for _ in 0..serve {
            let process = self.build_serve();
            self.processes().serve.push(process);
        }
        for _ in 0..jobs {
            let process = self.build_job();
            self.processes().jobs.push(process);
        }
    }

    /// Starts each dead process again after a while, without end.
    pub(super) async fn supervise(self: &Arc<Self>) {
        loop {
            sleep(RESTART_DELAY).await;
            self.restart_dead();
        }
    }

    /// Starts each dead process again.
    pub(super) fn restart_dead(self: &Arc<Self>) {
        let (serve, jobs) = (self.serve(), self.jobs());
        for (at, _) in serve.iter().enumerate().filter(|(_, process)| !process.node.is_alive()) {
            let process = self.build_serve();
            self.processes().serve[at] = process;
        }
        for (at, _) in jobs.iter().enumerate().filter(|(_, process)| !process.node.is_alive()) {
            let process = self.build_job();
            self.processes().jobs[at] = process;
        }
    }

    pub(super) fn serve(&self) -> Vec<Arc<ServeProcess>> {
        self.processes().serve.clone()
    }

    pub(super) fn jobs(&self) -> Vec<Arc<JobProcess>> {
        self.processes().jobs.clone()
    }

    /// Every process that runs.
    pub(super) fn nodes(&self) -> Vec<Arc<Node>> {
        let (serve, jobs, movers) = (self.serve(), self.jobs(), self.processes().movers.clone());
        let nodes = serve.iter().map(|of| of.node.clone()).chain(jobs.iter().map(|of| of.node.clone()));
        nodes.chain(movers).filter(|node| node.is_alive()).collect()
    }

    /// One of the servers that run.
    pub(super) fn pick_server(&self) -> Option<Arc<ServeProcess>> {
        let alive: Vec<_> = self.serve().into_iter().filter(|process| process.node.is_alive()).collect();
        alive.get(self.world.below(alive.len() as u64) as usize).cloned()
    }

    /// The log was damaged; whether the tables have applied something that it lost.
    pub(super) fn note_log_damage(&self, is_material: bool) {
        self.is_log_damaged.store(is_material, Ordering::SeqCst);
    }

    pub(super) fn is_log_damaged(&self) -> bool {
        self.is_log_damaged.load(Ordering::SeqCst)
    }

    /// Whether a cluster of the broker is remembered.
    pub(super) fn is_cluster_remembered(&self) -> bool {
        lock(&self.databases).iter().any(|database| database.broker_state.cluster_id.is_some())
    }

    /// The offset before which some database has applied something, while no log was accepted.
    pub(super) fn applied(&self, topic: Topic, partition: u32) -> u64 {
        let stream = if topic == Topic::Comments { OperationStream::Comments } else { OperationStream::Reactions };
        let databases = lock(&self.databases);
        let checkpoints = databases.iter().filter_map(|database| database.checkpoints.get(&(stream, partition)));
        checkpoints.map(|checkpoint| checkpoint.next).max().unwrap_or(0)
    }

    /// Why the broker is stopped.
    pub(super) fn stopped(&self) -> Option<String> {
        lock(&self.databases).iter().max_by_key(|of| of.broker_state.generation)?.broker_state.stopped.clone()
    }

    /// Stops the jobs as a deployment does: they write what they have taken.
    pub(super) fn stop_jobs(&self) {
        self.jobs().iter().for_each(|job| job.stop.cancel());
    }
}
