//! The adapters of a cluster: MySQL, Redis and Kafka behind the ports, and the loops behind them.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::id::{SLOT_COUNT, Slot};
use metrics::{describe_gauge, gauge};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapters::kafka::{ExpectedTopics, KafkaBroker};
use crate::adapters::mysql::MysqlStore;
use crate::adapters::redis::RedisConnection;
use crate::adapters::redis::cache::RedisCache;
use crate::adapters::redis::counters::RedisCounters;
use crate::adapters::redis::pending::RedisPending;
use crate::adapters::redis::popularity::RedisPopularity;
use crate::adapters::redis::rate_limits::RedisRateCounters;
use crate::adapters::redis::revisions::RedisRevisions;
use crate::bootstrap::{Adapters, Process, weights};
use crate::broker_identity;
use crate::clock::Clock;
use crate::cluster::cached_store::{CachedStore, CachedStoreDeps};
use crate::cluster::catch_up::PartitionCatchUp;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::cluster::journal::{ClusterJournal, ClusterJournalDeps};
use crate::cluster::publish_revisions::RevisionPublisher;
use crate::config::{ClusterSettings, Config};
use crate::domain::broker_state::BrokerState;
use crate::domain::id_generator::IdGenerator;
use crate::domain::positions::OperationStream;
use crate::domain::row::WeightsByType;
use crate::jobs::keep_node_lease::NodeLeaseKeeper;
use crate::jobs::pass_rewinds::RewindPasser;
use crate::jobs::persist::PersistJob;
use crate::jobs::{
    deliver_outboxes, finish_moves, follow_dictionary, follow_settings, invalidate_changed, persist, rebuild, warm,
};
use crate::ports::broker::{Broker as _, BrokerError, PartitionOffsets as _, Topic};
use crate::ports::counters::CounterSlots as _;
use crate::ports::dependencies::{Dependencies, DependencyStatus, ServerSettings};
use crate::ports::journal::CommitListeners;
use crate::ports::pending::Pending;
use crate::ports::popularity::Popularity;
use crate::ports::rate_limits::RateCounters;
use crate::ports::revisions::Revisions;
use crate::ports::store::{BrokerStates as _, Sharding as _, SlotPositions as _, StoredSettings as _};
use crate::state::ProcessRole;
use crate::state::admission::Admission;
use crate::state::change_feed::ChangeFeed;
use crate::state::erased_members::ErasedMembers;
use crate::state::page_cache::PageCache;
use crate::state::read_counters::ReadCounters;
use crate::telemetry::Collector;

/// How often a process reads what the installation has decided of its broker.
const BROKER_STATE_INTERVAL: Duration = Duration::from_secs(1);

/// Reads in progress. They wait for servers, so there are more than cores; and few enough to find a
/// connection soon.
const MAX_READS: usize = 128;
/// Writes in progress: at 10 ms each, 51,200 a second.
const MAX_WRITES: usize = 512;

/// What exists in a cluster alone.
#[derive(Debug)]
pub struct Cluster {
    pub tables: Arc<MysqlStore>,
    pub broker: Arc<KafkaBroker>,
    pub counters: Arc<RedisCounters>,
    pub cached_store: Arc<CachedStore>,
    recovery: Arc<CounterRecovery>,
    job: Arc<PersistJob>,
    node_lease: Arc<NodeLeaseKeeper>,
    /// Ends the jobs: what they have taken is written and committed first.
    stop_jobs: CancellationToken,
    jobs: TaskTracker,
    /// Why the jobs cannot go on.
    failed: watch::Sender<Option<String>>,
}

