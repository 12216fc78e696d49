//! The settings in force: those of the configuration, with what admins have changed.
//!
//! Promise: changes of what the configuration fixes are left out, whatever is stored.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::config::{AdjustableSettings, Config, ConfigError};
use crate::domain::name_digest::NameDigest;
use crate::domain::row::StoredSettingChanges;

/// The settings in force.
#[derive(Debug, Clone)]
pub struct CurrentSettings {
    pub version: u64,
    pub values: AdjustableSettings,
    /// Of `rules.blocked.names`.
    pub blocked_names: HashSet<NameDigest>,
}

impl CurrentSettings {
    /// The settings of a configuration with these changes.
    ///
    /// # Errors
    /// [`ConfigError`] names the first setting that is refused.
    pub fn new(config: &Config, stored: &StoredSettingChanges) -> Result<Self, ConfigError> {
        let mut changes = stored.changes.clone();
        remove_fixed(&mut changes, &config.fixed, "");
        Ok(Self::of(stored.version, config.adjustable.with_changes(&changes)?))
    }

    /// These settings, as they are used.
    pub fn of(version: u64, values: AdjustableSettings) -> Self {
        let blocked_names = values.rules.blocked.names.iter().map(|name| NameDigest::of(name)).collect();
        Self { version, values, blocked_names }
    }
}

/// Removes the settings with these names. `prefix` is what the names of those in `changes` begin with.
fn remove_fixed(changes: &mut Map<String, Value>, fixed: &BTreeSet<String>, prefix: &str) {
    changes.retain(|key, value| {
        let name = format!("{prefix}{key}");
        if let Value::Object(inner) = value {
            remove_fixed(inner, fixed, &format!("{name}."));
        }
        !fixed.contains(&name)
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
        let current = CurrentSettings::new(&config, &stored).unwrap();
        assert_eq!(current.version, 3);
        let limits = &current.values.limits;
        assert_eq!((limits.posts_per_minute_member, limits.reads_per_second), (5, 7));
        assert!(!current.values.sites.allow("https://a.example"));
    }
}
