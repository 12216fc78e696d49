//! In-memory ports for tests. A port that can fail says where: before a put, or after it landed.

pub(crate) mod stepping;

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gailou_shared::id::CommentId;
use gailou_shared::slot_set::SlotSet;
use gailou_shared::wire::{ChangeFeedPage, ChangedComment, SlotsAhead, VoidSubject};
use http::StatusCode;
use http::header::{HeaderMap, HeaderName, HeaderValue};

use crate::forward::Requester;
use crate::ports::{
    EdgeClock, Origin, OriginBody, OriginError, OriginRequest, OriginResponse, PageStore, PageStoreError, PortFuture,
    Ports, RateLimiter, WaitUntil,
};
use crate::{EdgeConfig, Isolate, lock};

/// A clock that moves only when a test moves it, or something pauses.
#[derive(Default)]
pub(crate) struct ManualEdgeClock(pub(crate) AtomicU64);

impl EdgeClock for ManualEdgeClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn pause(&self, ms: u32) -> PortFuture<'static, ()> {
        self.0.fetch_add(ms.into(), Ordering::Relaxed);
        Box::pin(async {})
    }
}

/// Work after the answer, queued until the test drains it.
#[derive(Default)]
pub(crate) struct QueuedTasks(Mutex<VecDeque<PortFuture<'static, ()>>>);

impl WaitUntil for QueuedTasks {
    fn spawn(&self, task: PortFuture<'static, ()>) {
        lock(&self.0).push_back(task);
    }
}

impl QueuedTasks {
    /// Runs the queued tasks and those they spawn; returns their number.
    pub(crate) fn drain(&self) -> usize {
        let mut count = 0;
        loop {
            let Some(task) = lock(&self.0).pop_front() else { return count };
            futures_executor::block_on(task);
            count += 1;
        }
    }
}

/// Where a store fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreFault {
    /// Every call fails without effect.
    Before,
    /// A put lands and then reports a failure.
    AfterPut,
}

/// A store in memory that counts its calls.
#[derive(Default)]
pub(crate) struct MemoryPageStore {
    pub(crate) values: Mutex<HashMap<String, Bytes>>,
    pub(crate) fault: Mutex<Option<StoreFault>>,
    pub(crate) gets: AtomicU64,
    pub(crate) puts: AtomicU64,
}

impl PageStore for MemoryPageStore {
    fn get<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<Option<Bytes>, PageStoreError>> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match *lock(&self.fault) {
                Some(StoreFault::Before) => Err(PageStoreError("before".into())),
                _ => Ok(lock(&self.values).get(key).cloned()),
            }
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> PortFuture<'a, Result<(), PageStoreError>> {
        self.puts.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let fault = *lock(&self.fault);
            if fault == Some(StoreFault::Before) {
                return Err(PageStoreError("before".into()));
            }
            lock(&self.values).insert(key.to_owned(), value);
            if fault == Some(StoreFault::AfterPut) { Err(PageStoreError("after the put".into())) } else { Ok(()) }
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<(), PageStoreError>> {
        Box::pin(async move {
            lock(&self.values).remove(key);
            Ok(())
        })
    }
}

/// A limiter that refuses only the bindings that the test names.
#[derive(Default)]
pub(crate) struct FakeLimiter {
    /// Bindings that refuse.
    pub(crate) refusing: Mutex<Vec<&'static str>>,
    /// Every binding and key that was counted.
    pub(crate) taken: Mutex<Vec<(&'static str, String)>>,
}

impl RateLimiter for FakeLimiter {
    fn take<'a>(&'a self, binding: &'static str, key: String) -> PortFuture<'a, bool> {
        lock(&self.taken).push((binding, key));
        let is_allowed = !lock(&self.refusing).contains(&binding);
        Box::pin(async move { is_allowed })
    }
}

/// An origin that gives the answer the test sets and records its requests. It always has a change feed,
/// which fails when everything else fails too.
pub(crate) struct ScriptedOrigin {
    pub(crate) answer: Mutex<Result<OriginResponse, OriginError>>,
    pub(crate) requests: Mutex<Vec<(OriginRequest, u32)>>,
    pub(crate) changes: Mutex<ScriptedChanges>,
    /// Requests for the feed, by path and query.
    pub(crate) feed_requests: Mutex<Vec<String>>,
    clock: Arc<ManualEdgeClock>,
}

/// The change feed of a [`ScriptedOrigin`].
#[derive(Default)]
pub(crate) struct ScriptedChanges {
    /// When, which comment, at which version.
    pub(crate) rows: Vec<(u64, u64, u64)>,
    /// Only the feed does not answer.
    pub(crate) down: bool,
    /// The database of these slots is away since then.
    pub(crate) away: Option<(SlotSet, u64)>,
    /// How far the feed lags.
    pub(crate) behind_ms: u64,
    /// From how many rows on the subject with the most of them stands for its own, if at all. The subject of
    /// a comment is its id modulo 3.
    pub(crate) max_rows: Option<usize>,
}

impl ScriptedChanges {
    /// How far the tail reaches back, as the origin's, in milliseconds.
    const TAIL_MS: u64 = 120_000;
    /// How far the whole day reaches back, in milliseconds.
    const DAY_MS: u64 = 25 * 3_600_000;

