//! The settings of a cluster: MySQL, Redis and Kafka, all three or none.
//!
//! Opens nothing. Promise: addresses are shown without their passwords.

use std::fmt;

use documented::DocumentedFields;
use secrecy::{ExposeSecret, SecretBox};
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::sources::Sources;
use crate::config::values::{parse, parse_optional, within};
use crate::config::{ConfigError, Settings};

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
    /// `host:port`, comma-separated.
    pub kafka_brokers: String,
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
    /// Partitions of each topic, from 1 to 1024, when `gailou migrate` creates it.
    #[serde(deserialize_with = "within::<1, 1_024, _, _>")]
    pub partitions: u32,
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
}

impl Default for ClusterTuning {
    fn default() -> Self {
        Self {
            name: "gailou".to_owned(),
            tables: 16,
            partitions: 16,
            replication: 1,
            batch: 1_000,
            comments_ms: 50,
            reactions_ms: 1_000,
        }
    }
}

fn name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    parse(deserializer, "1 to 64 characters of a-z, 0-9, _ and -", |name| {
        let is_allowed = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
        ((1..=64).contains(&name.len()) && name.chars().all(is_allowed)).then(|| name.to_owned())
    })
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
        return Ok(Some(ClusterSettings {
            mysql_urls: mysql_urls.clone(),
            redis_urls: redis_urls.clone(),
            kafka_brokers: kafka_brokers.clone(),
            tuning: settings.cluster.clone(),
        }));
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
