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

use crate::adapters::kafka::Kafka;
use crate::adapters::mysql::Mysql;
use crate::adapters::redis::Connection;
use crate::adapters::redis::cache::RedisCache;
use crate::adapters::redis::counters::RedisCounters;
use crate::adapters::redis::pending::RedisPending;
use crate::adapters::redis::popularity::RedisHeat;
use crate::adapters::redis::revisions::RedisEvents;
use crate::bootstrap::{Parts, follow_words, weights};
use crate::clock::Clock;
use crate::cluster::cached_store::Layered;
use crate::cluster::counter_recovery::Opener;
use crate::cluster::journal::Logged;
use crate::config;
use crate::config::Config;
use crate::domain::id_generator::Lease;
use crate::domain::operation::{Persisted, Stamped};
use crate::jobs::persist::Job;
use crate::jobs::{invalidate_changed, persist, rebuild, warm};
use crate::ports::broker::{Log, Topic};
use crate::ports::counters::Counters;
use crate::ports::journal::Committed;
use crate::ports::pending::Pending;
use crate::ports::popularity::{Heat, Readers};
use crate::ports::revisions;
use crate::ports::revisions::Events;
use crate::ports::shards::{Shards, Stream};
use crate::state::change_feed::Feed;
use crate::state::page_cache::Pages;
use crate::state::{App, Dependency, Role};
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
    pub tables: Arc<Mysql>,
    pub log: Arc<dyn Log>,
    pub counters: Arc<dyn Counters>,
    pub layered: Arc<Layered>,
    opener: Arc<Opener>,
    job: Arc<Job>,
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
pub async fn migrate(settings: &config::Cluster) -> anyhow::Result<()> {
    Mysql::migrate(settings.mysql_urls.expose(), settings.tables)
        .await
        .with_context(|| format!("the tables of {}", settings.mysql_urls))?;
    Kafka::migrate(&settings.kafka_brokers, &settings.name, settings.partitions, settings.replication)
        .await
        .with_context(|| format!("the topics of {}", settings.kafka_brokers))?;
    Ok(())
}

/// Connects to the servers.
pub(crate) async fn open(
    config: &Config,
    settings: &config::Cluster,
    role: Role,
    clock: &Clock,
) -> anyhow::Result<Parts> {
    if role == Role::All {
        migrate(settings).await?;
    }
    let tables = Mysql::open(settings.mysql_urls.expose(), settings.tables, weights(config))
        .await
        .with_context(|| format!("the tables of {}", settings.mysql_urls))?;
    let tables = Arc::new(tables);
    let log = Kafka::open(&settings.kafka_brokers, &settings.name)
        .await
        .with_context(|| format!("the topics of {}", settings.kafka_brokers))?;
    let log: Arc<dyn Log> = Arc::new(log);
    let redis = Connection::open(settings.redis_urls.expose())
        .await
        .with_context(|| format!("Redis at {}", settings.redis_urls))?;
    let counters: Arc<dyn Counters> = Arc::new(RedisCounters::new(redis.clone(), &settings.name));
    let pending: Arc<dyn Pending> = Arc::new(RedisPending::new(redis.clone(), &settings.name, clock.clone()));
    let heat: Arc<dyn Heat> = Arc::new(RedisHeat::new(redis.clone(), &settings.name));
    let events: Arc<dyn Events> = Arc::new(RedisEvents::new(redis.clone(), &settings.name));
    let cache = Arc::new(RedisCache::new(redis, &settings.name));
    let shards: Arc<dyn Shards> = tables.clone();
    let opener = Arc::new(Opener::new(log.clone(), shards.clone(), counters.clone()));
    let layered = Arc::new(Layered::new(
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
    let readers = Arc::new(Readers::new());
    let pages = Arc::new(Pages::new(clock.clone(), readers.clone()));
    let told = Told { layered: layered.clone(), events: events.clone(), pages: pages.clone() };
    let told: Arc<dyn Committed> = Arc::new(told);
    let journal = Arc::new(Logged::new(
        log.clone(),
        shards.clone(),
        layered.clone(),
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
    let job = Arc::new(Job {
        log: log.clone(),
        tables: shards,
        clock: clock.clone(),
        settings: persist::Settings {
            batch: settings.batch,
            comments: Duration::from_millis(settings.comments_ms),
            reactions: Duration::from_millis(settings.reactions_ms),
        },
        committed: told,
        figures: persist::Figures::default(),
    });
    let cluster = Cluster {
        tables: tables.clone(),
        log,
        counters,
        layered: layered.clone(),
        opener,
        job,
        holder,
        stop: watch::Sender::new(false),
        works: Mutex::default(),
        failed: watch::Sender::new(None),
    };
    let feed = Arc::new(Feed::new(tables.shards()));
    Ok(Parts {
        store: layered,
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
pub(crate) fn start(app: &Arc<App>) {
    let Some(cluster) = &app.cluster else { return };
    let tables = cluster.tables.clone();
    app.spawn(async move { tables.keep_map().await });
    let opener = cluster.opener.clone();
    app.spawn(async move { opener.open_all().await });
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
async fn work(app: Weak<App>, job: Arc<Job>, stop: watch::Receiver<bool>) {
    let parts = |app: Arc<App>| app.cluster.as_ref().map(|c| (c.layered.clone(), app.heat.clone(), c.failed.clone()));
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

async fn take_lease(tables: &Mysql, holder: &str) -> anyhow::Result<Option<Lease>> {
    // Before the call: the database counts from a later moment.
    let until = Instant::now() + LEASE - LEASE_MARGIN;
    let node = tables.lease(holder, LEASE.as_millis() as u64).await?;
    Ok(node.map(|node| Lease { node, until: Some(until) }))
}

async fn keep_lease(app: Weak<App>) {
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
        let topics = |read: fn(&persist::Counts) -> &AtomicU64| {
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
struct Told {
    layered: Arc<Layered>,
    events: Arc<dyn Events>,
    pages: Arc<Pages>,
}

#[async_trait]
impl Committed for Told {
    async fn committed(&self, batch: &[Stamped], persisted: &Persisted) {
        let links = revisions::links(persisted);
        let (_, kept) = tokio::join!(self.layered.committed(batch, persisted), self.events.keep(&links));
        if let Err(error) = kept {
            tracing::debug!(%error, "readers who watch will have to begin anew");
        }
        self.pages.committed(&persisted.changed);
    }
}
