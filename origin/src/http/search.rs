//! `/v1/subjects/{type}/{key}/search`: the comments of a thread that contain a text.

use std::sync::Arc;

use axum::Json;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, header};
use gailou_shared::cursor::Cursor;
use gailou_shared::limits;
use gailou_shared::wire::{CommentPage, FieldError};
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::search_text::{MAX_QUERY_CHARS, SearchTerms};
use crate::http::cached_page::PRIVATE_CACHING;
use crate::http::extract::{CountedRead, KnownSubject, QueryParameters};
use crate::http::openapi::bodies::HistoryPage;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{NotFound, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::search::{self, SearchQuery};
use crate::state::AppState;

/// Search in a thread.
///
/// The visible comments that contain all of `q`, the newest first. Words are found as a whole, in any case and without
/// their accents; Chinese, Japanese and Korean characters wherever they stand beside each other, in traditional and
/// simplified forms. A new comment is found within seconds.
#[utoipa::path(
    get, path = "/v1/subjects/{type}/{key}/search", tag = "subjects",
    params(KnownSubject, SubjectSearch),
    responses((status = 200, description = "The page; each comment has a `highlight`.", body = HistoryPage), PublicRefusals, NotFound),
)]
pub(super) async fn search_subject(
    State(app): State<Arc<AppState>>,
    KnownSubject(subject): KnownSubject,
    search: SubjectSearch,
    _: CountedRead,
) -> Result<([(HeaderName, HeaderValue); 1], Json<CommentPage>), Refusal> {
    let _place = app.reads.admit().await?;
    let SubjectSearch { query, limit, cursor } = search;
    let page = search::search_subject(&app, subject, query, limit, cursor).await?;
    Ok(([(header::CACHE_CONTROL, PRIVATE_CACHING)], Json(page)))
}

/// What a reader searches for.
#[derive(Debug)]
pub(super) struct SubjectSearch {
    query: SearchQuery,
    limit: usize,
    cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for SubjectSearch {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        match (search_query(query.get("q").unwrap_or_default()), limit) {
            (Ok(text), Ok(limit)) => Ok(Self { query: text, limit, cursor: query.cursor(&state.app)? }),
            (text, limit) => Err(Refusal::fields([text.err(), limit.err()].into_iter().flatten().collect())),
        }
    }
}

/// The query in this text.
pub(super) fn search_query(text: &str) -> Result<SearchQuery, FieldError> {
    let terms = SearchTerms::parse(text).map_err(|error| FieldError::new("q", error.to_string()))?;
    Ok(SearchQuery { text: text.to_owned(), terms })
}

/// The description of `q`.
pub(super) fn query_parameter(description: &str) -> utoipa::openapi::path::ParameterBuilder {
    let text = parameters::text().min_length(Some(1)).max_length(Some(MAX_QUERY_CHARS));
    parameters::query("q", description, text)
}

impl IntoParams for SubjectSearch {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![
            query_parameter("What the comments contain.").required(Required::True).build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
        ]
    }
}
