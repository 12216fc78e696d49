//! The program is killed while it sends mail: nothing is notified never, and what is notified again is the same mail.

use std::path::Path;

use gailou_tests::{GailouProcess, ReceivedMail, SmtpReceiver, admin, ann, gailou_command, poll_until};
use serde_json::json;

/// A server on this data that mails its owner.
async fn start(data: &Path, mails: &SmtpReceiver) -> GailouProcess {
    let mut command = gailou_command(["--bind", "127.0.0.1:0", "--data"]);
    command.arg(data).env("GAILOU_MAIL__URL", mails.url()).env("GAILOU_MAIL__FROM", "comments@example.com");
    command.env("GAILOU_MAIL__OWNER", "owner@example.com").env("GAILOU_PUBLIC_URL", "http://127.0.0.1:8080");
    GailouProcess::spawn(command).await
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_between_sending_and_noting_sends_the_same_mail_again_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let mails = SmtpReceiver::start().await;
    mails.be_silent(true);
    let server = start(folder.path(), &mails).await;
    server.post(&ann(), "article/mail", "thunderclap").await;
    // The mail has arrived, and the program does not know it.
    let first = mails.wait_for(1).await.remove(0);
    server.kill();
    assert_eq!(first.to, "owner@example.com");
    assert!(first.text.contains("thunderclap"), "{}", first.text);

    mails.be_silent(false);
    let server = start(folder.path(), &mails).await;
    let again = mails.wait_for(2).await.remove(1);
    let message_id = first.header("Message-ID");
    assert!(message_id.starts_with("<n-") && message_id.ends_with("@example.com>"), "{message_id}");
    assert_eq!(again.header("Message-ID"), message_id);
    assert_eq!(again.header("Subject"), first.header("Subject"));
    // It is noted now. What comes later is another mail.
    server.post(&ann(), "article/mail", "snapdragon").await;
    let next = mails.wait_for(3).await.remove(2);
    assert_ne!(next.header("Message-ID"), message_id);
    assert!(next.text.contains("snapdragon"));
    // One mail is sent after another is noted; the last one may not be when the program is killed.
    server.post(&ann(), "article/mail", "driftwood").await;
    let last = mails.wait_for(4).await.remove(3);
    server.kill();
    let server = start(folder.path(), &mails).await;
    server.post(&ann(), "article/mail", "moonquake").await;
    let is_new = |mail: &ReceivedMail| mail.text.contains("moonquake");
    let later = poll_until(async || mails.mails().split_off(4), |later| later.iter().any(is_new)).await;
    assert!(later.iter().any(is_new), "the mail after the restart is missing");
    let is_known = |mail: &ReceivedMail| is_new(mail) || mail.header("Message-ID") == last.header("Message-ID");
    assert!(later.len() <= 2 && later.iter().all(is_known), "{later:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn owner_is_mailed_of_what_waits_for_a_decision() {
    let folder = tempfile::tempdir().unwrap();
    let mails = SmtpReceiver::start().await;
    let server = start(folder.path(), &mails).await;
    let words = json!({"data": [{"term": "casino", "category": "ad", "action": "review"}]});
    server.request("PUT /v1/admin/words").by(&admin()).json(&words).send().await.expect(200);
    server.try_post(&ann(), "article/mail", &json!({"content": "a casino"})).await.expect(202);
    let mail = mails.wait_for(1).await.remove(0);
    assert_eq!(mail.to, "owner@example.com");
    assert!(mail.text.contains("waits for a decision") && mail.text.contains("a casino"), "{}", mail.text);
}
