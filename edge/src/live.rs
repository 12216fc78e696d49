//! `GET /v1/subjects/{type}/{key}/events`: server-sent events from the edge.
//!
//! A stream here is a reader's request with a timer of its own that reads the isolate's memory
//! ([`ring`]). That memory is kept up to date by one small question in 2 s and subject
//! (`events?after=N`, JSON), asked by whichever stream finds it due, within its own request: no
//! request waits for another's. The question goes through the colo's cache, so that the isolates of
//! a colo that have reached the same version cost the origin one request a second at most, and the
//! origin holds no stream for any reader. An event is at a reader's 4 s after the commit at most,
//! 2 s on average.
//!
//! **Promise.** Every event after the version a reader names (`Last-Event-ID`, or `after` the first
//! time), once and in order, or `reset`.
//!
//! **Bounds.** [`load::STREAMS`] streams an isolate (beyond: 503), [`STREAMS_NETWORK`] of them one
//! network's (beyond: 429), [`SUBJECTS`] subjects of 200 events, a stream of 15 minutes. The platform's bounds for one request hold: a lone stream that asks every
//! time makes 1,350 subrequests of the 10,000 a paid plan has. Of a free plan's 50 it has used up
//! all within half a minute; what it asks then fails, and it ends after the third failure.
//!
//! **What it costs.** By the price list of Cloudflare's paid plan (requests $0.30 a million, CPU
//! $0.02 a million ms; subrequests and open streams are free) a reader is 4 requests an hour and
//! 3,600 looks into memory of 50 µs, as measured in workerd with 1,000 streams. 10,000 readers of
//! one subject are 40,000 requests ($0.012) and 1,800,000 ms of CPU ($0.036): **$0.048 an hour**, and
//! to the origin a request a second from each colo that has any of them. Readers of 10,000 different
//! subjects ask for themselves, each in 2 s: a few times that.
//!
//! A Durable Object for each subject ($0.15 a million requests, $12.50 a million GB-s) cannot
//! hibernate while it holds event streams, only while it holds `WebSocket`s: it is billed 128 MB for
//! as long as anybody reads. 10,000 readers of one subject: 460.8 GB-s ($0.006), 40,000 requests to
//! it ($0.006) and as many to the Worker in front ($0.012), **$0.024 an hour**, all of them through
//! one thread in one place. One reader of each of 10,000 subjects: **$58 an hour**. It would save a
//! second or two and a few cents where the most happens, and cost most where the least does.

pub mod load;
pub mod ring;

use std::fmt;
use std::future::Future;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::{BufMut as _, Bytes, BytesMut};
use gailou_shared::wire::{Code, EventsDoc};
use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use http::{Method, StatusCode};

use crate::answer::problem;
use crate::forward::{self, Asker, Message, Outcome};
use crate::memory::Bounded;
use crate::ports::{self, FromOrigin, Later, Want, World};
use crate::writes::{self, Rule};
use crate::{Edge, key, limits, lock};
use load::{Full, Load, STREAMS_NETWORK, WINDOW_MS};
use ring::{News, Ring};

/// Subjects of an isolate: 200 events of 400 bytes at most, 20 MB.
pub const SUBJECTS: usize = 256;
/// How often a stream looks into memory, in milliseconds.
const LOOK_MS: u32 = 1_000;
/// How long nothing is sent at most, in milliseconds. A client that is gone is noticed by it, within
/// the 30 s that the platform lets a request live on.
const QUIET_MS: u64 = 15_000;
/// How long a stream lasts, in milliseconds.
const LIFE_MS: u64 = 15 * 60_000;
/// When a browser opens the next one, in milliseconds.
const RETRY_MS: u64 = 3_000;
/// How old the colo's copy of an answer may be, in milliseconds.
const COPY_MS: u64 = 1_000;
/// How long the origin may take, in milliseconds.
const DEADLINE_MS: u32 = 2_000;
/// Questions of one stream that may fail in a row.
const FAILURES: u32 = 3;

/// What an isolate keeps for its streams.
#[derive(Debug)]
pub struct Live {
    rings: Mutex<Bounded<Arc<Mutex<Ring>>>>,
    load: Mutex<Load>,
}

impl Default for Live {
    fn default() -> Self {
        // Two generations of half the subjects each.
        Self { rings: Mutex::new(Bounded::new(usize::MAX, SUBJECTS)), load: Mutex::default() }
    }
}

impl Live {
    fn ring(&self, subject: &str) -> Arc<Mutex<Ring>> {
        let mut rings = lock(&self.rings);
        rings.get(subject).unwrap_or_else(|| {
            let ring = Arc::<Mutex<Ring>>::default();
            rings.put(subject.into(), Arc::clone(&ring), 0);
            ring
        })
    }
}

