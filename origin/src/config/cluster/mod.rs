//! The settings of a cluster: MySQL, Redis and Kafka, all three or none.
//!
//! Opens nothing; how connections are protected is in `transport` and `kafka`. Promise: addresses are shown without
//! their passwords.

mod kafka;
mod transport;

use std::fmt;
use std::path::PathBuf;

use documented::DocumentedFields;
use secrecy::{ExposeSecret, SecretBox};
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::sources::Sources;
use crate::config::values::{file, optional_within, parse, parse_optional, within};
use crate::config::{ConfigError, Password, Settings};

pub use kafka::{KafkaLogin, KafkaSecurity, KafkaServers, SaslMechanism};
pub use transport::{Transport, mysql_transport, redis_transport};

/// Addresses of servers, in their order; passwords in them are never shown.
pub struct Urls(SecretBox<Vec<String>>);

impl Urls {
    /// The addresses between the commas; `None` when there are none, or one does not begin with one
    /// of the schemes.
    #[must_use]
    pub fn parse(text: &str, schemes: &[&str]) -> Option<Self> {
        let urls: Vec<String> = text.split(',').map(str::trim).filter(|u| !u.is_empty()).map(str::to_owned).collect();
        let known = |url: &String| schemes.iter().any(|scheme| url.starts_with(scheme));
        (!urls.is_empty() && urls.iter().all(known)).then(|| Self::new(urls))
    }

    fn new(urls: Vec<String>) -> Self {
        Self(SecretBox::new(Box::new(urls)))
    }

    /// The addresses themselves. Never print them.
    #[must_use]
    pub fn expose(&self) -> &[String] {
        self.0.expose_secret()
    }
}

impl Clone for Urls {
    fn clone(&self) -> Self {
        Self::new(self.expose().to_vec())
    }
}

/// `mysql://user:password@host/db` as `mysql://host/db`.
fn without_password(url: &str) -> String {
    match (url.split_once("://"), url.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        _ => url.to_owned(),
    }
}

impl fmt::Display for Urls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expose().iter().map(|url| without_password(url)).collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Debug for Urls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Urls({self})")
    }
}

pub(super) fn mysql_urls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Urls>, D::Error> {
    let expected = "addresses that begin with mysql://";
    parse_optional(deserializer, expected, |text| Urls::parse(text, &["mysql://"]))
}

pub(super) fn redis_urls<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Urls>, D::Error> {
    let expected = "addresses that begin with redis:// or rediss://";
    parse_optional(deserializer, expected, |text| Urls::parse(text, &["redis://", "rediss://"]))
}

pub(super) fn kafka_brokers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "addresses such as kafka-1:9092", |text| Some(text.to_owned()))
}

/// The servers of a cluster and `cluster`.
#[derive(Debug, Clone)]
pub struct ClusterSettings {
    /// The databases, in the order of the slot map.
    pub mysql_urls: Urls,
    /// One server, or nodes of a Redis Cluster.
    pub redis_urls: Urls,
    pub kafka: KafkaServers,
    pub tuning: ClusterTuning,
}

/// `cluster`: how the servers of a cluster are used.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct ClusterTuning {
    /// Prefix of topics, consumer groups and Redis keys: 1 to 64 characters of a-z, 0-9, `_` and `-`.
    #[serde(deserialize_with = "name")]
    pub name: String,
    /// Numbered tables of a kind in each database, from 1 to 1024; fixed by the first `gailou migrate`.
    #[serde(deserialize_with = "within::<1, 1_024, _, _>")]
    pub tables: u16,
    /// Partitions of each topic, from 1 to 1024, when `gailou migrate` creates it; without it, as many as the other
    /// topics have, or 16. Fixed by the first `gailou migrate`.
    #[serde(deserialize_with = "optional_within::<1, 1_024, _, _>")]
    pub partitions: Option<u32>,
    /// Replicas of each topic, from 1 to 16, when `gailou migrate` creates it.
    #[serde(deserialize_with = "within::<1, 16, _, _>")]
    pub replication: u16,
    /// Operations in one transaction at most, from 1 to 10000.
    #[serde(deserialize_with = "within::<1, 10_000, _, _>")]
    pub batch: usize,
    /// Milliseconds, from 0 to 10000, that a new comment waits for others to be written with.
    #[serde(deserialize_with = "within::<0, 10_000, _, _>")]
    pub comments_ms: u64,
    /// Milliseconds, from 0 to 60000, that a reaction waits for others to be written with.
    #[serde(deserialize_with = "within::<0, 60_000, _, _>")]
    pub reactions_ms: u64,
    /// The certificates (PEM) of who may sign that of a `rediss://` server; without it, the public ones that browsers
    /// trust.
    #[serde(deserialize_with = "file")]
    pub redis_ca: Option<PathBuf>,
    /// The protocol of Kafka's listener: `plaintext`, `ssl`, `sasl_plaintext` or `sasl_ssl`.
    pub kafka_security: KafkaSecurity,
    /// The certificates (PEM) of who may sign a broker's, for `ssl` and `sasl_ssl`; without it, those of the system.
    #[serde(deserialize_with = "file")]
    pub kafka_ca: Option<PathBuf>,
    /// How Kafka checks the password: `SCRAM-SHA-512`, `SCRAM-SHA-256` or `PLAIN`.
    pub kafka_sasl_mechanism: SaslMechanism,
    /// The user for `sasl_plaintext` and `sasl_ssl`.
    #[serde(deserialize_with = "text")]
    pub kafka_username: Option<String>,
    /// The user's password.
    #[serde(deserialize_with = "Password::optional", skip_serializing)]
    pub kafka_password: Option<Password>,
}

