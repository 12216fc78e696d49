//! What a request may use: ports, keys, and small services in memory.
//!
//! Starts nothing and chooses nothing: [`crate::bootstrap`] puts the parts together. Promise: no
//! loop, no driver and no HTTP type is reachable from here.

pub mod account_cache;
pub mod admission;
pub mod avatars;
pub mod change_feed;
pub mod claimed_addresses;
pub mod compressed_bodies;
pub mod degrade;
pub mod erased_members;
pub mod guest_activity;
pub mod media;
pub mod page_cache;
pub mod ranked_snapshots;
pub mod rate_limits;
pub mod read_counters;
pub mod redacted_store;
pub mod refused_sites;
pub mod refused_texts;
pub mod settings;
pub mod sign_in;
pub mod standings;
pub mod taken_names;
pub mod verified_tokens;
pub mod visitor_writes;
pub mod write_health;

use std::sync::Arc;

use gailou_shared::cursor::CursorKey;
use gailou_shared::id::{CommentId, IMPORT_NODE, SubjectKey};
use gailou_shared::member_keys::MemberKeys;
use gailou_shared::path::{Mode, Threading};
use gailou_shared::token::{Member, VerifiedToken};
use gailou_shared::word_filter::Dictionary;
use metrics::{describe_counter, describe_gauge, gauge};
use parking_lot::RwLock;
use tokio::sync::{Mutex, Semaphore};

use crate::clock::Clock;
use crate::config::Config;
use crate::domain::altcha::AltchaKey;
use crate::domain::id_generator::IdGenerator;
use crate::domain::member_standing::is_issued_before;
use crate::domain::network_digest::NetworkKey;
use crate::domain::row::{StoredDictionary, StoredSettingChanges, SubjectRules};
use crate::domain::unsubscribe::UnsubscribeKey;
use crate::domain::visitor::VisitorKey;
use crate::ports::classifier::Classifier;
use crate::ports::dependencies::Dependencies;
use crate::ports::journal::Journal;
use crate::ports::mailer::Mailer;
use crate::ports::popularity::Popularity;
use crate::ports::revisions::Revisions;
use crate::ports::search_index::SearchIndex;
use crate::ports::store::{Store, Tables};
use crate::ports::turnstile::TurnstileVerifier;
use crate::state::account_cache::{ACCOUNT_COUNT, AccountCache};
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
use crate::state::refused_sites::RefusedSites;
use crate::state::refused_texts::RefusedTextQueue;
use crate::state::settings::CurrentSettings;
use crate::state::sign_in::SignIn;
use crate::state::standings::MemberStandings;
use crate::state::taken_names::TakenNames;
use crate::state::verified_tokens::VerifiedTokens;
use crate::state::write_health::WriteHealth;
use crate::telemetry;
use crate::telemetry::Collector;

/// Challenges of guests, by `outcome`.
pub const CHALLENGE_COUNT: &str = "gailou_challenges_total";
/// Texts that the classifier was asked about, by `outcome`.
pub const CLASSIFIED_COUNT: &str = "gailou_classified_total";

/// Tries of deliveries to webhooks, by `outcome`.
pub const WEBHOOK_TRY_COUNT: &str = "gailou_webhook_tries_total";
/// Events for which too many deliveries of a webhook waited.
pub const WEBHOOK_DROPPED_COUNT: &str = "gailou_webhook_dropped_total";
/// Webhooks whose last try failed.
pub const WEBHOOKS_FAILING: &str = "gailou_webhooks_failing";

/// What a process does. Embedded, one process serves and runs the jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessRole {
    /// Answers requests and runs the jobs.
    All,
    /// Answers requests.
    Serve,
    /// Runs the jobs: writes the records of the broker into the tables.
    Job,
    /// Runs one command of the command line.
    Command,
}

impl ProcessRole {
    /// Whether it answers requests.
    pub const fn serves(self) -> bool {
        matches!(self, Self::All | Self::Serve)
    }

    /// Whether it runs the jobs.
    pub const fn runs_jobs(self) -> bool {
        matches!(self, Self::All | Self::Job)
    }
}

