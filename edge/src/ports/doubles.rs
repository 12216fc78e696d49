//! In-memory ports for tests. Those that can fail say where: before a put, or after it landed.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use http::header::{HeaderName, HeaderValue};

use super::*;
use crate::lock;
use gailou_shared::id::CommentId;
use gailou_shared::wire::{Changed, ChangesDoc};

/// A clock that stands until it is moved.
#[derive(Default)]
pub(crate) struct Hand(pub(crate) AtomicU64);

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn pause(&self, ms: u32) -> Task<'static, ()> {
        self.0.fetch_add(ms.into(), Ordering::Relaxed);
        Box::pin(async {})
    }
}

/// Work after the answer, which waits until the test runs it.
#[derive(Default)]
pub(crate) struct Queue(Mutex<VecDeque<Task<'static, ()>>>);

impl Later for Queue {
    fn run(&self, task: Task<'static, ()>) {
        lock(&self.0).push_back(task);
    }
}

impl Queue {
    /// Runs what waits and what that brings; the number of tasks.
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
pub(crate) enum Fault {
    /// Nothing is read, nothing is written.
    Before,
    /// A put lands, and says that it failed.
    AfterPut,
}

/// A store in memory that counts what is asked of it.
#[derive(Default)]
pub(crate) struct Shelf {
    pub(crate) values: Mutex<HashMap<String, Bytes>>,
    pub(crate) fault: Mutex<Option<Fault>>,
    pub(crate) gets: AtomicU64,
    pub(crate) puts: AtomicU64,
}

impl PageStore for Shelf {
    fn get<'a>(&'a self, key: &'a str) -> Task<'a, Result<Option<Bytes>, StoreFailed>> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            match *lock(&self.fault) {
                Some(Fault::Before) => Err(StoreFailed("before".into())),
                _ => Ok(lock(&self.values).get(key).cloned()),
            }
        })
    }

    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> Task<'a, Result<(), StoreFailed>> {
        self.puts.fetch_add(1, Ordering::Relaxed);
        Box::pin(async move {
            let fault = *lock(&self.fault);
            if fault == Some(Fault::Before) {
                return Err(StoreFailed("before".into()));
            }
            lock(&self.values).insert(key.to_owned(), value);
            if fault == Some(Fault::AfterPut) { Err(StoreFailed("after the put".into())) } else { Ok(()) }
        })
    }

    fn remove<'a>(&'a self, key: &'a str) -> Task<'a, Result<(), StoreFailed>> {
        Box::pin(async move {
            lock(&self.values).remove(key);
            Ok(())
        })
    }
}

/// Limits nobody but those whom the test names.
#[derive(Default)]
pub(crate) struct Gate {
    /// Bindings that refuse.
    pub(crate) closed: Mutex<Vec<&'static str>>,
    /// What was counted since the last look.
    pub(crate) taken: Mutex<Vec<(&'static str, String)>>,
}

impl RateLimiter for Gate {
    fn take<'a>(&'a self, binding: &'static str, key: String) -> Task<'a, bool> {
        lock(&self.taken).push((binding, key));
        let open = !lock(&self.closed).contains(&binding);
        Box::pin(async move { open })
    }
}

/// An origin that answers what the test sets, and remembers what it was sent. It always has a change
/// feed, which fails when nothing else is answered either.
pub(crate) struct Script {
    pub(crate) answer: Mutex<Result<FromOrigin, OriginFailed>>,
    pub(crate) seen: Mutex<Vec<(ToOrigin, u32)>>,
    pub(crate) changes: Mutex<Changes>,
    /// Requests for the feed since the last look, by path and query.
    pub(crate) feeds: Mutex<Vec<String>>,
    clock: Arc<Hand>,
}

/// What the change feed of the origin says.
#[derive(Default)]
pub(crate) struct Changes {
    /// When, which comment, at which version.
    pub(crate) rows: Vec<(u64, u64, u64)>,
    /// The feed alone does not answer.
    pub(crate) down: bool,
    /// How far it is behind.
    pub(crate) behind_ms: u64,
}

impl Changes {
    /// How far the tail reaches back, as the origin's.
    const TAIL_MS: u64 = 120_000;
    const DAY_MS: u64 = 25 * 3_600_000;

    pub(crate) fn document(&self, path_query: &str, clock_ms: u64) -> ChangesDoc {
        let now = clock_ms - self.behind_ms;
        let since = now - if path_query.ends_with("day=1") { Self::DAY_MS } else { Self::TAIL_MS };
        let rows = self.rows.iter().filter(|(at, ..)| (since..now).contains(at));
        let rows = rows.map(|(_, id, version)| Changed { id: CommentId::new(*id).unwrap(), version: *version });
        ChangesDoc::new(now, since, self.behind_ms, 0, rows.collect())
    }
}

impl Origin for Script {
    fn send(&self, request: ToOrigin, deadline_ms: u32) -> Task<'_, Result<FromOrigin, OriginFailed>> {
        if request.path_query.starts_with(ChangesDoc::PATH) {
            lock(&self.feeds).push(request.path_query.clone());
            let changes = lock(&self.changes);
            let answer = match &*lock(&self.answer) {
                Err(failed) => Err(failed.clone()),
                Ok(_) if changes.down => Err(OriginFailed("the feed is down".into())),
                Ok(_) => Ok(of(200, &changes.document(&request.path_query, self.clock.now_ms()).to_json(), &[])),
            };
            return Box::pin(async move { answer });
        }
        lock(&self.seen).push((request, deadline_ms));
        let answer = lock(&self.answer).clone();
        Box::pin(async move { answer })
    }
}

