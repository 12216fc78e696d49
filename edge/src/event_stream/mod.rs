//! `GET /v1/subjects/{type}/{key}/events`: server-sent events from the edge.
//!
//! A stream polls the isolate's memory of its subject ([`replay_buffer`]) once a second. That memory is
//! kept up to date by one small poll of the origin in 2 s and subject (`events?after=N`, JSON), made by
//! whichever stream finds it due, within its own request: no request awaits another's future. The poll
//! goes through the colo's cache, so a colo polls the origin at most once a second for each version, and
//! the origin holds no stream for any reader. An event reaches a reader at most 4 s after its commit, on
//! average 2 s.
//!
//! **Promise.** Every event after the version that a reader names (`Last-Event-ID`, or `after` the first
//! time), once and in order, or `reset`.
//!
//! **Bounds.** [`stream_limits::MAX_STREAMS`] streams an isolate (beyond: 503), of which one network has
//! at most [`MAX_STREAMS_PER_NETWORK`] (beyond: 429); [`MAX_STREAM_SUBJECTS`] subjects of 200 events; 15
//! minutes a stream. A stream that makes every poll itself needs 1,350 subrequests of the 10,000 that
//! the platform grants a request on a paid plan. On a free plan (50) its polls fail after half a minute,
//! and it ends after the third failure.
//!
//! **Cost** (paid plan: $0.30 a million requests, $0.02 a million ms of CPU; subrequests and open streams
//! are free). A reader makes 4 requests and 3,600 polls of memory an hour, 50 µs each as measured in
//! workerd with 1,000 streams. 10,000 readers of one subject: $0.012 + $0.036 = $0.048 an hour. A Durable
//! Object for each subject ($0.15 a million requests, $12.50 a million GB-s) cannot hibernate while it
//! holds event streams. 10,000 readers of one subject: $0.024 an hour, all through one thread; one reader
//! of each of 10,000 subjects: $58 an hour. So there is none.

pub mod replay_buffer;
pub mod stream_limits;

mod stream;

use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use gailou_shared::wire::Code;
use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};

use crate::forward::{self, Requester};
use crate::lru::WeightedLru;
use crate::page_key::PageKey;
use crate::ports::Ports;
use crate::response::{insert_header, problem};
use crate::writes::{self, RouteRule};
use crate::{Isolate, lock, rate_limits};
use replay_buffer::ReplayBuffer;
use stream_limits::{MAX_STREAMS_PER_NETWORK, StreamLimitReached, StreamLimits, WINDOW_MS};

pub use stream::EventStream;

/// Most subjects with streams in an isolate: 200 events of 400 bytes each make 20 MB at most.
pub const MAX_STREAM_SUBJECTS: usize = 256;

/// What an isolate keeps for its streams.
#[derive(Debug)]
pub struct EventStreams {
    buffers: Mutex<WeightedLru<Arc<Mutex<ReplayBuffer>>>>,
    limits: Mutex<StreamLimits>,
}

impl Default for EventStreams {
    fn default() -> Self {
        // Two generations, each of half the subjects.
        Self { buffers: Mutex::new(WeightedLru::new(usize::MAX, MAX_STREAM_SUBJECTS)), limits: Mutex::default() }
    }
}

impl EventStreams {
    /// The replay buffer of a subject, created when it is missing.
    fn buffer(&self, subject: &str) -> Arc<Mutex<ReplayBuffer>> {
        let mut buffers = lock(&self.buffers);
        buffers.get(subject).unwrap_or_else(|| {
            let buffer = Arc::<Mutex<ReplayBuffer>>::default();
            buffers.put(subject.into(), Arc::clone(&buffer), 0);
            buffer
        })
    }
}

/// A stream that was opened for a response. The platform takes it out of the response's extensions and
/// sends its chunks.
#[derive(Debug, Clone)]
pub struct ClaimedStream(Arc<Mutex<Option<EventStream>>>);

impl ClaimedStream {
    /// The stream, the first time; `None` afterwards.
    #[must_use]
    pub fn take(&self) -> Option<EventStream> {
        lock(&self.0).take()
    }
}

/// Opens a stream for a request that accepts `text/event-stream`; any other request is forwarded.
pub async fn open_stream(isolate: &Arc<Isolate>, ports: &Ports, requester: &Requester, request: Request) -> Response {
    let accepts_stream = |value: &HeaderValue| value.to_str().is_ok_and(|accept| accept.contains("text/event-stream"));
    let path = request.uri().path().strip_suffix("/events");
    let subject = path.and_then(|path| PageKey::parse(path, None)).map(|key| key.path_query);
    let (Some(subject), true) = (subject, request.headers().get_all(ACCEPT).iter().any(accepts_stream)) else {
        return writes::check_and_forward(isolate, ports, requester, RouteRule::ANY_REQUEST, request).await;
    };
    if let Err(exceeded) = rate_limits::count_read(ports, requester).await {
        return rate_limits::refuse(exceeded, &requester.id);
    }
    let position = resume_position(request.headers(), request.uri().query());
    let mut stream = match EventStream::open(isolate, ports, requester, subject, position) {
        Ok(stream) => stream,
        Err(reached) => return refuse_stream(&reached, requester),
    };
    // The first answer of the origin says whether the subject exists at all.
    if let Err(refused) = stream.poll_unknown_subject().await {
        return match refused {
            Some(answer) => forward::client_response(answer, &requester.id),
            None => problem(&requester.id, Code::OriginUnreachable, "The origin does not answer. Try again.", vec![]),
        };
    }
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response.extensions_mut().insert(ClaimedStream(Arc::new(Mutex::new(Some(stream)))));
    response
}

/// The answer when there is no room for a stream. A stream whose client disconnected counts for at most
/// two windows, so there may be room after that.
fn refuse_stream(reached: &StreamLimitReached, requester: &Requester) -> Response {
    let seconds = 2 * WINDOW_MS / 1_000;
    let (code, detail) = match reached {
        StreamLimitReached::Isolate => (Code::Overloaded, "There are too many event streams. Try again."),
        StreamLimitReached::Network => (Code::RateLimited, "Your network has too many event streams. Try again."),
    };
    let mut response = problem(&requester.id, code, detail, vec![]);
    insert_header(&mut response, RETRY_AFTER, seconds.to_string());
    if *reached == StreamLimitReached::Network {
        let policy = format!("\"streams-address\";q={MAX_STREAMS_PER_NETWORK};qu=\"concurrent-requests\"");
        insert_header(&mut response, HeaderName::from_static("ratelimit-policy"), policy);
        let state = format!("\"streams-address\";r=0;t={seconds}");
        insert_header(&mut response, HeaderName::from_static("ratelimit"), state);
    }
    response
}

/// The version that a reader has: that of the last event, else the `after` of the query.
#[must_use]
pub fn resume_position(headers: &HeaderMap, query: Option<&str>) -> Option<u64> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    last.or_else(|| query?.split('&').find_map(|pair| pair.strip_prefix("after=")?.parse().ok()))
}

#[cfg(test)]
mod tests;
