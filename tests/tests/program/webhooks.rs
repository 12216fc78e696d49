//! A delivery is in progress when the program is killed: it is sent again, as the same one.

use std::path::Path;

use gailou_tests::{GailouProcess, ReceiverBehavior, WebhookReceiver, admin, ann, gailou_command, id, poll_until};
use serde_json::{Value, json};

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
