//! What the edge needs from the platform, in its own types. No platform types here; `cf` has the
//! adapters, `doubles` those of the tests.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};

#[cfg(test)]
pub(crate) mod doubles;

/// A future a port hands out.
pub type Task<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The time.
pub trait Clock: Send + Sync {
    /// Unix milliseconds. It may stand still while a request computes.
    fn now_ms(&self) -> u64;
    /// Ends after so many milliseconds.
    fn pause(&self, ms: u32) -> Task<'static, ()>;
}

/// Work after the answer.
pub trait Later: Send + Sync {
    /// Runs `task` to its end without holding up the answer. The platform gives it about 30 s.
    fn run(&self, task: Task<'static, ()>);
}

/// A place for pages beside the isolate's memory: the colo's cache, or the store all colos share.
pub trait PageStore: Send + Sync {
    /// What was put under `key`, within a day. It may be older than the last put, or gone.
    fn get<'a>(&'a self, key: &'a str) -> Task<'a, Result<Option<Bytes>, StoreFailed>>;
    /// Keeps `value` for a day.
    fn put<'a>(&'a self, key: &'a str, value: Bytes) -> Task<'a, Result<(), StoreFailed>>;
    /// Forgets `key`, in time.
    fn remove<'a>(&'a self, key: &'a str) -> Task<'a, Result<(), StoreFailed>>;
}

/// A store did not do what was asked; whether a put landed is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreFailed(pub String);

impl fmt::Display for StoreFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StoreFailed {}

/// The platform's own counting of what clients do. It may be approximate.
pub trait RateLimiter: Send + Sync {
    /// Counts one use of `key` against the limit the binding of this name was given; false when it
    /// is exceeded. True where there is no such binding, and when it fails.
    fn take<'a>(&'a self, binding: &'static str, key: String) -> Task<'a, bool>;
}

/// The origin.
pub trait Origin: Send + Sync {
    /// Sends `request` and waits for the answer, `deadline_ms` at most.
    fn send(&self, request: ToOrigin, deadline_ms: u32) -> Task<'_, Result<FromOrigin, OriginFailed>>;
}

/// What is sent to the origin.
#[derive(Debug, Clone)]
pub struct ToOrigin {
    /// The method.
    pub method: Method,
    /// Path and query.
    pub path_query: String,
    /// All headers but those of the connection.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// What to do with the answer's body.
    pub want: Want,
}

/// What to do with the body of the origin's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Read it whole, within the deadline.
    Whole,
    /// Hand it on as it comes; the deadline ends with the headers.
    Stream,
}

/// What the origin answers.
#[derive(Debug, Clone)]
pub struct FromOrigin {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Body,
}

/// The body of the origin's answer.
#[derive(Debug, Clone)]
pub enum Body {
    /// All of it.
    Whole(Bytes),
    /// A stream that only the platform can read.
    Stream(Stream),
}

/// The platform's own stream, unopened.
#[derive(Clone)]
pub struct Stream(pub Arc<dyn Any + Send + Sync>);

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

/// The origin did not answer: it could not be reached, the connection broke, or the deadline
/// passed. What was sent may have been done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginFailed(pub String);

impl fmt::Display for OriginFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the origin did not answer: {}", self.0)
    }
}

impl std::error::Error for OriginFailed {}

/// The ports of one request.
#[derive(Clone)]
pub struct World {
    /// The origin.
    pub origin: Arc<dyn Origin>,
    /// The colo's cache.
    pub colo: Arc<dyn PageStore>,
    /// The store all colos share, minutes behind.
    pub global: Arc<dyn PageStore>,
    /// Work after the answer.
    pub later: Arc<dyn Later>,
    /// What clients may do.
    pub limiter: Arc<dyn RateLimiter>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World")
    }
}
