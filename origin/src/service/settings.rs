//! The settings, as admins read and change them.
//!
//! Promise: of two changes that are made at the same time none is lost, and each leaves an entry in the audit log. What
//! the configuration fixes is not changed here.

use std::collections::BTreeMap;

use gailou_shared::id::Slot;
use gailou_shared::limits;
use gailou_shared::token::Member;
use gailou_shared::wire::AdminSettings;
use json_patch::merge;
use serde_json::{Map, Value};

use crate::config::ConfigError;
use crate::domain::audit::AuditEntry;
use crate::domain::member_standing::MAX_TOKENS_AHEAD_MS;
use crate::domain::operation::{Operation, OperationOutcome};
use crate::domain::row::StoredSettingChanges;
use crate::service::{ServiceError, ServiceResult, audit_log};
use crate::state::AppState;
use crate::state::settings::CurrentSettings;

/// How often a change is made again because another one came between.
const MAX_TRIES: usize = 10;
/// All changes together, in bytes of JSON.
const MAX_CHANGES_BYTES: usize = limits::MAX_BODY_BYTES;

/// The settings in force.
pub fn read(app: &AppState) -> AdminSettings {
    let current = app.settings();
    let fixed = app.config.fixed.iter().cloned().collect();
    AdminSettings { version: current.version, settings: current.values.to_json(), fixed }
}

/// Changes settings by a merge patch (RFC 7396): what it has replaces, `null` gives back what the configuration says.
/// Returns the settings after it. A patch that changes nothing leaves no version behind.
///
/// # Errors
/// [`ServiceError::WrongFields`]; [`ServiceError::VersionConflict`] where the version is another than the expected one;
/// or the journal's.
pub async fn change(
    app: &AppState,
    admin: &Member,
    patch: Map<String, Value>,
    expected: Option<u64>,
) -> ServiceResult<AdminSettings> {
    let _place = app.writes.admit().await?;
    if let Some(name) = app.config.fixed.iter().find(|name| is_in(&patch, name)).cloned() {
        return Err(ServiceError::wrong_field(name, "is fixed by the configuration of the server"));
    }
    let wanted = app.config.adjusted(&patch).map_err(|error| wrong_setting(&error))?;
    if wanted.tokens.not_before.is_some_and(|time| time > app.now() + MAX_TOKENS_AHEAD_MS) {
        return Err(ServiceError::wrong_field("tokens.not_before", "must not be later than now"));
    }
    for _ in 0..MAX_TRIES {
        let stored = app.tables.read_setting_changes().await?;
        if expected.is_some_and(|expected| expected != stored.version) {
            return Err(ServiceError::VersionConflict("the settings have changed since; read them again"));
        }
        let before = settings_with(app, &stored)?;
        let mut changes = Value::Object(stored.changes.clone());
        merge(&mut changes, &Value::Object(patch.clone()));
        let Value::Object(changes) = changes else {
            return Err(ServiceError::Bug("a merged object is no object".into()));
        };
        let mut next = StoredSettingChanges { version: stored.version + 1, changes };
        let after = settings_with(app, &next)?;
        write_as_understood(&mut next.changes, &after);
        if before == after {
            return reload_and_read(app).await;
        }
        if serde_json::to_vec(&next.changes).map_or(true, |json| json.len() > MAX_CHANGES_BYTES) {
            return Err(ServiceError::wrong_field("body", "would make the settings longer than 64 KiB"));
        }
        let (before, after) = difference(&before, &after);
        let entry = audit_log::entry(app, admin, Slot::FIRST, "settings", None)?;
        let audit = Box::new(AuditEntry { before: Some(before), after: Some(after), ..entry });
        let operation = Operation::Settings { stored: next, audit };
        if !matches!(app.journal.append(operation).await?, OperationOutcome::Conflict) {
            return reload_and_read(app).await;
        }
    }
    Err(ServiceError::VersionConflict("others change the settings all the time; try again"))
}

async fn reload_and_read(app: &AppState) -> ServiceResult<AdminSettings> {
    app.reload_settings().await.map_err(|error| ServiceError::Bug(error.to_string()))?;
    Ok(read(app))
}

fn settings_with(app: &AppState, stored: &StoredSettingChanges) -> ServiceResult<Value> {
    let (settings, _) = CurrentSettings::new(&app.config, stored).map_err(|error| wrong_setting(&error))?;
    Ok(settings.values.to_json())
}

fn wrong_setting(error: &ConfigError) -> ServiceError {
    ServiceError::wrong_field(error.name().to_owned(), error.reason().to_owned())
}

/// Whether a patch has something at this dotted name.
fn is_in(patch: &Map<String, Value>, name: &str) -> bool {
    match name.split_once('.') {
        Some((section, rest)) => patch.get(section).and_then(Value::as_object).is_some_and(|inner| is_in(inner, rest)),
        None => patch.contains_key(name),
    }
}

/// Replaces each value by what it was understood as: `"on"` by `true`.
fn write_as_understood(changes: &mut Map<String, Value>, settings: &Value) {
    for (key, value) in changes {
        match (value, settings.get(key)) {
            (Value::Object(inner), Some(understood)) => write_as_understood(inner, understood),
            (value, Some(understood)) => *value = understood.clone(),
            (_, None) => {}
        }
    }
}

/// What differs, before and after: values by dotted names.
fn difference(before: &Value, after: &Value) -> (Value, Value) {
    let (Value::Object(before), Value::Object(after)) = (before, after) else { return (Value::Null, Value::Null) };
    let (before, after) = (leaves(before), leaves(after));
    let changed = |of: &BTreeMap<String, Value>, other: &BTreeMap<String, Value>| {
        let differing = of.iter().filter(|(name, value)| other.get(*name) != Some(value));
        differing.map(|(name, value)| (name.clone(), value.clone())).collect()
    };
    (Value::Object(changed(&before, &after)), Value::Object(changed(&after, &before)))
}

/// The values of an object and those below it, by dotted names.
fn leaves(object: &Map<String, Value>) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for (key, value) in object {
        match value {
            Value::Object(inner) => {
                all.extend(leaves(inner).into_iter().map(|(name, value)| (format!("{key}.{name}"), value)))
            }
            value => _ = all.insert(key.clone(), value.clone()),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn difference_has_only_what_changed() {
        let before = json!({"sites": ["a"], "rules": {"report_threshold": 3, "guests": "allowed"}});
        let after = json!({"sites": ["a", "b"], "rules": {"report_threshold": 5, "guests": "allowed"}});
        let (was, is) = difference(&before, &after);
        assert_eq!(was, json!({"sites": ["a"], "rules.report_threshold": 3}));
        assert_eq!(is, json!({"sites": ["a", "b"], "rules.report_threshold": 5}));
    }
}
