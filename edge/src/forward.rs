//! Requests to the origin and their answers: which headers pass in either direction, how the edge
//! signs, and what counts as an answer. Nothing is cached or checked here.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, CACHE_TAGS_HEADER, CLIENT_HEADER, HOT_FOR_HEADER, MADE_HEADER, SIGNATURE_HEADER,
    SUBJECT_VERSION_HEADER, SignatureDirection, SignedRequest, sign_request,
};
use gailou_shared::wire::Code;
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use crate::Isolate;
use crate::cached_page::CDN_CACHE_CONTROL;
use crate::ports::{BodyMode, OriginBody, OriginError, OriginRequest, OriginResponse, Ports};
use crate::response::{REQUEST_ID, RequestId, problem};

/// The header with the key under which a repeated write is done once.
pub const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How long the origin may take for a read, in milliseconds.
pub const READ_TIMEOUT_MS: u32 = 5_000;
/// How long the origin may take for a write, in milliseconds.
pub const WRITE_TIMEOUT_MS: u32 = 10_000;
/// How long after a failure the origin counts as down, in milliseconds.
const DOWN_PERIOD_MS: u64 = 5_000;
/// How often a failing origin is probed while copies are served, in milliseconds. Each isolate adds up
/// to half of it, so that isolates do not probe at the same moment.
const PROBE_INTERVAL_MS: u64 = 1_000;
/// How long an origin counts as just back, in milliseconds. In that time an old copy is served and
/// refreshed once; otherwise every reader of a stale page would ask the origin at once.
const RECOVERY_PERIOD_MS: u64 = 10_000;

/// What a client reads about an answer that the edge does not read to its end.
pub const TOO_LARGE_DETAIL: &str = "The origin's answer is larger than the edge passes on. Ask for fewer comments.";

/// The header that hands a trace on. The origin believes it of a signed request alone.
const TRACE_PARENT: &str = "traceparent";

/// Request headers of the client that the origin receives. No cookies (but for [`own_cookies`]), nothing about the connection,
/// and nothing with which a client could speak for the edge.
const FORWARDED_HEADERS: [&str; 14] = [
    "accept",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "authorization",
    "cache-control",
    "content-type",
    "idempotency-key",
    "if-match",
    "if-none-match",
    "last-event-id",
    "origin",
    "sec-fetch-site",
    "x-gailou-challenge",
];

/// Response headers of the origin that clients do not receive: those of the connection, those of a body
/// that the platform has already decoded, and those meant for the edge.
const DROPPED_HEADERS: [&str; 16] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "content-encoding",
    "content-length",
    "set-cookie",
    CDN_CACHE_CONTROL,
    HOT_FOR_HEADER,
    MADE_HEADER,
    CACHE_TAGS_HEADER,
    SUBJECT_VERSION_HEADER,
];

/// The client of a request.
#[derive(Debug, Clone)]
pub struct Requester {
    /// The request's id.
    pub id: RequestId,
    /// The client's address as the platform saw it.
    pub client: Option<String>,
}

/// How the origin handled a request.
#[derive(Debug)]
pub enum OriginOutcome {
    /// It answered.
    Answered(OriginResponse),
    /// It answered that it cannot work at present (502, 503 or 504, as its own problem).
    Unavailable(OriginResponse),
    /// It answered this one request with more bytes than the edge reads. That says nothing about others.
    TooLarge,
    /// It did not answer, or something between edge and origin answered instead.
    Unreachable,
}

/// Whether the origin has lately answered for pages, as far as this isolate knows. Writes do not count:
/// an origin that accepts none may well serve pages.
#[derive(Debug)]
pub struct OriginHealth {
    /// When the last attempt failed; 0 when it succeeded.
    failed_ms: AtomicU64,
    /// When a failing origin was last probed.
    probed_ms: AtomicU64,
    /// When the origin last recovered.
    recovered_ms: AtomicU64,
    probe_interval_ms: u64,
}

impl OriginHealth {
    /// The health of an origin that was not asked yet. `seed` sets the probes apart from those of other
    /// isolates.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            failed_ms: AtomicU64::new(0),
            probed_ms: AtomicU64::new(0),
            recovered_ms: AtomicU64::new(0),
            probe_interval_ms: PROBE_INTERVAL_MS + seed % (PROBE_INTERVAL_MS / 2),
        }
    }

    /// Whether the last attempt failed less than 5 s ago: a copy is then served without
    /// waiting for a timeout.
    #[must_use]
    pub fn is_down(&self, now_ms: u64) -> bool {
        let failed = self.failed_ms.load(Ordering::Relaxed);
        failed != 0 && now_ms.saturating_sub(failed) < DOWN_PERIOD_MS
    }

    /// Whether it recovered less than 10 s ago.
    #[must_use]
    pub fn is_just_back(&self, now_ms: u64) -> bool {
        let recovered = self.recovered_ms.load(Ordering::Relaxed);
        recovered != 0 && now_ms.saturating_sub(recovered) < RECOVERY_PERIOD_MS
    }

    /// Whether to probe a failing origin now; true once in a probe interval.
    pub fn may_probe(&self, now_ms: u64) -> bool {
        let is_due = now_ms.saturating_sub(self.probed_ms.load(Ordering::Relaxed)) >= self.probe_interval_ms;
        if is_due {
            self.probed_ms.store(now_ms, Ordering::Relaxed);
        }
        is_due
    }

    /// Records whether an attempt succeeded.
    pub fn record(&self, is_up: bool, now_ms: u64) {
        let failed = self.failed_ms.swap(if is_up { 0 } else { now_ms.max(1) }, Ordering::Relaxed);
        if is_up && failed != 0 {
            self.recovered_ms.store(now_ms.max(1), Ordering::Relaxed);
        }
    }
}

