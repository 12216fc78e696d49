//! What the origin consists of, and the one place that chooses adapters.
//!
//! Without a cluster's addresses everything is embedded: SQLite, and the store's own group commit
//! for a journal. With them the same ports stand on MySQL, Redis and Kafka ([`cluster`]).

#[cfg(feature = "cluster")]
pub mod cluster;

use std::sync::{Arc, PoisonError, RwLock, Weak};
use std::time::Duration;

use anyhow::Context;
use gailou_shared::cursor::CursorKey;
use gailou_shared::id::SubjectKey;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::TokenKey;
use gailou_shared::wire::SubjectState;
use gailou_shared::words::Dictionary;
use tokio::task::JoinHandle;

use crate::cache::Pages;
use crate::clock::Clock;
use crate::config::Config;
use crate::edge::Edge;
use crate::edge::worker::Worker;
use crate::events::memory::Memory;
use crate::events::{self, Events};
use crate::feed::{self, Feed};
use crate::heat::local::Local;
use crate::heat::{self, Heat, Readers};
use crate::http::events::Streams;
use crate::http::push::Inside;
use crate::ids::{Ids, Lease};
use crate::job::push::{self, Pusher};
use crate::journal::Journal;
use crate::journal::direct::Direct;
use crate::limits::Limits;
use crate::log::Log;
use crate::service::snapshots::Snapshots;
use crate::store::reconcile::Reconcile;
use crate::store::sqlite::Sqlite;
use crate::store::{Event, Persisted, Store, WeightsByType};
use crate::telemetry::Exposition;

/// What a process of a cluster does. Embedded, one process does everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Answers requests and works behind them.
    All,
    /// Answers requests.
    Serve,
    /// Works behind the log.
    Job,
    /// Carries out one command.
    Command,
}

impl Role {
    /// Whether it answers requests.
    pub const fn serves(self) -> bool {
        matches!(self, Self::All | Self::Serve)
    }

    /// Whether it works behind the log.
    pub const fn works(self) -> bool {
        matches!(self, Self::All | Self::Job)
    }
}

/// Something that is needed.
#[derive(Debug)]
pub struct Dependency {
    pub name: String,
    /// Whether it holds the tables (some of them), without which nothing works.
    pub is_tables: bool,
    pub problem: Option<String>,
}

/// Everything a request needs.
#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub role: Role,
    pub clock: Clock,
    pub store: Arc<dyn Store>,
    /// The tables themselves, for the reconciler.
    pub books: Arc<dyn Reconcile>,
    pub journal: Arc<dyn Journal>,
    pub ids: Ids,
    pub pages: Arc<Pages>,
    pub feed: Arc<Feed>,
    pub readers: Arc<Readers>,
    pub heat: Arc<dyn Heat>,
    pub events: Arc<dyn Events>,
    pub streams: Streams,
    /// What pushes to the edge, where one is known and this process works behind requests.
    pub pusher: Option<Arc<Pusher>>,
    pub snapshots: Snapshots,
    /// Whether subjects take comments, and their own modes, for a second; dropped when it changes here.
    pub subject_states: moka::sync::Cache<SubjectKey, (SubjectState, Option<Mode>)>,
    pub limits: Limits,
    pub cursor_key: CursorKey,
    pub token_key: TokenKey,
    /// Signs guests' tokens; the token key itself where that can sign.
    pub guest_key: TokenKey,
    /// What only a cluster has.
    #[cfg(feature = "cluster")]
    pub cluster: Option<cluster::Cluster>,
    words: RwLock<Arc<Dictionary>>,
    /// What goes on in the background; ends with the app.
    background: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

/// What the adapters are, however they were chosen.
struct Parts {
    store: Arc<dyn Store>,
    books: Arc<dyn Reconcile>,
    journal: Arc<dyn Journal>,
    pages: Arc<Pages>,
    feed: Arc<Feed>,
    readers: Arc<Readers>,
    heat: Arc<dyn Heat>,
    events: Arc<dyn Events>,
    lease: Option<Lease>,
    #[cfg(feature = "cluster")]
    cluster: Option<cluster::Cluster>,
}

/// How often what has outlived its time is forgotten.
const SWEEP: Duration = Duration::from_secs(600);

/// How long a subject's state is believed.
const STATES: Duration = Duration::from_secs(1);

/// How often another process's dictionary is asked for.
#[cfg(feature = "cluster")]
const WORDS: Duration = Duration::from_secs(2);

impl App {
    /// Everything in one process, by the system's clock. See [`App::open_as`].
    ///
    /// # Errors
    /// See [`App::open_as`].
    pub async fn open(config: Config) -> anyhow::Result<Arc<Self>> {
        Self::open_as(config, Role::All, Clock::system()).await
    }

