//! How members prove who they are.
//!
//! Verifies no token: [`gailou_shared::token`] does. Promise: one algorithm, and the public
//! development secret is accepted on loopback only.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use documented::DocumentedFields;
use gailou_shared::token::TokenKey;
use serde::{Deserialize, Deserializer, Serialize};

use crate::config::values::{parse, switch};
use crate::config::{ConfigError, Secret};

/// `auth`: how members prove who they are.
#[derive(Debug, Clone, Deserialize, Serialize, DocumentedFields)]
#[serde(default, deny_unknown_fields)]
pub struct AuthSettings {
    /// Shared with the host site, which signs its members' tokens with it (HS256), 32 bytes or more.
    /// Without it, a public development secret, on loopback only.
    #[serde(skip_serializing)]
    pub token_secret: Option<Secret>,
    /// The host's Ed25519 public key in base64 (EdDSA), instead of a secret.
    #[serde(deserialize_with = "token_public_key", skip_serializing)]
    pub token_public_key: Option<TokenKey>,
    /// What a token's `aud` must be.
    #[serde(deserialize_with = "audience")]
    pub audience: String,
    /// Whether readers may write under a name of their choice.
    #[serde(deserialize_with = "switch")]
    pub guests: bool,
}

impl Default for AuthSettings {
    fn default() -> Self {
        Self { token_secret: None, token_public_key: None, audience: "gailou".into(), guests: true }
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
    /// The secret shared with the host, or the development one.
    pub(super) fn token_secret(&self) -> Secret {
        self.token_secret.clone().unwrap_or_else(Secret::development)
    }

    pub(super) fn token_key(&self) -> Result<TokenKey, ConfigError> {
        let secret = || TokenKey::secret(self.token_secret().expose().as_bytes());
        let key = self.token_public_key.clone().or_else(secret);
        key.ok_or_else(|| ConfigError::new("GAILOU_TOKEN_SECRET", "is too short"))
    }

    /// Refuses settings that contradict each other, or are unsafe with this address.
    pub(super) fn check(&self, bind: SocketAddr) -> Result<(), ConfigError> {
        let uses_secret = self.token_public_key.is_none();
        if !uses_secret && self.token_secret.is_some() {
            let reason = "cannot be given beside auth.token_public_key: tokens have one algorithm";
            return Err(ConfigError::new("GAILOU_TOKEN_SECRET", reason));
        }
        let is_loopback = bind.ip().to_canonical().is_loopback();
        if !is_loopback && uses_secret && self.token_secret().is_development() {
            let reason = format!(
                "must be given (at least 32 bytes, not the development secret) to listen on {bind}, which is not a \
                 loopback address"
            );
            return Err(ConfigError::new("GAILOU_TOKEN_SECRET", reason));
        }
        Ok(())
    }
}
