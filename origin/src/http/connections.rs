//! The bounds of connections: how many there are, in all and from one network, and how long one may
//! take to send a request or to receive an answer.
//!
//! A connection is aborted when it sends no first request in time, or takes an answer too slowly. When
//! there are too many, the one without a request that has been idle longest gives way to the new one.
//! Requests themselves are not looked at here. Promise: an open connection is registered until it is
//! dropped, so the number of sockets never exceeds the bound.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use std::{fmt, io};

use axum::body::Body;
use bytes::Bytes;
use gailou_shared::network::connection_network;
use hyper::body::{Frame, SizeHint};
use metrics::{Gauge, describe_gauge, gauge};
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// How long a connection may take to send its first request: the protocol's preface, and a head.
pub(super) const FIRST_REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the reader of an answer may take nothing of it.
const STALLED_WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// The slowest that an answer may be read, in bytes a second, once the socket's buffers are full. The
/// largest answer, 2 MiB, takes less than nine minutes.
const MIN_WRITE_BYTES_PER_SECOND: u64 = 4_096;
/// How long a reader may be slower than that before the connection is aborted.
const SLOW_WRITE_GRACE: Duration = Duration::from_secs(20);
/// How long one answer of many on a connection may take to be read.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);
/// How often deadlines are checked.
pub(super) const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Connections that are open.
const OPEN_CONNECTIONS: &str = "gailou_http_connections";
const MAX_CONNECTIONS: &str = "gailou_http_connections_max";

/// The most connections there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnectionBounds {
    pub(super) total: usize,
    /// Of one network of strangers; see [`connection_network`].
    pub(super) per_network: usize,
}

/// The open connections of a server.
pub(super) struct Connections {
    bounds: ConnectionBounds,
    /// Moments are milliseconds since this one.
    epoch: Instant,
    open: Mutex<OpenConnections>,
    gauge: Gauge,
}

#[derive(Debug, Default)]
struct OpenConnections {
    last_number: u64,
    by_number: HashMap<u64, Arc<ConnectionState>>,
    by_network: HashMap<IpAddr, usize>,
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("bounds", &self.bounds).finish_non_exhaustive()
    }
}

/// What is known of one connection.
#[derive(Debug)]
pub(super) struct ConnectionState {
    /// `None` for a trusted address, which has no bound of its own.
    network: Option<IpAddr>,
    accepted_ms: u64,
    task: OnceLock<AbortHandle>,
    /// Whether a request has arrived, as a whole head.
    has_sent_request: AtomicBool,
    requests_in_progress: AtomicU32,
    /// When the answers began that have a deadline, by their number.
    answers: Mutex<BTreeMap<u64, u64>>,
    /// The last moment at which something was read or written.
    active_ms: AtomicU64,
    /// Since when the socket takes no more; 0 while it takes what is written.
    blocked_ms: AtomicU64,
    /// Since when the reader is slow: like `blocked_ms`, but not reset by a little progress.
    slow_ms: AtomicU64,
    written_while_slow: AtomicU64,
}

impl Connections {
    pub(super) fn new(bounds: ConnectionBounds) -> Self {
        describe_gauge!(OPEN_CONNECTIONS, "Open connections.");
        describe_gauge!(MAX_CONNECTIONS, "Connections beyond which the idlest are closed.");
        gauge!(MAX_CONNECTIONS).set(bounds.total as f64);
        Self { bounds, epoch: Instant::now(), open: Mutex::default(), gauge: gauge!(OPEN_CONNECTIONS) }
    }

