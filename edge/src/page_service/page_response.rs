//! The response made of a stored page. The platform's fast path inserts the same headers.

use axum::body::Body;
use axum::response::Response;
use gailou_shared::http_headers::MIN_COMPRESSED_BYTES;
use http::StatusCode;
use http::header::{ACCEPT_ENCODING, AGE, CACHE_CONTROL, ETAG, HeaderMap, HeaderName, HeaderValue, VARY, WARNING};

use super::PageRequest;
use crate::cached_page::CachedPage;
use crate::response::{REQUEST_ID, allow_every_site};

/// What browsers may do with a page: store it, and revalidate it before each use.
pub const BROWSER_CACHE_CONTROL: HeaderValue = HeaderValue::from_static("public, no-cache");
/// The header that marks a page served while the origin does not answer.
pub const STALE_HEADER: HeaderName = HeaderName::from_static("x-gailou-stale");

/// The response to `request` with this page, a 304 when the client has it already.
pub(super) fn page_response(page: &CachedPage, request: &PageRequest, now_ms: u64, is_stale: bool) -> Response {
    let mut response = Response::new(Body::empty());
    let is_unchanged = request.if_none_match.as_deref().is_some_and(|tags| page.matches_etag(tags));
    if is_unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        insert_common_headers(page, response.headers_mut());
    } else {
        *response.body_mut() = Body::from(page.body.clone());
        insert_page_headers(page, response.headers_mut());
    }
    let headers = response.headers_mut();
    headers.insert(AGE, HeaderValue::from(page.age_seconds(now_ms)));
    headers.insert(REQUEST_ID, request.requester.id.to_header());
    if is_stale {
        mark_stale(headers);
    }
    response
}

/// Marks an answer as a saved copy.
pub(super) fn mark_stale(headers: &mut HeaderMap) {
    headers.insert(STALE_HEADER, HeaderValue::from_static("1"));
    headers.insert(WARNING, HeaderValue::from_static("110 gailou \"Response is Stale\""));
}

/// Inserts the headers of a page that are the same for every reader.
pub fn insert_page_headers(page: &CachedPage, headers: &mut HeaderMap) {
    headers.extend(page.headers.iter().cloned());
    insert_common_headers(page, headers);
}

/// Inserts those of them that a 304 has too.
pub fn insert_common_headers(page: &CachedPage, headers: &mut HeaderMap) {
    if let Some(etag) = &page.etag {
        headers.insert(ETAG, etag.clone());
    }
    headers.insert(CACHE_CONTROL, BROWSER_CACHE_CONTROL);
    if page.body.len() >= MIN_COMPRESSED_BYTES {
        headers.insert(VARY, HeaderValue::from_name(ACCEPT_ENCODING));
    }
    allow_every_site(headers);
}
