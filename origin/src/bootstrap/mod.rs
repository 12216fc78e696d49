//! Chooses the adapters and starts the loops: the one place that names both.

#[cfg(feature = "cluster")]
pub mod cluster;

use std::sync::{Arc, RwLock, Weak};
use std::time::Duration;

use anyhow::Context;
use gailou_shared::cursor::CursorKey;
use gailou_shared::token::TokenKey;

use crate::adapters::cloudflare::WorkerClient;
use crate::adapters::embedded_journal::EmbeddedJournal;
use crate::adapters::memory::popularity::MemoryPopularity;
use crate::adapters::memory::revisions::MemoryRevisions;
use crate::adapters::sqlite::SqliteStore;
use crate::clock::Clock;
use crate::config::Config;
use crate::domain::id_generator::{IdGenerator, NodeLease};
use crate::domain::operation::{Operation, Persisted};
use crate::domain::reconcile::Reconcile;
use crate::domain::row::WeightsByType;
use crate::http::events::Streams;
use crate::http::local_renderer::LocalRenderer;
use crate::jobs::push;
use crate::jobs::push::Pusher;
use crate::ports::edge::EdgeClient;
use crate::ports::journal::Journal;
use crate::ports::popularity::{Popularity, ReadCounters};
use crate::ports::revisions::Revisions;
use crate::ports::store::Store;
use crate::ports::{popularity, revisions};
use crate::state::change_feed::ChangeFeed;
use crate::state::page_cache::PageCache;
use crate::state::ranked_snapshots::RankedSnapshots;
use crate::state::rate_limits::RateLimits;
use crate::state::{AppState, ProcessRole, change_feed};

