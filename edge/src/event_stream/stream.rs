//! One event stream: it polls memory, polls the origin when that is due, and produces the chunks to
//! send. The platform decides where it runs.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use bytes::{BufMut as _, Bytes, BytesMut};
use gailou_shared::wire::LiveEventPage;
use http::header::{ACCEPT, HeaderMap, HeaderValue};
use http::{Method, StatusCode};

use super::replay_buffer::{Replay, ReplayBuffer};
use super::stream_limits::StreamLimitReached;
use crate::forward::{self, ForwardRequest, OriginOutcome, Requester};
use crate::ports::{BodyMode, OriginBody, OriginResponse, Ports, WaitUntil};
use crate::{Isolate, lock, rate_limits};

/// How often a stream polls memory, in milliseconds.
const MEMORY_POLL_INTERVAL_MS: u32 = 1_000;
/// Longest silence of a stream, in milliseconds. The write then shows that a client is gone, within the
/// 30 s for which the platform keeps the request alive.
const KEEP_ALIVE_INTERVAL_MS: u64 = 15_000;
/// How long a stream lasts, in milliseconds.
pub(super) const STREAM_LIFETIME_MS: u64 = 15 * 60_000;
/// After how long a browser opens the next stream, in milliseconds; each stream adds up to as much again.
const CLIENT_RETRY_MS: u64 = 3_000;
/// Greatest age of the colo's copy of an answer, in milliseconds.
const COLO_COPY_TTL_MS: u64 = 1_000;
/// How long the origin may take, in milliseconds.
const EVENTS_TIMEOUT_MS: u32 = 2_000;
/// A stream ends after this many failed polls in a row.
const MAX_CONSECUTIVE_FAILURES: u32 = 3;

/// One stream.
pub struct EventStream {
    isolate: Arc<Isolate>,
    ports: Ports,
    requester: Requester,
    /// The subject's path.
    subject: String,
    buffer: Arc<Mutex<ReplayBuffer>>,
    /// Everything up to this version is sent.
    position: Option<u64>,
    /// When the position last changed.
    moved_ms: u64,
    opened_ms: u64,
    /// When something was last sent; 0 before the first chunk.
    sent_ms: u64,
    failures: u32,
    network: Option<IpAddr>,
    /// The window of the stream's last heartbeat.
    window: u64,
}

impl Drop for EventStream {
    fn drop(&mut self) {
        lock(&self.isolate.event_streams.limits).release(self.network, self.window);
    }
}

impl fmt::Debug for EventStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EventStream").field("subject", &self.subject).field("position", &self.position).finish()
    }
}

impl EventStream {
    /// Opens a stream of `subject` after `position`.
    ///
    /// # Errors
    /// The limit that leaves no room for it.
    pub(super) fn open(
        isolate: &Arc<Isolate>,
        ports: &Ports,
        requester: &Requester,
        subject: String,
        position: Option<u64>,
    ) -> Result<Self, StreamLimitReached> {
        let now = ports.clock.now_ms();
        let network = rate_limits::network_of(requester.client.as_deref());
        let window = lock(&isolate.event_streams.limits).acquire(network, now)?;
        Ok(Self {
            isolate: Arc::clone(isolate),
            ports: ports.clone(),
            requester: requester.clone(),
            buffer: isolate.event_streams.buffer(&subject),
            subject,
            position,
            moved_ms: now,
            opened_ms: now,
            sent_ms: 0,
            failures: 0,
            network,
            window,
        })
    }

    /// Where the platform runs the stream.
    #[must_use]
    pub fn wait_until(&self) -> Arc<dyn WaitUntil> {
        Arc::clone(&self.ports.wait_until)
    }

