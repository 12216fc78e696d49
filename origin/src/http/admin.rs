//! `/v1/admin`: a moderator's decisions about comments and subjects.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::content::parse_object;
use gailou_shared::id::{CommentId, MemberId};
use gailou_shared::path::Mode;
use gailou_shared::wire::{Comment, FieldError, Subject, SubjectState};
use serde_json::{Map, Value};
use strum::VariantNames as _;

use crate::domain::operation::SubjectPatch;
use crate::http::extract::{AfterBody, JsonBody, KnownSubject, KnownSubjectType, Moderator, PathId};
use crate::http::openapi::bodies::{CommentDecision, SubjectChanges};
use crate::http::openapi::examples;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::moderate;
use crate::service::moderate::Decision;
use crate::state::AppState;

/// Longest reason, title or address of a subject, in characters.
const MAX_TEXT_CHARS: usize = 1_000;

/// Decide about a comment.
///
/// Only moderators may. Each decision is in the audit log.
#[utoipa::path(
    post, path = "/v1/admin/comments/{id}/decision", tag = "admin",
    params(PathId<CommentId>),
    request_body(content = CommentDecision, examples(
        ("approve" = (value = json!({"action": "approve"}))),
        ("hide" = (value = json!({"action": "hide", "reason": "off topic"}))),
    )),
    responses(
        (status = 200, description = "The comment after the decision.", body = Comment),
        MemberRefusals, NotFound, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn decide(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    id: AfterBody<PathId<CommentId>>,
    JsonBody(body): JsonBody,
) -> Result<Json<Comment>, Refusal> {
    let PathId(id) = id?;
    let (decision, reason) = decision(&body).map_err(Refusal::fields)?;
    Ok(Json(moderate::decide(&app, &moderator, id, decision, reason).await?))
}

/// Register or change a subject.
///
/// Only moderators may. Each change is in the audit log.
#[utoipa::path(
    put, path = "/v1/admin/subjects/{type}/{key}", tag = "admin",
    params(KnownSubject),
    request_body(content = SubjectChanges, examples(
        ("register" = (value = json!({"title": "A video", "url": "https://example.com/videos/2", "owner_id": "7"}))),
    )),
    responses(
        (
            status = 200, description = "The subject after the change.", body = Subject,
            examples(("subject" = (summary = "A subject", value = json!(examples::subject())))),
        ),
        MemberRefusals, NotFound, BodyRefusals,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn put_subject(
    State(app): State<Arc<AppState>>,
    _: KnownSubjectType,
    Moderator(moderator): Moderator,
    subject: AfterBody<KnownSubject>,
    JsonBody(body): JsonBody,
) -> Result<Json<Subject>, Refusal> {
    let KnownSubject(key) = subject?;
    let patch = subject_patch(&body).map_err(Refusal::fields)?;
    Ok(Json(moderate::change_subject(&app, &moderator, &key, patch).await?))
}

/// A decision with its reason, or every field that is wrong.
fn decision(body: &[u8]) -> Result<(Decision, Option<String>), Vec<FieldError>> {
    let fields = parse_object(body)?;
    let mut errors = Vec::new();
    let decision = fields.get("action").and_then(Value::as_str).and_then(|name| name.parse::<Decision>().ok());
    if decision.is_none() {
        let names = Decision::VARIANTS.join(", ");
        errors.push(FieldError::new("action", format!("must be one of {names}")));
    }
    let reason = optional_text(&fields, "reason", &mut errors).flatten();
    match decision {
        Some(decision) if errors.is_empty() => Ok((decision, reason)),
        _ => Err(errors),
    }
}

/// A subject's new values, or every field that is wrong.
fn subject_patch(body: &[u8]) -> Result<SubjectPatch, Vec<FieldError>> {
    let fields = parse_object(body)?;
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
    if errors.is_empty() { Ok(patch) } else { Err(errors) }
}

/// A text that may be left out (`None`) or taken away (`Some(None)`).
fn optional_text(
    fields: &Map<String, Value>,
    name: &'static str,
    errors: &mut Vec<FieldError>,
) -> Option<Option<String>> {
    match fields.get(name)? {
        Value::Null => Some(None),
        Value::String(text) if text.chars().count() <= MAX_TEXT_CHARS && !text.chars().any(char::is_control) => {
            Some(Some(text.clone()))
        }
        _ => {
            let detail = format!("must be text of at most {MAX_TEXT_CHARS} characters, or null");
            errors.push(FieldError::new(name, detail));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(errors: Vec<FieldError>) -> Vec<String> {
        errors.into_iter().map(|error| error.field.into_owned()).collect()
    }

    #[test]
    fn decision_names_every_wrong_field() {
        let check = |body: &str, expected: Result<Decision, &[&str]>| {
            let parsed = decision(body.as_bytes()).map(|(decision, _)| decision).map_err(names);
            assert_eq!(
                parsed,
                expected.map_err(|names| names.iter().map(|name| (*name).to_owned()).collect()),
                "{body}"
            );
        };
        check(r#"{"action":"hide"}"#, Ok(Decision::Hide));
        check(r#"{"action":"approve","reason":null}"#, Ok(Decision::Approve));
        check("{}", Err(&["action"]));
        check(r#"{"action":"burn","reason":5}"#, Err(&["action", "reason"]));
        check("[]", Err(&["body"]));
    }

    #[test]
    fn absent_fields_of_a_subject_stay_and_null_takes_away() {
        let patch = subject_patch(br#"{"title":null,"owner_id":"7","state":"closed"}"#).unwrap();
        assert_eq!((patch.title, patch.url, patch.state), (Some(None), None, Some(SubjectState::Closed)));
        assert_eq!(patch.owner_id, Some(Some("7".parse().unwrap())));
        let wrong = subject_patch(br#"{"title":7,"owner_id":7,"state":"ajar","mode":"spiral"}"#).unwrap_err();
        assert_eq!(names(wrong), ["title", "owner_id", "state", "mode"]);
    }
}