/// What the adapters are, however they were chosen.
pub(crate) struct Adapters {
    store: Arc<dyn Store>,
    books: Arc<dyn Reconcile>,
    journal: Arc<dyn Journal>,
    pages: Arc<PageCache>,
    feed: Arc<ChangeFeed>,
    readers: Arc<ReadCounters>,
    heat: Arc<dyn Popularity>,
    events: Arc<dyn Revisions>,
    lease: Option<NodeLease>,
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

/// Everything in one process, by the system's clock. See [`open_as`].
///
/// # Errors
/// See [`open_as`].
pub async fn open(config: Config) -> anyhow::Result<Arc<AppState>> {
    open_as(config, ProcessRole::All, Clock::system()).await
}

/// Opens what the configuration names, and starts what this role does in the background.
///
/// Embedded, the data directory is made when it is missing and its tables are brought up to
/// date. In a cluster only [`Role::All`] does so; the others refuse tables that are not.
///
/// # Errors
/// When the directory or a server cannot be used, or the configuration's keys are no keys.
pub async fn open_as(config: Config, role: ProcessRole, clock: Clock) -> anyhow::Result<Arc<AppState>> {
    let parts = parts(&config, role, &clock).await?;
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
    let app = Arc::new_cyclic(|app| AppState {
        pusher: pusher(&config, role, &clock, &parts, app),
        rate_limits: RateLimits::new(&config.limits),
        ids: IdGenerator::new(parts.lease, last),
        cursor_key: CursorKey::new(&cursor_secret),
        token_key,
        guest_key,
        words: RwLock::default(),
        background: std::sync::Mutex::default(),
        snapshots: RankedSnapshots::new(),
        subject_states: moka::sync::Cache::builder().max_capacity(10_000).time_to_live(STATES).build(),
        page_cache: parts.pages,
        change_feed: parts.feed,
        read_counters: parts.readers,
        popularity: parts.heat,
        revisions: parts.events,
        streams: Streams::default(),
        journal: parts.journal,
        store: parts.store,
        reconciler: parts.books,
        #[cfg(feature = "cluster")]
        cluster: parts.cluster,
        clock,
        config,
        role,
    });
    app.reload_dictionary().await?;
    if role.serves() {
        change_feed::begin(&app.change_feed, &*app.store, &app.clock).await?;
        for database in 0..app.change_feed.databases() {
            let feed = Arc::downgrade(&app.change_feed);
            app.spawn(change_feed::follow(feed, app.store.clone(), app.clock.clone(), database));
        }
    }
    if role.serves() {
        let edge = &app.config.edge;
        let elsewhere = edge.url.is_some() && app.pusher.is_none();
        let hot = elsewhere.then_some((edge.hot_per_minute, edge.fresh_for));
        app.spawn(popularity::keep(app.read_counters.clone(), app.popularity.clone(), hot));
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
async fn parts(config: &Config, role: ProcessRole, clock: &Clock) -> anyhow::Result<Adapters> {
    match &config.cluster {
        Some(settings) => cluster::open(config, settings, role, clock).await,
        None => embedded(config, clock),
    }
}

#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "a cluster's adapters wait for their servers")]
async fn parts(config: &Config, _: ProcessRole, clock: &Clock) -> anyhow::Result<Adapters> {
    embedded(config, clock)
}

fn weights(config: &Config) -> WeightsByType {
    config.types.iter().map(|(name, kind)| (name.clone(), kind.weights())).collect()
}

/// Everything in the data directory.
fn embedded(config: &Config, clock: &Clock) -> anyhow::Result<Adapters> {
    let data = &config.data;
    std::fs::create_dir_all(data).with_context(|| format!("cannot make the data directory {}", data.display()))?;
    let file = data.join("gailou.db");
    let store = SqliteStore::open(&file, weights(config)).with_context(|| format!("cannot open {}", file.display()))?;
    let store = Arc::new(store);
    tracing::info!(file = %file.display(), "store: SQLite, journal: the store's own group commit");
    let readers = Arc::new(ReadCounters::new());
    let pages = Arc::new(PageCache::new(clock.clone(), readers.clone()));
    let events = Arc::new(MemoryRevisions::new());
    let on_commit = {
        let (pages, events) = (pages.clone(), events.clone());
        Box::new(move |persisted: &Persisted| {
            events.keep_now(revisions::revisions_of(persisted));
            pages.committed(&persisted.changed);
        })
    };
    let journal = Arc::new(EmbeddedJournal::start(store.clone(), clock.clone(), on_commit)?);
    Ok(Adapters {
        store: store.clone(),
        books: store,
        journal,
        pages,
        feed: Arc::new(ChangeFeed::new(1)),
        readers,
        heat: Arc::new(MemoryPopularity::default()),
        events,
        lease: Some(NodeLease { node: 0, until: None }),
        #[cfg(feature = "cluster")]
        cluster: None,
    })
}

/// What pushes to the edge that is configured.
fn pusher(
    config: &Config,
    role: ProcessRole,
    clock: &Clock,
    parts: &Adapters,
    app: &Weak<AppState>,
) -> Option<Arc<Pusher>> {
    let (Some(url), Some(secret)) = (&config.edge.url, &config.edge.secret) else { return None };
    if !role.works() {
        return None;
    }
    tracing::info!(url, "edge: pages of hot subjects and the dictionary are pushed");
    let edge: Arc<dyn EdgeClient> = Arc::new(WorkerClient::new(url, secret.clone(), clock.clone()));
    Some(Arc::new(Pusher {
        edge,
        heat: parts.heat.clone(),
        source: Arc::new(LocalRenderer::new(app.clone())),
        readers: parts.readers.clone(),
        hot_per_minute: config.edge.hot_per_minute,
        fresh_for: config.edge.fresh_for,
        figures: push::PushMetrics::default(),
    }))
}

async fn sweep(app: Weak<AppState>) {
    let mut tick = tokio::time::interval(SWEEP);
    loop {
        tick.tick().await;
        let Some(app) = app.upgrade() else { return };
        if let Err(error) = app.journal.append(Operation::Sweep).await {
            tracing::warn!(%error, "sweep");
        }
        app.rate_limits.forget_idle();
    }
}

/// Takes the dictionary over when another process has changed it.
#[cfg(feature = "cluster")]
async fn follow_words(app: Weak<AppState>) {
    let mut tick = tokio::time::interval(WORDS);
    loop {
        tick.tick().await;
        let Some(app) = app.upgrade() else { return };
        match app.store.words_version().await {
            Ok(version) if version == app.dictionary().version() => {}
            Ok(_) => {
                if let Err(error) = app.reload_dictionary().await {
                    tracing::warn!(error = format!("{error:#}"), "the dictionary cannot be taken");
                }
            }
            Err(error) => tracing::warn!(%error, "the dictionary's version cannot be read"),
        }
        app.rate_limits.forget_idle();
    }
}
