//! How members prove who they are.
//!
//! Verifies no token: [`gailou_shared::token`] does. Promise: one algorithm, and a cluster has a key that
//! all its processes share.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use documented::DocumentedFields;
use gailou_shared::token::TokenKey;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::parse;
use crate::config::{ConfigError, ProviderSettings, Secret, providers};

/// `auth`: how members prove who they are.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// Shared with the host site, which signs its members' tokens with it (HS256), 32 bytes or more.
    /// Without it, a random one is made at the first start, in the file `token_secret` of the data directory;
    /// a cluster must be given one.
    #[serde(skip_serializing)]
    pub token_secret: Option<Secret>,
    /// The host's Ed25519 public key in base64 (EdDSA), instead of a secret.
    #[serde(deserialize_with = "token_public_key", skip_serializing)]
    pub token_public_key: Option<TokenKey>,
    /// What a token's `aud` must be.
    #[serde(deserialize_with = "audience")]
    pub audience: String,
    /// The providers that readers sign in with, in the file, each with the fields below. Without them and without
    /// `mail.url`, the host signs all tokens.
    pub providers: Vec<ProviderSettings>,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self { token_secret: None, token_public_key: None, audience: "gailou".into(), providers: vec![] }
    }
}

fn token_public_key<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TokenKey>, D::Error> {
    parse(deserializer, "the 32 bytes of an Ed25519 public key in base64", |text| {
        let text = text.trim_end_matches('=');
        let bytes = STANDARD_NO_PAD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text)).ok()?;
        TokenKey::public(&bytes).map(Some)
    })
}

fn audience<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    parse(deserializer, "text that is not empty", |text| (!text.is_empty()).then(|| text.to_owned()))
}

impl AuthSettings {
    /// Refuses settings that contradict each other, and a cluster without a key.
    pub(super) fn check(&self, is_in_cluster: bool) -> Result<(), ConfigError> {
        let reason = match (&self.token_public_key, &self.token_secret) {
            (Some(_), Some(_)) => "cannot be given beside auth.token_public_key: tokens have one algorithm",
            (None, None) if is_in_cluster => {
                "must be given to a cluster (at least 32 bytes, the same to every process), or auth.token_public_key"
            }
            _ => return providers::check(&self.providers),
        };
        Err(ConfigError::new("GAILOU_TOKEN_SECRET", reason))
    }
}
