//! Pages that have moved, as admins say: a rule of the settings for each.
//!
//! Promise: no comment is out of sight because of a rule that is made here. A new address that has comments of its own is
//! refused.

use gailou_shared::id::SubjectKey;
use gailou_shared::token::{Member, Role};
use serde_json::{Map, json};

use crate::config::PageSettings;
use crate::service::{ServiceError, ServiceResult, settings, subject};
use crate::state::AppState;

/// How often a rule is made again because the settings were changed meanwhile.
const MAX_TRIES: usize = 5;

/// Lets another address have the comments of this subject, beside its own; with `None` no other has them any more.
///
/// # Errors
/// [`ServiceError::Forbidden`] for who is no admin; `WrongFields`; `VersionConflict` where the new address has comments; or
/// the journal's.
pub async fn move_page(
    app: &AppState,
    admin: &Member,
    from: &SubjectKey,
    to: Option<&SubjectKey>,
) -> ServiceResult<()> {
    if admin.role < Role::Admin {
        return Err(ServiceError::Forbidden("only admins move pages"));
    }
    if let Some(to) = to {
        if to == from || to.kind() != from.kind() {
            return Err(ServiceError::wrong_field("moved_to", "must be another subject of the same type"));
        }
        let counts = subject::count_subjects(app, std::slice::from_ref(to)).await?;
        if counts.values().any(|counts| counts.comments > 0) {
            return Err(ServiceError::VersionConflict(
                "the new address has comments of its own, which would not be shown",
            ));
        }
    }
    for _ in 0..MAX_TRIES {
        let current = app.settings();
        let mut moved = current.values.pages.moved.clone();
        let (from, to) = (from.to_string(), to.map(ToString::to_string));
        match to {
            Some(to) => {
                moved.retain(|rule| PageSettings::names(rule).is_none_or(|names| names.1 != to));
                moved.push(PageSettings::rule(&from, &to));
            }
            None => moved.retain(|rule| PageSettings::names(rule).is_none_or(|names| names.0 != from)),
        }
        let patch = Map::from_iter([("pages".to_owned(), json!({"moved": moved}))]);
        match settings::change(app, admin, patch, Some(current.version)).await {
            Err(ServiceError::VersionConflict(_)) => {
                app.reload_settings().await.map_err(|error| ServiceError::Bug(error.to_string()))?;
            }
            changed => return changed.map(drop),
        }
    }
    Err(ServiceError::VersionConflict("others change the settings all the time; try again"))
}
