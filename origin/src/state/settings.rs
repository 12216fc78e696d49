//! The settings in force: those of the configuration, with what admins have changed.
//!
//! Promise: changes of what the configuration fixes are left out, whatever is stored; so is one that this version of the
//! program refuses, as after a return to an older one, and no other with it.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::config::{AdjustableSettings, Config, ConfigError};
use crate::domain::moved_pages::MovedPages;
use crate::domain::name_digest::NameDigest;
use crate::domain::row::StoredSettingChanges;

/// The settings in force.
#[derive(Debug, Clone)]
pub struct CurrentSettings {
    pub version: u64,
    pub values: AdjustableSettings,
    /// Of `rules.blocked.names`.
    pub blocked_names: HashSet<NameDigest>,
    /// Of `pages.moved`.
    pub moved_pages: MovedPages,
}

impl CurrentSettings {
    /// The settings of a configuration with these changes, and why some of them are left out.
    ///
    /// # Errors
    /// [`ConfigError`] where the configuration alone is refused.
    pub fn new(config: &Config, stored: &StoredSettingChanges) -> Result<(Self, Vec<ConfigError>), ConfigError> {
        let (mut changes, mut left_out) = (stored.changes.clone(), Vec::new());
        remove(&mut changes, &config.fixed, "");
        loop {
            match config.adjusted(&changes) {
                Ok(values) => return Ok((Self::of(stored.version, values), left_out)),
                Err(refused) if remove_refused(&mut changes, refused.name()) => left_out.push(refused),
                Err(refused) => return Err(refused),
            }
        }
    }

    /// These settings, as they are used.
    pub fn of(version: u64, values: AdjustableSettings) -> Self {
        let blocked_names = values.rules.blocked.names.iter().map(|name| NameDigest::of(name)).collect();
        let moved_pages = values.pages.moved_pages();
        Self { version, values, blocked_names, moved_pages }
    }
}

/// Removes the setting that a refusal names, which may be a part of a list. Returns whether there was one.
fn remove_refused(changes: &mut Map<String, Value>, refused: &str) -> bool {
    let before = changes.clone();
    let sections = refused.match_indices('.').map(|(at, _)| &refused[..at]);
    for name in sections.chain([refused]).rev() {
        remove(changes, &BTreeSet::from([name.to_owned()]), "");
        if *changes != before {
            return true;
        }
    }
    false
}

/// Removes the settings with these names. `prefix` is what the names of those in `changes` begin with.
fn remove(changes: &mut Map<String, Value>, names: &BTreeSet<String>, prefix: &str) {
    changes.retain(|key, value| {
        let name = format!("{prefix}{key}");
        if let Value::Object(inner) = value {
            remove(inner, names, &format!("{name}."));
        }
        !names.contains(&name)
    });
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fixed_settings_stay_whatever_is_stored() {
        let fixed = ["limits.posts_per_minute_member", "sites"].map(Into::into).into();
        let config = Config { fixed, ..Config::default() };
        let changes =
            json!({"sites": ["*"], "limits": {"posts_per_minute_member": 1, "reads_per_second": 7}, "degrade": {}});
        let stored = StoredSettingChanges { version: 3, changes: changes.as_object().unwrap().clone() };
        let (current, left_out) = CurrentSettings::new(&config, &stored).unwrap();
        assert_eq!(left_out, []);
        assert_eq!(current.version, 3);
        let limits = &current.values.limits;
        assert_eq!((limits.posts_per_minute_member, limits.reads_per_second), (5, 7));
        assert!(!current.values.sites.allow("https://a.example"));
    }
    #[test]
    fn refused_change_is_left_out_alone() {
        let changes = json!({
            "sites": ["https://a.example", 7],
            "rules": {"report_threshold": 5, "of_a_newer_version": {"x": 1}, "guests": "sometimes"},
            "newer": true,
        });
        let stored = StoredSettingChanges { version: 3, changes: changes.as_object().unwrap().clone() };
        let (current, left_out) = CurrentSettings::new(&Config::default(), &stored).unwrap();
        let mut names: Vec<_> = left_out.iter().map(ConfigError::name).collect();
        names.sort_unstable();
        assert_eq!(names, ["newer", "rules.guests", "rules.of_a_newer_version", "sites.1"]);
        assert_eq!(current.values.rules.report_threshold, 5);
        assert!(current.values.sites.allow("http://localhost"));
    }
}
