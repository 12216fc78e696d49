//! The adapters of a cluster, put together: MySQL, Redis and Kafka behind the ports.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use async_trait::async_trait;
use futures_util::future::join_all;
use gailou_shared::id::{SLOTS, Slot, SubjectKey};
use tokio::sync::{Mutex, watch};
use tokio::task::JoinHandle;

use crate::adapters::kafka::KafkaBroker;
use crate::adapters::mysql::MysqlStore;
use crate::adapters::redis::Connection;
use crate::adapters::redis::cache::RedisCache;
use crate::adapters::redis::counters::RedisCounters;
use crate::adapters::redis::pending::RedisPending;
use crate::adapters::redis::popularity::RedisPopularity;
use crate::adapters::redis::revisions::RedisRevisions;
use crate::bootstrap::{Adapters, follow_words, weights};
use crate::clock::Clock;
use crate::cluster::cached_store::CachedStore;
use crate::cluster::counter_recovery::CounterRecovery;
use crate::cluster::journal::ClusterJournal;
use crate::config;
use crate::config::Config;
use crate::domain::id_generator::NodeLease;
use crate::domain::operation::{LoggedOperation, Persisted};
use crate::jobs::persist::PersistJob;
use crate::jobs::{invalidate_changed, persist, rebuild, warm};
use crate::ports::broker::{Broker, Topic};
use crate::ports::counters::Counters;
use crate::ports::journal::CommitListener;
use crate::ports::pending::Pending;
use crate::ports::popularity::{Popularity, ReadCounters};
use crate::ports::revisions;
use crate::ports::revisions::Revisions;
use crate::ports::shards::{Shards, Stream};
use crate::state::change_feed::ChangeFeed;
use crate::state::page_cache::PageCache;
use crate::state::{AppState, Dependency, ProcessRole};
use crate::telemetry::Exposition;

/// How long a node number is leased. A process that sleeps for longer issues no ids.
const LEASE: Duration = Duration::from_secs(10);
/// Taken off a lease's end: the database's clock and ours may run differently fast.
const LEASE_MARGIN: Duration = Duration::from_secs(2);
/// How often the lease is renewed.
const RENEW: Duration = Duration::from_secs(3);

/// What only a cluster has.
#[derive(Debug)]
pub struct Cluster {
    pub tables: Arc<MysqlStore>,
    pub log: Arc<dyn Broker>,
    pub counters: Arc<dyn Counters>,
    pub layered: Arc<CachedStore>,
    opener: Arc<CounterRecovery>,
    job: Arc<PersistJob>,
    /// Names this process among the holders of node numbers.
    holder: String,
    stop: watch::Sender<bool>,
    /// The loops behind the log, while they run.
    works: Mutex<Option<JoinHandle<()>>>,
    failed: watch::Sender<Option<String>>,
}

/// Makes the databases' tables and the log's topics, and brings them up to date.
///
/// # Errors
/// When a server does not answer, or holds what is not to be changed.
pub async fn migrate(settings: &config::ClusterSettings) -> anyhow::Result<()> {
    MysqlStore::migrate(settings.mysql_urls.expose(), settings.tables)
        .await
        .with_context(|| format!("the tables of {}", settings.mysql_urls))?;
    KafkaBroker::migrate(&settings.kafka_brokers, &settings.name, settings.partitions, settings.replication)
        .await
        .with_context(|| format!("the topics of {}", settings.kafka_brokers))?;
    Ok(())
}

