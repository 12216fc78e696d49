//! Connections of hostile clients: silent, half-open, slow, or never read. Newcomers are served all the
//! same, memory stays bounded, and a signal ends the server in time.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use gailou_tests::{GailouProcess, TestMember, ann, comments_path, gailou_command, poll_until};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Files that the server may have open.
const DESCRIPTORS: u64 = 256;
/// Hostile connections: more than those.
const HOSTILE_CONNECTIONS: usize = 300;
const EDGE_SECRET: &str = "an edge secret of thirty-two bytes";

/// A server that may have few files open.
async fn start_with_few_descriptors(data: &std::path::Path) -> GailouProcess {
    let gailou = gailou_command::<&str>([]);
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -n {DESCRIPTORS} && exec \"$0\" \"$@\"")).arg(gailou.get_program());
    command.args(["--bind", "127.0.0.1:0", "--data"]).arg(data).stdin(Stdio::null());
    for (name, value) in gailou.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.env("GAILOU_LIMITS", "off").env("GAILOU_EDGE_SECRET", EDGE_SECRET);
    GailouProcess::spawn(command).await
}

async fn connect(origin: &GailouProcess, bytes: &[u8]) -> TcpStream {
    let address = origin.base().strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    // A server that has closed it already is as good.
    let _ = stream.write_all(bytes).await;
    stream
}

/// Whether the server closes the connection in time.
async fn is_closed_within(stream: &mut TcpStream, limit: Duration) -> bool {
    let mut bytes = [0; 4_096];
    timeout(limit, async { while stream.read(&mut bytes).await.is_ok_and(|count| count > 0) {} }).await.is_ok()
}

async fn open_connections(origin: &GailouProcess) -> u64 {
    origin.metric("gailou_http_connections").await.expect("the metric") as u64
}

#[tokio::test(flavor = "multi_thread")]
async fn newcomers_are_served_while_hundreds_of_connections_say_nothing() {
    let data = tempfile::tempdir().unwrap();
    let origin = start_with_few_descriptors(data.path()).await;
    let body_that_never_comes = format!(
        "POST /v1/guests HTTP/1.1\r\nhost: x\r\nx-gailou-edge: t={},v1={}\r\ncontent-length: 10\r\n\r\n",
        std::time::UNIX_EPOCH.elapsed().unwrap().as_secs(),
        "00".repeat(32)
    );
    let openings: [&[u8]; 6] = [
        b"",
        b"P",
        b"PRI * HTTP/2.0\r\n",
        b"GET /healthz HTTP/1.1\r\nx: ",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        body_that_never_comes.as_bytes(),
    ];
    let mut hostile = Vec::new();
    for n in 0..HOSTILE_CONNECTIONS {
        hostile.push(connect(&origin, openings[n % openings.len()]).await);
        if n % 25 == 0 {
            origin.get("/healthz").await.expect(200);
        }
    }
    let began = Instant::now();
    let author = ann();
    while began.elapsed() < Duration::from_secs(3) {
        origin.try_post(&author, "article/1", &json!({"content": "served"})).await.expect(201);
    }
    // All but the HTTP/2 connections, which answer no ping: those have another half minute.
    for (n, stream) in hostile.iter_mut().enumerate().filter(|(n, _)| n % openings.len() != 4) {
        assert!(is_closed_within(stream, Duration::from_secs(20)).await, "connection {n} is open");
    }
    assert!(began.elapsed() < Duration::from_secs(35), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_answers_are_aborted() {
    let data = tempfile::tempdir().unwrap();
    let origin = GailouProcess::start(data.path()).await;
    for n in 0..60u64 {
        let author = TestMember::new(100 + n, "A", gailou_shared::token::Role::Member);
        let content = format!("{n} {}", "<&> ".repeat(1_200));
        origin.try_post(&author, "article/large", &json!({"content": content})).await.expect(201);
    }
    let before = open_connections(&origin).await;
    // Different pages, so that no two of them share their memory. Each answer has begun before the next is
    // requested: a busy server would refuse some, and a refusal is small enough to need no reader.
    let (mut readers, opened) = (Vec::new(), Instant::now());
    for limit in 37..=60 {
        let request = format!("GET {}?limit={limit} HTTP/1.1\r\nhost: x\r\n\r\n", comments_path("article/large"));
        let mut reader = connect(&origin, request.repeat(20).as_bytes()).await;
        let mut status_line = [0; 12];
        reader.read_exact(&mut status_line).await.unwrap();
        assert_eq!(&status_line, b"HTTP/1.1 200");
        readers.push(reader);
    }
    // Unless the first are aborted before the last begin.
    let are_open = open_connections(&origin).await >= before + readers.len() as u64;
    assert!(are_open || opened.elapsed() > Duration::from_secs(10), "{:?}", opened.elapsed());
    let began = Instant::now();
    poll_until(|| open_connections(&origin), |open| *open <= before + 1).await;
    assert!(began.elapsed() < Duration::from_secs(16), "{:?}", began.elapsed());
    drop(readers);
}

#[tokio::test(flavor = "multi_thread")]
async fn signal_ends_the_server_within_ten_seconds_whatever_its_clients_do() {
    let data = tempfile::tempdir().unwrap();
    let origin = GailouProcess::start(data.path()).await;
    let _silent = connect(&origin, b"").await;
    let _slow_body = connect(
        &origin,
        b"POST /v1/guests HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n{",
    )
    .await;
    let _events =
        connect(&origin, b"GET /v1/subjects/article/1/events HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n")
            .await;
    sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    origin.terminate();
    assert_eq!(origin.wait_for_exit().await, Some(0));
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
}
