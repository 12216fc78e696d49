//! `/v1/admin/comments`: moderators look for comments of any state.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::{MemberId, SubjectKey};
use gailou_shared::limits;
use gailou_shared::wire::{CommentPage, CommentState, FieldError};
use serde_json::json;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};
use utoipa::{IntoParams, PartialSchema as _};

use crate::domain::search_index::state_name;
use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{ModeratorRead, QueryParameters};
use crate::http::openapi::bodies::HistoryPage;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::MemberRefusals;
use crate::http::problem::Refusal;
use crate::http::search::{query_parameter, search_query};
use crate::http::state::HttpState;
use crate::service::search::{self, CommentSearch};
use crate::state::AppState;

/// The states that can be asked for.
const COMMENT_STATES: [CommentState; 5] = [
    CommentState::Published,
    CommentState::Review,
    CommentState::Rejected,
    CommentState::Hidden,
    CommentState::Deleted,
];

/// Look for comments.
///
/// Only moderators may. All comments that fulfil every parameter, whatever their state, the newest first; each has a
/// `highlight` where there is a `q`.
#[utoipa::path(
    get, path = "/v1/admin/comments", tag = "admin",
    params(AllCommentsQuery),
    responses((status = 200, description = "The page.", body = HistoryPage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn search_comments(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    query: AllCommentsQuery,
) -> PrivateAnswer<CommentPage> {
    let _place = app.reads.admit().await?;
    private(search::search_all(&app, &query.search, query.limit, query.cursor).await?)
}

/// Which comments are looked for.
#[derive(Debug)]
pub(in crate::http) struct AllCommentsQuery {
    search: CommentSearch,
    limit: usize,
    cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for AllCommentsQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let mut errors = Vec::new();
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let search = CommentSearch {
            query: parsed(query.get("q"), search_query, &mut errors),
            subject: parsed(query.get("subject"), subject, &mut errors),
            member: parsed(query.get("member"), member, &mut errors),
            state: parsed(query.get("state"), comment_state, &mut errors),
            from: parsed(query.get("from"), |text| time("from", text), &mut errors),
            to: parsed(query.get("to"), |text| time("to", text), &mut errors),
            reported: parsed(query.get("reported"), only_true, &mut errors).is_some(),
        };
        if search.reported && search.member.is_none() {
            errors.push(FieldError::new("reported", "needs `member`"));
        }
        match limit {
            Ok(limit) if errors.is_empty() => Ok(Self { search, limit, cursor: query.cursor(&state.app)? }),
            limit => {
                errors.extend(limit.err());
                Err(Refusal::fields(errors))
            }
        }
    }
}

/// A parameter that may be left out.
pub(super) fn parsed<T>(
    text: Option<&str>,
    parse: impl Fn(&str) -> Result<T, FieldError>,
    errors: &mut Vec<FieldError>,
) -> Option<T> {
    let parsed = text.map(parse)?;
    parsed.map_err(|error| errors.push(error)).ok()
}

fn subject(text: &str) -> Result<SubjectKey, FieldError> {
    let (kind, key) = text.split_once('/').ok_or_else(|| FieldError::new("subject", "must be {type}/{key}"))?;
    SubjectKey::new(kind, key).map_err(|error| FieldError::new("subject", error.to_string()))
}

fn member(text: &str) -> Result<MemberId, FieldError> {
    text.parse::<MemberId>().map_err(|error| FieldError::new("member", error.to_string()))
}

fn comment_state(text: &str) -> Result<CommentState, FieldError> {
    let names = COMMENT_STATES.map(state_name);
    let found = COMMENT_STATES.into_iter().find(|state| state_name(*state) == text);
    found.ok_or_else(|| FieldError::new("state", format!("must be one of {}", names.join(", "))))
}

fn only_true(text: &str) -> Result<(), FieldError> {
    if text == "true" { Ok(()) } else { Err(FieldError::new("reported", "must be true, or left out")) }
}

/// A time in Unix milliseconds.
pub(super) fn time(name: &'static str, text: &str) -> Result<u64, FieldError> {
    let number = text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    number.ok_or_else(|| FieldError::new(name, "must be a time in Unix milliseconds"))
}

impl IntoParams for AllCommentsQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let time = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0));
        let states = parameters::text().enum_values(Some(COMMENT_STATES.map(state_name)));
        let subject = parameters::query("subject", "Comments of this subject alone: `type/key`.", parameters::text());
        vec![
            query_parameter("What the comments contain.").build(),
            subject.example(Some(json!("video/2"))).build(),
            parameters::query("member", "Comments of this author alone.", MemberId::schema()).build(),
            parameters::query("state", "Comments of this state alone.", states).build(),
            parameters::query("from", "Written at this time or later, in Unix milliseconds.", time()).build(),
            parameters::query("to", "Written before this time, in Unix milliseconds.", time()).build(),
            parameters::query(
                "reported",
                "Comments alone that readers have reported, among the newest 10,000 of `member`.",
                parameters::text().enum_values(Some(["true"])),
            )
            .build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ]
    }
}