    /// Opens what the configuration names, and starts what this role does in the background.
    ///
    /// Embedded, the data directory is made when it is missing and its tables are brought up to
    /// date. In a cluster only [`Role::All`] does so; the others refuse tables that are not.
    ///
    /// # Errors
    /// When the directory or a server cannot be used, or the configuration's keys are no keys.
    pub async fn open_as(config: Config, role: Role, clock: Clock) -> anyhow::Result<Arc<Self>> {
        let parts = Self::parts(&config, role, &clock).await?;
        let store = &parts.store;
        let cursor_secret = match &config.cursor_secret {
            Some(secret) => secret.expose().as_bytes().to_vec(),
            None => store.secret("cursor_secret", rand::random()).await?,
        };
        let token_key = config.token_key()?;
        let guest_key = match &token_key {
            TokenKey::Secret(_) => token_key.clone(),
            TokenKey::Public(_) => TokenKey::secret(&store.secret("guest_secret", rand::random()).await?)
                .context("the installation's own secret is too short")?,
        };
        let last = store.last_id().await?.map_or(0, gailou_shared::id::CommentId::created_ms);
        let app = Arc::new_cyclic(|app| Self {
            pusher: pusher(&config, role, &clock, &parts, app),
            limits: Limits::new(&config.limits),
            ids: Ids::new(parts.lease, last),
            cursor_key: CursorKey::new(&cursor_secret),
            token_key,
            guest_key,
            words: RwLock::default(),
            background: std::sync::Mutex::default(),
            snapshots: Snapshots::new(),
            subject_states: moka::sync::Cache::builder().max_capacity(10_000).time_to_live(STATES).build(),
            pages: parts.pages,
            feed: parts.feed,
            readers: parts.readers,
            heat: parts.heat,
            events: parts.events,
            streams: Streams::default(),
            journal: parts.journal,
            store: parts.store,
            books: parts.books,
            #[cfg(feature = "cluster")]
            cluster: parts.cluster,
            clock,
            config,
            role,
        });
        app.reload_words().await?;
        if role.serves() {
            feed::begin(&app.feed, &*app.store, &app.clock).await?;
            for database in 0..app.feed.databases() {
                let feed = Arc::downgrade(&app.feed);
                app.spawn(feed::follow(feed, app.store.clone(), app.clock.clone(), database));
            }
        }
        if role.serves() {
            let edge = &app.config.edge;
            let elsewhere = edge.url.is_some() && app.pusher.is_none();
            let hot = elsewhere.then_some((edge.hot_per_minute, edge.fresh_for));
            app.spawn(heat::keep(app.readers.clone(), app.heat.clone(), hot));
        }
        if let Some(pusher) = &app.pusher {
            app.spawn(push::run(pusher.clone()));
        }
        if role.works() {
            app.spawn(sweep(Arc::downgrade(&app)));
        }
        #[cfg(feature = "cluster")]
        cluster::start(&app);
        Ok(app)
    }

    #[cfg(feature = "cluster")]
    async fn parts(config: &Config, role: Role, clock: &Clock) -> anyhow::Result<Parts> {
        match &config.cluster {
            Some(settings) => cluster::open(config, settings, role, clock).await,
            None => embedded(config, clock),
        }
    }

    #[cfg(not(feature = "cluster"))]
    #[expect(clippy::unused_async, reason = "a cluster's adapters wait for their servers")]
    async fn parts(config: &Config, _: Role, clock: &Clock) -> anyhow::Result<Parts> {
        embedded(config, clock)
    }

    /// Runs a task until the app is closed.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        self.background.lock().unwrap_or_else(PoisonError::into_inner).push(tokio::spawn(task));
    }

    /// Completes when the background work cannot go on, with the reason; never, otherwise.
    pub async fn failure(&self) -> anyhow::Error {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            return cluster.failure().await;
        }
        std::future::pending().await
    }

    /// What this process needs, and how it stands with it.
    pub async fn dependencies(&self) -> Vec<Dependency> {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            return cluster.dependencies().await;
        }
        let problem = self.store.last_id().await.err().map(|error| error.to_string());
        vec![Dependency { name: "store".into(), is_tables: true, problem }]
    }

    /// What an operator watches.
    pub fn metrics(&self) -> String {
        let mut text = Exposition::default();
        text.gauge(
            "gailou_words_version",
            "Version of the dictionary in force.",
            [(String::new(), self.words().version())],
        );
        text.gauge(
            "gailou_changes_behind_ms",
            "How long ago all tables were last read for the change feed.",
            self.feed.behind(self.now()).map(|behind| (String::new(), behind)),
        );
        if let Some(pusher) = &self.pusher {
            pusher.figures.expose(&mut text);
        }
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            cluster.expose(&mut text);
        }
        text.into_text()
    }

    /// The log, where there is one.
    pub fn log(&self) -> Option<Arc<dyn Log>> {
        #[cfg(feature = "cluster")]
        return self.cluster.as_ref().map(|cluster| cluster.log.clone());
        #[cfg(not(feature = "cluster"))]
        None
    }

    /// Unix milliseconds.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The dictionary in force.
    pub fn words(&self) -> Arc<Dictionary> {
        self.words.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the dictionary from the store.
    ///
    /// # Errors
    /// When the store does not answer, or holds terms that are none.
    pub async fn reload_words(&self) -> anyhow::Result<()> {
        let (version, terms) = self.store.words().await?;
        let dictionary = Arc::new(Dictionary::build(version, &terms)?);
        *self.words.write().unwrap_or_else(PoisonError::into_inner) = dictionary;
        Ok(())
    }

    /// How the threads of a subject are built: by its own mode, or by its type's; `None` for a type
    /// that is not configured.
    pub fn threading_of(&self, kind: &str, mode: Option<Mode>) -> Option<Threading> {
        let threading = self.threading(kind)?;
        Some(Threading { mode: mode.unwrap_or(threading.mode), ..threading })
    }

    /// How threads of this type are built; `None` for a type that is not configured.
    pub fn threading(&self, kind: &str) -> Option<Threading> {
        self.config.types.get(kind).map(crate::config::SubjectType::threading)
    }

    /// Takes no more writes and waits until everything taken is safe, and the background work is
    /// finished.
    pub async fn close(&self) {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            cluster.close().await;
        }
        self.journal.close().await;
        for task in self.background.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            task.abort();
        }
    }
}

