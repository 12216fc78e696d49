//! Answers that are the same for every reader: taken from the page cache or built, and sent whole or
//! as `304`.
//!
//! Not here: what makes a page old ([`crate::state::page_cache`]).

use std::net::IpAddr;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use gailou_shared::edge_protocol::{CACHE_TAGS_HEADER, HOT_FOR_HEADER, MADE_HEADER, SUBJECT_VERSION_HEADER};
use gailou_shared::http_headers::matches_etag;
use gailou_shared::id::SubjectKey;
use gailou_shared::list_view::ListView;
use gailou_shared::request_path::COMPAT_PATHS;
use gailou_shared::wire::compact::CompactView;
use serde::Serialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};

use crate::domain::content_coding::ContentCoding;
use crate::http::accept_encoding;
use crate::http::extract::{AuthenticatedMember, RequestClient};
use crate::http::openapi::parameters;
use crate::http::problem::Refusal;
use crate::http::state::HttpState;
use crate::service::cache_tags::Tagged;
use crate::service::subject::SubjectAudience;
use crate::service::{ServiceError, ServiceResult, cache_tags};
use crate::state::AppState;
use crate::state::page_cache::{BuiltPage, ReadyPage};

/// For the caches between; browsers read `Cache-Control`.
pub(super) const CDN_CACHE_CONTROL: HeaderName = HeaderName::from_static("cdn-cache-control");
/// Browsers ask before each use, so that they show nothing that was taken down.
pub(super) const BROWSER_CACHING: HeaderValue = HeaderValue::from_static("public, no-cache");
/// Nothing may keep what belongs to one reader.
pub(super) const PRIVATE_CACHING: HeaderValue = HeaderValue::from_static("private, no-store");
const CDN_CACHING: HeaderValue =
    HeaderValue::from_static("public, max-age=1, stale-while-revalidate=1, stale-if-error=86400");
pub(super) const JSON_TYPE: &str = "application/json";
/// The type of an answer that has one JSON value a line, and may take any time.
pub(super) const JSON_LINES_TYPE: &str = "application/x-ndjson";
/// Headers of a page, with the three that the hot path adds: the map never grows meanwhile.
const PAGE_HEADERS: usize = 13;

/// A read whose answer every reader shares, unless a moderator sends a token with it: then the answer is of
/// what moderators see, and no cache keeps it.
#[derive(Debug)]
pub(super) struct CacheableRead {
    app: Arc<AppState>,
    path: String,
    if_none_match: Option<HeaderValue>,
    coding: Option<ContentCoding>,
    audience: SubjectAudience,
    /// Whom a read counts for.
    network: Option<IpAddr>,
}

impl CacheableRead {
    /// The path as it was sent.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// Who reads.
    pub(super) const fn audience(&self) -> SubjectAudience {
        self.audience
    }

    /// The page under this key, built where it is missing or old.
    pub(super) async fn answer<F: Future<Output = ServiceResult<BuiltPage>>>(
        &self,
        key: &str,
        build: impl Fn() -> F,
    ) -> Result<Response, Refusal> {
        if self.audience == SubjectAudience::Moderators {
            self.app.rate_limits.count_read(self.network).await?;
            let _place = self.app.reads.admit().await?;
            return Ok(send_private(build().await?));
        }
        let page = get_or_build(&self.app, self.network, key, build).await?;
        let mut response = send(&page, self.if_none_match.as_ref(), self.coding);
        response.extensions_mut().insert(SentPage(page));
        Ok(response)
    }
}

/// The page under this key. One that has to be built counts as a read of this network.
pub(super) async fn get_or_build<F: Future<Output = ServiceResult<BuiltPage>>>(
    app: &AppState,
    network: Option<IpAddr>,
    key: &str,
    build: impl Fn() -> F,
) -> Result<Arc<ReadyPage>, Refusal> {
    let ready = match key.starts_with(COMPAT_PATHS) {
        true => app.page_cache.get_for(network, key).await,
        false => app.page_cache.get(key).await,
    };
    if let Some(page) = ready {
        return Ok(page);
    }
    app.rate_limits.count_read(network).await?;
    Ok(app.page_cache.build_missing(key, build).await?)
}

impl FromRequestParts<HttpState> for CacheableRead {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &HttpState) -> Result<Self, Self::Rejection> {
        let (path, if_none_match) = (parts.uri.path().to_owned(), parts.headers.get(header::IF_NONE_MATCH).cloned());
        let coding = accept_encoding::best(&parts.headers);
        let Ok(client) = RequestClient::from_request_parts(parts, state).await;
        let audience = match parts.headers.contains_key(header::AUTHORIZATION) {
            true => {
                AuthenticatedMember::from_request_parts(parts, state).await.map(|member| SubjectAudience::of(&member.0))
            }
            false => Ok(SubjectAudience::EveryReader),
        };
        // A token that is not valid changes nothing about a public read.
        let audience = audience.unwrap_or(SubjectAudience::EveryReader);
        Ok(Self { app: state.app.clone(), path, if_none_match, coding, audience, network: client.network })
    }
}