/// Creates and migrates the tables of every database and the topics of the broker. Comments are ranked again by
/// [`crate::ports::store::Reranker`].
///
/// # Errors
/// When a server does not answer, or contains what must not be changed.
pub async fn migrate(settings: &ClusterSettings, weights: WeightsByType) -> anyhow::Result<()> {
    let tables = MysqlStore::migrate(settings.mysql_urls.expose(), settings.tuning.tables, weights)
        .await
        .with_context(|| format!("the tables of {}", settings.mysql_urls))?;
    let tuning = &settings.tuning;
    let expected = ExpectedTopics {
        partitions: tuning.partitions.or(tables.read_partition_count().await?),
        installation: tables.installation().map(str::to_owned),
    };
    KafkaBroker::migrate(&settings.kafka, &tuning.name, expected, tuning.replication)
        .await
        .with_context(|| format!("the topics of {}", settings.kafka.brokers))?;
    Ok(())
}

/// Fills databases that are empty and were not: what they had is given up.
///
/// # Errors
/// When a database does not answer, or contains what must not be changed.
pub async fn adopt_empty(settings: &ClusterSettings) -> anyhow::Result<()> {
    MysqlStore::adopt_empty(settings.mysql_urls.expose(), settings.tuning.tables)
        .await
        .with_context(|| format!("the tables of {}", settings.mysql_urls))
}

/// What is wrong with the settings of each server. It needs no tables and no topics, and writes nothing.
///
/// # Errors
/// For an address that is none.
pub async fn check_settings(settings: &ClusterSettings) -> anyhow::Result<Vec<ServerSettings>> {
    let mut all = MysqlStore::check_server_settings(settings.mysql_urls.expose()).await?;
    let redis = RedisConnection::open(settings.redis_urls.expose(), settings.tuning.redis_ca.as_deref()).await?;
    all.extend(redis.check_server_settings().await);
    Ok(all)
}

/// Connects to the servers and puts the parts of a cluster together.
pub(super) async fn open(
    config: &Config,
    settings: &ClusterSettings,
    role: ProcessRole,
    clock: &Clock,
) -> anyhow::Result<Adapters> {
    if role == ProcessRole::All {
        migrate(settings, weights(config)).await?;
    }
    let servers = Servers::connect(config, settings, role, clock).await?;
    let recovery =
        Arc::new(CounterRecovery::new(servers.broker.clone(), servers.tables.clone(), servers.counters.clone()));
    let cached_store = build_cached_store(&servers, &recovery, clock);
    let read_counters = Arc::new(ReadCounters::new());
    let reads = Arc::new(Admission::new("reads", MAX_READS));
    let page_cache = Arc::new(PageCache::new(clock.clone(), read_counters.clone(), reads.clone()));
    let listeners = CommitListeners {
        shared: vec![cached_store.clone(), Arc::new(RevisionPublisher(servers.revisions.clone()))],
        local: vec![page_cache.clone()],
    };
    let journal = build_journal(&servers, &cached_store, &recovery, &listeners, clock);
    let erased_members = Arc::<ErasedMembers>::default();
    let job = build_job(&servers, settings, listeners, erased_members.clone(), clock);
    let databases = servers.tables.count_databases();
    let node_lease = Arc::new(NodeLeaseKeeper::new(servers.tables.clone(), databases, clock.clone()));
    // Without one, the loop that renews it says so and goes on.
    let lease = if role.serves() { node_lease.renew_or_take(0).await.unwrap_or_default() } else { None };
    let change_feed = Arc::new(ChangeFeed::new(servers.tables.count_databases()));
    let Servers { tables, broker, counters, popularity, revisions, shared_rates, .. } = servers;
    let cluster = Arc::new(Cluster {
        tables: tables.clone(),
        broker,
        counters,
        cached_store: cached_store.clone(),
        recovery,
        job,
        node_lease,
        stop_jobs: CancellationToken::new(),
        jobs: TaskTracker::new(),
        failed: watch::Sender::new(None),
    });
    let mut collectors = vec![cached_store.clone() as Arc<dyn Collector>, cluster.job.rewinds.clone(), cluster.clone()];
    // A process that persists nothing counts nothing of it.
    collectors.extend(role.runs_jobs().then(|| cluster.job.metrics.clone() as Arc<dyn Collector>));
    Ok(Adapters {
        store: cached_store,
        table_backup: tables.clone(),
        tables,
        dependencies: cluster.clone(),
        journal,
        reads,
        writes: Arc::new(Admission::new("writes", MAX_WRITES)),
        page_cache,
        change_feed,
        read_counters,
        erased_members,
        popularity,
        revisions,
        shared_rates: Some(shared_rates),
        lease,
        collectors,
        cluster: Some(cluster),
    })
}

