//! The way to the origin and back: what goes along, how the edge vouches for it, and what an
//! answer must lose before it is handed on. Nothing is cached here and nothing is checked.

use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use gailou_shared::edge::{CLIENT_HEADER, MADE_HEADER, SHOWS_HEADER, SIGNATURE_HEADER, Signed, VERSION_HEADER, sign};
use gailou_shared::wire::Code;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use http::{Method, StatusCode};

use crate::Edge;
use crate::answer::{REQUEST_ID, RequestId, problem};
use crate::page::{CDN_CACHE_CONTROL, HOT_FOR};
use crate::ports::{self, FromOrigin, ToOrigin, Want, World};

/// How long the origin may take for a read, in milliseconds.
pub const READ_MS: u32 = 5_000;
/// How long the origin may take for a write, in milliseconds.
pub const WRITE_MS: u32 = 10_000;
/// How long a failure counts as news of the next request's, in milliseconds.
const DOWN_MS: u64 = 5_000;
/// How often a failing origin is tried while copies are served, in milliseconds; each isolate adds
/// up to half of it, so that they do not try all at once.
const PROBE_MS: u64 = 1_000;
/// How long an origin counts as just back, in milliseconds: who has a copy serves it and has the
/// next one fetched once, where otherwise every reader of an old page would ask.
const BACK_MS: u64 = 10_000;

/// Headers of the client that the origin gets. No cookies, nothing of the connection, and nothing
/// in which a client could speak for the edge.
const TAKEN_ALONG: [&str; 11] = [
    "accept",
    "accept-language",
    "access-control-request-headers",
    "access-control-request-method",
    "authorization",
    "cache-control",
    "content-type",
    "idempotency-key",
    "if-none-match",
    "last-event-id",
    "origin",
];

/// Headers of the origin that end here: those of the connection, those of a body that the
/// platform has already unpacked, and those that speak to the edge.
const NOT_HANDED_ON: [&str; 16] = [
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
    HOT_FOR,
    MADE_HEADER,
    SHOWS_HEADER,
    VERSION_HEADER,
];

/// Who asks.
#[derive(Debug, Clone)]
pub struct Asker {
    /// The request's id.
    pub id: RequestId,
    /// The client's address as the platform saw it.
    pub client: Option<String>,
}

/// How the origin took a request.
#[derive(Debug)]
pub enum Outcome {
    /// It answered.
    Answered(FromOrigin),
    /// It answered that it cannot do its work now (502, 503, 504 as a problem of its own).
    Troubled(FromOrigin),
    /// It did not answer, or something between did in its place.
    Unreachable,
}

/// Whether the origin lately answered for pages, as this isolate knows. Writes do not count: an
/// origin that cannot take any may well serve pages.
#[derive(Debug)]
pub struct Health {
    failed_ms: AtomicU64,
    probed_ms: AtomicU64,
    back_ms: AtomicU64,
    probe_ms: u64,
}

impl Health {
    /// Nothing is known. `seed` sets the probes apart from other isolates'.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self {
            failed_ms: AtomicU64::new(0),
            probed_ms: AtomicU64::new(0),
            back_ms: AtomicU64::new(0),
            probe_ms: PROBE_MS + seed % (PROBE_MS / 2),
        }
    }

    /// The last attempt failed, and that was less than 5 s ago: who has a copy serves it
    /// instead of waiting for a deadline.
    #[must_use]
    pub fn is_down(&self, now_ms: u64) -> bool {
        let failed = self.failed_ms.load(Ordering::Relaxed);
        failed != 0 && now_ms.saturating_sub(failed) < DOWN_MS
    }

    /// It answers again, since less than 10 s.
    #[must_use]
    pub fn is_just_back(&self, now_ms: u64) -> bool {
        let back = self.back_ms.load(Ordering::Relaxed);
        back != 0 && now_ms.saturating_sub(back) < BACK_MS
    }

    /// Whether to try a failing origin now; true once a second.
    pub fn may_probe(&self, now_ms: u64) -> bool {
        let due = now_ms.saturating_sub(self.probed_ms.load(Ordering::Relaxed)) >= self.probe_ms;
        if due {
            self.probed_ms.store(now_ms, Ordering::Relaxed);
        }
        due
    }

    /// Notes how an attempt ended.
    pub fn note(&self, up: bool, now_ms: u64) {
        let failed = self.failed_ms.swap(if up { 0 } else { now_ms.max(1) }, Ordering::Relaxed);
        if up && failed != 0 {
            self.back_ms.store(now_ms.max(1), Ordering::Relaxed);
        }
    }
}