    /// The next chunk to send; `None` when the stream has ended. `sleep` waits for so many milliseconds.
    pub async fn next_chunk<S: Future<Output = ()>>(&mut self, sleep: impl Fn(u32) -> S) -> Option<Bytes> {
        if self.sent_ms == 0 {
            // The first bytes also open the stream in the browser. The spread keeps streams that began
            // together from ending and beginning again together.
            let spread = self.opened_ms.wrapping_mul(0x9e37_79b9) % CLIENT_RETRY_MS;
            return self.send(format!("retry: {}\n\n", CLIENT_RETRY_MS + spread));
        }
        loop {
            let now = self.ports.clock.now_ms();
            lock(&self.isolate.event_streams.limits).record_heartbeat(self.network, &mut self.window, now);
            if now.saturating_sub(self.opened_ms) >= STREAM_LIFETIME_MS || self.failures >= MAX_CONSECUTIVE_FAILURES {
                return None;
            }
            // A buffer stays in the map as long as it is read.
            self.buffer = self.isolate.event_streams.buffer(&self.subject);
            let _ = self.poll_origin(now).await;
            match self.replay() {
                Replay::Events(text, to) => {
                    self.position = Some(to);
                    self.moved_ms = now;
                    if !text.is_empty() {
                        return self.send(text);
                    }
                }
                Replay::Reset(to) => {
                    self.position = Some(to);
                    self.moved_ms = now;
                    return self.send(format!("event: reset\nid: {to}\ndata: {{}}\n\n"));
                }
                Replay::Nothing => {}
            }
            if now.saturating_sub(self.sent_ms) >= KEEP_ALIVE_INTERVAL_MS {
                // Without data it is not an event; the id says where to resume when the stream breaks.
                let keep_alive = self.position.map_or_else(|| ":".to_owned(), |at| format!("id: {at}"));
                return self.send(keep_alive + "\n\n");
            }
            sleep(MEMORY_POLL_INTERVAL_MS).await;
        }
    }

    fn send(&mut self, text: String) -> Option<Bytes> {
        self.sent_ms = self.ports.clock.now_ms();
        Some(text.into())
    }

    fn replay(&mut self) -> Replay {
        let mut buffer = lock(&self.buffer);
        let Some(position) = self.position.or_else(|| buffer.latest()) else { return Replay::Nothing };
        self.position = Some(position);
        buffer.replay_after(position, self.moved_ms, self.ports.clock.now_ms())
    }

    /// Polls the origin, unless it has answered for this subject before. The error is its refusal.
    pub(super) async fn poll_unknown_subject(&mut self) -> Result<(), Option<OriginResponse>> {
        if lock(&self.buffer).is_known() {
            return Ok(());
        }
        self.poll_origin(self.opened_ms).await
    }

    /// Polls the origin for new events, when that is due and no other stream is doing it. The error is
    /// the answer that the origin gave instead, if it gave one.
    pub(super) async fn poll_origin(&mut self, now_ms: u64) -> Result<(), Option<OriginResponse>> {
        let Some(after) = lock(&self.buffer).claim_poll(self.position, now_ms) else { return Ok(()) };
        let query = after.map_or(String::new(), |after| format!("?after={after}"));
        let path_query = format!("{}/events{query}", self.subject);
        let answer = match self.read_colo_copy(&path_query, now_ms).await {
            Some(events) => Ok(events),
            None => self.fetch_events(path_query, now_ms).await,
        };
        match answer {
            Ok(events) => {
                self.failures = 0;
                lock(&self.buffer).apply(after, &events);
                Ok(())
            }
            Err(answer) => {
                self.failures += 1;
                lock(&self.buffer).record_failure();
                Err(answer)
            }
        }
    }

    /// The answer that another isolate of the colo received a moment ago.
    async fn read_colo_copy(&self, path_query: &str, now_ms: u64) -> Option<LiveEventPage> {
        let stored = self.ports.colo_cache.get(path_query).await.ok()??;
        let (fetched, body) = stored.split_first_chunk::<8>()?;
        let age = now_ms.checked_sub(u64::from_be_bytes(*fetched))?;
        (age < COLO_COPY_TTL_MS).then(|| serde_json::from_slice(body).ok()).flatten()
    }

    /// The origin's answer, which is then written to the colo's cache behind the time it was requested.
    async fn fetch_events(&self, path_query: String, now_ms: u64) -> Result<LiveEventPage, Option<OriginResponse>> {
        let request = ForwardRequest {
            method: Method::GET,
            path_query: path_query.clone(),
            headers: HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("application/json"))]),
            body: Bytes::new(),
            body_mode: BodyMode::Whole,
            timeout_ms: EVENTS_TIMEOUT_MS,
        };
        let answer = match forward::send(&self.isolate, &self.ports, &self.requester, request).await {
            OriginOutcome::Answered(answer) | OriginOutcome::Unavailable(answer) => answer,
            OriginOutcome::TooLarge | OriginOutcome::Unreachable => return Err(None),
        };
        let body = match &answer.body {
            OriginBody::Whole(body) if answer.status == StatusCode::OK => body.clone(),
            _ => return Err(Some(answer)),
        };
        let events = serde_json::from_slice(&body).map_err(|_| None)?;
        let mut stored = BytesMut::with_capacity(8 + body.len());
        stored.put_u64(now_ms);
        stored.put(body);
        let colo_cache = Arc::clone(&self.ports.colo_cache);
        self.ports.wait_until.spawn(Box::pin(async move {
            let _ = colo_cache.put(&path_query, stored.freeze()).await;
        }));
        Ok(events)
    }
}
