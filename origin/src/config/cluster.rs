//! The settings of a cluster: MySQL, Redis and Kafka, all three or none.
//!
//! Opens nothing. Promise: addresses are shown without their passwords.

use std::fmt;

use crate::config::layers::Layers;
use crate::config::{ConfigError, layers};

/// Addresses of servers, in their order; passwords in them are never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Urls(Vec<String>);

impl Urls {
    /// The addresses between the commas; `None` when there are none, or one does not begin with one
    /// of the schemes.
    #[must_use]
    pub fn parse(text: &str, schemes: &[&str]) -> Option<Self> {
        let urls: Vec<String> = text.split(',').map(str::trim).filter(|u| !u.is_empty()).map(str::to_owned).collect();
        let known = |url: &String| schemes.iter().any(|scheme| url.starts_with(scheme));
        (!urls.is_empty() && urls.iter().all(known)).then_some(Self(urls))
    }

    /// The addresses themselves. Never print them.
    #[must_use]
    pub fn expose(&self) -> &[String] {
        &self.0
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
        f.write_str(&self.0.iter().map(|url| without_password(url)).collect::<Vec<_>>().join(", "))
    }
}

impl fmt::Debug for Urls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Urls({self})")
    }
}

/// `mysql_urls`, `redis_urls`, `kafka_brokers` and `cluster`.
#[derive(Debug, Clone)]
pub struct ClusterSettings {
    /// The databases: the slot map names them by their place.
    pub mysql_urls: Urls,
    /// One server, or the nodes of a Redis Cluster.
    pub redis_urls: Urls,
    /// `host:port`, comma-separated.
    pub kafka_brokers: String,
    /// `cluster.name`: what topics, consumer groups and Redis keys begin with.
    pub name: String,
    /// `cluster.tables`: numbered tables of a kind in each database. Fixed by the first migration.
    pub tables: u16,
    /// `cluster.partitions`: of each topic, when `gailou migrate` makes them.
    pub partitions: u32,
    /// `cluster.replication`: of each topic, when `gailou migrate` makes them.
    pub replication: u16,
    /// `cluster.batch`: events written in one transaction at most.
    pub batch: usize,
    /// `cluster.comments_ms`: how long a new comment waits for others to be written with.
    pub comments_ms: u64,
    /// `cluster.reactions_ms`: how long a reaction waits for others to be written with.
    pub reactions_ms: u64,
}

/// The cluster's settings; `None` where none of the three addresses is given. An empty one is not.
pub(super) fn take(layers: &mut Layers) -> Result<Option<ClusterSettings>, ConfigError> {
    let keys = ["mysql_urls", "redis_urls", "kafka_brokers"];
    let (mut given, mut missing) = (Vec::new(), Vec::new());
    for key in keys {
        match layers.present(key) {
            Some(called) => given.push(called),
            None => missing.push(format!("{}{}", layers::PREFIX, key.to_ascii_uppercase())),
        }
    }
    let tables = layers.number("cluster.tables", 16, 1..=1_024)?;
    let settings = ClusterSettings {
        mysql_urls: Urls(vec![]),
        redis_urls: Urls(vec![]),
        kafka_brokers: String::new(),
        name: layers.or("cluster.name", "gailou".to_owned())?,
        tables,
        partitions: layers.number("cluster.partitions", 16, 1..=1_024)?,
        replication: layers.number("cluster.replication", 1, 1..=16)?,
        batch: layers.number("cluster.batch", 1_000, 1..=10_000)?,
        comments_ms: layers.number("cluster.comments_ms", 50, 0..=10_000)?,
        reactions_ms: layers.number("cluster.reactions_ms", 1_000, 0..=60_000)?,
    };
    let sane = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-';
    if settings.name.len() > 64 || !settings.name.chars().all(sane) {
        return Err(ConfigError::new("cluster.name", "must be 1 to 64 characters of a-z, 0-9, _ and -"));
    }
    if given.is_empty() {
        return Ok(None);
    }
    if !missing.is_empty() {
        let reason = format!("cannot be used without {}: a cluster needs all three", missing.join(" and "));
        return Err(ConfigError::new(given.join(" and "), reason));
    }
    if cfg!(not(feature = "cluster")) {
        return Err(ConfigError::new(given.join(", "), "make a cluster, and this build has no cluster feature"));
    }
    let mut urls = |key: &str, name: &str, schemes: &[&str]| {
        let text: String = layers.take(key)?.unwrap_or_default();
        let wrong = || ConfigError::new(name, format!("must be addresses that begin with {}", schemes.join(" or ")));
        Urls::parse(&text, schemes).ok_or_else(wrong)
    };
    Ok(Some(ClusterSettings {
        mysql_urls: urls(keys[0], &given[0], &["mysql://"])?,
        redis_urls: urls(keys[1], &given[1], &["redis://", "rediss://"])?,
        kafka_brokers: layers.take(keys[2])?.unwrap_or_default(),
        ..settings
    }))
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
