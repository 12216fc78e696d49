//! The language that a request is answered in, where the answer is a page for a reader.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use gailou_shared::page_language::ReaderLanguage;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::http::extract::QueryParameters;
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// The language that the reader's program prefers. An answer that a cache may keep varies with it.
pub(in crate::http) fn accepted_language(headers: &HeaderMap) -> ReaderLanguage {
    let accepted = headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
    ReaderLanguage::preferred(accepted.unwrap_or_default())
}

/// The language of a page: that of `lang`, else the one that the reader prefers.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct RequestLanguage {
    pub(in crate::http) language: ReaderLanguage,
    /// Whether another reader would get another page at this address.
    pub(in crate::http) is_negotiated: bool,
}

impl FromRequestParts<HttpState> for RequestLanguage {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Refusal> {
        let query = QueryParameters::from_request_parts(parts, state).await?;
        Ok(match query.get("lang") {
            Some(asked) => Self { language: ReaderLanguage::preferred(asked), is_negotiated: false },
            None => Self { language: accepted_language(&parts.headers), is_negotiated: true },
        })
    }
}

impl IntoParams for RequestLanguage {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let names = parameters::text().enum_values(Some(ReaderLanguage::ALL.map(ReaderLanguage::name)));
        vec![
            parameters::query("lang", "The language of the page; by `Accept-Language` where it is left out.", names)
                .build(),
        ]
    }
}
