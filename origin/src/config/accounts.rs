//! The host's service that knows its members.
//!
//! Connects to nothing. Promise: who a site's members are is asked and answered nowhere without encryption, but on this
//! machine, and a key can be sent.

use std::time::Duration;

use documented::DocumentedFields;
use http::HeaderValue;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{parse_optional, service_url, within};
use crate::config::{ConfigError, Password};

const MIN_TIMEOUT_MS: u64 = 50;
const MAX_TIMEOUT_MS: u64 = 5_000;
const MIN_CACHE_SECONDS: u64 = 1;
const MAX_CACHE_SECONDS: u64 = 86_400;

/// `accounts`: the host's service that knows its members' names, pictures, levels and friends.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct AccountSettings {
    /// The address of a service of your site, by https, or by http on this machine, that answers with the JSON of
    /// docs/moderation.md who your members are. Without it, what their tokens say counts.
    #[serde(deserialize_with = "url")]
    pub url: Option<String>,
    /// The key that it knows this program by, sent as `Authorization: Bearer`.
    #[serde(deserialize_with = "Password::optional", skip_serializing)]
    pub key: Option<Password>,
    /// How long an answer may take, from 50 to 5000 milliseconds; the post of a member whom this process has not looked up
    /// lately waits for it.
    #[serde(deserialize_with = "within::<MIN_TIMEOUT_MS, MAX_TIMEOUT_MS, _, _>")]
    pub timeout_ms: u32,
    /// For how many seconds, from 1 to 86400, an answer about a member counts before the service is asked again.
    #[serde(deserialize_with = "within::<MIN_CACHE_SECONDS, MAX_CACHE_SECONDS, _, _>")]
    pub cache_seconds: u32,
}

impl Default for AccountSettings {
    fn default() -> Self {
        Self { url: None, key: None, timeout_ms: 500, cache_seconds: 300 }
    }
}

impl AccountSettings {
    /// Where the service is, without what may be secret in it; `None` without one.
    #[must_use]
    pub fn shown_address(&self) -> Option<&str> {
        self.url.as_deref()?.split('?').next()
    }

    /// The header `Authorization`; `None` without a key.
    #[must_use]
    pub fn authorization(&self) -> Option<HeaderValue> {
        let mut bearer = HeaderValue::try_from(format!("Bearer {}", self.key.as_ref()?.expose())).ok()?;
        bearer.set_sensitive(true);
        Some(bearer)
    }

    /// How long an answer may take.
    #[must_use]
    pub fn max_wait(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.into())
    }

    /// How long an answer counts.
    #[must_use]
    pub fn fresh_for(&self) -> Duration {
        Duration::from_secs(self.cache_seconds.into())
    }

    /// Refuses a key without a service, and one that cannot be sent.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.key.is_some() && self.url.is_none() {
            return Err(ConfigError::new("GAILOU_ACCOUNTS__URL", "must be given if accounts.key is"));
        }
        if self.key.is_some() && self.authorization().is_none() {
            return Err(ConfigError::new("GAILOU_ACCOUNTS__KEY", "has characters that no header can have"));
        }
        Ok(())
    }
}

fn url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "an address by https, or by http on this machine", service_url)
}
