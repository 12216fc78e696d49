//! `/v1/admin/subjects`: what moderators change of a subject.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use gailou_shared::content::parse_object;
use gailou_shared::id::MemberId;
use gailou_shared::path::Mode;
use gailou_shared::wire::{FieldError, Subject, SubjectState};
use serde_json::Value;

use crate::domain::operation::SubjectPatch;
use crate::http::admin::optional_text;
use crate::http::extract::{AfterBody, JsonBody, KnownSubject, KnownSubjectType, Moderator};
use crate::http::openapi::bodies::SubjectChanges;
use crate::http::openapi::examples;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::service::moderate;
use crate::state::AppState;

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
pub(in crate::http) async fn put_subject(
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_fields_of_a_subject_stay_and_null_takes_away() {
        let patch = subject_patch(br#"{"title":null,"owner_id":"7","state":"closed"}"#).unwrap();
        assert_eq!((patch.title, patch.url, patch.state), (Some(None), None, Some(SubjectState::Closed)));
        assert_eq!(patch.owner_id, Some(Some("7".parse().unwrap())));
        let wrong = subject_patch(br#"{"title":7,"owner_id":7,"state":"ajar","mode":"spiral"}"#).unwrap_err();
        let names: Vec<_> = wrong.into_iter().map(|error| error.field.into_owned()).collect();
        assert_eq!(names, ["title", "owner_id", "state", "mode"]);
    }
}