/// The adapters of the servers.
struct Servers {
    tables: Arc<MysqlStore>,
    broker: Arc<KafkaBroker>,
    cache: Arc<RedisCache>,
    counters: Arc<RedisCounters>,
    pending: Arc<dyn Pending>,
    popularity: Arc<dyn Popularity>,
    revisions: Arc<dyn Revisions>,
    shared_rates: Arc<dyn RateCounters>,
}

impl Servers {
    async fn connect(
        config: &Config,
        settings: &ClusterSettings,
        role: ProcessRole,
        clock: &Clock,
    ) -> anyhow::Result<Self> {
        let name = &settings.tuning.name;
        let (urls, tables, weights) = (settings.mysql_urls.expose(), settings.tuning.tables, weights(config));
        let opened = if role == ProcessRole::Command {
            MysqlStore::open(urls, tables, weights).await
        } else {
            MysqlStore::open_available(urls, tables, weights).await
        };
        let tables = opened.with_context(|| format!("the tables of {}", settings.mysql_urls))?;
        // The others rank them themselves.
        let waits = matches!(role, ProcessRole::Serve | ProcessRole::Job);
        let is_ranked = if waits { tables.is_ranked_by_weights().await } else { Ok(true) };
        if !is_ranked.or_else(|error| if error.is_away() { Ok(true) } else { Err(error) })? {
            let setting = "types.NAME.weights";
            tracing::warn!(
                setting,
                "Comments are ranked by former values of {setting} until gailou migrate ranks them again"
            );
        }
        let partitions = if role == ProcessRole::Command { None } else { tables.read_partition_count().await? };
        let expected = ExpectedTopics { partitions, installation: tables.installation().map(str::to_owned) };
        let broker = KafkaBroker::open(&settings.kafka, name, expected)
            .await
            .with_context(|| format!("the topics of {}", settings.kafka.brokers))?;
        tables.store_partition_count(broker.partition_count()).await;
        broker.follow(&tables.read_broker_state().await.unwrap_or_else(|_| {
            // Nothing is appended before it is known.
            BrokerState { stopped: Some("the databases do not answer yet".into()), ..BrokerState::default() }
        }));
        let redis = RedisConnection::open(settings.redis_urls.expose(), settings.tuning.redis_ca.as_deref())
            .await
            .with_context(|| format!("Redis at {}", settings.redis_urls))?;
        tracing::info!(
            mysql = %settings.mysql_urls, redis = %settings.redis_urls, kafka = settings.kafka.brokers, name,
            "Running as part of cluster {name}: MySQL behind Redis, and Kafka"
        );
        let rate_secret = tables.read_secret("rate_limit_secret", rand::random()).await?;
        let broker = Arc::new(broker);
        Ok(Self {
            tables: Arc::new(tables),
            counters: Arc::new(RedisCounters::new(redis.clone(), name, broker.clone())),
            broker,
            pending: Arc::new(RedisPending::new(redis.clone(), name, clock.clone())),
            popularity: Arc::new(RedisPopularity::new(redis.clone(), name)),
            revisions: Arc::new(RedisRevisions::new(redis.clone(), name)),
            shared_rates: Arc::new(RedisRateCounters::new(redis.clone(), name, &rate_secret)),
            cache: Arc::new(RedisCache::new(redis, name)),
        })
    }
}

/// Follows what the installation decides of its broker.
async fn follow_broker_state(tables: Arc<MysqlStore>, broker: Arc<KafkaBroker>) {
    loop {
        match tables.read_broker_state().await {
            Ok(state) => broker.follow(&state),
            Err(error) => tracing::debug!(%error, "Could not read whether the broker is stopped"),
        }
        sleep(BROKER_STATE_INTERVAL).await;
    }
}

