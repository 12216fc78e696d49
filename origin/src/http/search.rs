//! `/v1/subjects/{type}/{key}/search`: the comments of a thread that contain a text.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use gailou_shared::cursor::Cursor;
use gailou_shared::limits;
use gailou_shared::list_view::ListView;
use gailou_shared::wire::FieldError;
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::search_text::{MAX_QUERY_CHARS, SearchTerms};
use crate::http::cached_page::private_list;
use crate::http::extract::{CountedRead, KnownSubject, QueryParameters, view_parameter};
use crate::http::openapi::list_views::HistoryPageView;
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
    responses(
        (status = 200, description = "The page; each comment has a `highlight`.", body = inline(HistoryPageView)),
        PublicRefusals, NotFound,
    ),
)]
pub(super) async fn search_subject(
    State(app): State<Arc<AppState>>,
    KnownSubject(subject): KnownSubject,
    search: SubjectSearch,
    _: CountedRead,
) -> Result<Response, Refusal> {
    let _place = app.reads.admit().await?;
    let SubjectSearch { query, limit, cursor, view } = search;
    let page = search::search_subject(&app, subject, query, limit, cursor).await?;
    Ok(private_list(view, &page))
}

/// What a reader searches for.
#[derive(Debug)]
pub(super) struct SubjectSearch {
    query: SearchQuery,
    limit: usize,
    cursor: Option<Cursor>,
    view: ListView,
}

impl FromRequestParts<HttpState> for SubjectSearch {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        match (search_query(query.get("q").unwrap_or_default()), limit, query.view()) {
            (Ok(text), Ok(limit), Ok(view)) => Ok(Self { query: text, limit, cursor: query.cursor(&state.app)?, view }),
            (text, limit, view) => {
                Err(Refusal::fields([text.err(), limit.err(), view.err()].into_iter().flatten().collect()))
            }
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
            view_parameter(),
        ]
    }
}
