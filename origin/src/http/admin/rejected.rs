//! `/v1/admin/rejected`: texts that the word filter refused.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::RefusedTextId;
use gailou_shared::limits;
use gailou_shared::wire::{Comment, FieldError, RefusedTextPage};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::admin::{PrivateAnswer, private};
use crate::http::extract::{Moderator, ModeratorRead, PathId, QueryParameters, UnreadBody};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{Conflict, MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::rejected;
use crate::state::AppState;

/// Longest text that is looked for, in characters.
const MAX_QUERY_CHARS: usize = 100;

/// Refused texts.
///
/// Only moderators may. Texts of posts and edits that were answered `422 content_rejected` for a word, newest first, for
/// 30 days. A page may be short, even empty, while `has_more` is true.
#[utoipa::path(
    get, path = "/v1/admin/rejected", tag = "admin",
    params(RejectedQuery),
    responses((status = 200, description = "A page of the texts.", body = RefusedTextPage), MemberRefusals),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn list_rejected(
    State(app): State<Arc<AppState>>,
    _: ModeratorRead,
    query: RejectedQuery,
) -> PrivateAnswer<RefusedTextPage> {
    let _place = app.reads.admit().await?;
    let page = rejected::list(&app, query.text.as_deref(), query.limit, query.cursor).await?;
    private(page)
}

/// Accept a refused text.
///
/// Only moderators may. It is published as its author's, or its edit applied, whatever the word filter says; twice is
/// once. `404 not_found` when it is gone.
#[utoipa::path(
    post, path = "/v1/admin/rejected/{id}/accept", tag = "admin",
    params(PathId<RefusedTextId>),
    responses(
        (status = 200, description = "The comment.", body = Comment),
        MemberRefusals, NotFound, Conflict,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn accept_rejected(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    _: UnreadBody,
    PathId(id): PathId<RefusedTextId>,
) -> Result<Json<Comment>, Refusal> {
    Ok(Json(rejected::accept(&app, &moderator, id).await?))
}

/// Drop a refused text.
///
/// Only moderators may.
#[utoipa::path(
    delete, path = "/v1/admin/rejected/{id}", tag = "admin",
    params(PathId<RefusedTextId>),
    responses((status = 204, description = "The text is deleted."), MemberRefusals, NotFound),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn drop_rejected(
    State(app): State<Arc<AppState>>,
    Moderator(moderator): Moderator,
    _: UnreadBody,
    PathId(id): PathId<RefusedTextId>,
) -> Result<StatusCode, Refusal> {
    rejected::drop_text(&app, &moderator, id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// The requested page of the texts.
#[derive(Debug)]
pub(in crate::http) struct RejectedQuery {
    text: Option<String>,
    limit: usize,
    cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for RejectedQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let text = query.get("q").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let fits = |text: &String| text.chars().count() <= MAX_QUERY_CHARS && !text.chars().any(char::is_control);
        let wrong = text.as_ref().filter(|text| !fits(text));
        let wrong = wrong.map(|_| FieldError::new("q", format!("must be at most {MAX_QUERY_CHARS} characters")));
        match (limit, wrong) {
            (Ok(limit), None) => Ok(Self { text, limit, cursor: query.cursor(&state.app)? }),
            (limit, wrong) => Err(Refusal::fields([limit.err(), wrong].into_iter().flatten().collect())),
        }
    }
}

impl IntoParams for RejectedQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let text = parameters::text().max_length(Some(MAX_QUERY_CHARS));
        vec![
            parameters::query("q", "What the text, the name of its author or a category has, in any case.", text)
                .build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ]
    }
}
