//! Who watches a subject at one server hears what another has written, or that something is missing.

use gailou_tests::services::{available, shared};
use gailou_tests::{Site, Who, id, until, who};
use serde_json::{Value, json};

use crate::world::redis;

const PATH: &str = "/v1/subjects/article/watched/events?after=0";

fn ann() -> Who {
    who(7, "Ann", "member")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_server_writes_is_told_by_another_and_a_lost_link_is_no_silence() {
    if !available() {
        return;
    }
    let one = Site::on(shared(), |_| {}).await;
    let other = one.beside().await;
    let root = one.post(&ann(), "article/watched", "root").await;
    let reply = other.reply(&ann(), &root, "reply").await;
    let comments = |document: &Value| {
        let events = document["events"].as_array().expect("events").iter().filter(|event| event["type"] == "comment");
        events.map(|event| event["data"]["id"].clone()).collect::<Vec<_>>()
    };
    for site in [&one, &other] {
        let document = until(|| site.page(PATH), |document| comments(document).len() == 2).await;
        assert_eq!(
            (comments(&document), &document["reset"]),
            (vec![json!(id(&root)), json!(id(&reply))], &json!(false))
        );
    }
    // Redis loses the links, and keeps what comes later.
    let subject = gailou_shared::id::SubjectKey::new("article", "watched").expect("a subject");
    let name = &one.app.config.cluster.as_ref().expect("a cluster").name;
    let key = format!("{{{name}:{}}}:ev:{subject}", subject.slot().get());
    assert_eq!(redis(shared(), &["DEL", &key]).await, ":1\r\n");
    let before = one.version("article/watched").await;
    let later = one.post(&ann(), "article/watched", "later").await;
    for site in [&one, &other] {
        let document = until(|| site.page(PATH), |document| document["reset"] == true).await;
        assert_eq!((&document["reset"], &document["events"]), (&json!(true), &json!([])));
        let path = PATH.replace("after=0", &format!("after={before}"));
        let document = until(|| site.page(&path), |document| comments(document).len() == 1).await;
        assert_eq!(comments(&document), [json!(id(&later))], "who was there goes on");
    }
}
