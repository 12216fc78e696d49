//! The settings that admins change over HTTP, while the program runs.
//!
//! Stores nothing: changes are in the tables, and [`crate::state::settings`] has what is in force. Promise: changed
//! settings are checked as those of a file are, and a refusal names the setting.

use figment::Figment;
use figment::providers::Serialized;
use json_patch::merge;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::sources::refusal_reason;
use crate::config::{
    AllowedOrigins, ChallengeRules, ConfigError, DegradeSettings, LimitSettings, NameSettings, PageSettings,
    RuleSettings, TokenSettings,
};

/// The sections of a configuration that admins may change; with `sites`, which is `cors.origins` there.
const ADJUSTABLE_SECTIONS: [&str; 7] = ["names", "rules", "challenge", "degrade", "limits", "tokens", "pages"];

/// The settings that admins change. Those of the configuration are in force where nothing is changed.
#[derive(Debug, Clone, Default, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdjustableSettings {
    /// Sites that may write, unless the subject type says otherwise.
    pub sites: AllowedOrigins,
    pub names: NameSettings,
    pub rules: RuleSettings,
    pub challenge: ChallengeRules,
    pub degrade: DegradeSettings,
    pub limits: LimitSettings,
    pub tokens: TokenSettings,
    pub pages: PageSettings,
}

impl AdjustableSettings {
    /// These settings with changes: an object that has what differs, at its place.
    ///
    /// # Errors
    /// [`ConfigError`] names the first setting that is unknown or not within its bounds.
    ///
    /// ```
    /// use gailou::config::AdjustableSettings;
    /// let changes = serde_json::json!({"rules": {"report_threshold": 5}});
    /// let changed = AdjustableSettings::default().with_changes(changes.as_object().unwrap()).unwrap();
    /// assert_eq!(changed.rules.report_threshold, 5);
    /// let wrong = serde_json::json!({"limits": {"posts_per_minute_member": -1}});
    /// let refused = AdjustableSettings::default().with_changes(wrong.as_object().unwrap()).unwrap_err();
    /// assert_eq!(refused.name(), "limits.posts_per_minute_member");
    /// ```
    pub fn with_changes(&self, changes: &Map<String, Value>) -> Result<Self, ConfigError> {
        let before = self.to_json();
        let mut merged = before.clone();
        merge(&mut merged, &Value::Object(changes.clone()));
        if let Some(name) = replaced_section(&before, &merged) {
            return Err(ConfigError::new(name, "must be an object"));
        }
        let settings = Figment::from(Serialized::defaults(merged)).extract();
        settings.map_err(|error: figment::Error| ConfigError::new(error.path.join("."), refusal_reason(error.kind)))
    }

    /// The settings as admins read them.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The first section that is none after a change.
fn replaced_section(before: &Value, after: &Value) -> Option<String> {
    before.as_object()?.iter().find_map(|(key, value)| {
        let after = after.get(key).filter(|_| value.is_object())?;
        let below = || replaced_section(value, after).map(|name| format!("{key}.{name}"));
        if after.is_object() { below() } else { Some(key.clone()) }
    })
}

/// The setting at this path of a configuration as admins name it; `None` where they cannot change it.
pub(super) fn adjustable_name(path: &[String]) -> Option<String> {
    match path {
        [section, setting] if section == "cors" && setting == "origins" => Some("sites".into()),
        [section, part, ..] if section == "challenge" && part == "turnstile" => None,
        [section, _, ..] if ADJUSTABLE_SECTIONS.contains(&section.as_str()) => Some(path.join(".")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(changes: &Value) -> Result<AdjustableSettings, ConfigError> {
        AdjustableSettings::default().with_changes(changes.as_object().unwrap())
    }

    #[test]
    fn settings_are_the_same_after_a_round_trip() {
        let settings = AdjustableSettings::default();
        let Value::Object(all) = settings.to_json() else { unreachable!("settings are an object") };
        assert_eq!(settings.with_changes(&all).unwrap().to_json(), settings.to_json());
    }

    #[test]
    fn changes_replace_lists_and_keep_the_rest() {
        let changed = change(&json!({"sites": ["https://a.example"], "names": {"reserved": []}})).unwrap();
        assert!(changed.sites.allow("https://a.example") && !changed.sites.allow("http://localhost"));
        assert!(changed.names.reserved.is_empty());
        assert_eq!(changed.limits.posts_per_minute_member, 5);
    }

    #[test]
    fn refusal_names_the_setting_and_its_bounds() {
        let check = |changes: Value, name: &str, reason: &str| {
            let refused = change(&changes).unwrap_err();
            assert_eq!(refused.name(), name, "{changes}");
            assert!(refused.reason().contains(reason), "{changes}: {}", refused.reason());
        };
        check(json!({"rules": {"report_threshold": 1_000_001}}), "rules.report_threshold", "from 0 to 1000000");
        check(json!({"rules": {"guests": "maybe"}}), "rules.guests", "must be one of allowed, held, off");
        check(json!({"sites": "not a site"}), "sites", "origins such as");
        check(json!({"sites": [7]}), "sites.0", "must be");
        check(json!({"degrade": {"hot_as_new": "perhaps"}}), "degrade.hot_as_new", "on or off");
        check(json!({"degrade": {"hot_as_old": true}}), "degrade.hot_as_old", "is not a setting");
        check(json!({"limit": {}}), "limit", "is not a setting");
        check(json!({"challenge": {"altcha_max_number": 10}}), "challenge.altcha_max_number", "from 1000 to 10000000");
        check(json!({"challenge": {"turnstile": {}}}), "challenge.turnstile", "is not a setting");
        check(json!({"rules": 7}), "rules", "must be an object");
        check(json!({"limits": []}), "limits", "must be an object");
        check(json!({"rules": {"blocked": "all"}}), "rules.blocked", "must be an object");
    }
}