impl Default for ClusterTuning {
    fn default() -> Self {
        Self {
            name: "gailou".to_owned(),
            tables: 16,
            partitions: None,
            replication: 1,
            batch: 1_000,
            comments_ms: 50,
            reactions_ms: 1_000,
            redis_ca: None,
            kafka_security: KafkaSecurity::default(),
            kafka_ca: None,
            kafka_sasl_mechanism: SaslMechanism::default(),
            kafka_username: None,
            kafka_password: None,
        }
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    parse(deserializer, "1 to 64 characters of a-z, 0-9, _ and -", |name| {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        ((1..=64).contains(&name.len()) && name.chars().all(is_allowed)).then(|| name.to_owned())
    })
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "text", |text| Some(text.to_owned()))
}

impl ClusterSettings {
    /// How the connections to each server are protected, by the server's name as `gailou doctor` and `/readyz` have it.
    #[must_use]
    pub fn transports(&self) -> Vec<(String, Transport)> {
        let weakest = |transports: &mut dyn Iterator<Item = Transport>| transports.min().unwrap_or(Transport::Plain);
        let mysql = self.mysql_urls.expose().iter().enumerate();
        let mysql = mysql.map(|(n, url)| (format!("mysql/{n}"), mysql_transport(url).unwrap_or(Transport::Plain)));
        let redis = &mut self.redis_urls.expose().iter().filter_map(|url| redis_transport(url).ok());
        let kafka = match self.kafka.security.is_encrypted() {
            true => Transport::Verified,
            false => transport::plain_transport(&self.kafka.brokers),
        };
        mysql.chain([("redis".to_owned(), weakest(redis)), ("kafka".to_owned(), kafka)]).collect()
    }

    /// Refuses addresses that contradict other settings, or protect less than they seem to.
    fn check(&self, sources: &Sources) -> Result<(), ConfigError> {
        for url in self.mysql_urls.expose() {
            mysql_transport(url).map_err(|reason| ConfigError::new(sources.name_of("mysql_urls"), reason))?;
        }
        let redis = self.redis_urls.expose().iter().map(|url| redis_transport(url)).collect::<Result<Vec<_>, _>>();
        let redis = redis.map_err(|reason| ConfigError::new(sources.name_of("redis_urls"), reason))?;
        let encrypted = redis.iter().filter(|transport| **transport == Transport::Verified).count();
        if encrypted != 0 && encrypted != redis.len() {
            let reason = "must all be redis:// or all rediss://";
            return Err(ConfigError::new(sources.name_of("redis_urls"), reason));
        }
        if encrypted == 0 && self.tuning.redis_ca.is_some() {
            let reason = "is for servers whose address begins with rediss://";
            return Err(ConfigError::new(sources.name_of("cluster.redis_ca"), reason));
        }
        Ok(())
    }
}

/// The cluster that the settings describe; `None` if they name none of its servers.
pub(super) fn from_settings(settings: &Settings, sources: &Sources) -> Result<Option<ClusterSettings>, ConfigError> {
    let servers = [
        ("mysql_urls", settings.mysql_urls.is_some()),
        ("redis_urls", settings.redis_urls.is_some()),
        ("kafka_brokers", settings.kafka_brokers.is_some()),
    ];
    let names = |is_given: bool| {
        let chosen = servers.iter().filter(|(_, given)| *given == is_given);
        chosen.map(|(key, _)| sources.name_of(key)).collect::<Vec<_>>().join(" and ")
    };
    if let (Some(mysql_urls), Some(redis_urls), Some(kafka_brokers)) =
        (&settings.mysql_urls, &settings.redis_urls, &settings.kafka_brokers)
    {
        if cfg!(not(feature = "cluster")) {
            return Err(ConfigError::new(names(true), "make a cluster, and this build has no cluster feature"));
        }
        let name_of = |key: &str| sources.name_of(key);
        let cluster = ClusterSettings {
            mysql_urls: mysql_urls.clone(),
            redis_urls: redis_urls.clone(),
            kafka: KafkaServers::from_settings(kafka_brokers, &settings.cluster, name_of)?,
            tuning: settings.cluster.clone(),
        };
        cluster.check(sources)?;
        return Ok(Some(cluster));
    }
    if servers.iter().any(|(_, given)| *given) {
        let reason = format!("cannot be used without {}: a cluster needs all three", names(false));
        return Err(ConfigError::new(names(true), reason));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        let urls = Urls::parse("mysql://a:p@ss@h1:3306/g, mysql://h2/g", &["mysql://"]).unwrap();
        assert_eq!(format!("{urls:?}"), "Urls(mysql://h1:3306/g, mysql://h2/g)");
        assert_eq!(urls.expose().len(), 2);
        assert!(Urls::parse("redis://h", &["mysql://"]).is_none() && Urls::parse(" ,", &["mysql://"]).is_none());
    }
}