fn weights(config: &Config) -> WeightsByType {
    config.types.iter().map(|(name, kind)| (name.clone(), kind.weights())).collect()
}

/// Everything in the data directory.
fn embedded(config: &Config, clock: &Clock) -> anyhow::Result<Parts> {
    let data = &config.data;
    std::fs::create_dir_all(data).with_context(|| format!("cannot make the data directory {}", data.display()))?;
    let file = data.join("gailou.db");
    let store = Sqlite::open(&file, weights(config)).with_context(|| format!("cannot open {}", file.display()))?;
    let store = Arc::new(store);
    tracing::info!(file = %file.display(), "store: SQLite, journal: the store's own group commit");
    let readers = Arc::new(Readers::new());
    let pages = Arc::new(Pages::new(clock.clone(), readers.clone()));
    let events = Arc::new(Memory::new());
    let on_commit = {
        let (pages, events) = (pages.clone(), events.clone());
        Box::new(move |persisted: &Persisted| {
            events.keep_now(events::links(persisted));
            pages.committed(&persisted.changed);
        })
    };
    let journal = Arc::new(Direct::start(store.clone(), clock.clone(), on_commit)?);
    Ok(Parts {
        store: store.clone(),
        books: store,
        journal,
        pages,
        feed: Arc::new(Feed::new(1)),
        readers,
        heat: Arc::new(Local::default()),
        events,
        lease: Some(Lease { node: 0, until: None }),
        #[cfg(feature = "cluster")]
        cluster: None,
    })
}

/// What pushes to the edge that is configured.
fn pusher(config: &Config, role: Role, clock: &Clock, parts: &Parts, app: &Weak<App>) -> Option<Arc<Pusher>> {
    let (Some(url), Some(secret)) = (&config.edge.url, &config.edge.secret) else { return None };
    if !role.works() {
        return None;
    }
    tracing::info!(url, "edge: pages of hot subjects and the dictionary are pushed");
    let edge: Arc<dyn Edge> = Arc::new(Worker::new(url, secret.clone(), clock.clone()));
    Some(Arc::new(Pusher {
        edge,
        heat: parts.heat.clone(),
        source: Arc::new(Inside::new(app.clone())),
        readers: parts.readers.clone(),
        hot_per_minute: config.edge.hot_per_minute,
        fresh_for: config.edge.fresh_for,
        figures: push::Figures::default(),
    }))
}

async fn sweep(app: Weak<App>) {
    let mut tick = tokio::time::interval(SWEEP);
    loop {
        tick.tick().await;
        let Some(app) = app.upgrade() else { return };
        if let Err(error) = app.journal.append(Event::Sweep).await {
            tracing::warn!(%error, "sweep");
        }
        app.limits.forget_idle();
    }
}

/// Takes the dictionary over when another process has changed it.
#[cfg(feature = "cluster")]
async fn follow_words(app: Weak<App>) {
    let mut tick = tokio::time::interval(WORDS);
    loop {
        tick.tick().await;
        let Some(app) = app.upgrade() else { return };
        match app.store.words_version().await {
            Ok(version) if version == app.words().version() => {}
            Ok(_) => {
                if let Err(error) = app.reload_words().await {
                    tracing::warn!(error = format!("{error:#}"), "the dictionary cannot be taken");
                }
            }
            Err(error) => tracing::warn!(%error, "the dictionary's version cannot be read"),
        }
        app.limits.forget_idle();
    }
}