/// A stream that has been granted. The platform takes it out of the response's extensions and sends
/// what it says.
#[derive(Debug, Clone)]
pub struct Granted(Arc<Mutex<Option<Reader>>>);

impl Granted {
    /// The stream, the first time.
    #[must_use]
    pub fn take(&self) -> Option<Reader> {
        lock(&self.0).take()
    }
}

/// Answers a reader: with a stream who asks for one, with the origin's answer who does not.
pub async fn open(edge: &Arc<Edge>, world: &World, asker: &Asker, request: Request) -> Response {
    let wants_stream = |value: &HeaderValue| value.to_str().is_ok_and(|accept| accept.contains("text/event-stream"));
    let path = request.uri().path().strip_suffix("/events");
    let subject = path.and_then(|path| key::page(path, None)).map(|key| key.path_query);
    let (Some(subject), true) = (subject, request.headers().get_all(ACCEPT).iter().any(wants_stream)) else {
        return writes::pass(edge, world, asker, Rule::OPEN, request).await;
    };
    if let Err(exceeded) = limits::read(world, asker).await {
        return limits::refusal(exceeded, &asker.id);
    }
    let now = world.clock.now_ms();
    let network = limits::prefix(asker.client.as_deref());
    let entered = lock(&edge.live.load).enter(network, now);
    let window = match entered {
        Ok(window) => window,
        Err(full) => return refusal(&full, asker),
    };
    let position = position(request.headers(), request.uri().query());
    let mut reader = Reader {
        edge: Arc::clone(edge),
        world: world.clone(),
        asker: asker.clone(),
        ring: edge.live.ring(&subject),
        subject,
        position,
        moved_ms: now,
        began_ms: now,
        sent_ms: 0,
        failures: 0,
        network,
        window,
    };
    // The first answer says whether there is such a subject at all.
    if !lock(&reader.ring).is_known()
        && let Err(refused) = reader.ask(now).await
    {
        return match refused {
            Some(answer) => forward::hand_on(answer, &asker.id),
            None => problem(&asker.id, Code::OriginUnreachable, "The origin does not answer. Try again.", vec![]),
        };
    }
    let mut response = Response::new(Body::empty());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
    response.extensions_mut().insert(Granted(Arc::new(Mutex::new(Some(reader)))));
    response
}

/// What a reader gets when there is no room. When there is again nobody knows; streams that are gone
/// without a word count for two windows at most.
fn refusal(full: &Full, asker: &Asker) -> Response {
    let seconds = 2 * WINDOW_MS / 1_000;
    let mut response = match full {
        Full::Isolate => problem(&asker.id, Code::Overloaded, "There are too many event streams. Try again.", vec![]),
        Full::Network => {
            problem(&asker.id, Code::RateLimited, "Your network has too many event streams. Try again.", vec![])
        }
    };
    let mut set = |header: HeaderName, value: String| {
        if let Ok(value) = HeaderValue::try_from(value) {
            response.headers_mut().insert(header, value);
        }
    };
    set(RETRY_AFTER, seconds.to_string());
    if *full == Full::Network {
        let policy = format!("\"streams-address\";q={STREAMS_NETWORK};qu=\"concurrent-requests\"");
        set(HeaderName::from_static("ratelimit-policy"), policy);
        set(HeaderName::from_static("ratelimit"), format!("\"streams-address\";r=0;t={seconds}"));
    }
    response
}

/// The version a reader has: the last event's, else what the address says.
#[must_use]
pub fn position(headers: &HeaderMap, query: Option<&str>) -> Option<u64> {
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    last.or_else(|| query?.split('&').find_map(|pair| pair.strip_prefix("after=")?.parse().ok()))
}

/// One stream.
pub struct Reader {
    edge: Arc<Edge>,
    world: World,
    asker: Asker,
    /// The subject's path.
    subject: String,
    ring: Arc<Mutex<Ring>>,
    /// Everything up to here is sent.
    position: Option<u64>,
    /// When the position last changed.
    moved_ms: u64,
    began_ms: u64,
    sent_ms: u64,
    failures: u32,
    network: Option<u128>,
    /// When it last gave a sign.
    window: u64,
}

impl Drop for Reader {
    fn drop(&mut self) {
        lock(&self.edge.live.load).leave(self.network, self.window);
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader").field("subject", &self.subject).field("position", &self.position).finish()
    }
}

impl Reader {
    /// Where the platform runs it.
    #[must_use]
    pub fn later(&self) -> Arc<dyn Later> {
        Arc::clone(&self.world.later)
    }

