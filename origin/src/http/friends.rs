//! `/v1/me/friends/comments`: what the reader's friends have written in a subject.

use std::sync::Arc;

use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::response::Response;
use gailou_shared::cursor::Cursor;
use gailou_shared::id::SubjectKey;
use gailou_shared::limits;
use gailou_shared::list_view::ListView;
use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::cached_page::private_list;
use crate::http::counts::subject_named;
use crate::http::extract::{AuthenticatedMember, CountedRead, QueryParameters, view_parameter};
use crate::http::openapi::list_views::HistoryPageView;
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::friends;
use crate::state::AppState;

/// The comments of the reader's friends.
///
/// Those that every reader sees, replies too, newest first.
#[utoipa::path(
    get, path = "/v1/me/friends/comments", tag = "me",
    params(FriendsQuery),
    responses(
        (status = 200, description = "A page of comments.", body = inline(HistoryPageView)),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(super) async fn list_friends_comments(
    State(app): State<Arc<AppState>>,
    AuthenticatedMember(reader): AuthenticatedMember,
    _: CountedRead,
    query: FriendsQuery,
) -> Result<Response, Refusal> {
    let page = friends::list_comments(&app, &reader, &query.subject, query.limit, query.cursor).await?;
    Ok(private_list(query.view, &page))
}

/// The requested page.
#[derive(Debug)]
pub(super) struct FriendsQuery {
    subject: SubjectKey,
    limit: usize,
    cursor: Option<Cursor>,
    view: ListView,
}

impl FromRequestParts<HttpState> for FriendsQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let name = query.get("subject").ok_or_else(|| Refusal::field("subject", "is missing"))?;
        let subject = subject_named(&state.app, name)?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        match (limit, query.view()) {
            (Ok(limit), Ok(view)) => Ok(Self { subject, limit, cursor: query.cursor(&state.app)?, view }),
            (limit, view) => Err(Refusal::fields([limit.err(), view.err()].into_iter().flatten().collect())),
        }
    }
}

impl IntoParams for FriendsQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let name = parameters::text().pattern(Some("^[a-z0-9_-]{1,32}/.+$"));
        let subject = parameters::query("subject", "`type/key`.", name).required(Required::True);
        vec![
            subject.example(Some("video/2".into())).build(),
            parameters::page_size(),
            parameters::cursor("`page.next` of the page before."),
            view_parameter(),
        ]
    }
}
