//! What the program says of itself: metrics, and whether it is ready.

use std::time::Duration;

use gailou_tests::{ApiResponse, GailouProcess, ann, comments_path, poll_until};
use rusqlite::Connection;
use serde_json::json;

use super::{command_on, run_on};

const SUBJECT: &str = "article/measured";

async fn post(origin: &GailouProcess) -> ApiResponse {
    let request = origin.request(&format!("POST {}", comments_path(SUBJECT)));
    request.by(&ann()).json(&json!({"content": "text"})).try_send().await.expect("an answer")
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_are_not_stored_leave_the_process_ready_for_reads() {
    let data = tempfile::tempdir().unwrap();
    let origin = GailouProcess::start(data.path()).await;
    assert_eq!(post(&origin).await.status, 201);
    let ready = origin.get("/readyz").await.expect(200);
    assert_eq!((&ready["status"], &ready["writes"]), (&json!("ok"), &json!("ok")));
    // As a disk that takes nothing.
    let execute = |sql: &str| Connection::open(data.path().join("gailou.db")).unwrap().execute_batch(sql).unwrap();
    execute("CREATE TRIGGER full BEFORE INSERT ON comment BEGIN SELECT RAISE(ABORT, 'full'); END");
    for failing in [0.0, 0.0, 1.0] {
        assert!(post(&origin).await.status >= 500);
        assert_eq!(origin.metric("gailou_writes_failing").await, Some(failing));
    }
    let ready = origin.get("/readyz").await.expect(200);
    assert_eq!((&ready["status"], &ready["writes"]), (&json!("degraded"), &json!("failed")));
    assert_eq!(origin.page(&comments_path(SUBJECT)).await["data"].as_array().map(Vec::len), Some(1));
    let calls = "gailou_dependency_calls_total{dependency=\"journal\",outcome=\"error\"}";
    assert!(origin.metric(calls).await >= Some(3.0));
    execute("DROP TRIGGER full");
    assert_eq!(post(&origin).await.status, 201);
    assert_eq!(origin.metric("gailou_writes_failing").await, Some(0.0));
    assert_eq!(origin.get("/readyz").await.expect(200)["writes"], "ok");
}

#[tokio::test(flavor = "multi_thread")]
async fn process_exports_its_bounds_its_means_and_what_waits() {
    let data = tempfile::tempdir().unwrap();
    let mut command = command_on(data.path(), &["--bind", "127.0.0.1:0"]);
    command.env("GAILOU_CONNECTIONS__MAX", "123");
    let origin = GailouProcess::spawn(command).await;
    let metric = async |name: &str| origin.metric(name).await;
    assert_eq!(metric("gailou_http_connections_max").await, Some(123.0));
    assert_eq!(metric("gailou_admission_max{kind=\"writes\"}").await, Some(256.0));
    let open_files = metric("process_open_fds").await;
    assert!(Some(3.0) < open_files && open_files < metric("process_max_fds").await, "{open_files:?}");
    assert!(metric("process_resident_memory_bytes").await > Some(1e6));
    let before = metric("process_cpu_seconds_total").await;
    let worked = async || {
        post(&origin).await;
        metric("process_cpu_seconds_total").await
    };
    assert!(poll_until(worked, |now| *now > before).await > before);
    assert!(metric("gailou_data_free_bytes").await <= metric("gailou_data_size_bytes").await);
    assert_eq!(metric("gailou_persist_stored_total{topic=\"comments\"}").await, None, "embedded there is no broker");
    let queue = || metric("gailou_review_queue_comments{part=\"held\"}");
    assert_eq!(poll_until(queue, |queue| queue.is_some()).await, Some(0.0));
    assert_eq!(metric("gailou_backup_age_seconds").await, None, "there is no backup");
    let folder = tempfile::tempdir().unwrap();
    let backup = folder.path().join("backup");
    assert_eq!(run_on(data.path(), &["backup", backup.to_str().unwrap()]).await.code, Some(0));
    let age = poll_until(|| metric("gailou_backup_age_seconds"), |age| age.is_some()).await;
    assert!(age < Some(60.0), "{age:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_frame_is_printed_of_the_processes_that_answer() {
    let data = tempfile::tempdir().unwrap();
    let origin = GailouProcess::start(data.path()).await;
    let address = origin.base().strip_prefix("http://").expect("an address");
    let absent = "127.0.0.1:9";
    let arguments = ["top", address, absent];
    let (frame, ()) = tokio::join!(run_on(data.path(), &arguments), async {
        for _ in 0..20 {
            post(&origin).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert_eq!((frame.code, frame.stderr.as_str()), (Some(0), ""), "{}", frame.stdout);
    let value = |name: &str| frame.stdout.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim();
    assert_eq!(value("gailou"), format!("1 of {address} {absent} answer"));
    assert_eq!(value("away"), absent);
    let posts = value("writes").split(' ').next().and_then(|number| number.parse::<f64>().ok());
    assert!(posts > Some(1.0), "{}", frame.stdout);
    assert!(value("route").ends_with("POST /v1/subjects/{type}/{key}/comments"), "{}", frame.stdout);
    assert!(value("processes").contains(" MiB "), "{}", frame.stdout);
    let alone = run_on(data.path(), &["top", "--once", absent]).await;
    assert_eq!((alone.code, alone.stdout.as_str()), (Some(1), ""), "{}", alone.stderr);
}
