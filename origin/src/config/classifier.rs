//! The service that classifies texts.
//!
//! Connects to nothing. Promise: a service is configured with everything that it needs, and what members write is sent
//! nowhere without encryption, but on this machine.

use std::time::Duration;

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{parse_optional, service_url, web_address, within};
use crate::config::{ClassifiedAuthors, ConfigError, Password, RuleSettings};

const MIN_TIMEOUT_MS: u64 = 100;
const MAX_TIMEOUT_MS: u64 = 10_000;
const AKISMET_URL: &str = "https://rest.akismet.com/1.1/comment-check";

/// Which service classifies texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ClassifierKind {
    /// None does.
    Off,
    /// Akismet's `comment-check`.
    Akismet,
    /// One that speaks the JSON of `docs/moderation.md`.
    Json,
}

/// `classifier`: the service that says which texts are spam. `rules.classified` says about whom it is asked.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct ClassifierSettings {
    /// The service: `off` for none, `akismet`, or `json` for one that speaks the JSON of docs/moderation.md. It is asked only
    /// where `rules.classified` says so.
    pub kind: ClassifierKind,
    /// Its address, by https, or by http on this machine. Without it, Akismet's own.
    #[serde(deserialize_with = "url")]
    pub url: Option<String>,
    /// The key of the account at Akismet; to a JSON service it is sent as `Authorization: Bearer`.
    #[serde(deserialize_with = "Password::optional", skip_serializing)]
    pub key: Option<Password>,
    /// The address of the site's front page, which Akismet requires, such as `https://blog.example`.
    #[serde(deserialize_with = "site")]
    pub site: Option<String>,
    /// How long an answer may take, from 100 to 10000 milliseconds; a post waits for it.
    #[serde(deserialize_with = "within::<MIN_TIMEOUT_MS, MAX_TIMEOUT_MS, _, _>")]
    pub timeout_ms: u32,
}

impl Default for ClassifierSettings {
    fn default() -> Self {
        Self { kind: ClassifierKind::Off, url: None, key: None, site: None, timeout_ms: 3_000 }
    }
}

impl ClassifierSettings {
    /// Where the service is; `None` without one.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        match self.kind {
            ClassifierKind::Off => None,
            ClassifierKind::Akismet => Some(self.url.as_deref().unwrap_or(AKISMET_URL)),
            ClassifierKind::Json => self.url.as_deref(),
        }
    }

    /// The same without what may be secret in it.
    #[must_use]
    pub fn shown_address(&self) -> Option<&str> {
        self.address()?.split('?').next()
    }

    /// How long an answer may take.
    #[must_use]
    pub fn max_wait(&self) -> Duration {
        Duration::from_millis(self.timeout_ms.into())
    }

    /// Refuses a service without what it needs.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let (missing, kind) = match self.kind {
            ClassifierKind::Akismet if self.key.is_none() => ("GAILOU_CLASSIFIER__KEY", "akismet"),
            ClassifierKind::Akismet if self.site.is_none() => ("GAILOU_CLASSIFIER__SITE", "akismet"),
            ClassifierKind::Json if self.url.is_none() => ("GAILOU_CLASSIFIER__URL", "json"),
            _ => return Ok(()),
        };
        Err(ConfigError::new(missing, format!("must be given if classifier.kind is {kind}")))
    }

    /// Refuses rules that ask a service that is not there.
    pub(super) fn check_rules(&self, rules: &RuleSettings) -> Result<(), ConfigError> {
        if self.kind == ClassifierKind::Off && rules.classified != ClassifiedAuthors::None {
            let reason = "can be guests or everyone where classifier.kind is in the configuration of the server";
            return Err(ConfigError::new("rules.classified", reason));
        }
        Ok(())
    }
}

fn url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "an address by https, or by http on this machine", service_url)
}

fn site<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "an address, such as https://blog.example", |text| {
        web_address(text).map(|_| text.to_owned())
    })
}
