//! What an operator can set: one struct per concern, every default the embedded mode.
//!
//! Read once at the start and never changed. Does not open anything. Promise: what it does not
//! know is refused by name, what it accepts is within its bounds, and its `Debug` shows no secret.

mod allowed_origins;
mod cluster;
mod edge;
mod layers;
mod secret;
mod subject_types;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::{env, fs};

pub use allowed_origins::AllowedOrigins;
pub use cluster::{ClusterSettings, Urls};
pub use edge::EdgeSettings;
use gailou_shared::rank::HotWeights;
use gailou_shared::token::TokenKey;
use layers::Layers;
pub use secret::{DEVELOPMENT_SECRET, Secret};
pub use subject_types::SubjectType;

/// A setting that cannot be taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {reason}")]
pub struct ConfigError {
    name: String,
    reason: String,
}

impl ConfigError {
    fn new(name: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { name: name.into(), reason: reason.into() }
    }
}

/// Everything that can be set.
#[derive(Debug, Clone)]
pub struct Config {
    /// `bind`: where it listens; port 0 picks a free one.
    pub bind: SocketAddr,
    /// `data`: the directory that holds everything.
    pub data: PathBuf,
    pub limits: LimitSettings,
    pub auth: Auth,
    /// `cursor_secret`: signs cursors; the installation makes its own where none is given.
    pub cursor_secret: Option<Secret>,
    pub edge: EdgeSettings,
    pub cors: Cors,
    /// The servers of a cluster; without them everything is embedded.
    pub cluster: Option<ClusterSettings>,
    /// `types.NAME`: at most [`gailou_shared::limits::TYPES`].
    pub types: BTreeMap<String, SubjectType>,
}

/// `limits`: how much is too much; 0 is no limit.
#[derive(Debug, Clone)]
pub struct LimitSettings {
    /// Off in benchmarks and tests.
    pub enabled: bool,
    pub posts_per_minute_member: u32,
    pub posts_per_minute_address: u32,
    pub posts_per_second_subject: u32,
    pub guests_per_hour_address: u32,
}

impl Default for LimitSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            posts_per_minute_member: 5,
            posts_per_minute_address: 60,
            posts_per_second_subject: 1_000,
            guests_per_hour_address: 30,
        }
    }
}

/// `auth`: who vouches for members.
#[derive(Debug, Clone)]
pub struct Auth {
    /// Shared with the host site (HS256).
    pub token_secret: Option<Secret>,
    /// The host's Ed25519 key (EdDSA), in place of a secret: a key has one algorithm.
    pub token_public_key: Option<TokenKey>,
    /// The `aud` that tokens must carry.
    pub audience: String,
    /// Whether readers may write under a name of their choice.
    pub guests: bool,
}

impl Default for Auth {
    fn default() -> Self {
        Self { token_secret: None, token_public_key: None, audience: "gailou".into(), guests: true }
    }
}

/// `cors`: which sites may write, where the subject type does not say.
#[derive(Debug, Clone)]
pub struct Cors {
    pub origins: AllowedOrigins,
}

impl Default for Cors {
    fn default() -> Self {
        Self { origins: AllowedOrigins::localhost() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Self {
            bind: (Ipv4Addr::LOCALHOST, 8080).into(),
            data: "data".into(),
            limits: LimitSettings::default(),
            auth: Auth::default(),
            cursor_secret: None,
            edge: EdgeSettings::default(),
            cors: Cors::default(),
            cluster: None,
            types: subject_types::defaults(),
        }
    }
}

/// What the command line says of the configuration.
#[derive(Debug, Clone, Default)]
pub struct Options {
    pub bind: Option<String>,
    pub data: Option<String>,
    pub config: Option<PathBuf>,
}

impl Config {
    /// The configuration of this process: file, environment, command line.
    ///
    /// # Errors
    /// [`ConfigError`] names the first setting that cannot be taken.
    pub fn load(options: Options) -> Result<Self, ConfigError> {
        Self::read(options, env::vars_os())
    }

