//! Changes of a subject reach the readers of every origin, also when Redis loses some of them.

use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{TestOrigin, ann, id, poll_until};
use serde_json::{Value, json};

use crate::test_bed::redis;

const EVENTS_PATH: &str = "/v1/subjects/article/watched/events?after=0";

#[tokio::test(flavor = "multi_thread")]
async fn changes_reach_the_other_origin_and_lost_revisions_cause_a_reset() {
    if !available() {
        return;
    }
    let one = TestOrigin::start_on(shared(), |_| {}).await;
    let other = one.start_second().await;
    let root = one.post(&ann(), "article/watched", "root").await;
    let reply = other.reply(&ann(), &root, "reply").await;
    let comments = |document: &Value| {
        let events = document["events"].as_array().expect("events").iter().filter(|event| event["type"] == "comment");
        events.map(|event| event["data"]["id"].clone()).collect::<Vec<_>>()
    };
    for origin in [&one, &other] {
        let document = poll_until(|| origin.page(EVENTS_PATH), |document| comments(document).len() == 2).await;
        assert_eq!(
            (comments(&document), &document["reset"]),
            (vec![json!(id(&root)), json!(id(&reply))], &json!(false))
        );
    }
    // Redis loses the revisions so far, and has those that follow.
    let subject = gailou_shared::id::SubjectKey::new("article", "watched").expect("a subject");
    let name = &one.app.config.cluster.as_ref().expect("a cluster").tuning.name;
    let key = format!("{{{name}:{}}}:ev:{subject}", subject.slot().get());
    assert_eq!(redis(shared(), &["DEL", &key]).await, ":1\r\n");
    let before = one.stored_version("article/watched").await;
    let later = one.post(&ann(), "article/watched", "later").await;
    for origin in [&one, &other] {
        let document = poll_until(|| origin.page(EVENTS_PATH), |document| document["reset"] == true).await;
        assert_eq!((&document["reset"], &document["events"]), (&json!(true), &json!([])));
        let path = EVENTS_PATH.replace("after=0", &format!("after={before}"));
        let document = poll_until(|| origin.page(&path), |document| comments(document).len() == 1).await;
        assert_eq!(comments(&document), [json!(id(&later))], "a reader at the current version needs no reset");
    }
}
