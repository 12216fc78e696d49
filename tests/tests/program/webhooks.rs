//! What is sent by a program that is killed, and by one that runs a command.

use std::path::Path;

use gailou_tests::{GailouProcess, ReceiverBehavior, WebhookReceiver, admin, ann, gailou_command, id, poll_until};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::run_on;

async fn start(data: &Path) -> GailouProcess {
    let mut command = gailou_command(["--bind", "127.0.0.1:0", "--data"]);
    command.arg(data).env("GAILOU_LIMITS", "off").env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "on");
    GailouProcess::spawn(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_that_a_kill_interrupts_is_sent_again_with_the_same_id() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let receiver = WebhookReceiver::start(ReceiverBehavior::Wait).await;
    let server = start(&data).await;
    let body = json!({"url": receiver.url, "events": ["comment.created"]});
    let webhook = server.request("POST /v1/admin/webhooks").by(&admin()).json(&body).send().await.expect(201);
    let posted = server.post(&ann(), "article/killed", "between the request and its answer").await;
    let interrupted = receiver.wait_for(1).await.remove(0);
    // The receiver has it, and the program does not know.
    server.kill();
    receiver.set_behavior(ReceiverBehavior::Answer(200));

    let server = start(&data).await;
    let deliveries = format!("GET /v1/admin/webhooks/{}/deliveries", id(&webhook));
    let read = || async { server.request(&deliveries).by(&admin()).send().await.expect(200)["data"][0].clone() };
    let is_delivered = |delivery: &Value| delivery["status"] == "delivered";
    // The lease of the process that was killed ends after 15 s, which is most of what a poll waits for.
    if !is_delivered(&poll_until(read, is_delivered).await) {
        assert!(is_delivered(&poll_until(read, is_delivered).await), "it is not sent again");
    }
    let again = receiver.wait_for(2).await.remove(1);
    let secret = webhook["secret"].as_str().unwrap();
    for request in [&interrupted, &again] {
        request.verify(secret);
        assert_eq!(request.header("webhook-id"), id(&read().await));
        assert_eq!(request.json()["data"]["comment"]["id"], posted["id"]);
    }
    assert_eq!(read().await["attempts"], 1, "a try that was interrupted is not known");
}

#[tokio::test(flavor = "multi_thread")]
async fn command_without_a_server_sends_nothing_of_what_waits() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path().join("data");
    let receiver = WebhookReceiver::start(ReceiverBehavior::Answer(200)).await;
    let server = start(&data).await;
    let posted = server.post(&ann(), "article/stopped", "before there was a webhook").await;
    let body = json!({"url": receiver.url, "events": ["comment.created"]});
    server.request("POST /v1/admin/webhooks").by(&admin()).json(&body).send().await.expect(201);
    server.terminate();
    assert_eq!(server.wait_for_exit().await, Some(0));
    let database = Connection::open(data.join("gailou.db")).unwrap();
    let published = "INSERT INTO event (id, at, comment_id, kind, queued_at) SELECT id, unixepoch() * 1000 + 999, id, 0, created_at FROM comment";
    assert_eq!(database.execute(published, []).unwrap(), 1);
    let count_waiting = || -> u64 { database.query_row("SELECT COUNT(*) FROM event", [], |row| row.get(0)).unwrap() };
    let before = count_waiting();
    let backup = directory.path().join("backup");
    for command in [&["doctor"] as &[_], &["export"], &["backup", backup.to_str().unwrap()]] {
        run_on(&data, command).await;
    }
    assert_eq!(count_waiting(), before);
    let _server = start(&data).await;
    assert_eq!(receiver.wait_for(1).await.remove(0).json()["data"]["comment"]["id"], posted["id"]);
}
