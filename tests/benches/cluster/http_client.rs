//! A client that costs little CPU: keep-alive HTTP/1.1 over requests that are built by copying.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::quantile;

/// One connection with its buffers.
pub(crate) struct HttpConnection {
    stream: TcpStream,
    /// The next request.
    pub(crate) request: Vec<u8>,
    response: Vec<u8>,
}

impl HttpConnection {
    pub(crate) async fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, request: Vec::with_capacity(1_024), response: Vec::with_capacity(64 * 1_024) }
    }

    /// Sends the request and reads the whole response: its status and its body.
    pub(crate) async fn exchange(&mut self) -> (u16, &[u8]) {
        self.stream.write_all(&self.request).await.expect("the server reads");
        self.response.clear();
        loop {
            let read = self.stream.read_buf(&mut self.response).await.expect("the server answers");
            assert!(read > 0, "the server closed the connection");
            if let Some((status, body)) = parse(&self.response) {
                return (status, &self.response[body]);
            }
        }
    }

    /// The body of a page that must exist.
    pub(crate) async fn get(&mut self, path: &str) -> &[u8] {
        self.request.clear();
        write_get(&mut self.request, path);
        let (status, body) = self.exchange().await;
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(body));
        body
    }
}

/// The status and the range of the body, once the response is complete.
fn parse(response: &[u8]) -> Option<(u16, Range<usize>)> {
    let head = response.windows(4).position(|w| w == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&response[..head]).expect("a head is text");
    let status = text.get(9..12).and_then(|status| status.parse().ok()).expect("a status");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let body = head + 4..head + 4 + length;
    (response.len() >= body.end).then_some((status, body))
}

/// Appends a GET request.
pub(crate) fn write_get(request: &mut Vec<u8>, path: &str) {
    for part in ["GET ", path, " HTTP/1.1\r\nhost: bench\r\n\r\n"] {
        request.extend_from_slice(part.as_bytes());
    }
}

/// Appends a request of a member; `headers` are lines with their line ends.
pub(crate) fn write_request(request: &mut Vec<u8>, line: &str, token: &str, headers: &str, body: &str) {
    let length = body.len().to_string();
    for part in [line, " HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ", token, "\r\n", headers, "content-length: "]
    {
        request.extend_from_slice(part.as_bytes());
    }
    for part in [&length, "\r\n\r\n", body] {
        request.extend_from_slice(part.as_bytes());
    }
}

/// The result of a load.
pub(crate) struct LoadResult {
    /// Responses with a 2xx status.
    pub(crate) succeeded: u64,
    /// Other responses.
    pub(crate) refused: u64,
    pub(crate) seconds: f64,
    /// Response times in milliseconds.
    pub(crate) median_ms: f64,
    pub(crate) p99_ms: f64,
}

impl LoadResult {
    pub(crate) fn rate(&self) -> f64 {
        self.succeeded as f64 / self.seconds
    }
}

/// Sends one request after the other on each connection for a time; `make` appends request number n.
pub(crate) async fn run_load(
    to: SocketAddr,
    connections: usize,
    duration: Duration,
    make: impl Fn(u64, &mut Vec<u8>) + Send + Sync + 'static,
) -> LoadResult {
    let (make, next) = (Arc::new(make), Arc::new(AtomicU64::new(0)));
    let mut opened = Vec::new();
    for _ in 0..connections {
        opened.push(HttpConnection::open(to).await);
    }
    let started = Instant::now();
    let mut clients = JoinSet::new();
    for mut connection in opened {
        let (make, next) = (make.clone(), next.clone());
        clients.spawn(async move {
            let (mut times, mut refused) = (Vec::new(), 0);
            while started.elapsed() < duration {
                connection.request.clear();
                make(next.fetch_add(1, Ordering::Relaxed), &mut connection.request);
                let sent = Instant::now();
                let (status, _) = connection.exchange().await;
                if (200..300).contains(&status) {
                    times.push(sent.elapsed().as_secs_f64() * 1e3);
                } else {
                    refused += 1;
                }
            }
            (times, refused)
        });
    }
    let (mut times, mut refused) = (Vec::new(), 0);
    for (own, others) in clients.join_all().await {
        times.extend(own);
        refused += others;
    }
    let (median_ms, p99_ms) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    LoadResult { succeeded: times.len() as u64, refused, seconds: started.elapsed().as_secs_f64(), median_ms, p99_ms }
}