    /// Registers a connection; `None` when there are too many and none of them is idle.
    pub(super) fn admit(self: &Arc<Self>, address: IpAddr, is_trusted: bool) -> Option<OpenConnection> {
        let network = (!is_trusted).then(|| connection_network(address));
        let now_ms = self.now_ms();
        let mut open = self.open.lock();
        let of_network = network.and_then(|network| open.by_network.get(&network)).copied().unwrap_or(0);
        if of_network >= self.bounds.per_network && !open.abort_idlest(network) {
            return None;
        }
        if open.by_number.len() >= self.bounds.total && !open.abort_idlest(None) {
            return None;
        }
        let state = Arc::new(ConnectionState::new(network, now_ms));
        open.last_number += 1;
        let number = open.last_number;
        open.by_number.insert(number, state.clone());
        self.gauge.set(open.by_number.len() as f64);
        if let Some(network) = network {
            *open.by_network.entry(network).or_default() += 1;
        }
        Some(OpenConnection { connections: self.clone(), number, state })
    }

    /// Aborts the connections that are past a deadline.
    pub(super) fn abort_overdue(&self) {
        let now_ms = self.now_ms();
        let open = self.open.lock();
        open.by_number.values().filter(|state| state.is_overdue(now_ms)).for_each(|state| state.abort());
    }

    /// Aborts all connections; their number.
    pub(super) fn abort_all(&self) -> usize {
        let open = self.open.lock();
        open.by_number.values().for_each(|state| state.abort());
        open.by_number.len()
    }

    fn now_ms(&self) -> u64 {
        // From 1: 0 is "never".
        self.epoch.elapsed().as_millis() as u64 + 1
    }
}

impl OpenConnections {
    /// Aborts the connection, of this network or of all, that has no request in progress and has been
    /// idle longest; whether there was one.
    fn abort_idlest(&mut self, network: Option<IpAddr>) -> bool {
        let of_network = |state: &&Arc<ConnectionState>| network.is_none() || state.network == network;
        let idle = self.by_number.iter().filter(|(_, state)| of_network(state) && state.is_idle());
        let Some(number) = idle.min_by_key(|(_, state)| state.active_ms.load(Ordering::Relaxed)).map(|(n, _)| *n)
        else {
            return false;
        };
        if let Some(state) = self.remove(number) {
            state.abort();
        }
        true
    }

    fn remove(&mut self, number: u64) -> Option<Arc<ConnectionState>> {
        let state = self.by_number.remove(&number)?;
        if let Some(network) = state.network
            && let Some(count) = self.by_network.get_mut(&network)
        {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&network);
            }
        }
        Some(state)
    }
}

impl ConnectionState {
    fn new(network: Option<IpAddr>, accepted_ms: u64) -> Self {
        Self {
            network,
            accepted_ms,
            task: OnceLock::new(),
            has_sent_request: AtomicBool::new(false),
            requests_in_progress: AtomicU32::new(0),
            answers: Mutex::default(),
            active_ms: AtomicU64::new(accepted_ms),
            blocked_ms: AtomicU64::new(0),
            slow_ms: AtomicU64::new(0),
            written_while_slow: AtomicU64::new(0),
        }
    }

