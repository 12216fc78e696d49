//! Where settings come from: a TOML file, then the environment, then the command line.
//!
//! Knows names, not meanings. Promise: an error names the setting as the operator wrote it, and no
//! message repeats a value.

use std::collections::BTreeMap;
use std::ffi::OsString;

use figment::Figment;
use figment::error::Kind;
use figment::providers::Serialized;
use serde::de::DeserializeOwned;

use crate::config::ConfigError;

/// The beginning of every variable.
const VARIABLE_PREFIX: &str = "GAILOU_";

/// Variables with a name of their own, without [`VARIABLE_PREFIX`], and the setting that they set.
const SHORT_NAMES: [(&str, &str); 5] = [
    ("TOKEN_SECRET", "auth.token_secret"),
    ("EDGE_SECRET", "edge.secret"),
    ("EDGE_SECRET_PREVIOUS", "edge.secret_previous"),
    ("LIMITS", "limits.enabled"),
    ("SITES", "cors.origins"),
];

const UNKNOWN_SETTING: &str = "is not a setting that Gailou knows";

/// The variable of a setting: the short one, if it has one.
pub(super) fn variable_of(key: &str) -> String {
    match SHORT_NAMES.iter().find(|(_, setting)| *setting == key) {
        Some((name, _)) => format!("{VARIABLE_PREFIX}{name}"),
        None => format!("{VARIABLE_PREFIX}{}", key.to_ascii_uppercase().replace('.', "__")),
    }
}

/// A path as TOML writes it: a name that contains a dot is quoted.
fn written(path: &[String]) -> String {
    let names = path.iter().map(|name| if name.contains('.') { format!("'{name}'") } else { name.clone() });
    names.collect::<Vec<_>>().join(".")
}

/// What is wrong with a value; never the value.
pub(super) fn refusal_reason(kind: Kind) -> String {
    match kind {
        Kind::UnknownField(..) => UNKNOWN_SETTING.to_owned(),
        // A text where a section is expected: `GAILOU_EDGE`.
        Kind::InvalidType(_, expected) if expected.starts_with("struct ") => UNKNOWN_SETTING.to_owned(),
        Kind::InvalidType(_, expected) | Kind::InvalidValue(_, expected) | Kind::InvalidLength(_, expected) => {
            format!("must be {expected}")
        }
        Kind::UnknownVariant(_, variants) => format!("must be one of {}", variants.join(", ")),
        Kind::Message(reason) => reason,
        Kind::MissingField(_) => "is missing".to_owned(),
        _ => "cannot be read".to_owned(),
    }
}

/// All settings that were given; a later source replaces an earlier one.
#[derive(Debug, Default)]
pub(super) struct Sources {
    values: Figment,
    /// What the operator called each setting, by its path.
    names: BTreeMap<Vec<String>, String>,
}

impl Sources {
    /// Adds the settings of a file.
    pub(super) fn add_file(&mut self, text: &str, file: &str) -> Result<(), ConfigError> {
        let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
            let line = e.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
            // Not `e` itself: it quotes the line, which may contain a secret.
            ConfigError::new(file, format!("line {line} is not TOML: {}", e.message()))
        })?;
        self.add_names(&mut Vec::new(), &table, file);
        self.merge(Serialized::defaults(table));
        Ok(())
    }

    fn add_names(&mut self, path: &mut Vec<String>, table: &toml::Table, file: &str) {
        for (key, value) in table {
            path.push(key.clone());
            match value {
                toml::Value::Table(inner) if !inner.is_empty() => self.add_names(path, inner, file),
                _ => drop(self.names.insert(path.clone(), format!("{} in {file}", written(path)))),
            }
            path.pop();
        }
    }

    /// Adds the variables that begin with [`VARIABLE_PREFIX`], except `GAILOU_CONFIG`, which names the file.
    pub(super) fn add_variables(&mut self, all: impl Iterator<Item = (OsString, OsString)>) -> Result<(), ConfigError> {
        let mut given: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in all {
            let name = name.to_string_lossy().into_owned();
            let Some(rest) = name.strip_prefix(VARIABLE_PREFIX).filter(|rest| *rest != "CONFIG") else { continue };
            if rest.is_empty() || rest.bytes().any(|b| b.is_ascii_lowercase()) {
                return Err(ConfigError::new(name, UNKNOWN_SETTING));
            }
            let Ok(text) = value.into_string() else {
                return Err(ConfigError::new(name, "is not UTF-8"));
            };
            let key = match SHORT_NAMES.iter().find(|(short, _)| *short == rest) {
                Some((_, key)) => (*key).to_owned(),
                None => rest.to_ascii_lowercase().replace("__", "."),
            };
            if let Some(other) = given.insert(key.clone(), name.clone()) {
                return Err(ConfigError::new(name, format!("is the same setting as {other}; give one of them")));
            }
            self.add_text(name, &key, &text);
        }
        Ok(())
    }

    /// Adds an option of the command line.
    pub(super) fn add_option(&mut self, option: &str, key: &str, value: Option<String>) {
        if let Some(text) = value {
            self.add_text(option.to_owned(), key, &text);
        }
    }

    fn add_text(&mut self, name: String, key: &str, text: &str) {
        self.names.insert(key.split('.').map(str::to_owned).collect(), name);
        self.merge((key, text));
    }

    fn merge(&mut self, values: impl figment::Provider) {
        self.values = std::mem::take(&mut self.values).merge(values);
    }

    /// Reads everything that was given.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        self.values.extract().map_err(|error| self.refuse(error))
    }

    /// Whether the setting was given, be it empty.
    pub(super) fn contains(&self, path: &[&str]) -> bool {
        self.names.keys().any(|given| given == path)
    }

    /// The paths of all settings that were given.
    pub(super) fn given(&self) -> impl Iterator<Item = &[String]> {
        self.names.keys().map(Vec::as_slice)
    }

    /// What the operator called the setting; its variable if it was not given.
    pub(super) fn name_of(&self, key: &str) -> String {
        let path: Vec<String> = key.split('.').map(str::to_owned).collect();
        self.names.get(&path).cloned().unwrap_or_else(|| variable_of(key))
    }

    fn refuse(&self, error: figment::Error) -> ConfigError {
        ConfigError::new(self.name_at(&error.path), refusal_reason(error.kind))
    }

    /// The name of the setting at a path, or of the first one below it.
    fn name_at(&self, path: &[String]) -> String {
        let below = self.names.range(path.to_vec()..).next().filter(|(given, _)| given.starts_with(path));
        below.map_or_else(|| path.join("."), |(_, name)| name.clone())
    }
}
