//! Opens a process: chooses the adapters, puts the state together, and starts the loops behind it.
//!
//! The one place that names adapters. Without a cluster's addresses everything is embedded
//! (`embedded`); with them the same ports are MySQL, Redis and Kafka ([`cluster`]).

#[cfg(feature = "cluster")]
pub mod cluster;
pub mod data_directory;
mod embedded;
pub mod logging;
mod loop_metrics;
pub mod mail;
pub mod pictures;
pub mod restore;
mod search;
pub mod sign_in;
pub mod token_secret;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use gailou_shared::cursor::CursorKey;
use gailou_shared::id::{CommentId, MemberId};
use parking_lot::RwLock;
use tokio::sync::{Mutex, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::adapters::accounts_http::AccountsClient;
use crate::adapters::classifier::ClassifierClient;
use crate::adapters::cloudflare::{SiteverifyClient, WorkerClient};
use crate::adapters::memory::rate_limits::MemoryRateCounters;
use crate::adapters::object_store::ObjectBlobs;
use crate::adapters::public_address;
use crate::adapters::webhook_client::WebhookClient;
use crate::bootstrap::loop_metrics::LoopMetrics;
use crate::clock::Clock;
use crate::config::Config;
use crate::domain::altcha::AltchaKey;
use crate::domain::id_generator::{IdGenerator, NodeLease};
use crate::domain::network_digest::NetworkKey;
use crate::domain::row::WeightsByType;
use crate::domain::unsubscribe::UnsubscribeKey;
use crate::domain::visitor::VisitorKey;
use crate::http::LocalRenderer;
use crate::jobs::index_comments::IndexMetrics;
use crate::jobs::notify::{EventNotifier, EventQueueMetrics};
use crate::jobs::push::{PushMetrics, Pusher};
use crate::jobs::{
    deliver_webhooks, end_members, follow_change_feed, follow_erasures, follow_standings, index_comments,
    keep_refused_texts, measure_installation, notify, push, rank_again, send_mails, share_read_counts, sweep,
    sweep_media,
};
use crate::ports::accounts::Accounts as _;
use crate::ports::broker::Broker;
use crate::ports::classifier::Classifier;
use crate::ports::dependencies::{Dependencies, ServerSettings};
use crate::ports::failure::Failure;
use crate::ports::journal::Journal;
use crate::ports::popularity::Popularity;
use crate::ports::rate_limits::RateCounters;
use crate::ports::revisions::Revisions;
use crate::ports::store::{DeadReactions, Store, TableBackup, Tables};
use crate::ports::turnstile::TurnstileVerifier;
use crate::state::account_cache::AccountCache;
use crate::state::admission::Admission;
use crate::state::avatars::Avatars;
use crate::state::change_feed::ChangeFeed;
use crate::state::claimed_addresses::ClaimedAddresses;
use crate::state::degrade::DegradeSwitches;
use crate::state::erased_members::ErasedMembers;
use crate::state::guest_activity::GuestActivity;
use crate::state::media::MediaStore;
use crate::state::page_cache::PageCache;
use crate::state::ranked_snapshots::RankedSnapshots;
use crate::state::rate_limits::RateLimits;
use crate::state::read_counters::ReadCounters;
use crate::state::redacted_store::RedactedStore;
use crate::state::refused_sites::RefusedSites;
use crate::state::settings::CurrentSettings;
use crate::state::standings::MemberStandings;
use crate::state::taken_names::TakenNames;
use crate::state::verified_tokens::VerifiedTokens;
use crate::state::write_health::{WatchedJournal, WriteHealth};
use crate::state::{AppState, ProcessRole};
use crate::telemetry;
use crate::telemetry::Collector;

/// How long a subject's state may be served from memory.
const SUBJECT_RULES_TTL: Duration = Duration::from_secs(1);
/// Exports of members in progress: 12 MB of texts each at most.
const MAX_EXPORTS: usize = 4;
/// Subjects whose state is kept in memory: about 2 MB.
const MAX_SUBJECT_RULES: u64 = 10_000;
/// Comments whose subject is kept in memory: about 10 MB.
const MAX_COMMENT_SUBJECTS: u64 = 50_000;

/// The adapters of one process, however they were chosen.
struct Adapters {
    store: Arc<dyn Store>,
    tables: Arc<dyn Tables>,
    table_backup: Arc<dyn TableBackup>,
    dependencies: Arc<dyn Dependencies>,
    journal: Arc<dyn Journal>,
    reads: Arc<Admission>,
    writes: Arc<Admission>,
    page_cache: Arc<PageCache>,
    change_feed: Arc<ChangeFeed>,
    read_counters: Arc<ReadCounters>,
    erased_members: Arc<ErasedMembers>,
    popularity: Arc<dyn Popularity>,
    revisions: Arc<dyn Revisions>,
    /// The counts of all processes; `None` where this one is alone.
    shared_rates: Option<Arc<dyn RateCounters>>,
    lease: Option<NodeLease>,
    collectors: Vec<Arc<dyn Collector>>,
    #[cfg(feature = "cluster")]
    cluster: Option<Arc<cluster::Cluster>>,
}

/// A process of Gailou: the state that its requests use, and the loops behind them.
#[derive(Debug)]
pub struct Process {
    pub state: Arc<AppState>,
    /// What copies the tables.
    pub table_backup: Arc<dyn TableBackup>,
    /// What exists in a cluster alone.
    #[cfg(feature = "cluster")]
    pub cluster: Option<Arc<cluster::Cluster>>,
    /// Ends the loops of [`Process::tasks`].
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Deref for Process {
    type Target = Arc<AppState>;

    fn deref(&self) -> &Self::Target {
        &self.state
    }
}

/// Opens everything in one process, by the system's clock. See [`open_as`].
///
/// # Errors
/// See [`open_as`].
pub async fn open(config: Config) -> anyhow::Result<Arc<Process>> {
    open_as(config, ProcessRole::All, Clock::system()).await
}

/// Opens what the configuration names, and starts the loops of this role.
///
/// Embedded, a missing data directory is created and its tables are migrated. In a cluster only
/// [`ProcessRole::All`] migrates; the other roles refuse tables of another version.
///
/// # Errors
/// When the directory or a server cannot be used, or a configured key is not a key.
pub async fn open_as(config: Config, role: ProcessRole, clock: Clock) -> anyhow::Result<Arc<Process>> {
    telemetry::install();
    let adapters = choose_adapters(&config, role, &clock).await?;
    let tables = &adapters.tables;
    let cursor_secret = match &config.cursor_secret {
        Some(secret) => secret.expose().as_bytes().to_vec(),
        None => tables.read_secret("cursor_secret", rand::random()).await?,
    };
    let member_keys = token_secret::member_keys(&config, &**tables).await?;
    let sign_in = sign_in::open(&config, &**tables).await?;
    // In a cluster the row of a node number says where its ids begin.
    let last_id = if config.cluster.is_some() { None } else { tables.read_last_id().await? };
    let metrics = LoopMetrics::new(&config, role);
    let mut collectors = adapters.collectors;
    let degrade = Arc::new(DegradeSwitches::new(config.adjustable.degrade.clone(), adapters.reads.clone()));
    collectors.extend([adapters.reads.clone() as Arc<dyn Collector>, adapters.writes.clone(), degrade.clone()]);
    collectors.extend(metrics.collectors());
    let write_health = Arc::<WriteHealth>::default();
    let state = Arc::new(AppState {
        search: search::choose(&config),
        media: media(&config)?,
        rate_limits: RateLimits::new(
            &config.adjustable.limits,
            Arc::new(MemoryRateCounters::default()),
            adapters.shared_rates,
        ),
        taken_names: TakenNames::new(&config.adjustable.names.reserved),
        refused_texts: Arc::default(),
        ids: IdGenerator::new(adapters.lease, last_id.map_or(0, CommentId::created_ms)),
        degrade,
        refused_sites: RefusedSites::default(),
        guest_activity: GuestActivity::default(),
        altcha_key: AltchaKey::new(&cursor_secret),
        network_key: NetworkKey::new(&cursor_secret),
        visitor_key: VisitorKey::new(&cursor_secret),
        unsubscribe_key: UnsubscribeKey::new(&cursor_secret),
        turnstile: turnstile(&config),
        classifier: classifier(&config),
        accounts: accounts(&config),
        mailer: mail::choose(&config)?,
        avatars: Avatars::new(
            pictures::avatar_service(&config),
            pictures::chosen_pictures(&config),
            pictures::addresses(&config, sign_in.key.clone()),
        ),
        sign_in,
        claimed_addresses: ClaimedAddresses::default(),
        cursor_key: CursorKey::new(&cursor_secret),
        member_keys,
        verified_tokens: VerifiedTokens::new(config.auth.audience.clone()),
        current_dictionary: RwLock::default(),
        current_settings: RwLock::new(Arc::new(CurrentSettings::of(0, config.adjustable.clone()))),
        settings_load: Mutex::default(),
        snapshots: RankedSnapshots::new(),
        subject_rules: moka::sync::Cache::builder()
            .max_capacity(MAX_SUBJECT_RULES)
            .time_to_live(SUBJECT_RULES_TTL)
            .build(),
        reads: adapters.reads,
        writes: adapters.writes,
        comment_subjects: moka::sync::Cache::new(MAX_COMMENT_SUBJECTS),
        page_cache: adapters.page_cache,
        standings: MemberStandings::new(adapters.change_feed.databases()),
        change_feed: adapters.change_feed,
        read_counters: adapters.read_counters,
        popularity: adapters.popularity,
        revisions: adapters.revisions,
        journal: Arc::new(WatchedJournal { journal: adapters.journal, health: write_health.clone() }),
        write_health,
        store: Arc::new(RedactedStore::new(adapters.store, adapters.erased_members.clone())),
        erased_members: adapters.erased_members,
        exports: Arc::new(Semaphore::new(MAX_EXPORTS)),
        imports: Arc::new(Semaphore::new(1)),
        tables: adapters.tables,
        dependencies: adapters.dependencies,
        collectors,
        clock,
        config,
        role,
    });
    state.reload_dictionary().await?;
    state.load_settings().await.context("the settings that admins have changed")?;
    if let Err(error) = state.erased_members.follow(&*state.tables).await {
        if !error.is_away() {
            return Err(error.into());
        }
        // The tokens of erased and merged members are refused, and what is erased is left out, by what a copy knows.
        state.erased_members.read_copy(&*state.tables).await.with_context(|| format!("who is erased: {error}"))?;
    }
    let process = Process {
        table_backup: adapters.table_backup,
        #[cfg(feature = "cluster")]
        cluster: adapters.cluster,
        stop: CancellationToken::new(),
        tasks: TaskTracker::new(),
        state,
    };
    process.start(metrics).await?;
    Ok(Arc::new(process))
}

/// What is wrong with the settings of the servers of a cluster; an embedded store has none.
///
/// # Errors
/// For an address that is none.
#[cfg(feature = "cluster")]
pub async fn check_settings(config: &Config) -> anyhow::Result<Vec<ServerSettings>> {
    match &config.cluster {
        Some(settings) => cluster::check_settings(settings).await,
        None => Ok(Vec::new()),
    }
}

/// This build has no clusters.
///
/// # Errors
/// Never.
#[cfg(not(feature = "cluster"))]
pub async fn check_settings(_: &Config) -> anyhow::Result<Vec<ServerSettings>> {
    Ok(Vec::new())
}

#[cfg(feature = "cluster")]
async fn choose_adapters(config: &Config, role: ProcessRole, clock: &Clock) -> anyhow::Result<Adapters> {
    match &config.cluster {
        Some(settings) => cluster::open(config, settings, role, clock).await,
        None => embedded::open(config, clock),
    }
}

#[cfg(not(feature = "cluster"))]
#[expect(clippy::unused_async, reason = "the adapters of a cluster wait for their servers")]
async fn choose_adapters(config: &Config, _: ProcessRole, clock: &Clock) -> anyhow::Result<Adapters> {
    embedded::open(config, clock)
}

impl Process {
    /// Starts the loops of this role.
    async fn start(&self, metrics: LoopMetrics) -> anyhow::Result<()> {
        let state = &self.state;
        self.spawn(telemetry::run_upkeep());
        self.spawn(follow_erasures::run(Arc::downgrade(&state.erased_members), state.tables.clone()));
        if state.role.serves() {
            #[cfg(feature = "cluster")]
            let rewinds = self.cluster.as_ref().map(|cluster| cluster.rewinds());
            #[cfg(not(feature = "cluster"))]
            let rewinds = None;
            for database in 0..state.standings.databases() {
                // While a database does not answer, the loop says so.
                let _ = state.standings.follow(&*state.tables, database, state.now()).await;
                self.spawn(follow_standings::run(Arc::downgrade(state), database));
            }
            self.spawn(follow_standings::reload(Arc::downgrade(state)));
            self.spawn(keep_refused_texts::run(Arc::downgrade(state), state.refused_texts.clone()));
            for database in 0..state.change_feed.databases() {
                // While a database does not answer, the loop says so.
                let _ = state.change_feed.read_database(&*state.tables, &state.clock, database).await;
                let (feed, rewinds, clock) = (Arc::downgrade(&state.change_feed), rewinds.clone(), state.clock.clone());
                self.spawn(follow_change_feed::run(feed, state.tables.clone(), rewinds, clock, database));
            }
            let edge = &state.config.edge;
            let pushed_elsewhere = edge.url.is_some() && metrics.push.is_none();
            let declared = pushed_elsewhere.then_some((edge.hot_per_minute, edge.fresh_for));
            self.spawn(share_read_counts::run(state.read_counters.clone(), state.popularity.clone(), declared));
        }
        if let Some(pusher) = metrics.push.and_then(|metrics| pusher(state, metrics)) {
            self.spawn(push::run(Arc::new(pusher)));
        }
        if let Some(metrics) = metrics.jobs {
            self.start_indexing(metrics.index);
            self.start_notifying(metrics.events);
            self.spawn(measure_installation::run(Arc::downgrade(state), metrics.installation));
            self.spawn(sweep::run(Arc::downgrade(state)));
            self.spawn(sweep_media::run(Arc::downgrade(state)));
            self.spawn(end_members::run(Arc::downgrade(state)));
            let sender = Arc::new(WebhookClient::new(state.config.webhooks.allow_private));
            self.spawn(deliver_webhooks::run(Arc::downgrade(state), sender));
        }
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            cluster.start(self);
        }
        Ok(())
    }

    /// Starts what notifies members of what happened.
    fn start_notifying(&self, metrics: Arc<EventQueueMetrics>) {
        let state = &self.state;
        let sender = mail::sender(state).map(Arc::new);
        let notifier = Arc::new(EventNotifier {
            tables: state.tables.clone(),
            databases: state.change_feed.databases(),
            webhooks: state.tables.clone(),
            erased_members: state.erased_members.clone(),
            sends_mail: sender.is_some(),
            mails_owner: sender.as_ref().is_some_and(|sender| sender.owner.is_some()),
            clock: state.clock.clone(),
            name: hex::encode(rand::random::<[u8; 8]>()),
            metrics,
        });
        for database in 0..state.change_feed.databases() {
            self.spawn(notify::run(notifier.clone(), database));
            if let Some(sender) = &sender {
                self.spawn(send_mails::run(sender.clone(), database));
            }
        }
    }

    /// Ranks comments again, when the weights have changed, for as long as the process runs. To be called of a server;
    /// a command leaves it to `gailou migrate`.
    pub fn start_ranking(&self) {
        self.spawn(rank_again::run(self.state.tables.clone()));
    }

    /// Keeps the search index up to date. To be called where no other process does it.
    pub fn start_indexing(&self, metrics: Arc<IndexMetrics>) {
        self.spawn(index_comments::run(search::indexer(&self.state, metrics)));
    }

    /// Runs a task until the process is closed.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let stop = self.stop.clone();
        self.tasks.spawn(async move { stop.run_until_cancelled(task).await });
    }

    /// Completes with the reason when the jobs cannot go on; never, otherwise.
    pub async fn failure(&self) -> anyhow::Error {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            return cluster.failure().await;
        }
        std::future::pending().await
    }

    /// The broker; `None` without a cluster.
    pub fn broker(&self) -> Option<Arc<dyn Broker>> {
        #[cfg(feature = "cluster")]
        return self.cluster.as_ref().map(|cluster| cluster.broker.clone() as Arc<dyn Broker>);
        #[cfg(not(feature = "cluster"))]
        None
    }

    /// What the tables know of reactions among the dead letters; `None` without a cluster.
    pub fn dead_reactions(&self) -> Option<Arc<dyn DeadReactions>> {
        #[cfg(feature = "cluster")]
        return self.cluster.as_ref().map(|cluster| cluster.tables.clone() as Arc<dyn DeadReactions>);
        #[cfg(not(feature = "cluster"))]
        None
    }

    /// Takes no more writes, waits until everything acknowledged is safe, and ends the loops.
    pub async fn close(&self) {
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            cluster.close_jobs().await;
        }
        self.state.journal.close().await;
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
        #[cfg(feature = "cluster")]
        if let Some(cluster) = &self.cluster {
            cluster.release_node(&self.state.ids).await;
        }
    }
}

