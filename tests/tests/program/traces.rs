//! Traces that a collector gets, the log as JSON, and slow statements.

use std::fs::{self, File};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use gailou::clock::Clock;
use gailou_shared::edge_protocol::{
    BODY_HASH_HEADER, BodyHash, SIGNATURE_HEADER, SignatureDirection, SignedRequest, sign_request,
};
use gailou_tests::{ApiResponse, GailouProcess, TraceReceiver, ann, comments_path, poll_until};
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::command_on;

const SUBJECT: &str = "article/traced";
const EDGE_SECRET: &str = "an edge secret of thirty-two bytes";
/// A trace that was begun elsewhere.
const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// A server whose data and log are in this folder, and that sends all of its traces there.
async fn start(folder: &TempDir, collector: &TraceReceiver, settings: &[(&str, &str)]) -> GailouProcess {
    let mut command = command_on(&folder.path().join("data"), &["--bind", "127.0.0.1:0"]);
    command.env("GAILOU_TELEMETRY__OTLP_URL", &collector.url).env("GAILOU_TELEMETRY__TRACE_ONE_IN", "1");
    command.env("OTEL_BSP_SCHEDULE_DELAY", "100").env("GAILOU_LIMITS", "off").env("GAILOU_EDGE_SECRET", EDGE_SECRET);
    command.envs(settings.iter().copied());
    GailouProcess::spawn_logging(command, File::create(folder.path().join("log")).unwrap()).await
}

