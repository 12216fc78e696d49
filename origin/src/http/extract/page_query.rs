//! `limit` and `cursor` of a list that is not narrowed and has one order.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use gailou_shared::cursor::Cursor;
use gailou_shared::limits;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::extract::query::QueryParameters;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// The requested page.
#[derive(Debug)]
pub(in crate::http) struct PlainPageQuery {
    pub(in crate::http) limit: usize,
    pub(in crate::http) cursor: Option<Cursor>,
}

impl FromRequestParts<HttpState> for PlainPageQuery {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        let limit = query.number("limit", limits::MAX_PAGE_SIZE, limits::DEFAULT_PAGE_SIZE);
        let limit = limit.map_err(|error| Refusal::fields(vec![error]))?;
        Ok(Self { limit, cursor: query.cursor(&state.app)? })
    }
}

impl IntoParams for PlainPageQuery {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::page_size(), parameters::cursor("`page.next` of the page before.")]
    }
}