/// The weights of the configured types.
pub(crate) fn weights(config: &Config) -> WeightsByType {
    config.types.iter().map(|(name, kind)| (name.clone(), kind.weights())).collect()
}

/// The service that verifies the tokens of the configured widget.
fn turnstile(config: &Config) -> Option<Arc<dyn TurnstileVerifier>> {
    let settings = &config.turnstile;
    let secret = settings.secret.clone()?;
    Some(Arc::new(SiteverifyClient::new(&settings.siteverify_url, secret)))
}

/// The service that says which texts are spam.
fn classifier(config: &Config) -> Option<Arc<dyn Classifier>> {
    ClassifierClient::new(&config.classifier).map(|client| Arc::new(client) as Arc<dyn Classifier>)
}

/// What the host's service says of its members.
fn accounts(config: &Config) -> Option<Arc<AccountCache>> {
    let (settings, client) = (&config.accounts, AccountsClient::new(&config.accounts)?);
    Some(Arc::new(AccountCache::new(Arc::new(client), settings.max_wait(), settings.fresh_for())))
}

/// Whether the host's service answers, about a member that it need not know; `None` without one.
pub async fn check_accounts(config: &Config) -> Option<Result<(), Failure>> {
    let client = AccountsClient::new(&config.accounts)?;
    let members: Vec<MemberId> = MemberId::new(1).into_iter().collect();
    Some(client.look_up(&members).await.map(drop))
}