    pub(crate) fn document(&self, path_query: &str, clock_ms: u64) -> ChangeFeedPage {
        let latest = clock_ms - self.behind_ms;
        let (lagging, now) =
            self.away.map_or((SlotSet::default(), latest), |(slots, since)| (slots, since.min(latest)));
        let reach = if path_query.ends_with("day=1") { Self::DAY_MS } else { Self::TAIL_MS };
        let since = now - reach;
        let is_lagging = |id: u64| lagging.contains(CommentId::new(id).unwrap().slot());
        let rows =
            self.rows.iter().filter(|(at, id, _)| (since..if is_lagging(*id) { now } else { latest }).contains(at));
        let rows = rows.map(|(_, id, version)| ChangedComment { id: CommentId::new(*id).unwrap(), version: *version });
        let mut rows: Vec<_> = rows.collect();
        let mut subjects = Vec::new();
        while self.max_rows.is_some_and(|max| rows.len() > max) {
            let count = |tag| rows.iter().filter(|row| row.id.get() % 3 == tag).count();
            let tag = (0..3).max_by_key(|tag| count(*tag)).unwrap_or_default();
            let of_subject = rows.extract_if(.., |row| row.id.get() % 3 == tag);
            let before = of_subject.map(|row| row.version).max().unwrap_or_default();
            subjects.push(VoidSubject { tag, before });
        }
        let slots = SlotSet::all().without(&lagging);
        let ahead = SlotsAhead { slots, now: latest, since: latest - reach, behind: self.behind_ms };
        let page = ChangeFeedPage::new(now, since, clock_ms - now, 0, rows).with_subjects(subjects);
        page.with_ahead(self.away.map(|_| ahead))
    }
}

impl Origin for ScriptedOrigin {
    fn send(&self, request: OriginRequest, timeout_ms: u32) -> PortFuture<'_, Result<OriginResponse, OriginError>> {
        if request.path_query.starts_with(ChangeFeedPage::ROUTE_PATH) {
            lock(&self.feed_requests).push(request.path_query.clone());
            let changes = lock(&self.changes);
            let answer = match &*lock(&self.answer) {
                Err(OriginError::NoAnswer(why)) => Err(OriginError::NoAnswer(why.clone())),
                _ if changes.down => Err(OriginError::NoAnswer("the feed is down".into())),
                _ => {
                    let document = changes.document(&request.path_query, self.clock.now_ms());
                    Ok(origin_answer(200, &document.to_json(), &[]))
                }
            };
            return Box::pin(async move { answer });
        }
        lock(&self.requests).push((request, timeout_ms));
        let answer = lock(&self.answer).clone();
        Box::pin(async move { answer })
    }
}

/// A page of the origin with this body and `CDN-Cache-Control`.
pub(crate) fn page_answer(body: &str, cdn: &str) -> OriginResponse {
    let headers = [
        ("content-type", "application/json"),
        ("cache-control", "public, no-cache"),
        ("cdn-cache-control", cdn),
        ("etag", &format!("\"{body}\"")),
        ("x-gailou-shows", "AgA"),
        ("x-gailou-made", &START_MS.to_string()),
        ("x-gailou-version", "1"),
    ];
    origin_answer(200, body, &headers)
}

/// Any answer of the origin.
pub(crate) fn origin_answer(status: u16, body: &str, headers: &[(&'static str, &str)]) -> OriginResponse {
    OriginResponse {
        status: StatusCode::from_u16(status).unwrap(),
        headers: headers.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap())).collect(),
        body: OriginBody::Whole(body.to_owned().into()),
    }
}

