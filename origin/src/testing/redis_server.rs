//! A private Redis server for a test.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A server that runs until it is dropped and keeps nothing.
pub(crate) struct RedisServer {
    child: Child,
    pub(crate) port: u16,
    dir: tempfile::TempDir,
}

impl RedisServer {
    /// A server on a free port. Outside of CI it may be `None`, with a message, if Redis is not installed.
    pub(crate) async fn start() -> Option<Self> {
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port();
        let dir = tempfile::tempdir().expect("a directory");
        Self::at(port, dir).await
    }

    async fn at(port: u16, dir: tempfile::TempDir) -> Option<Self> {
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir"])
            .arg(dir.path())
            .stdout(Stdio::null())
            .spawn();
        let child = match child {
            Ok(child) => child,
            Err(error) if std::env::var_os("CI").is_some() => panic!("redis-server does not start: {error}"),
            Err(error) => {
                eprintln!("SKIPPED: redis-server does not start: {error}");
                return None;
            }
        };
        let server = Self { child, port, dir };
        let since = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(since.elapsed() < Duration::from_secs(10), "redis-server does not listen");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Some(server)
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        vec![format!("redis://127.0.0.1:{}/", self.port)]
    }

    /// Sends a signal: `STOP`, `CONT`.
    pub(crate) fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([&format!("-{name}"), &self.child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -{name}");
    }

    /// Kills it and starts another on the same port, which loads the last snapshot.
    pub(crate) async fn restart(self) -> Self {
        let (port, dir) = (self.port, tempfile::tempdir().expect("a directory"));
        let saved = self.dir.path().join("dump.rdb");
        if saved.exists() {
            std::fs::copy(saved, dir.path().join("dump.rdb")).expect("a copy");
        }
        drop(self);
        Self::at(port, dir).await.expect("it started before")
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