    /// What to send next, when there is something; `None` when the stream has come to its end.
    /// `sleep` waits for so many milliseconds.
    pub async fn next<S: Future<Output = ()>>(&mut self, sleep: impl Fn(u32) -> S) -> Option<Bytes> {
        if self.sent_ms == 0 {
            // The first bytes also tell the browser that the stream is open. Streams that began
            // together do not end and begin again together.
            let spread = self.began_ms.wrapping_mul(0x9e37_79b9) % RETRY_MS;
            return self.send(format!("retry: {}\n\n", RETRY_MS + spread));
        }
        loop {
            let now = self.world.clock.now_ms();
            lock(&self.edge.live.load).sign(self.network, &mut self.window, now);
            if now.saturating_sub(self.began_ms) >= LIFE_MS || self.failures >= FAILURES {
                return None;
            }
            // In the map it stays while it is read.
            self.ring = self.edge.live.ring(&self.subject);
            let _ = self.ask(now).await;
            match self.news() {
                News::Events(text, to) => {
                    self.position = Some(to);
                    self.moved_ms = now;
                    if !text.is_empty() {
                        return self.send(text);
                    }
                }
                News::Reset(to) => {
                    self.position = Some(to);
                    self.moved_ms = now;
                    return self.send(format!("event: reset\nid: {to}\ndata: {{}}\n\n"));
                }
                News::None => {}
            }
            if now.saturating_sub(self.sent_ms) >= QUIET_MS {
                // Without data it is no event: it says where to go on from, should the stream break.
                let sign = self.position.map_or_else(|| ":".to_owned(), |at| format!("id: {at}"));
                return self.send(sign + "\n\n");
            }
            sleep(LOOK_MS).await;
        }
    }

    fn send(&mut self, text: String) -> Option<Bytes> {
        self.sent_ms = self.world.clock.now_ms();
        Some(text.into())
    }

    fn news(&mut self) -> News {
        let mut ring = lock(&self.ring);
        let Some(position) = self.position.or_else(|| ring.now()) else { return News::None };
        self.position = Some(position);
        ring.after(position, self.moved_ms, self.world.clock.now_ms())
    }

    /// Asks what is new, when that is due and nobody is asking. The error is what the origin said
    /// instead, if it said anything.
    async fn ask(&mut self, now_ms: u64) -> Result<(), Option<FromOrigin>> {
        let Some(after) = lock(&self.ring).claim(self.position, now_ms) else { return Ok(()) };
        let query = after.map_or(String::new(), |after| format!("?after={after}"));
        let path_query = format!("{}/events{query}", self.subject);
        let answer = match self.copy(&path_query, now_ms).await {
            Some(doc) => Ok(doc),
            None => self.fetch(path_query, now_ms).await,
        };
        match answer {
            Ok(doc) => {
                self.failures = 0;
                lock(&self.ring).take(after, &doc);
                Ok(())
            }
            Err(answer) => {
                self.failures += 1;
                lock(&self.ring).failed();
                Err(answer)
            }
        }
    }

    /// The answer that another isolate of the colo got a moment ago.
    async fn copy(&self, path_query: &str, now_ms: u64) -> Option<EventsDoc> {
        let stored = self.world.colo.get(path_query).await.ok()??;
        let (fetched, body) = stored.split_first_chunk::<8>()?;
        let age = now_ms.checked_sub(u64::from_be_bytes(*fetched))?;
        (age < COPY_MS).then(|| serde_json::from_slice(body).ok()).flatten()
    }

    async fn fetch(&self, path_query: String, now_ms: u64) -> Result<EventsDoc, Option<FromOrigin>> {
        let message = Message {
            method: Method::GET,
            path_query: path_query.clone(),
            headers: HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]),
            body: Bytes::new(),
            want: Want::Whole,
            deadline_ms: DEADLINE_MS,
        };
        let answer = match forward::send(&self.edge, &self.world, &self.asker, message).await {
            Outcome::Answered(answer) | Outcome::Troubled(answer) => answer,
            Outcome::Unreachable => return Err(None),
        };
        let body = match &answer.body {
            ports::Body::Whole(body) if answer.status == StatusCode::OK => body.clone(),
            _ => return Err(Some(answer)),
        };
        let doc = serde_json::from_slice(&body).map_err(|_| None)?;
        let mut stored = BytesMut::with_capacity(8 + body.len());
        stored.put_u64(now_ms);
        stored.put(body);
        let colo = Arc::clone(&self.world.colo);
        self.world.later.run(Box::pin(async move {
            let _ = colo.put(&path_query, stored.freeze()).await;
        }));
        Ok(doc)
    }
}

#[cfg(test)]
mod tests;
