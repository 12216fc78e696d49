//! The settings of the search.
//!
//! Connects to nothing. Promise: the address is one of a host.

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::{ConfigError, Password, values};

/// Longest beginning of the names of indexes: OpenSearch takes names of at most 255 bytes.
const MAX_INDEX_NAME_BYTES: usize = 64;

/// `search`: where comments are searched.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct SearchSettings {
    /// The address of an OpenSearch server (2.x), such as `https://search.example.com:9200`. Without it, an embedded
    /// installation has an index of its own in the data directory, and a cluster has no search. All processes of a
    /// cluster must be given the same one.
    #[serde(deserialize_with = "address")]
    pub url: Option<String>,
    /// The account there, where it needs one.
    #[serde(deserialize_with = "username")]
    pub username: Option<String>,
    /// Its password.
    #[serde(deserialize_with = "Password::optional", skip_serializing)]
    pub password: Option<Password>,
    /// The beginning of the names of the indexes there: lower-case letters, digits and `-`. Another one for each
    /// installation.
    #[serde(deserialize_with = "index_name")]
    pub index: String,
}

impl Default for SearchSettings {
    fn default() -> Self {
        Self { url: None, username: None, password: None, index: "gailou".into() }
    }
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::server_address(
        deserializer,
        "the address of a server without a path, such as https://search.example.com:9200",
    )
}

fn username<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    values::parse_optional(deserializer, "text", |name| Some(name.to_owned()))
}

fn index_name<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    values::parse(deserializer, "1 to 64 lower-case letters, digits and -, beginning with a letter", |name| {
        let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let first = name.bytes().next()?;
        let is_name = first.is_ascii_lowercase() && name.bytes().all(fits) && name.len() <= MAX_INDEX_NAME_BYTES;
        is_name.then(|| name.to_owned())
    })
}

impl SearchSettings {
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.username.is_some() != self.password.is_some() {
            return Err(ConfigError::new("search.username", "and search.password must be given together"));
        }
        Ok(())
    }
}