    /// The same with these variables instead of the process's own.
    ///
    /// # Errors
    /// As [`Config::load`].
    ///
    /// ```
    /// use gailou::config::{Config, Options};
    /// let variables = [("GAILOU_TYPES__VIDEO__MAX_CHARS", "200")].map(|(k, v)| (k.into(), v.into()));
    /// assert_eq!(Config::read(Options::default(), variables).unwrap().types["video"].max_chars, 200);
    /// ```
    pub fn read(
        options: Options,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Self, ConfigError> {
        let variables: Vec<_> = variables.into_iter().collect();
        let mut layers = Layers::default();
        let named = variables.iter().find(|(name, _)| name == "GAILOU_CONFIG").map(|(_, path)| path.into());
        if let Some(path) = options.config.or(named) {
            let shown = path.display().to_string();
            let text = fs::read_to_string(&path).map_err(|e| {
                ConfigError::new(
                    "the configuration",
                    format!("{shown:?} cannot be read: {e} (--config, GAILOU_CONFIG)"),
                )
            })?;
            layers.file(&text, &shown)?;
        }
        layers.variables(variables.into_iter())?;
        layers.option("--bind", "bind", options.bind);
        layers.option("--data", "data", options.data);
        let config = Self::take(&mut layers)?;
        layers.finish()?;
        config.check_secrets()?;
        Ok(config)
    }

    fn take(layers: &mut Layers) -> Result<Self, ConfigError> {
        let default = Self::default();
        let most = u64::from(u32::MAX);
        Ok(Self {
            bind: layers.or("bind", default.bind)?,
            data: layers.or("data", default.data)?,
            limits: LimitSettings {
                enabled: layers.or("limits.enabled", default.limits.enabled)?,
                posts_per_minute_member: layers.number("limits.posts_per_minute_member", 5, 0..=most)?,
                posts_per_minute_address: layers.number("limits.posts_per_minute_address", 60, 0..=most)?,
                posts_per_second_subject: layers.number("limits.posts_per_second_subject", 1_000, 0..=most)?,
                guests_per_hour_address: layers.number("limits.guests_per_hour_address", 30, 0..=most)?,
            },
            auth: Auth {
                token_secret: layers.take("auth.token_secret")?,
                token_public_key: layers.take("auth.token_public_key")?,
                audience: layers.or("auth.audience", default.auth.audience)?,
                guests: layers.or("auth.guests", default.auth.guests)?,
            },
            cursor_secret: layers.take("cursor_secret")?,
            edge: edge::take(layers)?,
            cors: Cors { origins: layers.or("cors.origins", default.cors.origins)? },
            cluster: cluster::take(layers)?,
            types: subject_types::take(layers)?,
        })
    }

    fn check_secrets(&self) -> Result<(), ConfigError> {
        let by_secret = self.auth.token_public_key.is_none();
        if !by_secret && self.auth.token_secret.is_some() {
            let reason = "cannot be given beside auth.token_public_key: tokens have one algorithm";
            return Err(ConfigError::new("GAILOU_TOKEN_SECRET", reason));
        }
        let loopback = self.bind.ip().to_canonical().is_loopback();
        if !loopback && by_secret && self.token_secret().is_development() {
            let reason = format!(
                "must be given (at least 32 bytes, not the development secret) to listen on {}: it is no loopback address",
                self.bind
            );
            return Err(ConfigError::new("GAILOU_TOKEN_SECRET", reason));
        }
        self.edge.check()
    }

    /// The secret shared with the host, or the development one.
    #[must_use]
    pub fn token_secret(&self) -> Secret {
        self.auth.token_secret.clone().unwrap_or_else(Secret::development)
    }

    /// What the host's tokens are verified by.
    ///
    /// # Errors
    /// When the secret is too short, which [`Secret`] does not allow.
    pub fn token_key(&self) -> Result<TokenKey, ConfigError> {
        let secret = || TokenKey::secret(self.token_secret().expose().as_bytes());
        let key = self.auth.token_public_key.clone().or_else(secret);
        key.ok_or_else(|| ConfigError::new("GAILOU_TOKEN_SECRET", "is too short"))
    }

    /// What counts how much in the hot order of a subject type.
    #[must_use]
    pub fn weights(&self, kind: &str) -> HotWeights {
        self.types.get(kind).map(SubjectType::weights).unwrap_or_default()
    }

    /// Whether guests may post on subjects of this type.
    #[must_use]
    pub fn guests(&self, kind: &str) -> bool {
        self.auth.guests && self.types.get(kind).is_some_and(|kind| kind.guests)
    }

    /// Which sites may write on subjects of this type.
    #[must_use]
    pub fn origins(&self, kind: &str) -> &AllowedOrigins {
        self.types.get(kind).and_then(|kind| kind.cors_origins.as_ref()).unwrap_or(&self.cors.origins)
    }
}
