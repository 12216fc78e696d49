//! A cheap client: keep-alive HTTP/1.1 with requests that are copied together, and nothing else.

use std::net::SocketAddr;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::quantile;

/// One connection and what is in it.
pub(crate) struct Connection {
    stream: TcpStream,
    /// The request that is sent next.
    pub(crate) request: Vec<u8>,
    answer: Vec<u8>,
}

impl Connection {
    pub(crate) async fn open(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("the server listens");
        stream.set_nodelay(true).expect("a socket");
        Self { stream, request: Vec::with_capacity(1_024), answer: Vec::with_capacity(64 * 1_024) }
    }

    /// Sends the request and reads the whole answer: its status and its body.
    pub(crate) async fn exchange(&mut self) -> (u16, &[u8]) {
        self.stream.write_all(&self.request).await.expect("the server reads");
        self.answer.clear();
        loop {
            let read = self.stream.read_buf(&mut self.answer).await.expect("the server answers");
            assert!(read > 0, "the server closed the connection");
            if let Some((status, body)) = parse(&self.answer) {
                return (status, &self.answer[body]);
            }
        }
    }

    /// A page that must be there.
    pub(crate) async fn get(&mut self, path: &str) -> &[u8] {
        self.request.clear();
        get(&mut self.request, path);
        let (status, body) = self.exchange().await;
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(body));
        body
    }
}

/// The status and the place of the body, once the answer is there.
fn parse(answer: &[u8]) -> Option<(u16, Range<usize>)> {
    let head = answer.windows(4).position(|w| w == b"\r\n\r\n")?;
    let text = std::str::from_utf8(&answer[..head]).expect("a head is text");
    let status = text.get(9..12).and_then(|status| status.parse().ok()).expect("a status");
    let length = text.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
    let body = head + 4..head + 4 + length;
    (answer.len() >= body.end).then_some((status, body))
}

pub(crate) fn get(request: &mut Vec<u8>, path: &str) {
    for part in ["GET ", path, " HTTP/1.1\r\nhost: bench\r\n\r\n"] {
        request.extend_from_slice(part.as_bytes());
    }
}

/// A request of a member; `more` are header lines with their ends.
pub(crate) fn write(request: &mut Vec<u8>, line: &str, token: &str, more: &str, body: &str) {
    let length = body.len().to_string();
    for part in [line, " HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer ", token, "\r\n", more, "content-length: "] {
        request.extend_from_slice(part.as_bytes());
    }
    for part in [&length, "\r\n\r\n", body] {
        request.extend_from_slice(part.as_bytes());
    }
}

/// What a load came to.
pub(crate) struct Load {
    /// Answers that were a success, and others.
    pub(crate) done: u64,
    pub(crate) refused: u64,
    pub(crate) seconds: f64,
    /// Of the answers, in milliseconds.
    pub(crate) median: f64,
    pub(crate) p99: f64,
}

impl Load {
    pub(crate) fn rate(&self) -> f64 {
        self.done as f64 / self.seconds
    }
}

/// Connections that send one request after the other for a time; `make` appends request number n.
pub(crate) async fn drive(
    to: SocketAddr,
    connections: usize,
    span: Duration,
    make: impl Fn(u64, &mut Vec<u8>) + Send + Sync + 'static,
) -> Load {
    let (make, next) = (Arc::new(make), Arc::new(AtomicU64::new(0)));
    let mut opened = Vec::new();
    for _ in 0..connections {
        opened.push(Connection::open(to).await);
    }
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for mut connection in opened {
        let (make, next) = (make.clone(), next.clone());
        clients.spawn(async move {
            let (mut times, mut refused) = (Vec::new(), 0);
            while begun.elapsed() < span {
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
    let (median, p99) = (quantile(&mut times, 0.5), quantile(&mut times, 0.99));
    Load { done: times.len() as u64, refused, seconds: begun.elapsed().as_secs_f64(), median, p99 }
}
