//! `/v1/admin/export`: threads as JSON lines, as an import reads them.

use std::io;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt as _;
use gailou_shared::id::SubjectKey;
use serde_json::json;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::cached_page::{JSON_LINES_TYPE, PRIVATE_CACHING};
use crate::http::counts::subject_named;
use crate::http::extract::{AdminRead, QueryParameters};
use crate::http::openapi::parameters;
use crate::http::openapi::responses::{MemberRefusals, NotFound};
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::ServiceError;
use crate::service::export;
use crate::state::AppState;
use crate::state::admission::NotAdmitted;

/// Comments as JSON lines.
///
/// Only admins may. One line a comment, threads together and parents first, as `POST /v1/admin/import` and
/// `gailou import` read them. The answer is streamed, and is complete when the connection ends as HTTP says.
#[utoipa::path(
    get, path = "/v1/admin/export", tag = "admin",
    params(ExportQuery),
    responses(
        (status = 200, description = "The lines.", body = String, content_type = JSON_LINES_TYPE),
        MemberRefusals, NotFound,
    ),
    security(("bearer" = [])),
)]
pub(in crate::http) async fn export_comments(
    State(app): State<Arc<AppState>>,
    _: AdminRead,
    ExportQuery(subject): ExportQuery,
) -> Result<Response, Refusal> {
    let place = app.exports.clone().try_acquire_owned().map_err(|_| ServiceError::from(NotAdmitted))?;
    let lines = export::export(app.tables.clone(), subject).map_err(move |error| {
        let _ = &place;
        tracing::debug!(%error, "Could not finish an export of comments");
        io::Error::other("the export cannot be finished")
    });
    let headers = [
        (header::CACHE_CONTROL, PRIVATE_CACHING),
        (header::CONTENT_TYPE, HeaderValue::from_static(JSON_LINES_TYPE)),
        (header::CONTENT_DISPOSITION, HeaderValue::from_static("attachment; filename=\"gailou-comments.jsonl\"")),
    ];
    Ok((headers, Body::from_stream(lines)).into_response())
}

/// The subject to export; `None` for all.
#[derive(Debug)]
pub(in crate::http) struct ExportQuery(Option<SubjectKey>);

impl FromRequestParts<HttpState> for ExportQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        query.get("subject").map(|name| subject_named(&state.app, name)).transpose().map(Self)
    }
}

impl IntoParams for ExportQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let subject =
            parameters::query("subject", "The comments of this subject alone: `type/key`.", parameters::text());
        vec![subject.example(Some(json!("video/2"))).build()]
    }
}
