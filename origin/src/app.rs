//! What the origin consists of, and the one place that chooses adapters.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use anyhow::Context;
use gailou_shared::cursor::CursorKey;
use gailou_shared::id::SubjectKey;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::TokenKey;
use gailou_shared::wire::SubjectState;
use gailou_shared::words::Dictionary;

use crate::cache::Pages;
use crate::clock::Clock;
use crate::config::Config;
use crate::ids::Ids;
use crate::journal::Journal;
use crate::journal::direct::Direct;
use crate::limits::Limits;
use crate::service::snapshots::Snapshots;
use crate::store::sqlite::{Sqlite, WeightsByType};
use crate::store::{Event, Store};

/// Everything a request needs.
#[derive(Debug)]
pub struct App {
    pub config: Config,
    pub clock: Clock,
    pub store: Arc<dyn Store>,
    pub journal: Arc<dyn Journal>,
    pub ids: Ids,
    pub pages: Arc<Pages>,
    pub snapshots: Snapshots,
    /// Whether subjects take comments, and their own modes, for a second; dropped when it changes here.
    pub subject_states: moka::sync::Cache<SubjectKey, (SubjectState, Option<Mode>)>,
    pub limits: Limits,
    pub cursor_key: CursorKey,
    pub token_key: TokenKey,
    /// Signs guests' tokens; the token key itself where that can sign.
    pub guest_key: TokenKey,
    words: RwLock<Arc<Dictionary>>,
}

/// How often what has outlived its time is forgotten.
const SWEEP: Duration = Duration::from_secs(600);

/// How long a subject's state is believed.
const STATES: Duration = Duration::from_secs(1);

impl App {
    /// Opens the data directory (made when it is missing), brings its tables up to date and starts
    /// the writer thread.
    ///
    /// # Errors
    /// When the directory cannot be used, or the configuration's keys are no keys.
    pub async fn open(config: Config) -> anyhow::Result<Arc<Self>> {
        Self::open_at(config, Clock::system()).await
    }

    /// The same by another clock.
    ///
    /// # Errors
    /// See [`App::open`].
    pub async fn open_at(config: Config, clock: Clock) -> anyhow::Result<Arc<Self>> {
        let data = &config.data;
        std::fs::create_dir_all(data).with_context(|| format!("cannot make the data directory {}", data.display()))?;
        let weights: WeightsByType = config.types.iter().map(|(name, kind)| (name.clone(), kind.weights())).collect();
        let file = data.join("gailou.db");
        let store = Sqlite::open(&file, weights).with_context(|| format!("cannot open {}", file.display()))?;
        let store: Arc<dyn Store> = Arc::new(store);
        tracing::info!(file = %file.display(), "store: SQLite, journal: the store's own group commit");

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
        let pages = Arc::new(Pages::new());
        let on_commit = {
            let pages = pages.clone();
            Box::new(move |changed: &[_]| pages.committed(changed))
        };
        let journal: Arc<dyn Journal> = Arc::new(Direct::start(store.clone(), clock.clone(), on_commit)?);
        let app = Arc::new(Self {
            limits: Limits::new(&config.limits),
            ids: Ids::new(0, last),
            cursor_key: CursorKey::new(&cursor_secret),
            token_key,
            guest_key,
            words: RwLock::default(),
            snapshots: Snapshots::new(),
            subject_states: moka::sync::Cache::builder().max_capacity(10_000).time_to_live(STATES).build(),
            pages,
            journal,
            store,
            clock,
            config,
        });
        app.reload_words().await?;
        tokio::spawn(sweep(Arc::downgrade(&app)));
        Ok(app)
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

    /// Takes no more writes and waits until everything taken is on disk.
    pub async fn close(&self) {
        self.journal.close().await;
    }
}

async fn sweep(app: std::sync::Weak<App>) {
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
