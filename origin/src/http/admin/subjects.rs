//! `/v1/admin/subjects`: all subjects, and what moderators change of one.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use gailou_shared::content::parse_object;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::{MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::path::Mode;
use gailou_shared::wire::{FieldError, ModeratedSubjectPage, Subject, SubjectState};
use serde_json::Value;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::{IntoParams, ToSchema};

use crate::domain::operation::SubjectPatch;
use crate::http::admin::{PrivateAnswer, optional_text, private};
use crate::http::extract::{
    AfterBody, JsonBody, KnownSubject, KnownSubjectType, Moderator, ModeratorRead, QueryParameters,
};
use crate::http::openapi::responses::{BodyRefusals, Conflict, MemberRefusals, NotFound};
use crate::http::openapi::{examples, parameters};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::subject::{SubjectAudience, read_subject};
use crate::service::subject_directory::{SubjectFilter, state_name};
use crate::service::{moderate, moved_pages, subject_directory};
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
/// Only moderators may, and `moved_to` only admins. Each change is in the audit log.
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
        MemberRefusals, NotFound, Conflict, BodyRefusals,
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
    let RequestedChange { patch, moved_to } = subject_change(&body).map_err(Refusal::fields)?;
    if let Some(to) = moved_to {
        moved_pages::move_page(&app, &moderator, &key, to.as_ref()).await?;
    }
    let changed = match patch {
        Some(patch) => moderate::change_subject(&app, &moderator, &key, patch).await?,
        None => read_subject(&app, &key, SubjectAudience::Moderators).await?,
    };
    Ok(Json(changed))
}

/// New values of a subject. A field that is left out stays as it is; `null` removes its value.
#[derive(ToSchema)]
#[expect(dead_code, reason = "the handler parses it")]
pub(in crate::http) struct SubjectChanges {
    /// Whether the subject takes comments.
    #[schema(nullable = false)]
    state: Option<SubjectState>,
    /// How its threads are built.
    #[schema(nullable = false)]
    mode: Option<Mode>,
    /// The member it belongs to.
    owner_id: Option<MemberId>,
    /// Its title; no control characters.
    #[schema(max_length = 1000)]
    title: Option<String>,
    /// Its address; no control characters.
    #[schema(max_length = 1000)]
    url: Option<String>,
    /// Another address of the page, `type/key` of the same type, which has the comments of this one from now on; both have
    /// them. It must have none of its own. `null`: no other address has them any more.
    #[schema(pattern = "^[a-z0-9_-]{1,32}/.+$")]
    moved_to: Option<String>,
}

/// What is changed of a subject.
#[derive(Debug)]
struct RequestedChange {
    /// `None` where its other address alone is changed.
    patch: Option<SubjectPatch>,
    /// Its other address; `Some(None)` takes it away.
    moved_to: Option<Option<SubjectKey>>,
}

/// A subject's new values, or every field that is wrong.
fn subject_change(body: &[u8]) -> Result<RequestedChange, Vec<FieldError>> {
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
    let named = |name: &str| name.split_once('/').and_then(|(kind, key)| SubjectKey::new(kind, key).ok());
    let moved_to = match fields.get("moved_to") {
        None => None,
        Some(Value::Null) => Some(None),
        Some(value) => {
            let to = value.as_str().and_then(named);
            if to.is_none() {
                errors.push(FieldError::new("moved_to", "must be a subject, type/key, or null"));
            }
            Some(to)
        }
    };
    let is_changed = moved_to.is_none() || fields.len() > 1;
    if errors.is_empty() { Ok(RequestedChange { patch: is_changed.then_some(patch), moved_to }) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_fields_of_a_subject_stay_and_null_takes_away() {
        let RequestedChange { patch, moved_to } =
            subject_change(br#"{"title":null,"owner_id":"7","state":"closed","moved_to":"article/b/c"}"#).unwrap();
        let patch = patch.unwrap();
        assert_eq!(moved_to, Some(Some(SubjectKey::new("article", "b/c").unwrap())));
        let RequestedChange { patch: none, moved_to } = subject_change(br#"{"moved_to":null}"#).unwrap();
        assert!(none.is_none() && moved_to == Some(None));
        assert!(subject_change(b"{}").unwrap().patch.is_some(), "it registers");
        assert_eq!((patch.title, patch.url, patch.state), (Some(None), None, Some(SubjectState::Closed)));
        assert_eq!(patch.owner_id, Some(Some("7".parse().unwrap())));
        let wrong = br#"{"title":7,"owner_id":7,"state":"ajar","mode":"spiral","moved_to":"x"}"#;
        let wrong = subject_change(wrong).unwrap_err();
        let names: Vec<_> = wrong.into_iter().map(|error| error.field.into_owned()).collect();
        assert_eq!(names, ["title", "owner_id", "state", "mode", "moved_to"]);
    }
}