/// Everything that a request needs.
#[derive(Debug)]
pub struct AppState {
    pub config: Config,
    pub role: ProcessRole,
    pub clock: Clock,
    pub store: Arc<dyn Store>,
    /// The tables under the store: settings, the change feed, transfers and checks are never cached.
    pub tables: Arc<dyn Tables>,
    pub journal: Arc<dyn Journal>,
    /// Whether the journal stores what it is given.
    pub write_health: Arc<WriteHealth>,
    pub ids: IdGenerator,
    pub page_cache: Arc<PageCache>,
    pub change_feed: Arc<ChangeFeed>,
    pub read_counters: Arc<ReadCounters>,
    pub popularity: Arc<dyn Popularity>,
    pub revisions: Arc<dyn Revisions>,
    /// Finds comments by their texts; `None` where the installation has no search.
    pub search: Option<Arc<dyn SearchIndex>>,
    /// The files of pictures; `None` where the installation takes none.
    pub media: Option<MediaStore>,
    pub snapshots: RankedSnapshots,
    pub erased_members: Arc<ErasedMembers>,
    /// What moderators say of members.
    pub standings: MemberStandings,
    /// Exports of members in progress.
    pub exports: Arc<Semaphore>,
    /// The import in progress: ids are made for one at a time.
    pub imports: Arc<Semaphore>,
    /// Whether subjects take comments, and their own modes, for a second; dropped when it changes here.
    pub subject_rules: moka::sync::Cache<SubjectKey, SubjectRules>,
    /// The subjects of comments, and their own ids where the key is a second one; both never change.
    pub comment_subjects: moka::sync::Cache<CommentId, (SubjectKey, CommentId)>,
    pub rate_limits: RateLimits,
    /// Admits reads that no page in memory answers; the page cache admits its builds by it.
    pub reads: Arc<Admission>,
    /// Admits writes, after their bodies were received.
    pub writes: Arc<Admission>,
    /// What is left out to spare the databases.
    pub degrade: Arc<DegradeSwitches>,
    pub taken_names: TakenNames,
    /// Refused texts that are to be kept for moderators.
    pub refused_texts: Arc<RefusedTextQueue>,
    /// The sites whose pages asked to write and may not.
    pub refused_sites: RefusedSites,
    pub guest_activity: GuestActivity,
    /// Signs the challenges of guests.
    pub altcha_key: AltchaKey,
    /// Hashes the networks that comments are posted from.
    pub network_key: NetworkKey,
    /// Makes the ids of guests who sign nothing.
    pub visitor_key: VisitorKey,
    /// Signs the addresses that end mails.
    pub unsubscribe_key: UnsubscribeKey,
    /// Verifies the tokens of the configured widget.
    pub turnstile: Option<Arc<dyn TurnstileVerifier>>,
    /// Says which texts are spam, where it is configured.
    pub classifier: Option<Arc<dyn Classifier>>,
    /// What the host's service says of its members, where it is configured.
    pub accounts: Option<Arc<AccountCache>>,
    /// Sends mail, where a server is configured.
    pub mailer: Option<Arc<dyn Mailer>>,
    /// Pictures of members by the hashes of their e-mail addresses.
    pub avatars: Avatars,
    /// Signing in to accounts of this installation.
    pub sign_in: SignIn,
    /// The addresses that the host's tokens have lately said.
    pub claimed_addresses: ClaimedAddresses,
    pub cursor_key: CursorKey,
    /// Verify the tokens of the host's members and of guests, and sign those of guests.
    pub member_keys: MemberKeys,
    pub verified_tokens: VerifiedTokens,
    /// The servers and files that this process depends on.
    pub dependencies: Arc<dyn Dependencies>,
    /// The parts that have metrics of their own.
    pub collectors: Vec<Arc<dyn Collector>>,
    /// A mutex that is held to clone the `Arc`, never across an await.
    pub(crate) current_dictionary: RwLock<Arc<Dictionary>>,
    /// The same for the settings that admins change.
    pub(crate) current_settings: RwLock<Arc<CurrentSettings>>,
    /// Held while they are loaded: an older answer of the tables never replaces a newer one.
    pub(crate) settings_load: Mutex<()>,
}

impl AppState {
    /// All metrics in Prometheus' text format.
    pub fn metrics(&self) -> String {
        telemetry::render(|| self.collect_metrics())
    }