/// Compares the Kafka cluster with the remembered one. Jobs cannot go on with another one.
async fn watch_broker(
    tables: Arc<MysqlStore>,
    broker: Arc<KafkaBroker>,
    failed: Option<watch::Sender<Option<String>>>,
) {
    let on_other = |reason| {
        if let Some(failed) = &failed {
            failed.send_replace(Some(reason));
        }
    };
    broker_identity::watch(&*broker, &*tables, on_other).await;
}

fn build_cached_store(servers: &Servers, recovery: &Arc<CounterRecovery>, clock: &Clock) -> Arc<CachedStore> {
    Arc::new(CachedStore::new(CachedStoreDeps {
        tables: servers.tables.clone(),
        cache: servers.cache.clone(),
        counters: servers.counters.clone(),
        pending: servers.pending.clone(),
        recovery: recovery.clone(),
        catch_up: Arc::new(PartitionCatchUp::new(servers.broker.clone(), servers.tables.clone(), clock.clone())),
        producer: servers.broker.clone(),
        clock: clock.clone(),
    }))
}

fn build_journal(
    servers: &Servers,
    cached_store: &Arc<CachedStore>,
    recovery: &Arc<CounterRecovery>,
    listeners: &CommitListeners,
    clock: &Clock,
) -> Arc<ClusterJournal> {
    Arc::new(ClusterJournal::start(ClusterJournalDeps {
        producer: servers.broker.clone(),
        tables: servers.tables.clone(),
        comments: cached_store.clone(),
        counters: servers.counters.clone(),
        pending: servers.pending.clone(),
        recovery: recovery.clone(),
        listeners: listeners.clone(),
        clock: clock.clone(),
    }))
}

fn build_job(
    servers: &Servers,
    settings: &ClusterSettings,
    listeners: CommitListeners,
    erased_members: Arc<ErasedMembers>,
    clock: &Clock,
) -> Arc<PersistJob> {
    Arc::new(PersistJob {
        broker: servers.broker.clone(),
        tables: servers.tables.clone(),
        clock: clock.clone(),
        erased_members,
        settings: persist::PersistSettings {
            batch: settings.tuning.batch,
            comments_wait: Duration::from_millis(settings.tuning.comments_ms),
            reactions_wait: Duration::from_millis(settings.tuning.reactions_ms),
        },
        listeners,
        metrics: Arc::default(),
        rewinds: RewindPasser::new(servers.tables.clone(), clock.clone()),
    })
}

impl Cluster {
    /// What passes over what a database that has gone back has lost.
    pub(super) fn rewinds(&self) -> Arc<RewindPasser> {
        self.job.rewinds.clone()
    }

    /// Starts the loops of the process's role.
    pub(super) fn start(&self, process: &Process) {
        let state = &process.state;
        let tables = self.tables.clone();
        process.spawn(async move { tables.keep_slot_map_fresh().await });
        let (broker, failed) = (self.broker.clone(), self.failed.clone());
        process.spawn(async move {
            if let Err(error) = broker.check_until_known().await {
                failed.send_replace(Some(format!("{error:#}")));
            }
        });
        process.spawn(follow_broker_state(self.tables.clone(), self.broker.clone()));
        if state.role != ProcessRole::Command {
            let failed = state.role.runs_jobs().then(|| self.failed.clone());
            process.spawn(watch_broker(self.tables.clone(), self.broker.clone(), failed));
        }
        let recovery = self.recovery.clone();
        process.spawn(async move { recovery.recover_all().await });
        if state.role.serves() {
            process.spawn(follow_dictionary::run(Arc::downgrade(state)));
            process.spawn(follow_settings::run(Arc::downgrade(state)));
            process.spawn(self.node_lease.clone().run(Arc::downgrade(state)));
        }
        if state.role.runs_jobs() {
            self.start_jobs(state.popularity.clone());
        }
    }

