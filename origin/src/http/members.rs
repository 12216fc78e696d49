//! `/v1/members/{id}/comments`: a member's public history.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::MemberId;
use gailou_shared::limits;
use gailou_shared::page_key::{page_key, unless_default};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::cached_page::{CacheableRead, json_page};
use crate::http::extract::{PathId, QueryParameters};
use crate::http::openapi::bodies::HistoryPage;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{Gone, NotModified, PublicRefusals};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::{comment_view, member};
use crate::state::AppState;

/// A page of a member's public history, newest first.
#[utoipa::path(
    get, path = "/v1/members/{id}/comments", tag = "members",
    params(PathId<MemberId>, HistoryQuery, CacheableRead),
    responses((status = 200, description = "The page.", body = HistoryPage), PublicRefusals, Gone, NotModified),
)]
pub(super) async fn list_member_comments(
    State(app): State<Arc<AppState>>,
    PathId(id): PathId<MemberId>,
    query: HistoryQuery,
    read: CacheableRead,
) -> Result<Response, Refusal> {
    let build = || async {
        let page = member::list_history(&app, id, query.limit, query.cursor).await?;
        let subjects = comment_view::subjects(&page.data);
        json_page(&page, subjects)
    };
    read.answer(&query.page_key(read.path()), build).await
}

/// The requested page of a history. A history has one sort.
#[derive(Debug)]
pub(super) struct HistoryQuery {
    limit: usize,
    cursor: Option<Cursor>,
    /// As it was sent.
    sent_cursor: Option<String>,
}

impl HistoryQuery {
    fn page_key(&self, path: &str) -> String {
        let limit = unless_default(self.limit, limits::DEFAULT_PAGE_SIZE);
        page_key(path, &[("limit", limit), ("cursor", self.sent_cursor.clone())])
    }
}

impl FromRequestParts<HttpState> for HistoryQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let limit = limit.map_err(|error| Refusal::fields(vec![error]))?;
        let (cursor, sent_cursor) = (query.cursor(&state.app)?, query.get("cursor").map(str::to_owned));
        Ok(Self { limit, cursor, sent_cursor })
    }
}

impl IntoParams for HistoryQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::page_size(), parameters::cursor("`page.next` of the page before.")]
    }
}