    /// Counts a request; it is in progress until the returned value is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> RequestInProgress {
        self.has_sent_request.store(true, Ordering::Relaxed);
        self.requests_in_progress.fetch_add(1, Ordering::Relaxed);
        RequestInProgress(self.clone())
    }

    /// The task that is aborted at a deadline.
    pub(super) fn set_task(&self, task: AbortHandle) {
        let _ = self.task.set(task);
    }

    fn abort(&self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }

    fn is_idle(&self) -> bool {
        self.requests_in_progress.load(Ordering::Relaxed) == 0
    }

    fn is_overdue(&self, now_ms: u64) -> bool {
        let age_ms = |since_ms: u64| if since_ms == 0 { 0 } else { now_ms.saturating_sub(since_ms) };
        let slow_ms = age_ms(self.slow_ms.load(Ordering::Relaxed));
        let least_bytes = slow_ms * MIN_WRITE_BYTES_PER_SECOND / 1_000;
        let is_late = !self.has_sent_request.load(Ordering::Relaxed)
            && age_ms(self.accepted_ms) >= FIRST_REQUEST_TIMEOUT.as_millis() as u64;
        let is_stalled = age_ms(self.blocked_ms.load(Ordering::Relaxed)) >= STALLED_WRITE_TIMEOUT.as_millis() as u64;
        let is_slow = slow_ms >= SLOW_WRITE_GRACE.as_millis() as u64
            && self.written_while_slow.load(Ordering::Relaxed) < least_bytes;
        let first_answer_ms = self.answers.lock().values().min().copied().unwrap_or(0);
        let is_unread = age_ms(first_answer_ms) >= ANSWER_TIMEOUT.as_millis() as u64;
        is_late || is_stalled || is_slow || is_unread
    }

    fn record_read(&self, now_ms: u64) {
        self.active_ms.store(now_ms, Ordering::Relaxed);
    }

    fn record_write(&self, now_ms: u64, written: &Poll<io::Result<usize>>) {
        match written {
            Poll::Ready(Ok(bytes)) => {
                self.active_ms.store(now_ms, Ordering::Relaxed);
                self.blocked_ms.store(0, Ordering::Relaxed);
                self.written_while_slow.fetch_add(*bytes as u64, Ordering::Relaxed);
            }
            Poll::Pending => {
                let _ = self.blocked_ms.compare_exchange(0, now_ms, Ordering::Relaxed, Ordering::Relaxed);
                if self.slow_ms.compare_exchange(0, now_ms, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    self.written_while_slow.store(0, Ordering::Relaxed);
                }
            }
            Poll::Ready(Err(_)) => {}
        }
    }

    /// The reader took everything there was.
    fn record_flush(&self) {
        self.slow_ms.store(0, Ordering::Relaxed);
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct RequestInProgress(Arc<ConnectionState>);

impl Drop for RequestInProgress {
    fn drop(&mut self) {
        self.0.requests_in_progress.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The body of an answer that has [`ANSWER_TIMEOUT`] to be read; its request is in progress as long.
#[derive(Debug)]
pub(super) struct MeasuredBody {
    body: Body,
    in_progress: RequestInProgress,
    number: u64,
}

impl MeasuredBody {
    /// The body of an answer that begins at this moment.
    pub(super) fn new(body: Body, in_progress: RequestInProgress) -> Self {
        let state = &in_progress.0;
        let mut answers = state.answers.lock();
        let number = answers.last_key_value().map_or(0, |(last, _)| last + 1);
        answers.insert(number, state.active_ms.load(Ordering::Relaxed));
        drop(answers);
        Self { body, in_progress, number }
    }
}

impl hyper::body::Body for MeasuredBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for MeasuredBody {
    fn drop(&mut self) {
        self.in_progress.0.answers.lock().remove(&self.number);
    }
}

/// A registered connection.
#[derive(Debug)]
pub(super) struct OpenConnection {
    connections: Arc<Connections>,
    number: u64,
    pub(super) state: Arc<ConnectionState>,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        let mut open = self.connections.open.lock();
        open.remove(self.number);
        self.connections.gauge.set(open.by_number.len() as f64);
    }
}

/// The socket of a registered connection: it records when something was read and written.
#[derive(Debug)]
pub(super) struct WatchedStream {
    stream: TcpStream,
    connection: OpenConnection,
}

impl WatchedStream {
    pub(super) fn new(stream: TcpStream, connection: OpenConnection) -> Self {
        Self { stream, connection }
    }

    fn now_ms(&self) -> u64 {
        self.connection.connections.now_ms()
    }
}

impl AsyncRead for WatchedStream {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(cx, buf);
        if read.is_ready() {
            self.connection.state.record_read(self.now_ms());
        }
        read
    }
}

impl AsyncWrite for WatchedStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.connection.state.record_write(self.now_ms(), &written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.connection.state.record_write(self.now_ms(), &written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.state.record_flush();
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
