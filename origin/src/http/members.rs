//! `/v1/members/{id}/comments`: a member's public history.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::MemberId;
use gailou_shared::limits;
use gailou_shared::list_view::ListView;
use gailou_shared::page_key::{page_key, unless_default};
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::cached_page::{CacheableRead, list_page};
use crate::http::extract::{PathId, QueryParameters, view_parameter};
use crate::http::openapi::list_views::HistoryPageView;
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
    responses(
        (status = 200, description = "The page.", body = inline(HistoryPageView)),
        PublicRefusals, Gone, NotModified,
    ),
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
        list_page(query.view, &page, subjects)
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
    view: ListView,
}

impl HistoryQuery {
    fn page_key(&self, path: &str) -> String {
        let limit = unless_default(self.limit, limits::DEFAULT_PAGE_SIZE);
        page_key(path, &[("limit", limit), ("cursor", self.sent_cursor.clone()), self.view.key_parameter()])
    }
}

impl FromRequestParts<HttpState> for HistoryQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let (limit, view) = match (limit, query.view()) {
            (Ok(limit), Ok(view)) => (limit, view),
            (limit, view) => return Err(Refusal::fields([limit.err(), view.err()].into_iter().flatten().collect())),
        };
        let (cursor, sent_cursor) = (query.cursor(&state.app)?, query.get("cursor").map(str::to_owned));
        Ok(Self { limit, cursor, sent_cursor, view })
    }
}

impl IntoParams for HistoryQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::page_size(), parameters::cursor("`page.next` of the page before."), view_parameter()]
    }
}
