//! A secret in the configuration: kept as written, never shown.
//!
//! Does not derive or rotate keys. Promise: at least 32 bytes, and no `Debug` output holds it.

use std::fmt;

use gailou_shared::token::TokenKey;

/// Signs development tokens when no secret is given. Public, so it is only taken on loopback.
pub const DEVELOPMENT_SECRET: &str = "gailou-development-secret-not-for-production";

/// Text of at least [`TokenKey::MIN_SECRET_BYTES`] bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The secret with this text, `None` when it is too short.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        (text.len() >= TokenKey::MIN_SECRET_BYTES).then(|| Self(text.to_owned()))
    }

    /// The secret that everybody knows.
    #[must_use]
    pub fn development() -> Self {
        Self(DEVELOPMENT_SECRET.to_owned())
    }

    /// Whether everybody knows it.
    #[must_use]
    pub fn is_development(&self) -> bool {
        self.0 == DEVELOPMENT_SECRET
    }

    /// The secret itself. Never print it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