async fn post(origin: &GailouProcess) -> ApiResponse {
    let request = origin.request(&format!("POST {}", comments_path(SUBJECT)));
    request.by(&ann()).json(&json!({"content": "text"})).try_send().await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn one_trace_leads_from_a_request_to_its_row() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), TraceReceiver::start().await);
    let origin = start(&folder, &collector, &[]).await;
    let posted = post(&origin).await;
    assert_eq!(posted.status, 201);
    let trace = posted.header("x-request-id");
    collector.trace_with(trace, "row").await;
    let spans = collector.trace_with(trace, "POST /v1/subjects/{type}/{key}/comments").await;
    let named =
        |name: &str| spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("{name}: {spans:#?}"));
    let request = named("POST /v1/subjects/{type}/{key}/comments");
    assert_eq!((request.parent.as_str(), request.attributes["request_id"].as_str()), ("", trace));
    assert_eq!(request.attributes["http.response.status_code"], "201");
    let append = named("journal append");
    assert_eq!((&append.parent, append.attributes["outcome"].as_str()), (&request.id, "ok"));
    let row = named("row");
    assert_eq!(row.parent, request.id);
    // The batch has a trace of its own.
    let batch = collector.trace_with(&row.links[0], "persist batch").await;
    assert!(batch.iter().any(|span| span.name == "sqlite persist"), "{batch:#?}");
    assert!(batch.iter().any(|span| span.links == [trace]), "{batch:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn trace_of_the_edge_is_gone_on_with_and_that_of_a_stranger_is_not() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), TraceReceiver::start().await);
    let origin = start(&folder, &collector, &[]).await;
    // A page that is ready in memory is no request of a route, so each asks for another one.
    let asked = AtomicU32::new(0);
    let ask = async |is_signed: bool, flags: &str| {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-{flags}");
        let path_query = format!("{}?limit={}", comments_path(SUBJECT), 1 + asked.fetch_add(1, Ordering::Relaxed));
        let mut request = origin.request(&format!("GET {path_query}")).header("traceparent", &parent);
        if is_signed {
            let body_hash = BodyHash::of(b"");
            let signed = SignedRequest::anonymous(SignatureDirection::EdgeToOrigin, "GET", &path_query, "", body_hash);
            let now = Clock::system().now() / 1_000;
            let signature = sign_request(EDGE_SECRET.as_bytes(), now, &signed);
            request = request.header(SIGNATURE_HEADER, &signature).header(BODY_HASH_HEADER, &body_hash.to_string());
        }
        let answer = request.send().await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.header("x-request-id").to_owned()
    };
    let of_stranger = ask(false, "01").await;
    assert_ne!(of_stranger, TRACE);
    assert_eq!(ask(true, "00").await, TRACE);
    collector.trace_with(&of_stranger, "GET /v1/subjects/{type}/{key}/comments").await;
    assert!(collector.spans().iter().all(|span| span.trace != TRACE), "the edge does not want it traced");
    assert_eq!(ask(true, "01").await, TRACE);
    let spans = collector.trace_with(TRACE, "GET /v1/subjects/{type}/{key}/comments").await;
    assert!(spans.iter().any(|span| span.parent == "b7ad6b7169203331"), "{spans:#?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn collector_that_does_not_answer_delays_no_request_and_no_stop() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), TraceReceiver::start().await);
    collector.is_slow.store(true, Ordering::Relaxed);
    // One that has room for few spans.
    let origin =
        start(&folder, &collector, &[("OTEL_BSP_MAX_QUEUE_SIZE", "16"), ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "8")]).await;
    post(&origin).await;
    assert!(poll_until(|| async { collector.requests() }, |requests| *requests > 0).await > 0);
    for _ in 0..100 {
        let began = Instant::now();
        assert_eq!(post(&origin).await.status, 201);
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
    let log = || async { fs::read_to_string(folder.path().join("log")).unwrap() };
    let said = poll_until(log, |log| log.contains("Could not send traces to http://")).await;
    assert_eq!(said.matches("Could not send traces to http://").count(), 1, "{said}");
    origin.terminate();
    let began = Instant::now();
    assert_eq!(origin.wait_for_exit().await, Some(0));
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn line_of_json_has_the_id_of_its_request_and_a_slow_statement_its_text() {
    let (folder, collector) = (tempfile::tempdir().unwrap(), TraceReceiver::start().await);
    let settings = [("GAILOU_TELEMETRY__LOG_FORMAT", "json"), ("GAILOU_TELEMETRY__SLOW_STATEMENT_MS", "200")];
    let origin = start(&folder, &collector, &settings).await;
    assert_eq!(post(&origin).await.status, 201);
    let lines = || async {
        let log = fs::read_to_string(folder.path().join("log")).unwrap();
        // The address of the first administrator is no line of the log.
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect::<Vec<Value>>()
    };
    let said = |line: &Value, text: &str| line["fields"]["message"].as_str().is_some_and(|said| said.contains(text));
    let file = Connection::open(folder.path().join("data/gailou.db")).unwrap();
    // Others that write wait for its lock.
    let held = Duration::from_millis(400);
    file.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (posted, ()) = tokio::join!(post(&origin), async {
        tokio::time::sleep(held).await;
        file.execute_batch("COMMIT").unwrap();
    });
    assert_eq!(posted.status, 201);
    let found = poll_until(lines, |lines| lines.iter().any(|line| said(line, "A statement of sqlite took "))).await;
    let slow = found.iter().find(|line| said(line, "A statement of sqlite took ")).expect("the line");
    assert_eq!(slow["fields"]["statement"], "BEGIN IMMEDIATE");
    assert!(slow["fields"]["duration_ms"].as_u64() >= Some(200), "{slow}");
    assert!(origin.metric("gailou_slow_statements_total{dependency=\"sqlite\"}").await >= Some(1.0));
    file.execute_batch("CREATE TRIGGER full BEFORE INSERT ON comment BEGIN SELECT RAISE(ABORT, 'full'); END").unwrap();
    let refused = post(&origin).await;
    assert!(refused.status >= 500);
    let found = poll_until(lines, |lines| lines.iter().any(|line| said(line, "Refused POST "))).await;
    let line = found.iter().find(|line| said(line, "Refused POST ")).expect("the line");
    let id = refused.header("x-request-id");
    assert_eq!(line["fields"]["request_id"], id, "{line}");
    assert_eq!(refused.json["trace_id"], id);
}
