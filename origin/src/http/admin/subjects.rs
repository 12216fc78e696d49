//! `/v1/admin/subjects`: all subjects, and what moderators change of one.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use gailou_shared::content::parse_object;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::MemberId;
use gailou_shared::limits;
use gailou_shared::path::Mode;
use gailou_shared::wire::{FieldError, ModeratedSubjectPage, Subject, SubjectState};
use serde_json::Value;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::operation::SubjectPatch;
use crate::http::admin::{PrivateAnswer, optional_text, private};
use crate::http::extract::{
    AfterBody, JsonBody, KnownSubject, KnownSubjectType, Moderator, ModeratorRead, QueryParameters,
};
use crate::http::openapi::bodies::SubjectChanges;
use crate::http::openapi::responses::{BodyRefusals, MemberRefusals, NotFound};
use crate::http::openapi::{examples, parameters};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::subject_directory::{SubjectFilter, state_name};
use crate::service::{moderate, subject_directory};
use crate::state::AppState;

/// Longest text that subjects are looked for by, in characters.
const MAX_SUBJECT_QUERY_CHARS: usize = 200;
const SUBJECT_STATES: [SubjectState; 3] = [SubjectState::Open, SubjectState::Closed, SubjectState::Hidden];

/// All subjects.
///
/// Only moderators may. Those that have comments, or were registered, with `q` and `state` in an order that does not
/// change; the subject that `q` names as `type/key` comes first. A page may hold fewer than `limit`, even none, while
/// there are more.
#[utoipa::path(
    get, path = "/v1/admin/subjects", tag = "admin",
    params(SubjectsQuery),
    responses((status = 200, description = "A page of subjects.", body = ModeratedSubjectPage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_subjects(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    query: SubjectsQuery,
) -> PrivateAnswer<ModeratedSubjectPage> {
    let _place = app.reads.admit().await?;
    private(subject_directory::list(&app, &query.filter, query.limit, query.cursor).await?)
}

/// Which subjects are looked for.
#[derive(Debug)]
pub(in crate::http) struct SubjectsQuery {
    filter: SubjectFilter,
    limit: usize,
    cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for SubjectsQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let text = query.get("q").map(subject_query).transpose();
        let subject_state = query.get("state").map(parsed_state).transpose();
        match (limit, text, subject_state) {
            (Ok(limit), Ok(text), Ok(state_wanted)) => {
                let filter = SubjectFilter { text, state: state_wanted };
                Ok(Self { filter, limit, cursor: query.cursor(&state.app)? })
            }
            (limit, text, subject_state) => {
                let errors = [limit.err(), text.err(), subject_state.err()];
                Err(Refusal::fields(errors.into_iter().flatten().collect()))
            }
        }
    }
}

fn subject_query(text: &str) -> Result<String, FieldError> {
    let text = text.trim();
    let is_query = (1..=MAX_SUBJECT_QUERY_CHARS).contains(&text.chars().count()) && !text.chars().any(char::is_control);
    let detail = || format!("must be 1 to {MAX_SUBJECT_QUERY_CHARS} characters, without control characters");
    if is_query { Ok(text.to_owned()) } else { Err(FieldError::new("q", detail())) }
}

fn parsed_state(text: &str) -> Result<SubjectState, FieldError> {
    let found = SUBJECT_STATES.into_iter().find(|state| state_name(*state) == text);
    found.ok_or_else(|| FieldError::new("state", "must be one of open, closed, hidden"))
}

impl IntoParams for SubjectsQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = parameters::text().min_length(Some(1)).max_length(Some(MAX_SUBJECT_QUERY_CHARS));
        let states = parameters::text().enum_values(Some(SUBJECT_STATES.map(state_name)));
        vec![
            parameters::query("q", "What `type/key` or the title contains, in any case.", text).build(),
            parameters::query("state", "Subjects of this state alone.", states).build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ]
    }
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
