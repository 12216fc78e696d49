//! `/v1/admin`: a moderator's decisions about comments and subjects.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use gailou_shared::content::parse_object;
use gailou_shared::id::MemberId;
use gailou_shared::path::Mode;
use gailou_shared::token::{Member, Role};
use gailou_shared::wire::{Code, Comment, FieldError, Subject, SubjectState};
use serde_json::Value;

use crate::domain::operation::SubjectPatch;
use crate::error::ApiError;
use crate::http::request::{id_at, json_body, known_type, member, subject};
use crate::service::change;
use crate::service::change::Decision;
use crate::state::AppState;

/// Longest reason or title, in characters; longest address of a subject, in bytes.
const TEXT: usize = 1_000;

fn with_role(app: &AppState, headers: &HeaderMap, least: Role) -> Result<Member, ApiError> {
    let member = member(app, headers)?;
    if member.role >= least { Ok(member) } else { Err(ApiError::new(Code::Forbidden, "your role does not allow this")) }
}

pub(super) async fn decide(State(app): State<Arc<AppState>>, request: Request) -> Result<Json<Comment>, ApiError> {
    let moderator = with_role(&app, request.headers(), Role::Moderator)?;
    let path = request.uri().path().to_owned();
    let body = json_body(request).await?;
    let id = id_at(&path, 3)?;
    let fields = parse_object(&body).map_err(ApiError::fields)?;
    let mut errors = Vec::new();
    let decision = fields.get("action").and_then(Value::as_str).and_then(Decision::parse);
    if decision.is_none() {
        errors.push(FieldError::new(
            "action",
            "must be one of approve, reject, hide, restore, delete, feature, unfeature",
        ));
    }
    let reason = optional_text(&fields, "reason", &mut errors).flatten();
    match decision {
        Some(decision) if errors.is_empty() => Ok(Json(change::decide(&app, &moderator, id, decision, reason).await?)),
        _ => Err(ApiError::fields(errors)),
    }
}

pub(super) async fn put_subject(State(app): State<Arc<AppState>>, request: Request) -> Result<Json<Subject>, ApiError> {
    let path = request.uri().path().to_owned();
    let kind = known_type(&app, &path, 3)?;
    let moderator = with_role(&app, request.headers(), Role::Moderator)?;
    let body = json_body(request).await?;
    let key = subject(&kind, &path, 4)?;
    let fields = parse_object(&body).map_err(ApiError::fields)?;
    let mut errors = Vec::new();
    let mut patch = SubjectPatch {
        title: optional_text(&fields, "title", &mut errors),
        url: optional_text(&fields, "url", &mut errors),
        ..SubjectPatch::default()
    };
    match fields.get("owner_id") {
        None => {}
        Some(Value::Null) => patch.owner_id = Some(None),
        Some(value) => match value.as_str().and_then(|v| v.parse::<MemberId>().ok()) {
            Some(owner) => patch.owner_id = Some(Some(owner)),
            None => errors.push(FieldError::new("owner_id", "must be a member id or null")),
        },
    }
    if let Some(value) = fields.get("state") {
        patch.state = serde_json::from_value::<SubjectState>(value.clone()).ok();
        if patch.state.is_none() {
            errors.push(FieldError::new("state", "must be one of open, closed, hidden"));
        }
    }
    if let Some(value) = fields.get("mode") {
        patch.mode = serde_json::from_value::<Mode>(value.clone()).ok();
        if patch.mode.is_none() {
            errors.push(FieldError::new("mode", "must be one of flat, two_level, tree, building"));
        }
    }
    if !errors.is_empty() {
        return Err(ApiError::fields(errors));
    }
    Ok(Json(change::subject(&app, &moderator, &key, patch).await?))
}

/// A text that may be left out (`None`) or taken away (`Some(None)`).
fn optional_text(
    fields: &serde_json::Map<String, Value>,
    name: &'static str,
    errors: &mut Vec<FieldError>,
) -> Option<Option<String>> {
    match fields.get(name)? {
        Value::Null => Some(None),
        Value::String(text) if text.chars().count() <= TEXT && !text.chars().any(char::is_control) => {
            Some(Some(text.clone()))
        }
        _ => {
            errors.push(FieldError::new(name, "must be text of at most 1000 characters, or null"));
            None
        }
    }
}