impl IntoParams for CacheableRead {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        vec![parameters::header("If-None-Match", "The `ETag` of an earlier answer.", parameters::text())]
    }
}

/// The page of an answer. The middleware counts it as read; a page that this process renders for
/// itself passes no middleware and is not counted.
#[derive(Debug, Clone)]
pub(super) struct SentPage(pub(super) Arc<ReadyPage>);

/// JSON that becomes old when one of the subjects changes.
pub(super) fn json_page(value: &(impl Serialize + Tagged), subjects: Vec<SubjectKey>) -> ServiceResult<BuiltPage> {
    page_with_body(serde_json::to_vec(value), value, subjects)
}

/// The same in a view of the list.
pub(super) fn list_page(
    view: ListView,
    value: &(impl Serialize + CompactView + Tagged),
    subjects: Vec<SubjectKey>,
) -> ServiceResult<BuiltPage> {
    let body = match view {
        ListView::Full => serde_json::to_vec(value),
        ListView::Compact => serde_json::to_vec(&value.compact()),
    };
    page_with_body(body, value, subjects)
}

/// Both views of a list show the same comments, so they have the same cache tags.
fn page_with_body(
    body: serde_json::Result<Vec<u8>>,
    value: &impl Tagged,
    subjects: Vec<SubjectKey>,
) -> ServiceResult<BuiltPage> {
    Ok(BuiltPage {
        body: body.map_err(|error| ServiceError::Bug(error.to_string()))?,
        content_type: JSON_TYPE,
        headers: &[],
        subjects,
        cache_tags: cache_tags::cache_tags(value),
        version: value.version(),
        reads: None,
        is_passing: false,
    })
}

/// A list for one reader alone, in the view that is asked for.
pub(super) fn private_list(view: ListView, value: &(impl Serialize + CompactView)) -> Response {
    let mut response = match view {
        ListView::Full => Json(value).into_response(),
        ListView::Compact => Json(value.compact()).into_response(),
    };
    response.headers_mut().insert(header::CACHE_CONTROL, PRIVATE_CACHING);
    response
}

/// The answer with a page: whole, in the coding that its reader takes, or `304` where the reader has it already.
pub(super) fn send(page: &ReadyPage, if_none_match: Option<&HeaderValue>, coding: Option<ContentCoding>) -> Response {
    let is_current = if_none_match.is_some_and(|tags| is_among(&page.etag, tags));
    let compressed = coding.filter(|_| !is_current).and_then(|coding| page.body_in(coding).map(|body| (coding, body)));
    let (coding, body) = compressed.map_or_else(|| (None, page.body.clone()), |(coding, body)| (Some(coding), body));
    let mut response = match is_current {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Response::new(Body::from(body)),
    };
    let headers = response.headers_mut();
    headers.reserve(PAGE_HEADERS);
    if !is_current {
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    }
    if page.is_compressible() {
        headers.insert(header::VARY, HeaderValue::from_name(header::ACCEPT_ENCODING));
    }
    if let Some(coding) = coding {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.into()));
    }
    insert_text(headers, header::ETAG, if coding.is_some() { &page.weak_etag } else { &page.etag });
    headers.insert(header::CACHE_CONTROL, BROWSER_CACHING);
    headers.insert(CDN_CACHE_CONTROL, CDN_CACHING);
    if let Some(tags) = &page.cache_tags {
        insert_text(headers, HeaderName::from_static(CACHE_TAGS_HEADER), tags);
    }
    headers.insert(MADE_HEADER, page.made.into());
    headers.insert(SUBJECT_VERSION_HEADER, page.version.into());
    if let Some(seconds) = page.fresh_for_seconds() {
        headers.insert(HOT_FOR_HEADER, u16::from(seconds).into());
    }
    for (name, value) in page.headers {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    response
}

/// Inserts a text that was made once, without a copy.
fn insert_text(headers: &mut HeaderMap, name: HeaderName, text: &Bytes) {
    if let Ok(value) = HeaderValue::from_maybe_shared(text.clone()) {
        headers.insert(name, value);
    }
}

/// An answer for one reader alone.
fn send_private(page: BuiltPage) -> Response {
    let mut response = Response::new(Body::from(page.body));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    headers.insert(header::CACHE_CONTROL, PRIVATE_CACHING);
    for (name, value) in page.headers {
        headers.insert(*name, HeaderValue::from_static(value));
    }
    response
}

fn is_among(etag: &Bytes, if_none_match: &HeaderValue) -> bool {
    let (tags, etag) = (if_none_match.to_str().ok(), std::str::from_utf8(etag).ok());
    tags.zip(etag).is_some_and(|(tags, etag)| matches_etag(tags, etag))
}
