//! The suite's own servers: they answer, die, freeze, and come back on their data and port.

use std::time::Duration;

use gailou_tests::services::{self, Addresses, Kind, Services};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What Redis answers to a line, if it answers.
async fn redis(port: u16, line: &str) -> Option<String> {
    let ask = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        stream.write_all(format!("{line}\r\n").as_bytes()).await.ok()?;
        let mut answer = vec![0; 100];
        let read = stream.read(&mut answer).await.ok()?;
        Some(String::from_utf8_lossy(&answer[..read]).into_owned())
    };
    timeout(Duration::from_millis(500), ask).await.ok().flatten()
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_die_freeze_and_come_back() {
    if !services::available() {
        return;
    }
    let mut services = Services::start();
    let addresses = services.addresses();
    assert_eq!(Addresses::parse(&addresses.to_string()), Some(addresses.clone()));
    addresses.sql("CREATE DATABASE d; CREATE TABLE d.t (a BIGINT PRIMARY KEY); INSERT INTO d.t VALUES (7)");
    let port = services.redis.port();
    assert_eq!(redis(port, "SET a 7").await.as_deref(), Some("+OK\r\n"));
    services.redis.freeze();
    assert_eq!(redis(port, "GET a").await, None);
    services.redis.wake();
    assert_eq!(redis(port, "GET a").await.as_deref(), Some("$1\r\n7\r\n"));
    for kind in Kind::ALL {
        services.of(kind).kill();
        assert!(TcpStream::connect(("127.0.0.1", services.of(kind).port())).await.is_err(), "{kind:?} still listens");
        services.of(kind).run();
    }
    // The tables outlive it; what was only in memory does not.
    assert_eq!(addresses.sql("SELECT a FROM d.t"), "7\n");
    assert_eq!(redis(port, "GET a").await.as_deref(), Some("$-1\r\n"));
    // A frozen one can be killed.
    services.mariadb.freeze();
    services.mariadb.kill();
    services.mariadb.run();
    assert_eq!(addresses.sql("SELECT a FROM d.t"), "7\n");
}