/// Those headers of the client that go along.
#[must_use]
pub fn taken_along(headers: &HeaderMap) -> HeaderMap {
    let names = TAKEN_ALONG.iter().map(|name| HeaderName::from_static(name));
    names.filter_map(|name| headers.get(&name).cloned().map(|value| (name, value))).collect()
}

/// What to send.
#[derive(Debug)]
pub struct Message {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path_query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// What to do with the answer's body.
    pub want: Want,
    /// The deadline.
    pub deadline_ms: u32,
}

/// Sends `message` for `asker`, with its id and, where the operator gave a secret, the edge's
/// word for the client's address.
pub async fn send(edge: &Edge, world: &World, asker: &Asker, message: Message) -> Outcome {
    let Message { method, path_query, mut headers, body, want, deadline_ms } = message;
    headers.insert(REQUEST_ID, asker.id.header());
    let client = asker.client.as_deref().filter(|a| HeaderValue::from_str(a).is_ok()).unwrap_or_default();
    if let (Ok(value), false) = (HeaderValue::from_str(client), client.is_empty()) {
        headers.insert(HeaderName::from_static(CLIENT_HEADER), value);
    }
    if let Some(secret) = &edge.config.edge_secret {
        let request = Signed { method: method.as_str(), path_query: &path_query, client, body: &body };
        let signature = sign(secret, world.clock.now_ms() / 1_000, &request);
        if let Ok(value) = HeaderValue::from_str(&signature) {
            headers.insert(HeaderName::from_static(SIGNATURE_HEADER), value);
        }
    }
    let sent = world.origin.send(ToOrigin { method, path_query, headers, body, want }, deadline_ms).await;
    match sent {
        Err(_) => Outcome::Unreachable,
        // A proxy's page says nothing about the origin; a problem is the origin's word. The platform's
        // own words for an origin it cannot reach are 520 to 530.
        Ok(answer) if answer.status.is_server_error() && !is_problem(&answer.headers) => Outcome::Unreachable,
        Ok(answer) => match answer.status {
            StatusCode::BAD_GATEWAY | StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => {
                Outcome::Troubled(answer)
            }
            _ => Outcome::Answered(answer),
        },
    }
}

/// Whether an answer is the origin's own refusal.
#[must_use]
pub fn is_problem(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    kind.starts_with("application/problem+json")
}

/// The origin's answer as the client gets it.
#[must_use]
pub fn hand_on(answer: FromOrigin, id: &RequestId) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = answer.status;
    *response.headers_mut() = answer.headers;
    for name in NOT_HANDED_ON {
        response.headers_mut().remove(name);
    }
    response.headers_mut().insert(REQUEST_ID, id.header());
    match answer.body {
        ports::Body::Whole(bytes) => *response.body_mut() = Body::from(bytes),
        ports::Body::Stream(stream) => {
            response.extensions_mut().insert(stream);
        }
    }
    response
}

/// The outcome as the client gets it. `lost` says what an unreachable origin means to them.
#[must_use]
pub fn conclude(outcome: Outcome, id: &RequestId, lost: &str) -> Response {
    match outcome {
        Outcome::Answered(answer) | Outcome::Troubled(answer) => hand_on(answer, id),
        Outcome::Unreachable => problem(id, Code::OriginUnreachable, lost, Vec::new()),
    }
}