/// An isolate and the doubles of its ports.
pub(crate) struct EdgeTestBed {
    pub(crate) isolate: Arc<Isolate>,
    router: axum::Router,
    pub(crate) clock: Arc<ManualEdgeClock>,
    pub(crate) tasks: Arc<QueuedTasks>,
    pub(crate) colo_cache: Arc<MemoryPageStore>,
    pub(crate) global_store: Arc<MemoryPageStore>,
    pub(crate) limiter: Arc<FakeLimiter>,
    pub(crate) origin: Arc<ScriptedOrigin>,
}

/// The time at which the clock of a [`EdgeTestBed`] starts, in Unix milliseconds.
pub(crate) const START_MS: u64 = 1_800_000_000_000;

impl EdgeTestBed {
    pub(crate) fn new(config: EdgeConfig) -> Self {
        let clock = Arc::new(ManualEdgeClock(AtomicU64::new(START_MS)));
        let isolate = Arc::new(Isolate::new(config, 7));
        Self {
            router: crate::router(Arc::clone(&isolate)),
            isolate,
            clock: Arc::clone(&clock),
            tasks: Arc::default(),
            colo_cache: Arc::default(),
            global_store: Arc::default(),
            limiter: Arc::default(),
            origin: Arc::new(ScriptedOrigin {
                answer: Mutex::new(Err(OriginError::NoAnswer("not set".into()))),
                requests: Mutex::default(),
                changes: Mutex::default(),
                feed_requests: Mutex::default(),
                clock,
            }),
        }
    }

    pub(crate) fn ports(&self) -> Ports {
        Ports {
            origin: Arc::clone(&self.origin) as _,
            colo_cache: Arc::clone(&self.colo_cache) as _,
            global_store: Arc::clone(&self.global_store) as _,
            wait_until: Arc::clone(&self.tasks) as _,
            limiter: Arc::clone(&self.limiter) as _,
            clock: Arc::clone(&self.clock) as _,
        }
    }

    /// Adds a row to the origin's change feed, now.
    pub(crate) fn take_down(&self, id: u64, version: u64) {
        lock(&self.origin.changes).rows.push((self.clock_ms(), id, version));
    }

    /// The requests for the feed since the last call.
    pub(crate) fn drain_feed_requests(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.origin.feed_requests))
    }

    /// Replaces the isolate with another one of the same colo.
    pub(crate) fn restart_isolate(&mut self) {
        self.isolate = Arc::new(Isolate::new(self.isolate.config.clone(), 8));
        self.router = crate::router(Arc::clone(&self.isolate));
    }

    pub(crate) fn clock_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(crate) fn advance_ms(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    pub(crate) fn set_answer(&self, answer: OriginResponse) {
        *lock(&self.origin.answer) = Ok(answer);
    }

    /// From here on the origin does not answer.
    pub(crate) fn stop_origin(&self) {
        *lock(&self.origin.answer) = Err(OriginError::NoAnswer("gone".into()));
    }

    /// From here on the origin's answers are larger than the edge reads; those of the feed are not.
    pub(crate) fn set_too_large_answer(&self) {
        *lock(&self.origin.answer) = Err(OriginError::AnswerTooLarge);
    }

    /// The requests that the origin received since the last call, and their timeouts in milliseconds.
    pub(crate) fn drain_requests(&self) -> Vec<(OriginRequest, u32)> {
        std::mem::take(&mut *lock(&self.origin.requests))
    }

    /// Sends a request through the router; work after the answer is queued in `tasks`.
    pub(crate) fn send(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> TestResponse {
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(axum::body::Body::from(body.to_owned())).unwrap();
        let sent_id = headers.iter().find(|(n, _)| *n == "x-request-id").map(|(_, v)| *v);
        let requester = Requester { id: self.isolate.request_id(sent_id), client: Some("192.0.2.1".into()) };
        let answer = crate::handle(self.router.clone(), &self.isolate, self.ports(), requester, request);
        TestResponse::read(futures_executor::block_on(answer))
    }

    pub(crate) fn get(&self, uri: &str) -> TestResponse {
        self.send("GET", uri, &[], "")
    }
}

/// What a client receives.
#[derive(Debug)]
pub(crate) struct TestResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl TestResponse {
    pub(crate) fn read(response: axum::response::Response) -> Self {
        let (parts, body) = response.into_parts();
        let body = futures_executor::block_on(axum::body::to_bytes(body, usize::MAX)).unwrap();
        Self { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(body.into()).unwrap() }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn code(&self) -> String {
        let problem: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        problem["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Whether the response is marked stale, in both headers.
    pub(crate) fn is_stale(&self) -> bool {
        let marks = (self.header("x-gailou-stale"), self.header("warning").starts_with("110"));
        assert!(marks == ("1", true) || marks == ("", false), "{marks:?}");
        marks.1
    }
}
