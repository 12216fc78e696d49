//! `gailou health`: asks the server at the configured address whether it lives, for the health check of a container.
//!
//! Not here: whether what it depends on answers, which is `/readyz`. Promise: it reads no data, asks this machine alone,
//! and ends within [`HEALTH_TIMEOUT`].

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::cli::print_line;
use crate::config::Config;

/// How long the server may take to answer.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(3);
/// The question in HTTP/1.0, whose connections end with the answer.
const HEALTH_REQUEST: &[u8] = b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n";
/// What is read of the answer: its status stands in the first 12 bytes.
const STATUS_LINE_BYTES: usize = 12;

/// Prints that the server lives; an error says why it does not.
pub(super) async fn run(config: &Config) -> anyhow::Result<u8> {
    let address = own_address(config.bind);
    let status = timeout(HEALTH_TIMEOUT, ask(address)).await.context("no answer in time").flatten();
    let status = status.with_context(|| format!("the server at {address} does not answer"))?;
    ensure!(status.ends_with(b" 200"), "{address} answered {}", String::from_utf8_lossy(&status));
    print_line(&format!("ok: {address} lives"));
    Ok(0)
}

/// Where a server that listens on `bind` is reached from this machine.
fn own_address(bind: SocketAddr) -> SocketAddr {
    let ip = match bind.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, bind.port())
}

async fn ask(address: SocketAddr) -> anyhow::Result<[u8; STATUS_LINE_BYTES]> {
    let mut server = TcpStream::connect(address).await?;
    server.write_all(HEALTH_REQUEST).await?;
    let mut status = [0; STATUS_LINE_BYTES];
    server.read_exact(&mut status).await?;
    Ok(status)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

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

    #[tokio::test]
    async fn answer_decides() {
        let check = async |answer: &'static [u8], expected: Option<u8>| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let config = Config { bind: listener.local_addr().unwrap(), ..Config::default() };
            let server = tokio::spawn(async move {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut request = vec![0; HEALTH_REQUEST.len()];
                client.read_exact(&mut request).await.unwrap();
                client.write_all(answer).await.unwrap();
            });
            assert_eq!(run(&config).await.ok(), expected, "{}", String::from_utf8_lossy(answer));
            server.await.unwrap();
        };
        check(b"HTTP/1.0 200 OK\r\n\r\n", Some(0)).await;
        check(b"HTTP/1.1 200 OK\r\n\r\n{}", Some(0)).await;
        check(b"HTTP/1.0 503 Service Unavailable\r\n\r\n", None).await;
        check(b"SSH-2.0-x\r\n", None).await;
        check(b"", None).await;
    }
}
