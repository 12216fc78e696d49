//! The adapters of a cluster: MySQL, Redis and Kafka behind the ports, and the loops behind them.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::id::{SLOT_COUNT, Slot};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapters::kafka::KafkaBroker;
use crate::adapters::mysql::MysqlStore;
use crate::adapters::redis::RedisConnection;
use crate::adapters::redis::cache::RedisCache;
use crate::adapters::redis::counters::RedisCounters;
use crate::adapters::redis::pending::RedisPending;
use crate::adapters::redis::popularity::RedisPopularity;
use crate::adapters::redis::rate_limits::RedisRateCounters;
use crate::adapters::redis::revisions::RedisRevisions;
use crate::bootstrap::{Adapters, Process, weights};
use crate::clock::Clock;
use crate::cluster::cached_store::{CachedStore, CachedStoreDeps};
use crate::cluster::counter_recovery::CounterRecovery;
use crate::cluster::journal::{ClusterJournal, ClusterJournalDeps};
use crate::cluster::publish_revisions::RevisionPublisher;
use crate::config::{ClusterSettings, Config};
use crate::domain::id_generator::NodeLease;
use crate::domain::positions::OperationStream;
use crate::domain::row::WeightsByType;
use crate::jobs::persist::PersistJob;
use crate::jobs::{follow_dictionary, invalidate_changed, persist, rebuild, warm};
use crate::outage_log::OutageLog;
use crate::ports::broker::{Broker, Topic};
use crate::ports::counters::CounterSlots as _;
use crate::ports::dependencies::{Dependencies, DependencyStatus};
use crate::ports::journal::CommitListeners;
use crate::ports::pending::Pending;
use crate::ports::popularity::Popularity;
use crate::ports::rate_limits::RateCounters;
use crate::ports::revisions::Revisions;
use crate::ports::store::{NodeLeases as _, Sharding as _, SlotPositions as _, StoredSettings as _};
use crate::state::admission::Admission;
use crate::state::change_feed::ChangeFeed;
use crate::state::erased_members::ErasedMembers;
use crate::state::page_cache::PageCache;
use crate::state::read_counters::ReadCounters;
use crate::state::{AppState, ProcessRole};

/// How long a node number is leased. A process that sleeps for longer issues no ids.
const NODE_LEASE: Duration = Duration::from_secs(10);
/// Subtracted from the end of a lease: the database's clock and ours may run at different speeds.
const NODE_LEASE_MARGIN: Duration = Duration::from_secs(2);
/// How often the lease is renewed.
const NODE_LEASE_RENEWAL_INTERVAL: Duration = Duration::from_secs(3);

/// Reads in progress. They wait for servers, so there are more than cores; and few enough to find a
/// connection soon.
const MAX_READS: usize = 128;
/// Writes in progress: at 10 ms each, 51,200 a second.
const MAX_WRITES: usize = 512;

/// What exists in a cluster alone.
#[derive(Debug)]
pub struct Cluster {
    pub tables: Arc<MysqlStore>,
    pub broker: Arc<dyn Broker>,
    pub counters: Arc<RedisCounters>,
    pub cached_store: Arc<CachedStore>,
    recovery: Arc<CounterRecovery>,
    job: Arc<PersistJob>,
    /// Names this process among the holders of node numbers.
    holder: String,
    /// Ends the jobs: what they have taken is written and committed first.
    stop_jobs: CancellationToken,
    jobs: TaskTracker,
    /// Why the jobs cannot go on.
    failed: watch::Sender<Option<String>>,
}

