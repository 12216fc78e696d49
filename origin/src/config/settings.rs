//! All settings as they are written, before they are checked against each other.
//!
//! Promise: the file may set nothing else, and every field's comment says what it means, for
//! [`crate::config::reference`].

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{parse, server_address, switch};
use crate::config::{
    AccountSettings, AuthSettings, AvatarSettings, ChallengeSettings, ClassifierSettings, ClusterTuning,
    CompatSettings, ConnectionSettings, CorsSettings, DegradeSettings, EdgeSettings, LimitSettings, MailSettings,
    MediaSettings, NameSettings, PageSettings, RetentionSettings, RuleSettings, SearchSettings, Secret, SubjectType,
    TelemetrySettings, TokenSettings, TrustedProxies, Urls, WebhookSettings, cluster,
};

/// All settings as they are written.
#[derive(Debug, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Settings {
    /// Address and port to listen on; port 0 picks a free one.
    #[serde(deserialize_with = "bind")]
    pub(super) bind: SocketAddr,
    /// The directory that holds everything, embedded.
    #[serde(deserialize_with = "data")]
    pub(super) data: PathBuf,
    /// Proxies in front of the program whose `X-Forwarded-For` is believed: addresses or networks, such as
    /// `127.0.0.1` or `10.0.0.0/8`; a list in the file, separated by commas in the variable. Without them,
    /// all readers behind a proxy count as one.
    pub(super) trusted_proxies: TrustedProxies,
    /// The address that readers reach this installation at, without a path, such as `https://comments.example.com`: that of
    /// the Worker, where there is one. Mails and providers of accounts lead back to it, and passkeys belong to its host.
    /// Without it, the address that the program listens on, which serves readers on this machine alone.
    #[serde(deserialize_with = "public_url")]
    pub(super) public_url: Option<String>,
    /// Whether this program shows its demo page at `/`. The Worker has files of its own, and shows it all the same.
    #[serde(deserialize_with = "switch")]
    pub(super) demo: bool,
    /// Signs cursors, 32 bytes or more. Without it, the installation makes its own at the first start.
    #[serde(skip_serializing)]
    pub(super) cursor_secret: Option<Secret>,
    /// Whether the types `article` (`tree`), `video` (`two_level`), `post` (`flat`) and `topic` (`building`)
    /// exist.
    #[serde(deserialize_with = "switch")]
    pub(super) default_types: bool,
    /// The databases of a cluster, `mysql://user:password@host/database`, in the order of the slot map.
    /// A cluster needs all three: MySQL, Redis and Kafka.
    #[serde(deserialize_with = "cluster::mysql_urls", skip_serializing)]
    pub(super) mysql_urls: Option<Urls>,
    /// One Redis server, or at least two nodes of a Redis Cluster.
    #[serde(deserialize_with = "cluster::redis_urls", skip_serializing)]
    pub(super) redis_urls: Option<Urls>,
    /// The Kafka brokers, `host:port`, separated by commas.
    #[serde(deserialize_with = "cluster::kafka_brokers")]
    pub(super) kafka_brokers: Option<String>,
    /// `limits`
    pub(super) limits: LimitSettings,
    /// `connections`
    pub(super) connections: ConnectionSettings,
    /// `retention`
    pub(super) retention: RetentionSettings,
    /// `degrade`
    pub(super) degrade: DegradeSettings,
    /// `auth`
    pub(super) auth: AuthSettings,
    /// `tokens`
    pub(super) tokens: TokenSettings,
    /// `pages`
    pub(super) pages: PageSettings,
    /// `names`
    pub(super) names: NameSettings,
    /// `rules`
    pub(super) rules: RuleSettings,
    /// `challenge`
    pub(super) challenge: ChallengeSettings,
    /// `classifier`
    pub(super) classifier: ClassifierSettings,
    /// `accounts`
    pub(super) accounts: AccountSettings,
    /// `cors`
    pub(super) cors: CorsSettings,
    /// `edge`
    pub(super) edge: EdgeSettings,
    /// `avatars`
    pub(super) avatars: AvatarSettings,
    /// `search`
    pub(super) search: SearchSettings,
    /// `media`
    pub(super) media: MediaSettings,
    /// `mail`
    pub(super) mail: MailSettings,
    /// `webhooks`
    pub(super) webhooks: WebhookSettings,
    /// `compat`
    pub(super) compat: CompatSettings,
    /// `telemetry`
    pub(super) telemetry: TelemetrySettings,
    /// `cluster`
    pub(super) cluster: ClusterTuning,
    /// `types`
    pub(super) types: BTreeMap<String, SubjectType>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            bind: (Ipv4Addr::LOCALHOST, 8080).into(),
            data: "data".into(),
            trusted_proxies: TrustedProxies::default(),
            public_url: None,
            demo: true,
            cursor_secret: None,
            default_types: true,
            mysql_urls: None,
            redis_urls: None,
            kafka_brokers: None,
            limits: LimitSettings::default(),
            connections: ConnectionSettings::default(),
            retention: RetentionSettings::default(),
            degrade: DegradeSettings::default(),
            auth: AuthSettings::default(),
            tokens: TokenSettings::default(),
            pages: PageSettings::default(),
            names: NameSettings::default(),
            rules: RuleSettings::default(),
            challenge: ChallengeSettings::default(),
            classifier: ClassifierSettings::default(),
            accounts: AccountSettings::default(),
            cors: CorsSettings::default(),
            edge: EdgeSettings::default(),
            avatars: AvatarSettings::default(),
            search: SearchSettings::default(),
            media: MediaSettings::default(),
            mail: MailSettings::default(),
            webhooks: WebhookSettings::default(),
            compat: CompatSettings::default(),
            telemetry: TelemetrySettings::default(),
            cluster: ClusterTuning::default(),
            types: BTreeMap::new(),
        }
    }
}

fn bind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<SocketAddr, D::Error> {
    parse(deserializer, "ADDRESS:PORT, such as 127.0.0.1:8080", |text| text.parse().ok())
}

fn public_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    server_address(deserializer, "an address without a path, such as https://comments.example.com")
}

fn data<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    parse(deserializer, "a path", |text| (!text.is_empty()).then(|| text.into()))
}
