//! The reference of all settings, as `gailou settings` prints it.
//!
//! Made from the settings' types: their names, their defaults and their comments. Promise: every
//! setting is in it, so neither the documentation nor the example file can miss one.

use std::fmt::Write as _;

use documented::DocumentedFields;
use serde::Serialize;
use serde_json::Value;

use crate::config::settings::Settings;
use crate::config::sources::variable_of;
use crate::config::{
    AccountSettings, AuthSettings, AvatarSettings, BlockedSettings, ChallengeSettings, ClassifierSettings,
    ClusterTuning, CompatSettings, ConnectionSettings, CorsSettings, DegradeSettings, EdgeSettings, HotWeightSettings,
    LimitSettings, MailSettings, MediaSettings, NameSettings, PageSettings, ProviderSettings, RetentionSettings,
    RuleSettings, SearchSettings, SubjectType, TelemetrySettings, TokenSettings, TurnstileSettings, WebhookSettings,
};

/// One setting.
#[derive(Debug)]
pub(super) struct SettingEntry {
    /// `limits.enabled`; `types.NAME.mode` for all types.
    pub(super) key: String,
    pub(super) default: Value,
    pub(super) meaning: String,
}

/// All settings, in the order of a file: those without a section first.
pub(super) fn entries() -> Vec<SettingEntry> {
    let defaults = Settings::default();
    let mut entries = section("", &defaults);
    entries.extend(section::<LimitSettings>("limits.", &defaults.limits));
    entries.extend(section::<ConnectionSettings>("connections.", &defaults.connections));
    entries.extend(section::<RetentionSettings>("retention.", &defaults.retention));
    entries.extend(section::<DegradeSettings>("degrade.", &defaults.degrade));
    entries.extend(section::<AuthSettings>("auth.", &defaults.auth));
    entries.extend(section::<ProviderSettings>("auth.providers[].", &ProviderSettings::default()));
    entries.extend(section::<TokenSettings>("tokens.", &defaults.tokens));
    entries.extend(section::<PageSettings>("pages.", &defaults.pages));
    entries.extend(section::<NameSettings>("names.", &defaults.names));
    entries.extend(section::<RuleSettings>("rules.", &defaults.rules));
    entries.extend(section::<BlockedSettings>("rules.blocked.", &defaults.rules.blocked));
    entries.extend(section::<ChallengeSettings>("challenge.", &defaults.challenge));
    entries.extend(section::<TurnstileSettings>("challenge.turnstile.", &defaults.challenge.turnstile));
    entries.extend(section::<ClassifierSettings>("classifier.", &defaults.classifier));
    entries.extend(section::<AccountSettings>("accounts.", &defaults.accounts));
    entries.extend(section::<CorsSettings>("cors.", &defaults.cors));
    entries.extend(section::<EdgeSettings>("edge.", &defaults.edge));
    entries.extend(section::<AvatarSettings>("avatars.", &defaults.avatars));
    entries.extend(section::<SearchSettings>("search.", &defaults.search));
    entries.extend(section::<MediaSettings>("media.", &defaults.media));
    entries.extend(section::<MailSettings>("mail.", &defaults.mail));
    entries.extend(section::<WebhookSettings>("webhooks.", &defaults.webhooks));
    entries.extend(section::<CompatSettings>("compat.", &defaults.compat));
    entries.extend(section::<TelemetrySettings>("telemetry.", &defaults.telemetry));
    entries.extend(section::<ClusterTuning>("cluster.", &defaults.cluster));
    entries.extend(section("types.NAME.", &SubjectType::default()));
    entries.extend(section("types.NAME.weights.", &HotWeightSettings::default()));
    entries
}

/// The settings of a struct; its own sections are left out.
fn section<T: DocumentedFields + Serialize>(prefix: &str, defaults: &T) -> Vec<SettingEntry> {
    let defaults = serde_json::to_value(defaults).unwrap_or_default();
    let fields = T::FIELD_NAMES.iter().zip(T::FIELD_DOCS);
    let entry = |(name, meaning): (&&str, &&str)| SettingEntry {
        key: format!("{prefix}{name}"),
        // Secrets are not serialized, and none of them has a default.
        default: defaults.get(*name).cloned().unwrap_or_default(),
        meaning: meaning.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    fields.map(entry).filter(|entry| !entry.default.is_object()).collect()
}

/// The variable of a setting; `None` for one of a list.
fn variable(key: &str) -> Option<String> {
    (!key.contains("[]") && key != "auth.providers").then(|| variable_of(key))
}

/// The reference as a table, as the documentation shows it.
#[must_use]
pub fn markdown() -> String {
    let mut text = "| setting | variable | default | meaning |\n|---|---|---|---|\n".to_owned();
    for SettingEntry { key, default, meaning } in entries() {
        let default = if default.is_null() { "none".to_owned() } else { format!("`{default}`") };
        // Writing to a string cannot fail.
        let variable = variable(&key).map_or_else(|| "in the file".to_owned(), |name| format!("`{name}`"));
        let _ = writeln!(text, "| `{key}` | {variable} | {default} | {meaning} |");
    }
    text
}

const TOML_HEAD: &str = "\
# All settings of Gailou with their defaults, as `gailou settings --format toml` prints them.
# Remove the # in front of a setting to change it; then: gailou --config FILE
# A variable (GAILOU_...) replaces the setting of the file.
";

/// The reference as a file: every setting in a comment, to be changed where needed.
#[must_use]
pub fn toml() -> String {
    let mut text = TOML_HEAD.to_owned();
    let mut open_section = String::new();
    // A list is written as sections of its own, one for each of its items.
    for SettingEntry { key, default, meaning } in entries().into_iter().filter(|entry| entry.key != "auth.providers") {
        let (section, name) = key.rsplit_once('.').unwrap_or(("", &key));
        if section != open_section {
            // A subject type is an example: its name is the operator's choice.
            let comment = if section.contains("NAME") { "#" } else { "" };
            let _ = match section.strip_suffix("[]") {
                Some(list) => writeln!(text, "\n# [[{list}]]"),
                None => writeln!(text, "\n{comment}[{section}]"),
            };
            section.clone_into(&mut open_section);
        }
        let default = if default.is_null() { "\"\"".to_owned() } else { default.to_string() };
        let _ = match variable(&key) {
            Some(variable) => writeln!(text, "\n# {meaning}\n# {variable}\n#{name} = {default}"),
            None => writeln!(text, "\n# {meaning}\n# {name} = {default}"),
        };
    }
    text
}
