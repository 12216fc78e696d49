//! The process that sends mails and calls webhooks is killed between sending and noting it: another one sends the same
//! again, and nothing else twice.

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{
    GailouProcess, ReceivedMail, ReceiverBehavior, SmtpReceiver, WebhookReceiver, admin, ann, id, poll_until,
};
use serde_json::json;

use crate::test_bed::ClusterTestBed;

const SUBJECT: &str = "article/senders";

async fn start(bed: &ClusterTestBed, role: &str, mails: &SmtpReceiver) -> GailouProcess {
    let mut command = bed.command(&[role, "--bind", "127.0.0.1:0"]);
    command
        .env("GAILOU_WEBHOOKS__ALLOW_PRIVATE", "on")
        .env("GAILOU_PUBLIC_URL", "http://127.0.0.1:8080")
        .env("GAILOU_MAIL__URL", mails.url())
        .env("GAILOU_MAIL__FROM", "comments@example.com")
        .env("GAILOU_MAIL__OWNER", "owner@example.com");
    GailouProcess::spawn_logging(command, bed.log_file(role)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_job_has_sent_is_sent_again_as_the_same() {
    if !available() {
        return;
    }
    let bed = ClusterTestBed::create(shared(), &[]).await;
    let (mails, receiver) = tokio::join!(SmtpReceiver::start(), WebhookReceiver::start(ReceiverBehavior::Wait));
    mails.be_silent(true);
    let (origin, job) = tokio::join!(start(&bed, "serve", &mails), start(&bed, "job", &mails));
    let body = json!({"url": receiver.url, "events": ["comment.created"]});
    origin.request("POST /v1/admin/webhooks").by(&admin()).json(&body).send().await.expect(201);
    let posted = origin.post(&ann(), SUBJECT, "thunderclap").await;
    // Both receivers have it, and the job does not know.
    let mail = mails.wait_for(1).await.remove(0);
    let delivery = receiver.wait_for(1).await.remove(0);
    assert!(mail.text.contains("thunderclap"), "{}", mail.text);
    job.kill();
    mails.be_silent(false);
    receiver.set_behavior(ReceiverBehavior::Answer(200));

    let _job = start(&bed, "job", &mails).await;
    // The job that was killed has the mail for two minutes, which the test does not wait.
    bed.query("UPDATE notification_{n} SET mail_at = mail_at - 120000 WHERE mail_at IS NOT NULL");
    let again = mails.wait_for(2).await.remove(1);
    assert_eq!(again.header("Message-ID"), mail.header("Message-ID"));
    let repeated = receiver.wait_for(2).await.remove(1);
    assert_eq!(repeated.header("webhook-id"), delivery.header("webhook-id"));
    assert_eq!(repeated.json()["data"]["comment"]["id"], id(&posted));

    let next = origin.post(&ann(), SUBJECT, "snapdragon").await;
    let is_next = |mail: &ReceivedMail| mail.text.contains("snapdragon");
    let all = poll_until(async || mails.mails(), |all| all.iter().any(is_next)).await;
    assert_eq!(all.len(), 3, "the first one was sent a third time: {all:?}");
    let third = receiver.wait_for(3).await.remove(2);
    assert_eq!(third.json()["data"]["comment"]["id"], id(&next));
}
