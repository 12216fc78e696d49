//! A request's body, within its bound.

use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use gailou_shared::http_headers::is_json_type;
use gailou_shared::limits;
use gailou_shared::wire::Code;

use crate::http::problem::Refusal;
use crate::http::state::HttpState;

/// How long a body may take to arrive.
const BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The bytes of a body of `application/json`, else `413 body_too_large` or
/// `415 unsupported_media_type`. Its fields are not looked at here.
#[derive(Debug)]
pub(in crate::http) struct JsonBody(pub(in crate::http) Bytes);

impl FromRequest<HttpState> for JsonBody {
    type Rejection = Refusal;

    async fn from_request(request: Request, _: &HttpState) -> Result<Self, Refusal> {
        check_declared_size(request.headers())?;
        let is_json = is_json(request.headers());
        let body = read_body(request.into_body(), limits::MAX_BODY_BYTES).await?;
        if is_json { Ok(Self(body)) } else { Err(Refusal::new(Code::UnsupportedMediaType, "send application/json")) }
    }
}

/// A body that the call does not read; one that is declared too large is `413 body_too_large`.
#[derive(Debug)]
pub(in crate::http) struct UnreadBody;

impl FromRequestParts<HttpState> for UnreadBody {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &HttpState) -> Result<Self, Refusal> {
        check_declared_size(&parts.headers).map(|()| Self)
    }
}

/// The bytes of a body that arrives within [`BODY_TIMEOUT`] and a bound.
pub(in crate::http) async fn read_body(body: Body, max_bytes: usize) -> Result<Bytes, Refusal> {
    match tokio::time::timeout(BODY_TIMEOUT, to_bytes(body, max_bytes)).await {
        Ok(read) => read.map_err(|_| Refusal::body_too_large()),
        Err(_) => Err(Refusal::field("body", "did not arrive within 10 seconds")),
    }
}

/// The size that a request declares for its body.
pub(super) fn declared_size(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

fn check_declared_size(headers: &HeaderMap) -> Result<(), Refusal> {
    let is_too_large = declared_size(headers).is_some_and(|bytes| bytes > limits::MAX_BODY_BYTES as u64);
    if is_too_large { Err(Refusal::body_too_large()) } else { Ok(()) }
}

fn is_json(headers: &HeaderMap) -> bool {
    is_json_type(headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default())
}
