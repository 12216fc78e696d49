//! What the edge needs from the platform, in its own types. No platform type appears here:
//! `cloudflare` has the adapters, `testing` the test doubles.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

/// A future that a port returns.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The ports of one request.
#[derive(Clone)]
pub struct Ports {
    /// The origin.
    pub origin: Arc<dyn Origin>,
    /// The cache of this colo (one data centre of the platform).
    pub colo_cache: Arc<dyn PageStore>,
    /// The store that all colos share; it lags by a minute and more.
    pub global_store: Arc<dyn PageStore>,
    /// Work after the answer.
    pub wait_until: Arc<dyn WaitUntil>,
    /// What clients may do.
    pub limiter: Arc<dyn RateLimiter>,
    /// The time.
    pub clock: Arc<dyn EdgeClock>,
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ports")
    }
}

/// The time.
pub trait EdgeClock: Send + Sync {
    /// Unix milliseconds. The platform may freeze it while a request computes.
    fn now_ms(&self) -> u64;
    /// Completes after `ms` milliseconds.
    fn pause(&self, ms: u32) -> PortFuture<'static, ()>;
}

/// Work after the answer.
pub trait WaitUntil: Send + Sync {
    /// Runs `task` to its end without delaying the answer. The platform grants it about 30 s.
    fn spawn(&self, task: PortFuture<'static, ()>);
}

/// A store of pages outside the isolate's memory: the colo's cache, or the global store.
pub trait PageStore: Send + Sync {
    /// What was put under `key` within a day. It may be older than the last put, or missing.
    fn get<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<Option<Bytes>, PageStoreError>>;
    /// Stores `value` for a day.
    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> PortFuture<'a, Result<(), PageStoreError>>;
    /// Removes `key`; other readers of the store may still see it for a while.
    fn remove<'a>(&'a self, key: &'a str) -> PortFuture<'a, Result<(), PageStoreError>>;
}

/// A call of a [`PageStore`] failed; whether a put landed is unknown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageStoreError(pub String);

impl fmt::Display for PageStoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for PageStoreError {}

/// The platform's rate limiter. It may be approximate.
pub trait RateLimiter: Send + Sync {
    /// Counts one use of `key` against the limit of the binding with this name; false when the limit
    /// is exceeded. True when there is no such binding, and when the limiter fails.
    fn take<'a>(&'a self, binding: &'static str, key: String) -> PortFuture<'a, bool>;
}

/// The origin.
pub trait Origin: Send + Sync {
    /// Sends `request` and waits for the answer, at most `timeout_ms`.
    fn send(&self, request: OriginRequest, timeout_ms: u32) -> PortFuture<'_, Result<OriginResponse, OriginError>>;
}

/// A request to the origin.
#[derive(Debug, Clone)]
pub struct OriginRequest {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path_query: String,
    /// All headers except those of the connection.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// How to read the body of the answer.
    pub body_mode: BodyMode,
}

/// How to read the body of the origin's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyMode {
    /// Read all of it within the timeout.
    Whole,
    /// Pass it through as it arrives; the timeout ends with the headers.
    Stream,
}

/// An answer of the origin.
#[derive(Debug, Clone)]
pub struct OriginResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: OriginBody,
}

/// The body of the origin's answer.
#[derive(Debug, Clone)]
pub enum OriginBody {
    /// All of it.
    Whole(Bytes),
    /// A stream that only the platform can read.
    Stream(PlatformStream),
}

/// The platform's own stream, unread.
#[derive(Clone)]
pub struct PlatformStream(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for PlatformStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlatformStream")
    }
}

/// Why there is no answer of the origin. The origin may have executed the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OriginError {
    /// The origin did not answer: it was unreachable, the connection broke, or the timeout passed.
    NoAnswer(String),
    /// The origin answered with more bytes than the edge reads of one answer.
    AnswerTooLarge,
}

impl fmt::Display for OriginError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAnswer(problem) => write!(f, "the origin did not answer: {problem}"),
            Self::AnswerTooLarge => f.write_str("the origin's answer is too large"),
        }
    }
}

impl std::error::Error for OriginError {}
