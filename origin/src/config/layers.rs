//! Where settings come from: a TOML file, then the environment, then the command line.
//!
//! Knows names and types, not meanings. Promise: whatever nobody takes is refused by the name the
//! operator wrote it under, and no message repeats a value.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use gailou_shared::path::Mode;
use gailou_shared::token::TokenKey;

use crate::config::{AllowedOrigins, ConfigError, Secret};

/// What every variable of ours begins with.
pub(super) const PREFIX: &str = "GAILOU_";

/// Variables whose name is not their key's.
const NAMED: [(&str, &str); 4] = [
    ("TOKEN_SECRET", "auth.token_secret"),
    ("EDGE_SECRET", "edge.secret"),
    ("EDGE_SECRET_PREVIOUS", "edge.secret_previous"),
    ("LIMITS", "limits.enabled"),
];

/// A value as it was found.
#[derive(Debug)]
enum Value {
    /// From the environment or the command line, where everything is text.
    Text(String),
    File(toml::Value),
}

#[derive(Debug)]
struct Found {
    /// What the operator called it.
    name: String,
    value: Value,
}

/// All settings by dotted key; later layers replace earlier ones.
#[derive(Debug, Default)]
pub(super) struct Layers(BTreeMap<String, Found>);

impl Layers {
    /// Adds what a file says.
    pub(super) fn file(&mut self, text: &str, file: &str) -> Result<(), ConfigError> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
            // Not `e` itself: it quotes the line, which may hold a secret.
            ConfigError::new(file, format!("line {line} is not TOML: {}", e.message()))
        })?;
        self.table("", table, file)
    }

    fn table(&mut self, prefix: &str, table: toml::Table, file: &str) -> Result<(), ConfigError> {
        for (key, value) in table {
            let path = format!("{prefix}{key}");
            match value {
                _ if key.contains('.') => return Err(ConfigError::new(format!("{path} in {file}"), UNKNOWN)),
                toml::Value::Table(inner) if !inner.is_empty() => self.table(&format!("{path}."), inner, file)?,
                value => {
                    let name = format!("{path} in {file}");
                    self.0.insert(path, Found { name, value: Value::File(value) });
                }
            }
        }
        Ok(())
    }

    /// Adds the variables that begin with [`PREFIX`]; `GAILOU_CONFIG` was read before.
    pub(super) fn variables(&mut self, all: impl Iterator<Item = (OsString, OsString)>) -> Result<(), ConfigError> {
        let mut given: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in all {
            let name = name.to_string_lossy().into_owned();
            let Some(rest) = name.strip_prefix(PREFIX).filter(|rest| *rest != "CONFIG") else { continue };
            if rest.is_empty() || rest.bytes().any(|b| b.is_ascii_lowercase()) {
                return Err(ConfigError::new(name, UNKNOWN));
            }
            let Ok(text) = value.into_string() else {
                return Err(ConfigError::new(name, "is not UTF-8"));
            };
            let key = match NAMED.iter().find(|(named, _)| *named == rest) {
                Some((_, key)) => (*key).to_owned(),
                None => rest.to_ascii_lowercase().replace("__", "."),
            };
            if let Some(other) = given.insert(key.clone(), name.clone()) {
                return Err(ConfigError::new(name, format!("is the same setting as {other}; give one of them")));
            }
            self.0.insert(key, Found { name, value: Value::Text(text) });
        }
        Ok(())
    }

    /// Adds what the command line says.
    pub(super) fn option(&mut self, option: &str, key: &str, value: Option<String>) {
        if let Some(text) = value {
            self.0.insert(key.to_owned(), Found { name: option.to_owned(), value: Value::Text(text) });
        }
    }

    /// The names that follow `prefix.`, each once.
    pub(super) fn names_under(&self, prefix: &str) -> Vec<String> {
        let mut names: Vec<String> = self
            .0
            .keys()
            .filter_map(|key| key.strip_prefix(prefix)?.strip_prefix('.')?.split_once('.'))
            .map(|(name, _)| name.to_owned())
            .collect();
        names.dedup();
        names
    }

    /// What the operator called the setting, if it was given.
    pub(super) fn name_of(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|found| found.name.as_str())
    }

    /// What the operator called the setting, unless it is missing or empty; an empty one is removed.
    pub(super) fn present(&mut self, key: &str) -> Option<String> {
        let found = self.0.get(key)?;
        let empty = match &found.value {
            Value::Text(text) => text.is_empty(),
            Value::File(value) => value.as_str().is_some_and(str::is_empty),
        };
        if empty {
            self.0.remove(key);
            return None;
        }
        Some(found.name.clone())
    }

    /// The setting, if it was given.
    pub(super) fn take<T: Setting>(&mut self, key: &str) -> Result<Option<T>, ConfigError> {
        let Some(found) = self.0.remove(key) else { return Ok(None) };
        let value = match &found.value {
            Value::Text(text) => T::from_text(text),
            Value::File(value) => T::from_file(value),
        };
        value.map(Some).ok_or_else(|| ConfigError::new(found.name, format!("must be {}", T::WHAT)))
    }

    /// The setting, or `default`.
    pub(super) fn or<T: Setting>(&mut self, key: &str, default: T) -> Result<T, ConfigError> {
        Ok(self.take(key)?.unwrap_or(default))
    }

    /// The number within `range`, or `default`.
    pub(super) fn number<T>(&mut self, key: &str, default: T, range: RangeInclusive<u64>) -> Result<T, ConfigError>
    where
        T: TryFrom<u64>,
    {
        let name = self.name_of(key).unwrap_or_default().to_owned();
        let Some(number) = self.take::<u64>(key)? else { return Ok(default) };
        let outside = || ConfigError::new(name, format!("must be from {} to {}", range.start(), range.end()));
        T::try_from(number).ok().filter(|_| range.contains(&number)).ok_or_else(outside)
    }

    /// Refuses what nobody took.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        match self.0.into_values().next() {
            // An empty section says nothing.
            Some(Found { value: Value::File(toml::Value::Table(_)), name }) => Err(ConfigError::new(name, "is empty")),
            Some(found) => Err(ConfigError::new(found.name, UNKNOWN)),
            None => Ok(()),
        }
    }
}