/// Whether an address at which this installation is to be reached answers; the time of its server, in Unix milliseconds.
///
/// # Errors
/// Why it does not.
pub async fn check_address(url: &str) -> Result<Option<u64>, Failure> {
    public_address::ask(url).await
}

/// Where the files of pictures are; `None` where there are none.
///
/// # Errors
/// When a directory cannot be made, or the settings of a bucket do not fit together.
pub fn media(config: &Config) -> anyhow::Result<Option<MediaStore>> {
    let data = config.cluster.is_none().then_some(config.data.as_path());
    let Some(place) = config.media.place(data) else { return Ok(None) };
    let blobs = ObjectBlobs::open(&place, &config.media).context("where the files of pictures are (media.url)")?;
    Ok(Some(MediaStore::new(Arc::new(blobs))))
}

/// The pusher to the configured edge.
fn pusher(state: &Arc<AppState>, metrics: Arc<PushMetrics>) -> Option<Pusher> {
    let edge = &state.config.edge;
    let (url, secret) = (edge.url.as_ref()?, edge.secret.as_ref()?);
    tracing::info!(url, "Pushing pages of popular subjects and the dictionary to the edge at {url}");
    Some(Pusher {
        edge: Arc::new(WorkerClient::new(url, secret.clone(), state.clock.clone())),
        popularity: state.popularity.clone(),
        source: Arc::new(LocalRenderer::new(Arc::downgrade(state))),
        read_counters: state.read_counters.clone(),
        hot_per_minute: edge.hot_per_minute,
        fresh_for: edge.fresh_for,
        metrics,
    })
}
