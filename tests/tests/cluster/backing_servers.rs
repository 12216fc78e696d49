//! The servers of the suite themselves: they start, freeze, die, and restart on their data and port.

use std::time::Duration;

use gailou_tests::POLL_TIMEOUT;
use gailou_tests::backing_servers::{BackingServers, ServerAddresses, ServerKind, available};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a frozen server is given before it counts as silent.
const SILENCE_TIMEOUT: Duration = Duration::from_millis(500);

/// The reply of Redis to a line, or `None` when there is no reply in time.
async fn redis(port: u16, line: &str, limit: Duration) -> Option<String> {
    let exchange = async {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
        stream.write_all(format!("{line}\r\n").as_bytes()).await.ok()?;
        let mut reply = vec![0; 100];
        let read = stream.read(&mut reply).await.ok()?;
        Some(String::from_utf8_lossy(&reply[..read]).into_owned())
    };
    timeout(limit, exchange).await.ok().flatten()
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_freeze_resume_die_and_restart_with_their_data() {
    if !available() {
        return;
    }
    let mut servers = BackingServers::start().await;
    let addresses = servers.addresses();
    assert_eq!(ServerAddresses::parse(&addresses.to_string()), Some(addresses.clone()));
    let read = |database| addresses.sql(database, "SELECT a FROM d.t");
    for database in [0, 1] {
        addresses
            .sql(database, "CREATE DATABASE d; CREATE TABLE d.t (a BIGINT PRIMARY KEY); INSERT INTO d.t VALUES (7)");
    }
    assert!(addresses.sql(0, "SELECT VERSION()").contains("MariaDB"));
    assert!(!addresses.sql(1, "SELECT VERSION()").contains("MariaDB"), "the second server is MySQL");
    let port = servers.redis.port();
    assert_eq!(redis(port, "SET a 7", POLL_TIMEOUT).await.as_deref(), Some("+OK\r\n"));
    servers.redis.freeze();
    assert_eq!(redis(port, "GET a", SILENCE_TIMEOUT).await, None);
    servers.redis.resume();
    assert_eq!(redis(port, "GET a", POLL_TIMEOUT).await.as_deref(), Some("$1\r\n7\r\n"));
    for kind in ServerKind::ALL {
        servers.server_mut(kind).kill();
        assert!(
            TcpStream::connect(("127.0.0.1", servers.server_mut(kind).port())).await.is_err(),
            "{kind:?} still listens"
        );
        servers.server_mut(kind).start();
    }
    // Tables survive a restart; Redis has no persistence here.
    assert_eq!([0, 1].map(read), ["7\n"; 2]);
    assert_eq!(redis(port, "GET a", POLL_TIMEOUT).await.as_deref(), Some("$-1\r\n"));
    // A frozen server can be killed.
    for kind in ServerKind::DATABASES {
        let server = servers.server_mut(kind);
        server.freeze();
        server.kill();
        server.start();
    }
    assert_eq!([0, 1].map(read), ["7\n"; 2]);
}
