//! In-memory ports for tests. Those that can fail say where: before a put, or after it landed.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use http::header::{HeaderName, HeaderValue};

use super::*;
use crate::lock;

/// A clock that stands until it is moved.
#[derive(Default)]
pub(crate) struct Hand(pub(crate) AtomicU64);

impl Clock for Hand {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
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

/// An origin that answers what the test sets, and remembers what it was sent.
pub(crate) struct Script {
    pub(crate) answer: Mutex<Result<FromOrigin, OriginFailed>>,
    pub(crate) seen: Mutex<Vec<(ToOrigin, u32)>>,
}

impl Origin for Script {
    fn send(&self, request: ToOrigin, deadline_ms: u32) -> Task<'_, Result<FromOrigin, OriginFailed>> {
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
    pub(crate) clock: Arc<Hand>,
    pub(crate) later: Arc<Queue>,
    pub(crate) colo: Arc<Shelf>,
    pub(crate) global: Arc<Shelf>,
    pub(crate) origin: Arc<Script>,
}

/// Where the clock of a stage begins.
pub(crate) const START_MS: u64 = 1_800_000_000_000;

impl Stage {
    pub(crate) fn new(config: crate::Config) -> Self {
        Self {
            edge: Arc::new(crate::Edge::new(config, 7)),
            clock: Arc::new(Hand(AtomicU64::new(START_MS))),
            later: Arc::default(),
            colo: Arc::default(),
            global: Arc::default(),
            origin: Arc::new(Script {
                answer: Mutex::new(Err(OriginFailed("not set".into()))),
                seen: Mutex::default(),
            }),
        }
    }

    /// Another isolate of the same colo.
    pub(crate) fn restart(&mut self) {
        self.edge = Arc::new(crate::Edge::new(self.edge.config.clone(), 8));
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
        let world = World {
            origin: Arc::clone(&self.origin) as _,
            colo: Arc::clone(&self.colo) as _,
            global: Arc::clone(&self.global) as _,
            later: Arc::clone(&self.later) as _,
            clock: Arc::clone(&self.clock) as _,
        };
        let sent_id = headers.iter().find(|(n, _)| *n == "x-request-id").map(|(_, v)| *v);
        let asker = crate::forward::Asker { id: self.edge.request_id(sent_id), client: Some("192.0.2.1".into()) };
        let router = crate::router(Arc::clone(&self.edge));
        let response = futures_executor::block_on(crate::entry(router, &self.edge, world, asker, request));
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
