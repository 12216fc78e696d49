//! The edge's own responses: problems, request ids, and the headers that every response has.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::response::Response;
use gailou_shared::http_headers::is_valid_request_id;
use gailou_shared::wire::{Code, FieldError, Problem};
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName,
    HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};

/// The header with the request's id.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Response headers that scripts of other sites may read.
pub const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "ETag, Age, Retry-After, Warning, X-Request-Id, X-Gailou-Stale, RateLimit, RateLimit-Policy",
);

/// The id of one request, well-formed by construction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId {
    text: String,
    /// Whether the request is traced, where the id is that of a trace: the edge has made it.
    is_traced: Option<bool>,
}

impl RequestId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The header `traceparent` of the W3C, with this id as that of the trace; `None` where a client has made it.
    #[must_use]
    pub fn trace_parent(&self) -> Option<String> {
        let (flags, span) = (u8::from(self.is_traced?), self.text.get(SPAN_ID_AT..)?);
        Some(format!("00-{}-{span}-{flags:02x}", self.text))
    }

    /// The id as a header value.
    #[must_use]
    pub fn to_header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.text).unwrap_or(HeaderValue::from_static("-"))
    }
}

/// Where the id of a span begins in a request's id.
const SPAN_ID_AT: usize = 16;
/// The odd constant nearest to 2^64 divided by the golden ratio: its multiples spread evenly.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// Issues request ids: the isolate's number and a counter, as the id of a trace is written. That is unique enough to
/// find a request in the logs, and costs no randomness per request.
#[derive(Debug)]
pub struct RequestIds {
    seed: u64,
    issued: AtomicU64,
}

impl RequestIds {
    pub(crate) const fn new(seed: u64) -> Self {
        Self { seed, issued: AtomicU64::new(0) }
    }

    /// The client's id when it is valid, else a new one. One in `trace_one_in` of these is traced, none for 0.
    pub(crate) fn accept(&self, sent: Option<&str>, trace_one_in: u32) -> RequestId {
        match sent.filter(|id| is_valid_request_id(id.as_bytes())) {
            Some(id) => RequestId { text: id.to_owned(), is_traced: None },
            None => {
                let number = self.issued.fetch_add(1, Ordering::Relaxed) + 1;
                let drawn = (self.seed ^ number).wrapping_mul(GOLDEN_RATIO) >> 32;
                let is_traced = drawn.checked_rem(trace_one_in.into()) == Some(0);
                RequestId { text: format!("{:016x}{number:016x}", self.seed), is_traced: Some(is_traced) }
            }
        }
    }
}

/// A problem of the edge's own. It holds nothing private, so scripts of any site may read it.
#[must_use]
pub fn problem(id: &RequestId, code: Code, detail: impl Into<String>, errors: Vec<FieldError>) -> Response {
    let problem = Problem::new(code, detail.into(), id.as_str().to_owned(), errors);
    let mut response = Response::new(Body::from(serde_json::to_vec(&problem).unwrap_or_default()));
    *response.status_mut() = http::StatusCode::from_u16(problem.status).unwrap_or_default();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    allow_every_site(headers);
    headers.insert(REQUEST_ID, id.to_header());
    match code {
        Code::OriginUnreachable | Code::Overloaded => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("5"));
        }
        Code::Unavailable => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        Code::TokenMissing | Code::TokenInvalid => {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        _ => {}
    }
    response
}

/// Lets scripts of every site read an answer.
pub(crate) fn allow_every_site(headers: &mut HeaderMap) {
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
}

/// Inserts a header whose value is made of numbers and fixed text; other values are left out.
pub(crate) fn insert_header(response: &mut Response, name: HeaderName, value: String) {
    if let Ok(value) = HeaderValue::try_from(value) {
        response.headers_mut().insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_well_formed_client_ids_are_accepted() {
        let ids = RequestIds::new(7);
        for accepted in ["a", "A-b_9", &"x".repeat(64)] {
            let id = ids.accept(Some(accepted), 1);
            assert_eq!((id.as_str(), id.trace_parent()), (accepted, None));
        }
        let mut seen = std::collections::HashSet::new();
        for replaced in [None, Some(""), Some("a b"), Some("é"), Some("a\n"), Some(&*"x".repeat(65))] {
            let id = ids.accept(replaced, 1);
            assert!(id.as_str().starts_with("0000000000000007") && seen.insert(id.as_str().to_owned()), "{id:?}");
            assert_eq!(id.trace_parent(), Some(format!("00-{}-{}-01", id.as_str(), &id.as_str()[16..])));
        }
    }

    #[test]
    fn share_of_requests_is_traced() {
        let traced = |one_in| {
            let ids = RequestIds::new(0x1234_5678_9abc);
            (0..10_000).filter(|_| ids.accept(None, one_in).trace_parent().is_some_and(|p| p.ends_with("-01"))).count()
        };
        assert_eq!((traced(0), traced(1)), (0, 10_000));
        assert!((80..=120).contains(&traced(100)), "{}", traced(100));
    }
}