const UNKNOWN: &str = "is not a setting that Gailou knows";

/// A type that settings have.
pub(super) trait Setting: Sized {
    /// What it must be, after "must be".
    const WHAT: &'static str;

    fn from_text(text: &str) -> Option<Self>;

    fn from_file(value: &toml::Value) -> Option<Self> {
        value.as_str().and_then(Self::from_text)
    }
}

impl Setting for bool {
    const WHAT: &'static str = "on or off";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "on" | "true" => Some(true),
            "off" | "false" => Some(false),
            _ => None,
        }
    }

    fn from_file(value: &toml::Value) -> Option<Self> {
        value.as_bool().or_else(|| Self::from_text(value.as_str()?))
    }
}

impl Setting for u64 {
    const WHAT: &'static str = "a whole number from 0";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }

    fn from_file(value: &toml::Value) -> Option<Self> {
        value.as_integer().and_then(|n| n.try_into().ok())
    }
}

/// Hours, or nothing where age does not count.
pub(super) struct HalfLife(pub(super) Option<u64>);

impl HalfLife {
    /// Ten years.
    const MOST_HOURS: u64 = 87_600;
}

impl Setting for HalfLife {
    const WHAT: &'static str = "hours from 1 to 87600, or none (0) where age does not count";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "none" | "0" => Some(Self(None)),
            hours => hours.parse().ok().filter(|hours| *hours <= Self::MOST_HOURS).map(|hours| Self(Some(hours))),
        }
    }

    fn from_file(value: &toml::Value) -> Option<Self> {
        match value {
            toml::Value::Integer(hours) => Self::from_text(&hours.to_string()),
            other => Self::from_text(other.as_str()?),
        }
    }
}

impl Setting for SocketAddr {
    const WHAT: &'static str = "ADDRESS:PORT, such as 127.0.0.1:8080";

    fn from_text(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl Setting for PathBuf {
    const WHAT: &'static str = "a path";

    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }
}

impl Setting for String {
    const WHAT: &'static str = "text that is not empty";

    fn from_text(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn from_file(value: &toml::Value) -> Option<Self> {
        match value {
            // A list of addresses, as a file may write it.
            toml::Value::Array(list) => {
                let texts: Option<Vec<_>> = list.iter().map(toml::Value::as_str).collect();
                Self::from_text(&texts?.join(","))
            }
            other => Self::from_text(other.as_str()?),
        }
    }
}

impl Setting for Secret {
    const WHAT: &'static str = "text of at least 32 bytes (in quotes, in a file)";

    fn from_text(text: &str) -> Option<Self> {
        Self::new(text)
    }
}

impl Setting for TokenKey {
    const WHAT: &'static str = "the 32 bytes of an Ed25519 public key in base64";

    fn from_text(text: &str) -> Option<Self> {
        let text = text.trim_end_matches('=');
        let bytes = STANDARD_NO_PAD.decode(text).or_else(|_| URL_SAFE_NO_PAD.decode(text)).ok()?;
        Self::public(&bytes)
    }
}

impl Setting for Mode {
    const WHAT: &'static str = "flat, two_level, tree or building";

    fn from_text(text: &str) -> Option<Self> {
        match text {
            "flat" => Some(Self::Flat),
            "two_level" => Some(Self::TwoLevel),
            "tree" => Some(Self::Tree),
            "building" => Some(Self::Building),
            _ => None,
        }
    }
}

impl Setting for AllowedOrigins {
    const WHAT: &'static str = "origins such as https://example.com or http://localhost:*, a list in a file, \
                                separated by commas in a variable";

    fn from_text(text: &str) -> Option<Self> {
        Self::parse(text.split(',').filter(|part| !part.trim().is_empty())).ok()
    }

    fn from_file(value: &toml::Value) -> Option<Self> {
        let texts: Vec<&str> = value.as_array()?.iter().map(toml::Value::as_str).collect::<Option<_>>()?;
        Self::parse(texts).ok()
    }
}