/// The headers of the client that are forwarded.
#[must_use]
pub fn forwarded_headers(headers: &HeaderMap) -> HeaderMap {
    let names = FORWARDED_HEADERS.iter().map(|name| HeaderName::from_static(name));
    names.filter_map(|name| headers.get(&name).cloned().map(|value| (name, value))).collect()
}

/// The beginning of the names of the origin's cookies.
const OWN_COOKIE_PREFIX: &str = "gailou_";

/// The cookies of the client that are the origin's, as one header; `None` without any. Those of the site beside it are
/// nothing to it.
#[must_use]
pub fn own_cookies(headers: &HeaderMap) -> Option<HeaderValue> {
    let lists = headers.get_all(COOKIE).iter().filter_map(|list| list.to_str().ok());
    let own = lists.flat_map(|list| list.split(';')).map(str::trim).filter(|pair| pair.starts_with(OWN_COOKIE_PREFIX));
    let own: Vec<&str> = own.collect();
    if own.is_empty() { None } else { HeaderValue::from_str(&own.join("; ")).ok() }
}

/// A request to forward, before the edge adds its own headers.
#[derive(Debug)]
pub struct ForwardRequest {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path_query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// How to read the body of the answer.
    pub body_mode: BodyMode,
    /// How long the origin may take, in milliseconds.
    pub timeout_ms: u32,
}

/// Sends `request` for `requester`, with its id and, where the operator gave a secret, the client's
/// address under the edge's signature, and its trace.
pub async fn send(isolate: &Isolate, ports: &Ports, requester: &Requester, request: ForwardRequest) -> OriginOutcome {
    let ForwardRequest { method, path_query, mut headers, body, body_mode, timeout_ms } = request;
    headers.insert(REQUEST_ID, requester.id.to_header());
    let client = requester.client.as_deref().filter(|a| HeaderValue::from_str(a).is_ok()).unwrap_or_default();
    if let (Ok(value), false) = (HeaderValue::from_str(client), client.is_empty()) {
        headers.insert(HeaderName::from_static(CLIENT_HEADER), value);
    }
    if let Some(secret) = &isolate.config.edge_secret {
        let body_hash = BodyHash::of(&body);
        let signature = {
            let signed = SignedRequest {
                direction: SignatureDirection::EdgeToOrigin,
                method: method.as_str(),
                path_query: &path_query,
                client,
                authorization: header_text(&headers, &AUTHORIZATION),
                idempotency_key: header_text(&headers, &IDEMPOTENCY_KEY),
                body_hash,
            };
            sign_request(secret, ports.clock.now_ms() / 1_000, &signed)
        };
        let trace = requester.id.trace_parent().map(|parent| (TRACE_PARENT, parent));
        let signed = [(SIGNATURE_HEADER, signature), (BODY_HASH_HEADER, body_hash.to_string())];
        for (name, value) in signed.into_iter().chain(trace) {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
    }
    let request = OriginRequest { method, path_query, headers, body, body_mode };
    match ports.origin.send(request, timeout_ms).await {
        Err(OriginError::NoAnswer(_)) => OriginOutcome::Unreachable,
        Err(OriginError::AnswerTooLarge) => OriginOutcome::TooLarge,
        // A 5xx that is not a problem document is a proxy's page, or the platform's own answer for an origin that it
        // cannot reach (520 to 530).
        Ok(answer) if answer.status.is_server_error() && !is_problem(&answer.headers) => OriginOutcome::Unreachable,
        Ok(answer) => match answer.status {
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                OriginOutcome::Unavailable(answer)
            }
            _ => OriginOutcome::Answered(answer),
        },
    }
}

/// The value of a header as the platform sends it; empty without the header, and where it is no text, which
/// the platform does not send.
#[must_use]
pub fn header_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> &'a str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Whether an answer is a problem, which only the origin itself writes.
#[must_use]
pub fn is_problem(headers: &HeaderMap) -> bool {
    header_text(headers, &CONTENT_TYPE).starts_with("application/problem+json")
}

/// The origin's answer as the client receives it.
#[must_use]
pub fn client_response(answer: OriginResponse, id: &RequestId) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    for name in DROPPED_HEADERS {
        response.headers_mut().remove(name);
    }
    response.headers_mut().insert(REQUEST_ID, id.to_header());
    match answer.body {
        OriginBody::Whole(bytes) => *response.body_mut() = Body::from(bytes),
        OriginBody::Stream(stream) => {
            response.extensions_mut().insert(stream);
        }
    }
    response
}

/// The outcome as the client receives it. `unreachable_detail` says what an unreachable origin means
/// for this request.
#[must_use]
pub fn outcome_response(outcome: OriginOutcome, id: &RequestId, unreachable_detail: &str) -> Response {
    match outcome {
        OriginOutcome::Answered(answer) | OriginOutcome::Unavailable(answer) => client_response(answer, id),
        OriginOutcome::TooLarge => problem(id, Code::Unavailable, TOO_LARGE_DETAIL, Vec::new()),
        OriginOutcome::Unreachable => problem(id, Code::OriginUnreachable, unreachable_detail, Vec::new()),
    }
}