/// Connects to the servers.
pub(crate) async fn open(
    config: &Config,
    settings: &config::ClusterSettings,
    role: ProcessRole,
    clock: &Clock,
) -> anyhow::Result<Adapters> {
    if role == ProcessRole::All {
        migrate(settings).await?;
    }
    let tables = MysqlStore::open(settings.mysql_urls.expose(), settings.tables, weights(config))
        .await
        .with_context(|| format!("the tables of {}", settings.mysql_urls))?;
    let tables = Arc::new(tables);
    let log = KafkaBroker::open(&settings.kafka_brokers, &settings.name)
        .await
        .with_context(|| format!("the topics of {}", settings.kafka_brokers))?;
    let log: Arc<dyn Broker> = Arc::new(log);
    let redis = Connection::open(settings.redis_urls.expose())
        .await
        .with_context(|| format!("Redis at {}", settings.redis_urls))?;
    let counters: Arc<dyn Counters> = Arc::new(RedisCounters::new(redis.clone(), &settings.name));
    let pending: Arc<dyn Pending> = Arc::new(RedisPending::new(redis.clone(), &settings.name, clock.clone()));
    let heat: Arc<dyn Popularity> = Arc::new(RedisPopularity::new(redis.clone(), &settings.name));
    let events: Arc<dyn Revisions> = Arc::new(RedisRevisions::new(redis.clone(), &settings.name));
    let cache = Arc::new(RedisCache::new(redis, &settings.name));
    let shards: Arc<dyn Shards> = tables.clone();
    let opener = Arc::new(CounterRecovery::new(log.clone(), shards.clone(), counters.clone()));
    let cached_store = Arc::new(CachedStore::new(
        shards.clone(),
        cache,
        counters.clone(),
        pending.clone(),
        opener.clone(),
        log.clone(),
        clock.clone(),
    ));
    tracing::info!(
        mysql = %settings.mysql_urls, redis = %settings.redis_urls, kafka = settings.kafka_brokers, name = settings.name,
        "store: MySQL behind Redis, journal: Kafka"
    );
    let readers = Arc::new(ReadCounters::new());
    let pages = Arc::new(PageCache::new(clock.clone(), readers.clone()));
    let told = CacheInvalidator { layered: cached_store.clone(), events: events.clone(), pages: pages.clone() };
    let told: Arc<dyn CommitListener> = Arc::new(told);
    let journal = Arc::new(ClusterJournal::new(
        log.clone(),
        shards.clone(),
        cached_store.clone(),
        counters.clone(),
        pending,
        opener.clone(),
        told.clone(),
        clock.clone(),
    ));
    let holder = format!("{:016x}", rand::random::<u64>());
    let lease = if role.serves() {
        Some(take_lease(&tables, &holder).await?.context("all node numbers are taken: too many processes serve")?)
    } else {
        None
    };
    let job = Arc::new(PersistJob {
        log: log.clone(),
        tables: shards,
        clock: clock.clone(),
        settings: persist::Settings {
            batch: settings.batch,
            comments: Duration::from_millis(settings.comments_ms),
            reactions: Duration::from_millis(settings.reactions_ms),
        },
        committed: told,
        figures: persist::PersistMetrics::default(),
    });
    let cluster = Cluster {
        tables: tables.clone(),
        log,
        counters,
        layered: cached_store.clone(),
        opener,
        job,
        holder,
        stop: watch::Sender::new(false),
        works: Mutex::default(),
        failed: watch::Sender::new(None),
    };
    let feed = Arc::new(ChangeFeed::new(tables.shards()));
    Ok(Adapters {
        store: cached_store,
        books: tables,
        journal,
        pages,
        feed,
        readers,
        heat,
        events,
        lease,
        cluster: Some(cluster),
    })
}

/// Starts what the app's role does in the background.
pub(crate) fn start(app: &Arc<AppState>) {
    let Some(cluster) = &app.cluster else { return };
    let tables = cluster.tables.clone();
    app.spawn(async move { tables.keep_map().await });
    let opener = cluster.opener.clone();
    app.spawn(async move { opener.recover_all().await });
    if app.role.serves() {
        app.spawn(follow_words(Arc::downgrade(app)));
        app.spawn(keep_lease(Arc::downgrade(app)));
    }
    if app.role.works() {
        let works = tokio::spawn(work(Arc::downgrade(app), cluster.job.clone(), cluster.stop.subscribe()));
        // Nobody else holds it yet.
        if let Ok(mut held) = cluster.works.try_lock() {
            *held = Some(works);
        }
    }
}

/// The loops behind the log, until they are told to stop or one of them cannot go on.
async fn work(app: Weak<AppState>, job: Arc<PersistJob>, stop: watch::Receiver<bool>) {
    let parts = |app: Arc<AppState>| {
        app.cluster.as_ref().map(|c| (c.layered.clone(), app.popularity.clone(), c.failed.clone()))
    };
    let Some((layered, heat, failed)) = app.upgrade().and_then(parts) else { return };
    drop(app);
    let rebuild = tokio::spawn(rebuild::run(layered.clone(), job.log.clone(), stop.clone()));
    let warm = tokio::spawn(warm::run(layered.clone(), heat, stop.clone()));
    let takedowns = tokio::spawn(invalidate_changed::run(layered, job.tables.clone(), job.clock.clone(), stop.clone()));
    if let Err(error) = persist::run(job, stop).await {
        failed.send_replace(Some(format!("{error:#}")));
    }
    let _ = tokio::join!(rebuild, warm, takedowns);
}

async fn take_lease(tables: &MysqlStore, holder: &str) -> anyhow::Result<Option<NodeLease>> {
    // Before the call: the database counts from a later moment.
    let until = Instant::now() + LEASE - LEASE_MARGIN;
    let node = tables.lease(holder, LEASE.as_millis() as u64).await?;
    Ok(node.map(|node| NodeLease { node, until: Some(until) }))
}

