//! A secret in the configuration: stored as written, never shown, wiped when it is dropped.
//!
//! Does not derive or rotate keys. Promise: at least 32 bytes, and no `Debug` output contains it.

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