    fn collect_metrics(&self) {
        describe_gauge!("gailou_dictionary_version", "Version of the dictionary in force.");
        describe_counter!(CHALLENGE_COUNT, "Challenges of guests, by what became of them.");
        describe_counter!(CLASSIFIED_COUNT, "Texts that the classifier was asked about, by what it said.");
        describe_counter!(ACCOUNT_COUNT, "Members that were looked up at the host's service, by what became of it.");
        describe_counter!(WEBHOOK_TRY_COUNT, "Tries of deliveries to webhooks, by what became of them.");
        describe_counter!(WEBHOOK_DROPPED_COUNT, "Events that a webhook did not get because too many were waiting.");
        describe_gauge!(WEBHOOKS_FAILING, "Webhooks whose last try failed.");
        gauge!("gailou_dictionary_version").set(self.dictionary().version() as f64);
        if let Some(age_ms) = self.change_feed.age_ms(self.now()) {
            describe_gauge!(
                "gailou_change_feed_age_seconds",
                "How long ago all tables were last read for the change feed."
            );
            gauge!("gailou_change_feed_age_seconds").set(age_ms as f64 / 1_000.0);
        }
        self.write_health.collect();
        if self.config.cluster.is_some() && self.role.serves() {
            describe_gauge!(
                "gailou_node_held",
                "Whether this process has a node number, without which it takes no new comments."
            );
            gauge!("gailou_node_held").set(f64::from(u8::from(self.ids.has_lease())));
            describe_gauge!("gailou_node_numbers", "Node numbers that processes can have.");
            gauge!("gailou_node_numbers").set(IMPORT_NODE as f64);
        }
        let process = metrics_process::Collector::default();
        process.describe();
        process.collect();
        for collector in &self.collectors {
            collector.collect();
        }
    }

    /// Unix milliseconds.
    pub fn now(&self) -> u64 {
        self.clock.now()
    }

    /// The dictionary in force.
    pub fn dictionary(&self) -> Arc<Dictionary> {
        self.current_dictionary.read().clone()
    }

    /// Loads the dictionary from the tables.
    ///
    /// # Errors
    /// When the tables do not answer, or contain an invalid term.
    pub async fn reload_dictionary(&self) -> anyhow::Result<()> {
        let StoredDictionary { version, terms } = self.tables.read_dictionary().await?;
        let dictionary = Arc::new(Dictionary::build(version, &terms)?);
        *self.current_dictionary.write() = dictionary;
        Ok(())
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<CurrentSettings> {
        self.current_settings.read().clone()
    }

    /// Loads what admins have changed of the settings from the tables, and puts it in force. Returns whether anything
    /// changed.
    ///
    /// # Errors
    /// When the tables do not answer.
    pub async fn reload_settings(&self) -> anyhow::Result<bool> {
        let _loading = self.settings_load.lock().await;
        let stored = self.tables.read_setting_changes().await?;
        if stored.version == self.settings().version {
            return Ok(false);
        }
        self.put_settings_in_force(&stored).await?;
        Ok(true)
    }

    /// The same at the start, where there must be a copy before the first change: a process starts with it while the
    /// tables that have the changes are away.
    ///
    /// # Errors
    /// As [`AppState::reload_settings`].
    pub async fn load_settings(&self) -> anyhow::Result<()> {
        let _loading = self.settings_load.lock().await;
        let stored = self.tables.read_setting_changes().await?;
        self.put_settings_in_force(&stored).await
    }

    async fn put_settings_in_force(&self, stored: &StoredSettingChanges) -> anyhow::Result<()> {
        let (current, left_out) = CurrentSettings::new(&self.config, stored)?;
        for refused in &left_out {
            let (version, setting) = (stored.version, refused.name());
            tracing::warn!(
                version,
                setting,
                reason = refused.reason(),
                "Left out {setting} of version {version} of the settings"
            );
        }
        self.rate_limits.change(&current.values.limits);
        self.degrade.change(current.values.degrade.clone());
        self.taken_names.reserve(&current.values.names.reserved);
        *self.current_settings.write() = Arc::new(current);
        self.tables.copy_setting_changes(stored).await;
        Ok(())
    }

    /// The member of a token, with the level and the role that count here; `None` for a token that is refused because it is
    /// too old.
    pub fn accept_token(&self, token: VerifiedToken) -> Option<Member> {
        let not_before = self.settings().values.tokens.not_before;
        let is_refused = not_before.is_some_and(|time| is_issued_before(token.issued_at, time));
        if is_refused { None } else { self.standings.apply(token) }
    }

    /// Whether a page of this web origin may write on subjects of this type.
    pub fn may_write(&self, kind: &str, origin: &str) -> bool {
        match self.config.types.get(kind).and_then(|kind| kind.cors_origins.as_ref()) {
            Some(sites) => sites.allow(origin),
            None => self.settings().values.sites.allow(origin),
        }
    }

    /// The setting that says which sites may write on subjects of this type.
    pub fn sites_setting(&self, kind: &str) -> String {
        match self.config.types.get(kind).and_then(|kind| kind.cors_origins.as_ref()) {
            Some(_) => format!("types.{kind}.cors_origins"),
            None => "cors.origins (GAILOU_SITES)".to_owned(),
        }
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
}
