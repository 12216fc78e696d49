//! `gailou health`: asks the server at the configured address whether it lives, for the health check of a container.
//!
//! Not here: whether what it depends on answers, which is `/readyz`. Promise: it reads no data, asks this machine alone,
//! and ends within some seconds.

use anyhow::{Context as _, ensure};

use crate::cli::http_get::{get, own_address};
use crate::cli::print_line;
use crate::config::Config;

/// Prints that the server lives; an error says why it does not.
pub(super) async fn run(config: &Config) -> anyhow::Result<u8> {
    let address = own_address(config.bind).to_string();
    let answer = get(&address, "/healthz").await;
    let answer = answer.with_context(|| format!("the server at {address} does not answer"))?;
    ensure!(answer.is_ok(), "{address} answered {}", answer.status_line);
    print_line(&format!("ok: {address} lives"));
    Ok(0)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn answer_decides() {
        let check = async |answer: &'static [u8], expected: Option<u8>| {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let config = Config { bind: listener.local_addr().unwrap(), ..Config::default() };
            let server = tokio::spawn(async move {
                let (mut client, _) = listener.accept().await.unwrap();
                let mut request = [0; 100];
                let read = client.read(&mut request).await.unwrap();
                assert!(request[..read].starts_with(b"GET /healthz HTTP/1.0\r\n"));
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
