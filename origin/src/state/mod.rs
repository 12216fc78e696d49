//! What the origin consists of, and the one place that chooses adapters.
//!
//! Without a cluster's addresses everything is embedded: SQLite, and the store's own group commit
//! for a journal. With them the same ports stand on MySQL, Redis and Kafka ([`cluster`]).

pub mod change_feed;
pub mod page_cache;
pub mod ranked_snapshots;
pub mod rate_limits;

use std::sync::{Arc, PoisonError, RwLock};

use gailou_shared::cursor::CursorKey;
use gailou_shared::id::SubjectKey;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::TokenKey;
use gailou_shared::wire::SubjectState;
use gailou_shared::words::Dictionary;
use tokio::task::JoinHandle;

use crate::clock::Clock;
use crate::config::Config;
use crate::domain::id_generator::IdGenerator;
use crate::domain::reconcile::Reconcile;
use crate::http::events::Streams;
use crate::jobs::push::Pusher;
use crate::ports::broker::Broker;
use crate::ports::journal::Journal;
use crate::ports::popularity::{Popularity, ReadCounters};
use crate::ports::revisions::Revisions;
use crate::ports::store::Store;
use crate::state::change_feed::ChangeFeed;
use crate::state::page_cache::PageCache;
use crate::state::ranked_snapshots::RankedSnapshots;
use crate::state::rate_limits::RateLimits;
use crate::telemetry::Exposition;

/// What a process of a cluster does. Embedded, one process does everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// Answers requests and works behind them.
    All,
    /// Answers requests.
    Serve,
    /// Works behind the log.
    Job,
    /// Carries out one command.
    Command,
}

impl ProcessRole {
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
pub struct AppState {
    pub config: Config,
    pub role: ProcessRole,
    pub clock: Clock,
    pub store: Arc<dyn Store>,
    /// The tables themselves, for the reconciler.
    pub reconciler: Arc<dyn Reconcile>,
    pub journal: Arc<dyn Journal>,
    pub ids: IdGenerator,
    pub page_cache: Arc<PageCache>,
    pub change_feed: Arc<ChangeFeed>,
    pub read_counters: Arc<ReadCounters>,
    pub popularity: Arc<dyn Popularity>,
    pub revisions: Arc<dyn Revisions>,
    pub streams: Streams,
    /// What pushes to the edge, where one is known and this process works behind requests.
    pub pusher: Option<Arc<Pusher>>,
    pub snapshots: RankedSnapshots,
    /// Whether subjects take comments, and their own modes, for a second; dropped when it changes here.
    pub subject_states: moka::sync::Cache<SubjectKey, (SubjectState, Option<Mode>)>,
    pub rate_limits: RateLimits,
    pub cursor_key: CursorKey,
    pub token_key: TokenKey,
    /// Signs guests' tokens; the token key itself where that can sign.
    pub guest_key: TokenKey,
    /// What only a cluster has.
    #[cfg(feature = "cluster")]
    pub cluster: Option<crate::bootstrap::cluster::Cluster>,
    pub(crate) words: RwLock<Arc<Dictionary>>,
    /// What goes on in the background; ends with the app.
    pub(crate) background: std::sync::Mutex<Vec<JoinHandle<()>>>,
}

impl AppState {
    /// Runs a task until the app is closed.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
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
            [(String::new(), self.dictionary().version())],
        );
        text.gauge(
            "gailou_changes_behind_ms",
            "How long ago all tables were last read for the change feed.",
            self.change_feed.behind(self.now()).map(|behind| (String::new(), behind)),
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
    pub fn log(&self) -> Option<Arc<dyn Broker>> {
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
    pub fn dictionary(&self) -> Arc<Dictionary> {
        self.words.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the dictionary from the store.
    ///
    /// # Errors
    /// When the store does not answer, or holds terms that are none.
    pub async fn reload_dictionary(&self) -> anyhow::Result<()> {
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