/// Creates and migrates the tables of every database and the topics of the broker, and ranks comments again
/// when the weights have changed.
///
/// # Errors
/// When a server does not answer, or contains what must not be changed.
pub async fn migrate(settings: &ClusterSettings, weights: WeightsByType) -> anyhow::Result<()> {
    MysqlStore::migrate(settings.mysql_urls.expose(), settings.tuning.tables, weights)
        .await
        .with_context(|| format!("the tables of {}", settings.mysql_urls))?;
    KafkaBroker::migrate(
        &settings.kafka,
        &settings.tuning.name,
        settings.tuning.partitions,
        settings.tuning.replication,
    )
    .await
    .with_context(|| format!("the topics of {}", settings.kafka.brokers))?;
    Ok(())
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
    let servers = Servers::connect(config, settings, clock).await?;
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
    let holder = format!("{:016x}", rand::random::<u64>());
    let lease = if role.serves() {
        let lease = take_lease(&servers.tables, &holder).await?;
        Some(lease.context("all node numbers are taken: too many processes serve")?)
    } else {
        None
    };
    let change_feed = Arc::new(ChangeFeed::new(servers.tables.count_databases()));
    let collectors = vec![job.metrics.clone() as Arc<_>, cached_store.clone() as Arc<_>];
    let Servers { tables, broker, counters, popularity, revisions, shared_rates, .. } = servers;
    let cluster = Arc::new(Cluster {
        tables: tables.clone(),
        broker,
        counters,
        cached_store: cached_store.clone(),
        recovery,
        job,
        holder,
        stop_jobs: CancellationToken::new(),
        jobs: TaskTracker::new(),
        failed: watch::Sender::new(None),
    });
    Ok(Adapters {
        store: cached_store,
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
    broker: Arc<dyn Broker>,
    cache: Arc<RedisCache>,
    counters: Arc<RedisCounters>,
    pending: Arc<dyn Pending>,
    popularity: Arc<dyn Popularity>,
    revisions: Arc<dyn Revisions>,
    shared_rates: Arc<dyn RateCounters>,
}

impl Servers {
    async fn connect(config: &Config, settings: &ClusterSettings, clock: &Clock) -> anyhow::Result<Self> {
        let name = &settings.tuning.name;
        let tables = MysqlStore::open(settings.mysql_urls.expose(), settings.tuning.tables, weights(config))
            .await
            .with_context(|| format!("the tables of {}", settings.mysql_urls))?;
        if !tables.is_ranked_by_weights().await? {
            let setting = "types.NAME.weights";
            tracing::warn!(
                setting,
                "Comments are ranked by former values of {setting} until gailou migrate ranks them again"
            );
        }
        let broker = KafkaBroker::open(&settings.kafka, name)
            .await
            .with_context(|| format!("the topics of {}", settings.kafka.brokers))?;
        let redis = RedisConnection::open(settings.redis_urls.expose(), settings.tuning.redis_ca.as_deref())
            .await
            .with_context(|| format!("Redis at {}", settings.redis_urls))?;
        tracing::info!(
            mysql = %settings.mysql_urls, redis = %settings.redis_urls, kafka = settings.kafka.brokers, name,
            "Running as part of cluster {name}: MySQL behind Redis, and Kafka"
        );
        let rate_secret = tables.read_secret("rate_limit_secret", rand::random()).await?;
        Ok(Self {
            tables: Arc::new(tables),
            broker: Arc::new(broker),
            counters: Arc::new(RedisCounters::new(redis.clone(), name)),
            pending: Arc::new(RedisPending::new(redis.clone(), name, clock.clone())),
            popularity: Arc::new(RedisPopularity::new(redis.clone(), name)),
            revisions: Arc::new(RedisRevisions::new(redis.clone(), name)),
            shared_rates: Arc::new(RedisRateCounters::new(redis.clone(), name, &rate_secret)),
            cache: Arc::new(RedisCache::new(redis, name)),
        })
    }
}

fn build_cached_store(servers: &Servers, recovery: &Arc<CounterRecovery>, clock: &Clock) -> Arc<CachedStore> {
    Arc::new(CachedStore::new(CachedStoreDeps {
        tables: servers.tables.clone(),
        cache: servers.cache.clone(),
        counters: servers.counters.clone(),
        pending: servers.pending.clone(),
        recovery: recovery.clone(),
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
    })
}

impl Cluster {
    /// Starts the loops of the process's role.
    pub(super) fn start(&self, process: &Process) {
        let state = &process.state;
        let tables = self.tables.clone();
        process.spawn(async move { tables.keep_slot_map_fresh().await });
        let recovery = self.recovery.clone();
        process.spawn(async move { recovery.recover_all().await });
        if state.role.serves() {
            process.spawn(follow_dictionary::run(Arc::downgrade(state)));
            process.spawn(renew_lease(Arc::downgrade(state), self.tables.clone(), self.holder.clone()));
        }
        if state.role.runs_jobs() {
            self.start_jobs(state.popularity.clone());
        }
    }

    fn start_jobs(&self, popularity: Arc<dyn Popularity>) {
        let (job, cached_store, stop) = (self.job.clone(), self.cached_store.clone(), self.stop_jobs.clone());
        self.jobs.spawn(rebuild::run(cached_store.clone(), job.broker.clone(), stop.clone()));
        self.jobs.spawn(warm::run(cached_store.clone(), popularity, stop.clone()));
        let (tables, databases) = (self.tables.clone(), self.tables.count_databases());
        self.jobs.spawn(invalidate_changed::run(cached_store, tables, databases, job.clock.clone(), stop.clone()));
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

    /// Ends the jobs, which write and commit what they have taken, and releases the node number.
    pub(super) async fn close(&self) {
        self.stop_jobs.cancel();
        self.jobs.close();
        self.jobs.wait().await;
        if let Err(error) = self.tables.release_node(&self.holder).await {
            tracing::warn!(holder = self.holder, %error, "Could not release the node number of {}; its lease expires", self.holder);
        }
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
            status(format!("mysql/{shard}"), true, answer)
        });
        let redis = async { status("redis".into(), false, self.counters.find_lost_slots(&[Slot::FIRST]).await) };
        let kafka = async { status("kafka".into(), false, self.broker.end_offset(Topic::Comments, 0).await) };
        let (mut all, redis, kafka) = tokio::join!(join_all(mysql), redis, kafka);
        all.extend([redis, kafka]);
        all
    }
}

fn status<T, E: std::fmt::Display>(name: String, is_tables: bool, answer: Result<T, E>) -> DependencyStatus {
    DependencyStatus { name, is_tables, problem: answer.err().map(|error| error.to_string()) }
}

async fn take_lease(tables: &MysqlStore, holder: &str) -> anyhow::Result<Option<NodeLease>> {
    // Computed before the call: the database counts from a later moment.
    let until = Instant::now() + NODE_LEASE - NODE_LEASE_MARGIN;
    let node = tables.lease_node(holder, NODE_LEASE.as_millis() as u64).await?;
    Ok(node.map(|node| NodeLease { node, until: Some(until) }))
}

/// Renews the lease of the node number until the state is dropped.
async fn renew_lease(state: Weak<AppState>, tables: Arc<MysqlStore>, holder: String) {
    let (all_taken, outage) = (OutageLog::default(), OutageLog::default());
    let mut tick = tokio::time::interval(NODE_LEASE_RENEWAL_INTERVAL);
    loop {
        tick.tick().await;
        let Some(state) = state.upgrade() else { return };
        let leased = take_lease(&tables, &holder).await;
        if leased.is_ok() {
            outage.end(|| tracing::info!(holder, "The first database answers {holder} again"));
        }
        match leased {
            Ok(Some(lease)) => {
                state.ids.renew(lease);
                all_taken.end(|| tracing::info!(holder, "{holder} has a node number and accepts new comments again"));
            }
            Ok(None) => all_taken.begin(|| {
                tracing::error!(holder, "All node numbers are taken: {holder} cannot accept new comments");
            }),
            Err(error) => outage.begin(|| {
                let (error, retry_ms) = (format!("{error:#}"), NODE_LEASE_RENEWAL_INTERVAL.as_millis());
                tracing::warn!(
                    holder,
                    retry_ms,
                    error,
                    "Could not renew the node number of {holder}; retrying every {retry_ms} ms"
                );
            }),
        }
    }
}
