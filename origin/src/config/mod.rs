//! What an operator can set: one struct per concern; every default together is the embedded mode.
//!
//! Read once at the start and never changed. Opens nothing. Promise: an unknown setting is refused by
//! name, an accepted one is within its bounds, and no `Debug` output shows a secret. The fields'
//! comments are the reference of `config::reference`.

mod accounts;
mod adjustable;
mod allowed_origins;
mod auth;
mod avatars;
mod challenge;
mod classifier;
mod cluster;
mod compat;
mod connections;
mod degrade;
mod edge;
mod hashed_networks;
mod limits;
mod mail;
mod media;
mod names;
mod networks;
mod pages;
mod providers;
pub mod reference;
mod retention;
mod rules;
mod search;
mod secret;
mod settings;
mod sources;
mod subject_types;
mod telemetry;
#[cfg(test)]
mod tests;
mod tokens;
mod trusted_proxies;
mod values;
mod webhooks;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::{env, fs};

pub use accounts::AccountSettings;
pub use adjustable::AdjustableSettings;
pub use allowed_origins::{AllowedOrigins, CorsSettings};
pub use auth::AuthSettings;
pub use avatars::AvatarSettings;
pub use challenge::{ChallengeKind, ChallengeRules, ChallengeSettings, ChallengedGuests, TurnstileSettings};
pub use classifier::{ClassifierKind, ClassifierSettings};
pub use cluster::{
    ClusterSettings, ClusterTuning, KafkaLogin, KafkaSecurity, KafkaServers, SaslMechanism, Transport, Urls,
    mysql_transport, redis_transport,
};
pub use compat::CompatSettings;
pub use connections::ConnectionSettings;
pub use degrade::DegradeSettings;
pub use edge::EdgeSettings;
use gailou_shared::rank::HotWeights;
pub use hashed_networks::{HashedNetwork, HashedNetworks};
pub use limits::LimitSettings;
pub use mail::MailSettings;
pub use media::{MediaPlace, MediaSettings};
pub use names::NameSettings;
pub use networks::Networks;
pub use pages::PageSettings;
pub use providers::{Oauth2Urls, ProviderSettings};
pub use retention::RetentionSettings;
pub use rules::{BlockedSettings, ClassifiedAuthors, GuestRule, RuleSettings, UnclassifiedRule};
pub use search::SearchSettings;
pub use secret::{Password, Secret};
use serde_json::{Map, Value};
use settings::Settings;
use sources::Sources;
pub use subject_types::{HotWeightSettings, SubjectType};
pub use telemetry::{LogFormat, TelemetrySettings};
pub use tokens::TokenSettings;
pub use trusted_proxies::TrustedProxies;
pub use values::is_plain;
pub use webhooks::WebhookSettings;

/// A setting that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {reason}")]
pub struct ConfigError {
    name: String,
    reason: String,
}

impl ConfigError {
    fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), reason: reason.into() }
    }

    /// The setting.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What is wrong with its value; never the value.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

/// The configuration of a process: all settings, checked against each other.
#[derive(Debug, Clone)]
pub struct Config {
    pub bind: SocketAddr,
    pub data: PathBuf,
    pub trusted_proxies: TrustedProxies,
    pub public_url: Option<String>,
    pub demo: bool,
    /// What is in force where admins have changed nothing.
    pub adjustable: AdjustableSettings,
    /// What admins cannot change, because the operator has set it: dotted names as they write them.
    pub fixed: BTreeSet<String>,
    pub connections: ConnectionSettings,
    pub retention: RetentionSettings,
    pub auth: AuthSettings,
    pub turnstile: TurnstileSettings,
    pub classifier: ClassifierSettings,
    pub accounts: AccountSettings,
    pub cursor_secret: Option<Secret>,
    pub edge: EdgeSettings,
    pub avatars: AvatarSettings,
    pub search: SearchSettings,
    pub media: MediaSettings,
    pub mail: MailSettings,
    pub webhooks: WebhookSettings,
    pub compat: CompatSettings,
    pub telemetry: TelemetrySettings,
    /// The servers of a cluster; without them everything is embedded.
    pub cluster: Option<ClusterSettings>,
    /// At most [`gailou_shared::limits::MAX_SUBJECT_TYPES`].
    pub types: BTreeMap<String, SubjectType>,
}

impl Default for Config {
    fn default() -> Self {
        Self::assemble(Settings::default(), subject_types::default_types(), None)
    }
}

/// What the command line says of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub bind: Option<String>,
    pub data: Option<String>,
    pub config: Option<PathBuf>,
}