async fn keep_lease(app: Weak<AppState>) {
    let mut tick = tokio::time::interval(RENEW);
    loop {
        tick.tick().await;
        let Some(app) = app.upgrade() else { return };
        let Some(cluster) = &app.cluster else { return };
        match take_lease(&cluster.tables, &cluster.holder).await {
            Ok(Some(lease)) => app.ids.renew(lease),
            Ok(None) => tracing::error!("all node numbers are taken: no new comments here"),
            Err(error) => tracing::warn!(error = format!("{error:#}"), "the node number cannot be renewed"),
        }
    }
}

impl Cluster {
    /// See [`App::failure`].
    pub(crate) async fn failure(&self) -> anyhow::Error {
        let mut failed = self.failed.subscribe();
        match failed.wait_for(Option::is_some).await.map(|reason| reason.clone()) {
            Ok(Some(reason)) => anyhow::anyhow!(reason),
            _ => std::future::pending().await,
        }
    }

    /// Ends the loops behind the log: what they have taken is written and committed.
    pub(crate) async fn close(&self) {
        self.stop.send_replace(true);
        if let Some(works) = self.works.lock().await.take() {
            let _ = works.await;
        }
        if let Err(error) = self.tables.release(&self.holder).await {
            tracing::warn!(%error, "the node number is kept until its lease ends");
        }
    }

    /// See [`App::dependencies`].
    pub(crate) async fn dependencies(&self) -> Vec<Dependency> {
        // A slot of each database.
        let mut slots = vec![None; self.tables.shards()];
        for slot in (0..SLOTS).filter_map(Slot::new) {
            slots[self.tables.shard(slot)] = Some(slot);
        }
        let mysql = slots.into_iter().enumerate().map(|(shard, slot)| async move {
            let held: Vec<Slot> = slot.into_iter().collect();
            let answer = self.tables.positions(Stream::Comments, &held).await;
            Dependency { name: format!("mysql/{shard}"), is_tables: true, problem: answer.err().map(|e| e.to_string()) }
        });
        let redis = async { self.counters.lost(&[Slot::FIRST]).await.err().map(|e| e.to_string()) };
        let kafka = async { self.log.end(Topic::Comments, 0).await.err().map(|e| e.to_string()) };
        let (mut all, redis, kafka) = tokio::join!(join_all(mysql), redis, kafka);
        for (name, problem) in [("redis", redis), ("kafka", kafka)] {
            all.push(Dependency { name: name.into(), is_tables: false, problem });
        }
        all
    }

    /// See [`App::metrics`].
    pub(crate) fn expose(&self, text: &mut Exposition) {
        let job = &self.job.figures;
        let topics = |read: fn(&persist::TopicCounts) -> &AtomicU64| {
            [("comments", &job.comments), ("reactions", &job.reactions)]
                .map(|(topic, counts)| (format!("topic=\"{topic}\""), read(counts).load(Ordering::Relaxed)))
        };
        text.counter("gailou_log_stored_total", "Events written to the tables.", topics(|c| &c.stored));
        text.counter("gailou_log_seen_total", "Events that had been written before.", topics(|c| &c.seen));
        text.counter("gailou_log_batches_total", "Batches written.", topics(|c| &c.batches));
        text.counter("gailou_log_retries_total", "Batches tried again.", topics(|c| &c.retries));
        text.counter(
            "gailou_dead_letters_total",
            "Events that could not be stored: look at them.",
            topics(|c| &c.buried),
        );
        text.gauge("gailou_log_waiting", "Events taken and not stored yet.", topics(|c| &c.waiting));
        text.gauge("gailou_log_lag", "Events of this process's partitions that are not stored.", topics(|c| &c.lag));
        let answered = self.layered.figures().answered();
        let levels = [("local", answered.local), ("redis", answered.redis), ("mysql", answered.mysql)];
        let levels = levels.map(|(level, keys)| (format!("level=\"{level}\""), keys));
        text.counter("gailou_cache_keys_total", "Keys answered by each level.", levels);
    }

    /// Puts a subject into the cache; how many entries.
    ///
    /// # Errors
    /// When the tables or the cache do not answer.
    pub async fn warm(&self, subject: &SubjectKey) -> anyhow::Result<u64> {
        Ok(warm::subject(&self.layered, subject).await?)
    }
}

/// What is told after each commit: the caches of the cluster, readers who watch, and the ready pages
/// of this process.
#[derive(Debug)]
struct CacheInvalidator {
    layered: Arc<CachedStore>,
    events: Arc<dyn Revisions>,
    pages: Arc<PageCache>,
}

#[async_trait]
impl CommitListener for CacheInvalidator {
    async fn on_commit(&self, batch: &[LoggedOperation], persisted: &Persisted) {
        let links = revisions::revisions_of(persisted);
        let (_, kept) = tokio::join!(self.layered.committed(batch, persisted), self.events.append(&links));
        if let Err(error) = kept {
            tracing::debug!(%error, "readers who watch will have to begin anew");
        }
        self.pages.committed(&persisted.changed);
    }
}