/// A page of the origin.
pub(crate) fn ok(body: &str, cdn: &str) -> FromOrigin {
    let headers = [
        ("content-type", "application/json"),
        ("cache-control", "public, no-cache"),
        ("cdn-cache-control", cdn),
        ("etag", &format!("\"{body}\"")),
        ("x-gailou-shows", "AQ"),
        ("x-gailou-made", &START_MS.to_string()),
        ("x-gailou-version", "1"),
    ];
    of(200, body, &headers)
}

/// Any answer of the origin.
pub(crate) fn of(status: u16, body: &str, headers: &[(&'static str, &str)]) -> FromOrigin {
    FromOrigin {
        status: StatusCode::from_u16(status).unwrap(),
        headers: headers.iter().map(|(n, v)| (HeaderName::from_static(n), HeaderValue::from_str(v).unwrap())).collect(),
        body: Body::Whole(body.to_owned().into()),
    }
}

/// All doubles of one isolate, and the isolate.
pub(crate) struct Stage {
    pub(crate) edge: Arc<crate::Edge>,
    router: axum::Router,
    pub(crate) clock: Arc<Hand>,
    pub(crate) later: Arc<Queue>,
    pub(crate) colo: Arc<Shelf>,
    pub(crate) global: Arc<Shelf>,
    pub(crate) limiter: Arc<Gate>,
    pub(crate) origin: Arc<Script>,
}

/// Where the clock of a stage begins.
pub(crate) const START_MS: u64 = 1_800_000_000_000;

impl Stage {
    pub(crate) fn new(config: crate::Config) -> Self {
        let clock = Arc::new(Hand(AtomicU64::new(START_MS)));
        let edge = Arc::new(crate::Edge::new(config, 7));
        Self {
            router: crate::router(Arc::clone(&edge)),
            edge,
            clock: Arc::clone(&clock),
            later: Arc::default(),
            colo: Arc::default(),
            global: Arc::default(),
            limiter: Arc::default(),
            origin: Arc::new(Script {
                answer: Mutex::new(Err(OriginFailed("not set".into()))),
                seen: Mutex::default(),
                changes: Mutex::default(),
                feeds: Mutex::default(),
                clock,
            }),
        }
    }

    pub(crate) fn world(&self) -> World {
        World {
            origin: Arc::clone(&self.origin) as _,
            colo: Arc::clone(&self.colo) as _,
            global: Arc::clone(&self.global) as _,
            later: Arc::clone(&self.later) as _,
            limiter: Arc::clone(&self.limiter) as _,
            clock: Arc::clone(&self.clock) as _,
        }
    }

    /// A row of the change feed, now.
    pub(crate) fn takes_down(&self, id: u64, version: u64) {
        lock(&self.origin.changes).rows.push((self.clock_ms(), id, version));
    }

    /// Requests for the feed since the last call.
    pub(crate) fn feeds(&self) -> Vec<String> {
        std::mem::take(&mut *lock(&self.origin.feeds))
    }

    /// Another isolate of the same colo.
    pub(crate) fn restart(&mut self) {
        self.edge = Arc::new(crate::Edge::new(self.edge.config.clone(), 8));
        self.router = crate::router(Arc::clone(&self.edge));
    }

    pub(crate) fn clock_ms(&self) -> u64 {
        self.clock.now_ms()
    }

    pub(crate) fn wait_ms(&self, ms: u64) {
        self.clock.0.fetch_add(ms, Ordering::Relaxed);
    }

    pub(crate) fn answers(&self, answer: FromOrigin) {
        *lock(&self.origin.answer) = Ok(answer);
    }

    pub(crate) fn is_gone(&self) {
        *lock(&self.origin.answer) = Err(OriginFailed("gone".into()));
    }

    /// Requests the origin has got since the last call.
    pub(crate) fn sent(&self) -> Vec<(ToOrigin, u32)> {
        std::mem::take(&mut *lock(&self.origin.seen))
    }

    /// Sends a request through the router; the work after the answer waits in `later`.
    pub(crate) fn send(&self, method: &str, uri: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut request = http::Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(axum::body::Body::from(body.to_owned())).unwrap();
        let world = self.world();
        let sent_id = headers.iter().find(|(n, _)| *n == "x-request-id").map(|(_, v)| *v);
        let asker = crate::forward::Asker { id: self.edge.request_id(sent_id), client: Some("192.0.2.1".into()) };
        let response = futures_executor::block_on(crate::entry(self.router.clone(), &self.edge, world, asker, request));
        let (parts, body) = response.into_parts();
        let body = futures_executor::block_on(axum::body::to_bytes(body, usize::MAX)).unwrap();
        Answer { status: parts.status.as_u16(), headers: parts.headers, body: String::from_utf8(body.into()).unwrap() }
    }

    pub(crate) fn get(&self, uri: &str) -> Answer {
        self.send("GET", uri, &[], "")
    }
}

/// What a client gets.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub(crate) fn code(&self) -> String {
        let problem: serde_json::Value = serde_json::from_str(&self.body).unwrap_or_default();
        problem["code"].as_str().unwrap_or_default().to_owned()
    }
}
