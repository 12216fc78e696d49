//! Questions of commands to a server by HTTP, without encryption: health and metrics are asked within a network.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long the server may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// What is read of an answer: more than the metrics of a process.
const MAX_ANSWER_BYTES: u64 = 16 << 20;

/// What a server answered.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status_line: String,
    pub(super) body: String,
}

impl HttpAnswer {
    /// Whether the status is 200.
    pub(super) fn is_ok(&self) -> bool {
        self.status_line.starts_with("HTTP/1.") && self.status_line.get(8..12) == Some(" 200")
    }
}

/// Where a server that listens on `bind` is reached from this machine.
pub(super) fn own_address(bind: SocketAddr) -> SocketAddr {
    let ip = match bind.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bind.port())
}

/// The answer of the server at `host:port`.
///
/// # Errors
/// When there is none in time.
pub(super) async fn get(address: &str, path: &str) -> anyhow::Result<HttpAnswer> {
    timeout(ANSWER_TIMEOUT, ask(address, path)).await.context("no answer in time")?
}

async fn ask(address: &str, path: &str) -> anyhow::Result<HttpAnswer> {
    let mut server = TcpStream::connect(address).await?;
    // The connections of HTTP/1.0 end with the answer.
    server.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes()).await?;
    let mut answer = Vec::new();
    server.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    let answer = String::from_utf8_lossy(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status_line = head.lines().next().unwrap_or_default().to_owned();
    Ok(HttpAnswer { status_line, body: body.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unspecified_address_is_reached_by_loopback() {
        for (bind, expected) in [
            ("0.0.0.0:8080", "127.0.0.1:8080"),
            ("[::]:8080", "[::1]:8080"),
            ("127.0.0.1:1", "127.0.0.1:1"),
            ("192.0.2.7:80", "192.0.2.7:80"),
        ] {
            assert_eq!(own_address(bind.parse().unwrap()), expected.parse().unwrap(), "{bind}");
        }
    }
}