    fn start_jobs(&self, popularity: Arc<dyn Popularity>) {
        let (job, cached_store, stop) = (self.job.clone(), self.cached_store.clone(), self.stop_jobs.clone());
        self.jobs.spawn(rebuild::run(cached_store.clone(), job.broker.clone(), stop.clone()));
        self.jobs.spawn(warm::run(cached_store.clone(), popularity, stop.clone()));
        self.jobs.spawn(finish_moves::run(self.tables.clone(), job.clock.clone(), stop.clone()));
        let (tables, databases) = (self.tables.clone(), self.tables.count_databases());
        let (rewinds, clock) = (job.rewinds.clone(), job.clock.clone());
        self.jobs.spawn(invalidate_changed::run(cached_store, tables, rewinds, databases, clock, stop.clone()));
        for database in 0..databases {
            let (outboxes, erased_members) = (self.tables.clone(), self.job.erased_members.clone());
            let (rewinds, stop) = (self.job.rewinds.clone(), self.stop_jobs.clone());
            self.jobs.spawn(deliver_outboxes::run(outboxes, erased_members, rewinds, database, stop));
        }
        let failed = self.failed.clone();
        self.jobs.spawn(async move {
            if let Err(error) = persist::run(job, stop).await {
                failed.send_replace(Some(format!("{error:#}")));
            }
        });
    }

    /// See [`Process::failure`].
    pub(super) async fn failure(&self) -> anyhow::Error {
        let mut failed = self.failed.subscribe();
        match failed.wait_for(Option::is_some).await.map(|reason| reason.clone()) {
            Ok(Some(reason)) => anyhow::anyhow!(reason),
            _ => std::future::pending().await,
        }
    }

    /// Ends the jobs, which write and commit what they have taken.
    pub(super) async fn close_jobs(&self) {
        self.stop_jobs.cancel();
        self.jobs.close();
        self.jobs.wait().await;
    }

    /// Gives the node number back. The last step of a process: what carries the number is in the broker.
    pub(super) async fn release_node(&self, ids: &IdGenerator) {
        self.node_lease.release(ids).await;
    }
}

impl Collector for Cluster {
    fn collect(&self) {
        describe_gauge!("gailou_broker_stopped", "Whether the broker is stopped, so that nothing is acknowledged.");
        gauge!("gailou_broker_stopped").set(f64::from(u8::from(self.broker.stopped().is_some())));
    }
}

#[async_trait]
impl Dependencies for Cluster {
    async fn check_dependencies(&self) -> Vec<DependencyStatus> {
        // One slot of each database.
        let mut slots = vec![None; self.tables.count_databases()];
        for slot in (0..SLOT_COUNT).filter_map(Slot::new) {
            slots[self.tables.database_of(slot)] = Some(slot);
        }
        let mysql = slots.into_iter().enumerate().map(|(shard, slot)| async move {
            let slots: Vec<Slot> = slot.into_iter().collect();
            let answer = self.tables.read_positions(OperationStream::Comments, &slots).await;
            status(format!("mysql/{shard}"), answer)
        });
        let redis = async { status("redis".into(), self.counters.find_lost_slots(&[Slot::FIRST]).await) };
        let kafka = async {
            let answer = match self.broker.stopped() {
                Some(reason) => Err(BrokerError::Stopped(reason.into())),
                None => self.broker.end_offset(Topic::Comments, 0).await,
            };
            DependencyStatus { serves_reads: false, takes_writes: true, ..status("kafka".into(), answer) }
        };
        let (mut all, redis, kafka) = tokio::join!(join_all(mysql), redis, kafka);
        all.extend([redis, kafka]);
        all
    }
}

/// A server that comments are read from.
fn status<T, E: std::fmt::Display>(name: String, answer: Result<T, E>) -> DependencyStatus {
    let problem = answer.err().map(|error| error.to_string());
    DependencyStatus { name, serves_reads: true, takes_writes: false, problem }
}
