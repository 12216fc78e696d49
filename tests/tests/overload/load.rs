//! A load on one server from many connections: as fast as it answers, or at a given rate.
//!
//! Speaks HTTP/1.1 itself: a request costs the client little, which shares the cores with the server. At a
//! given rate a response is measured from the moment at which its request was due, so a server that makes
//! requests wait cannot hide it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio::time::{sleep_until, timeout};

/// How long a client waits for a response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);
/// Connections of a load at a given rate: more than the server admits, so that one is free when it is due.
const OPEN_LOOP_CONNECTIONS: usize = 900;

/// Requests without a response after which a connection gives up.
const MAX_BROKEN: usize = 10;

/// One response.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) status: u16,
    pub(crate) has_retry_after: bool,
    pub(crate) took: Duration,
}

/// What a load came to.
#[derive(Debug, Default)]
pub(crate) struct LoadReport {
    pub(crate) samples: Vec<Sample>,
    /// Requests without a response.
    pub(crate) broken: Vec<String>,
    pub(crate) lasted: Duration,
}

impl LoadReport {
    /// Accepted requests in a second.
    pub(crate) fn accepted_per_second(&self) -> f64 {
        self.accepted().count() as f64 / self.lasted.as_secs_f64()
    }

    pub(crate) fn accepted(&self) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(|sample| sample.status < 300)
    }

    /// The time within which this share of the accepted requests was answered.
    pub(crate) fn accepted_within(&self, share: f64) -> Duration {
        let mut times: Vec<Duration> = self.accepted().map(|sample| sample.took).collect();
        times.sort_unstable();
        let last = times.len().saturating_sub(1);
        times[((last as f64 * share).ceil() as usize).min(last)]
    }
}

/// A source of requests: the bytes of the request with this number.
pub(crate) type Requests = Arc<dyn Fn(u64) -> Vec<u8> + Send + Sync>;

/// Sends from so many connections, each its next request after the last response.
pub(crate) async fn send_as_answered(
    address: &str,
    connections: usize,
    lasting: Duration,
    requests: &Requests,
) -> LoadReport {
    let (next, started) = (AtomicU64::new(0), Instant::now());
    let due = move || (started.elapsed() < lasting).then(|| (next.fetch_add(1, Ordering::Relaxed), Instant::now()));
    run(address, connections, Arc::new(due), requests).await
}

/// Sends so many requests a second, whether or not they are answered.
pub(crate) async fn send_at_rate(address: &str, per_second: f64, lasting: Duration, requests: &Requests) -> LoadReport {
    let (next, started) = (AtomicU64::new(0), Instant::now());
    let due = move || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let after = Duration::from_secs_f64(number as f64 / per_second);
        (after < lasting).then(|| (number, started + after))
    };
    run(address, OPEN_LOOP_CONNECTIONS, Arc::new(due), requests).await
}

/// The number of the next request and the moment at which it is due; `None` when the load is over.
type Schedule = Arc<dyn Fn() -> Option<(u64, Instant)> + Send + Sync>;

async fn run(address: &str, connections: usize, schedule: Schedule, requests: &Requests) -> LoadReport {
    let (started, mut report) = (Instant::now(), LoadReport::default());
    let work: Vec<_> =
        (0..connections).map(|_| tokio::spawn(work(address.to_owned(), schedule.clone(), requests.clone()))).collect();
    for done in work {
        let LoadReport { samples, broken, .. } = done.await.expect("no panic");
        report.samples.extend(samples);
        report.broken.extend(broken);
    }
    LoadReport { lasted: started.elapsed(), ..report }
}

/// Sends over one connection.
async fn work(address: String, schedule: Schedule, requests: Requests) -> LoadReport {
    let (mut report, mut connection) = (LoadReport::default(), None);
    while let Some((number, due)) = schedule()
        && report.broken.len() < MAX_BROKEN
    {
        let is_early = Instant::now() < due;
        sleep_until(due.into()).await;
        // A timer that fires late is the client's own delay; no free connection is the server's.
        let begun = if is_early { Instant::now() } else { due };
        match timeout(RESPONSE_TIMEOUT, exchange(&address, &mut connection, &requests(number))).await {
            Ok(Ok(sample)) => report.samples.push(Sample { took: begun.elapsed(), ..sample }),
            Ok(Err(error)) => report.broken.push(error.to_string()),
            Err(_) => report.broken.push("no response in time".to_owned()),
        }
    }
    report
}

/// Sends one request and reads its response.
async fn exchange(
    address: &str,
    connection: &mut Option<BufReader<TcpStream>>,
    request: &[u8],
) -> std::io::Result<Sample> {
    // Taken out, so that a connection that failed or timed out is not used again.
    let mut stream = match connection.take() {
        Some(stream) => stream,
        None => BufReader::new(TcpStream::connect(address).await?),
    };
    stream.get_mut().write_all(request).await?;
    let (mut status, mut length, mut has_retry_after, mut line) = (0, 0, false, String::new());
    loop {
        line.clear();
        if stream.read_line(&mut line).await? == 0 {
            return Err(std::io::Error::other("the server closed the connection"));
        }
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(text) = line.strip_prefix("http/1.1 ") {
            status = text[..3].parse().map_err(std::io::Error::other)?;
        } else if let Some(text) = line.strip_prefix("content-length: ") {
            length = text.parse().map_err(std::io::Error::other)?;
        } else if line.starts_with("retry-after: ") {
            has_retry_after = true;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    *connection = Some(stream);
    Ok(Sample { status, has_retry_after, took: Duration::ZERO })
}