impl Config {
    /// The configuration of this process: file, environment, command line.
    ///
    /// # Errors
    /// [`ConfigError`] names the first setting that is refused.
    pub fn load(options: Options) -> Result<Self, ConfigError> {
        Self::read(options, env::vars_os())
    }

    /// The same with these variables instead of the process's own.
    ///
    /// # Errors
    /// As [`Config::load`].
    ///
    /// ```
    /// use gailou::config::{Config, Options};
    /// let variables = [("GAILOU_TYPES__VIDEO__MAX_CHARS", "200")].map(|(k, v)| (k.into(), v.into()));
    /// assert_eq!(Config::read(Options::default(), variables).unwrap().types["video"].max_chars, 200);
    /// ```
    pub fn read(
        options: Options,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let variables: Vec<_> = variables.into_iter().collect();
        let mut sources = Sources::default();
        let named = variables.iter().find(|(name, _)| name == "GAILOU_CONFIG").map(|(_, path)| path.into());
        if let Some(path) = options.config.or(named) {
            let shown = path.display().to_string();
            let text = fs::read_to_string(&path).map_err(|e| {
                ConfigError::new(
                    "the configuration",
                    format!("{shown:?} cannot be read: {e} (--config, GAILOU_CONFIG)"),
                )
            })?;
            sources.add_file(&text, &shown)?;
        }
        sources.add_variables(variables.into_iter())?;
        sources.add_option("--bind", "bind", options.bind);
        sources.add_option("--data", "data", options.data);
        Self::from_sources(&sources)
    }

    fn from_sources(sources: &Sources) -> Result<Self, ConfigError> {
        let settings: Settings = sources.read()?;
        let types = subject_types::from_settings(&settings, sources)?;
        let cluster = cluster::from_settings(&settings, sources)?;
        settings.challenge.check()?;
        settings.classifier.check()?;
        settings.accounts.check()?;
        settings.classifier.check_rules(&settings.rules)?;
        let mut config = Self::assemble(settings, types, cluster);
        config.fixed = sources.given().filter_map(adjustable::adjustable_name).collect();
        config.check_secrets()?;
        Ok(config)
    }

    fn assemble(settings: Settings, types: BTreeMap<String, SubjectType>, cluster: Option<ClusterSettings>) -> Self {
        let Settings {
            bind,
            data,
            trusted_proxies,
            public_url,
            demo,
            cursor_secret,
            limits,
            pages,
            connections,
            retention,
            degrade,
            names,
            rules,
            challenge,
            classifier,
            accounts,
            auth,
            cors,
            edge,
            avatars,
            search,
            media,
            mail,
            webhooks,
            compat,
            telemetry,
            tokens,
            ..
        } = settings;
        let ChallengeSettings { guests, kind, altcha_max_number, turnstile } = challenge;
        let challenge = ChallengeRules { guests, kind, altcha_max_number };
        Self {
            bind,
            data,
            trusted_proxies,
            public_url,
            demo,
            adjustable: AdjustableSettings {
                sites: cors.origins,
                names,
                rules,
                challenge,
                degrade,
                limits,
                tokens,
                pages,
            },
            fixed: BTreeSet::new(),
            connections,
            retention,
            auth,
            turnstile,
            classifier,
            accounts,
            cursor_secret,
            edge,
            avatars,
            search,
            media,
            mail,
            webhooks,
            compat,
            telemetry,
            cluster,
            types,
        }
    }

    /// The settings with what admins change of them, checked against what they cannot change.
    ///
    /// # Errors
    /// [`ConfigError`] names the first setting that is refused.
    pub fn adjusted(&self, changes: &Map<String, Value>) -> Result<AdjustableSettings, ConfigError> {
        let settings = self.adjustable.with_changes(changes)?;
        if settings.challenge.kind == ChallengeKind::Turnstile && self.turnstile.secret.is_none() {
            let reason = "can be turnstile where challenge.turnstile is in the configuration of the server";
            return Err(ConfigError::new("challenge.kind", reason));
        }
        self.classifier.check_rules(&settings.rules)?;
        Ok(settings)
    }

    fn check_secrets(&self) -> Result<(), ConfigError> {
        self.auth.check(self.cluster.is_some())?;
        self.search.check()?;
        self.media.check()?;
        self.mail.check()?;
        self.edge.check()
    }

    /// What counts how much in the hot order of a subject type.
    #[must_use]
    pub fn weights(&self, kind: &str) -> HotWeights {
        self.types.get(kind).map(SubjectType::weights).unwrap_or_default()
    }

    /// Whether sites that may write depend on the subject's type.
    #[must_use]
    pub fn origins_depend_on_type(&self) -> bool {
        self.types.values().any(|kind| kind.cors_origins.is_some())
    }
}
