//! Secrets in the configuration: stored as written, never shown, wiped when they are dropped.
//!
//! Does not derive or rotate keys. Promise: a [`Secret`] has at least 32 bytes, and no `Debug` output contains one.

use gailou_shared::token::TokenKey;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Deserializer};

use crate::config::values;

/// Text of at least [`TokenKey::MIN_SECRET_BYTES`] bytes.
#[derive(Debug, Clone)]
pub struct Secret(SecretString);

impl Secret {
    /// The secret with this text; `None` if it is too short.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (text.len() >= TokenKey::MIN_SECRET_BYTES).then(|| Self(text.into()))
    }

    /// The secret itself. Never print it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        values::parse(deserializer, "text of at least 32 bytes (in quotes, in a file)", Self::new)
    }
}

/// The password of an account at a server. Others choose its length, so it may be short.
#[derive(Debug, Clone)]
pub struct Password(SecretString);

impl Password {
    /// The password with this text; `None` if it is empty.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| Self(text.into()))
    }

    /// The password itself. Never print it.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    pub(super) fn optional<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Self>, D::Error> {
        values::parse_optional(deserializer, "text (in quotes, in a file)", Self::new)
    }
}
