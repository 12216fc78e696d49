//! A database is set back while a server runs: what is changed afterwards is in the change feed, and what was made
//! before is void.

use std::time::Duration;

use gailou_tests::backing_servers::available;
use gailou_tests::{ApiClient, ann, id, poll_until};
use serde_json::{Value, json};

use crate::one_database::TwoDatabases;
use crate::test_bed::clients;

/// Less than any version in a database that has gone back, and more than any other.
const RAISED_VERSION: u64 = 1 << 40;
/// Longer than a page of the change feed may lag.
const LONGER_THAN_A_READ: Duration = Duration::from_secs(2);

/// The change feed of a server.
async fn changes(client: &ApiClient) -> Value {
    poll_until(|| client.get("/v1/edge/changes?day=1"), |answer| answer.status == 200).await.json
}

/// The version with which the feed names a comment.
fn version_of(changes: &Value, comment: &Value) -> Option<u64> {
    let rows = changes["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row[0] == comment["id"])?;
    row[1].as_str().expect("digits").parse().ok()
}

/// A page that a cache would keep: when it was made.
async fn made(client: &ApiClient, subject: &str) -> u64 {
    let page = client.get(&format!("/v1/subjects/{subject}/comments")).await;
    page.header("x-gailou-made").parse().expect("a time")
}

#[tokio::test(flavor = "multi_thread")]
async fn database_that_is_set_back_names_later_changes_though_no_job_runs() {
    if !available() {
        return;
    }
    let cluster = TwoDatabases::create().await;
    let (origin, job) = tokio::join!(cluster.start("serve"), cluster.start("job"));
    let client = &clients(&[&origin])[0];
    let [subject, other] = cluster.subjects.as_slice() else { panic!("two subjects") };
    let lost = origin.post(&ann(), subject, "its deletion is lost").await;
    let kept = origin.post(&ann(), subject, "is edited afterwards").await;
    let elsewhere = origin.post(&ann(), other, "is in the other database").await;
    cluster.bed.wait_until_persisted().await;
    job.kill();
    let edit = async |comment: &Value, content: &str| {
        let line = format!("PATCH /v1/comments/{}", id(comment));
        client.request(&line).by(&ann()).json(&json!({"content": content})).send().await.expect(200);
    };
    edit(&kept, "first").await;
    edit(&elsewhere, "first").await;
    let saved = cluster.bed.save_database(0);
    client.request(&format!("DELETE /v1/comments/{}", id(&lost))).by(&ann()).send().await.expect(204);
    let before = poll_until(|| changes(client), |changes| version_of(changes, &lost).is_some()).await;
    let made_before = made(client, subject).await;
    tokio::time::sleep(LONGER_THAN_A_READ).await;
    cluster.proxies[0].cut();
    cluster.bed.restore_database(0, &saved);
    cluster.proxies[0].heal();
    // It gets the number of the deletion.
    poll_until(
        || async {
            let request = client.request(&format!("PATCH /v1/comments/{}", id(&kept)));
            request.by(&ann()).json(&json!({"content": "second"})).try_send().await.expect("an answer").status
        },
        |status| *status == 200,
    )
    .await;
    let is_named = |changes: &Value| version_of(changes, &kept) > version_of(&before, &kept);
    let after = poll_until(|| changes(client), is_named).await;
    assert!(is_named(&after), "{before} {after}");
    assert_eq!(client.metric("gailou_database_rewinds_total").await, Some(1.0));
    assert!(after["since"].as_u64() > Some(made_before), "pages from before are void: {made_before} {after}");
    let ahead = &after["ahead"];
    assert_eq!(ahead["slots"], json!([[512, 1023]]), "{after}");
    assert!(ahead["since"].as_u64() < Some(made_before), "those of the other database are not: {after}");
    assert_eq!(version_of(&after, &lost), None, "of the lost time nothing is known");
    // Versions are beyond those of the lost time, also of what a cache has from then.
    let edited = poll_until(
        || async {
            edit(&kept, "third").await;
            changes(client).await
        },
        |changes| version_of(changes, &kept) > Some(RAISED_VERSION),
    )
    .await;
    assert!(version_of(&edited, &kept) > Some(RAISED_VERSION), "{edited}");
    edit(&elsewhere, "second").await;
    let elsewhere_known = |changes: &Value| version_of(changes, &elsewhere) > version_of(&before, &elsewhere);
    let other_database = poll_until(|| changes(client), elsewhere_known).await;
    assert!(version_of(&other_database, &elsewhere) < Some(RAISED_VERSION), "it has not gone back: {other_database}");
    let job = cluster.start("job").await;
    cluster.bed.wait_until_persisted().await;
    cluster.bed.check_consistency().await;
    job.kill();
}
