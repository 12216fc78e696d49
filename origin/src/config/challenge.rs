//! When guests have to answer a challenge, and which.
//!
//! Makes no challenge. Promise: Turnstile is chosen only where it can be verified.

use documented::DocumentedFields;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{parse_optional, within};
use crate::config::{ConfigError, Password, values};

const MIN_ALTCHA_NUMBER: u64 = 1_000;
const MAX_ALTCHA_NUMBER: u64 = 10_000_000;
const MAX_SITE_KEY_BYTES: usize = 100;
const SITEVERIFY_URL: &str = "https://challenges.cloudflare.com/turnstile/v0/siteverify";

/// Which guests answer a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChallengedGuests {
    Never,
    /// Those whose network gave a reason.
    Suspicious,
    Always,
}

/// Who makes a challenge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChallengeKind {
    /// This program: a proof of work.
    Altcha,
    /// Cloudflare.
    Turnstile,
}

/// `challenge`: what guests answer before they write.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct ChallengeSettings {
    /// Which guests answer a challenge before a comment, an edit or a report: `never`, `suspicious` or `always`.
    pub guests: ChallengedGuests,
    /// The challenge: `altcha`, a proof of work, or `turnstile`, the widget of Cloudflare, which needs
    /// `challenge.turnstile`.
    pub kind: ChallengeKind,
    /// Most hashes of a proof of work, from 1000 to 10000000; on average it takes half of them. A browser makes 200,000 to
    /// 2,000,000 a second.
    #[serde(deserialize_with = "altcha_max_number")]
    pub altcha_max_number: u32,
    /// `challenge.turnstile`
    pub turnstile: TurnstileSettings,
}

impl Default for ChallengeSettings {
    fn default() -> Self {
        let ChallengeRules { guests, kind, altcha_max_number } = ChallengeRules::default();
        Self { guests, kind, altcha_max_number, turnstile: TurnstileSettings::default() }
    }
}

impl ChallengeSettings {
    /// Refuses a widget without its secret, and Turnstile without a widget.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        let TurnstileSettings { site_key, secret, .. } = &self.turnstile;
        let (missing, why) = match (site_key, secret) {
            (Some(_), None) => ("GAILOU_CHALLENGE__TURNSTILE__SECRET", "beside challenge.turnstile.site_key"),
            (None, Some(_)) => ("GAILOU_CHALLENGE__TURNSTILE__SITE_KEY", "beside challenge.turnstile.secret"),
            (None, None) if self.kind == ChallengeKind::Turnstile => {
                ("GAILOU_CHALLENGE__TURNSTILE__SITE_KEY", "if challenge.kind is turnstile")
            }
            _ => return Ok(()),
        };
        Err(ConfigError::new(missing, format!("must be given {why}")))
    }
}

/// What of `challenge` admins change.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChallengeRules {
    pub guests: ChallengedGuests,
    pub kind: ChallengeKind,
    #[serde(deserialize_with = "altcha_max_number")]
    pub altcha_max_number: u32,
}

impl Default for ChallengeRules {
    fn default() -> Self {
        Self { guests: ChallengedGuests::Never, kind: ChallengeKind::Altcha, altcha_max_number: 250_000 }
    }
}

/// `challenge.turnstile`: the widget of Cloudflare.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct TurnstileSettings {
    /// The widget's site key, which readers see.
    #[serde(deserialize_with = "site_key")]
    pub site_key: Option<String>,
    /// The widget's secret key.
    #[serde(deserialize_with = "Password::optional", skip_serializing)]
    pub secret: Option<Password>,
    /// Where tokens are verified.
    #[serde(deserialize_with = "siteverify_url")]
    pub siteverify_url: String,
}

impl Default for TurnstileSettings {
    fn default() -> Self {
        Self { site_key: None, secret: None, siteverify_url: SITEVERIFY_URL.into() }
    }
}

fn altcha_max_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    within::<MIN_ALTCHA_NUMBER, MAX_ALTCHA_NUMBER, _, _>(deserializer)
}

fn site_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    parse_optional(deserializer, "at most 100 visible ASCII characters", |text| {
        let is_key = text.len() <= MAX_SITE_KEY_BYTES && text.bytes().all(|b| b.is_ascii_graphic());
        is_key.then(|| text.to_owned())
    })
}

fn siteverify_url<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let expected = "an address by https, such as https://challenges.cloudflare.com/turnstile/v0/siteverify, or by http on \
                    this machine";
    values::parse(deserializer, expected, values::service_url)
}
