//! Two origins of one cluster: what one has acknowledged is there on the other, before it is a row.

use futures_util::future::join_all;
use gailou_tests::services::{available, shared};
use gailou_tests::{Site, Who, id, ids, until, who};
use serde_json::{Value, json};

const SUBJECT: &str = "article/two";
const LIST: &str = "/v1/subjects/article/two/comments?sort=old";

fn ann() -> Who {
    who(7, "Ann", "member")
}

fn bob() -> Who {
    who(8, "Bob", "member")
}

/// Two origins that write new comments only after this many milliseconds.
async fn two(comments_ms: u64) -> (Site, Site) {
    let one = Site::on(shared(), |config| {
        config.cluster.as_mut().expect("a cluster").comments_ms = comments_ms;
    })
    .await;
    let other = one.beside().await;
    (one, other)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_acknowledged_is_there_at_once_everywhere() {
    if !available() {
        return;
    }
    let (one, other) = two(2_000).await;
    let root = one.post(&ann(), SUBJECT, "root").await;
    assert_eq!((&root["floor"], &root["state"]), (&json!(null), &json!("published")));
    let there = other.hasty().page(&format!("/v1/comments/{}", id(&root))).await;
    assert_eq!((&there["content"], &there["floor"]), (&root["content"], &json!(null)));
    let reply = other.reply(&bob(), &root, "reply").await;
    assert_eq!((&reply["parent_id"], &reply["reply_to"]["name"]), (&root["id"], &json!("Ann")));
    assert_eq!(other.like(&bob(), &root).await["likes"], 1);
    assert_eq!(one.like(&ann(), &root).await["likes"], 2);
    assert_eq!(one.like(&ann(), &reply).await["likes"], 1);
    assert_eq!(other.seen(&root, |c| c["likes"] == 2).await["floor"], json!(null));
    // Its author sees it on its way, and what everybody thinks of it.
    let path = format!("GET /v1/me/overlay?ids={}", id(&root));
    let overlay = other.hasty().call(&path).by(&ann()).send().await.expect(200);
    assert_eq!(overlay["data"][id(&root)]["reaction"], "like");
    assert_eq!(ids(overlay["pending"].as_array().expect("a list")), ids(std::slice::from_ref(&root)));
    // Then it is in the lists, with its floor, its likes and its reply.
    for site in [&one, &other] {
        let right = |page: &Value| page["data"][0]["floor"] == 1 && page["data"][0]["likes"] == 2;
        let page = until(|| site.page(LIST), right).await;
        assert_eq!((id(&page["data"][0]), &page["data"][0]["likes"]), (id(&root), &json!(2)));
        assert_eq!(ids(page["data"][0]["top_replies"].as_array().expect("replies")), ids(std::slice::from_ref(&reply)));
        assert_eq!(page["subject"]["comments"], 2);
    }
    let overlay = other.call(&path).by(&ann()).send().await.expect(200);
    assert_eq!(overlay["pending"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_makes_one_comment_whichever_origin_it_is_sent_to() {
    if !available() {
        return;
    }
    let (one, other) = two(5).await;
    for round in 0..20 {
        let (key, body) = (format!("key-{round}"), json!({"content": format!("text {round}")}));
        let line = format!("POST /v1/subjects/{SUBJECT}/comments");
        let send = |site: &Site| site.call(&line).by(&ann()).key(&key).json(&body).send();
        let answers = join_all([send(&one), send(&other), send(&one), send(&other)]).await;
        let made: Vec<_> = answers.iter().map(|answer| answer.clone().expect(201)["id"].clone()).collect();
        assert!(made.iter().all(|id| *id == made[0]), "{made:?}");
        let other_body = json!({"content": "another"});
        let refused = other.call(&line).by(&ann()).key(&key).json(&other_body).send().await;
        assert_eq!(refused.expect(422)["code"], "idempotency_mismatch");
    }
    one.settle().await;
    let right = |page: &Value| page["subject"]["comments"] == 20;
    let page = until(|| other.page(LIST), right).await;
    assert_eq!(page["subject"]["comments"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn likes_of_two_origins_are_counted_once() {
    if !available() {
        return;
    }
    let (one, other) = two(5).await;
    let comment = one.post(&ann(), SUBJECT, "liked").await;
    let members: Vec<Who> = (0..40).map(|n| who(100 + n, "M", "member")).collect();
    // Everyone likes at both, every fourth takes it back at the other.
    let work = members.iter().enumerate().map(|(n, by)| {
        let (one, other, comment) = (&one, &other, &comment);
        async move {
            one.like(by, comment).await;
            other.like(by, comment).await;
            if n % 4 == 0 {
                let taken = other.mark(by, "DELETE", id(comment), "like").await.expect(200);
                assert_eq!(taken["reaction"], json!(null));
            }
        }
    });
    join_all(work).await;
    for site in [&one, &other] {
        let seen = site.seen(&comment, |c| c["likes"] == 30).await;
        assert_eq!(seen["likes"], 30);
    }
    one.settle().await;
    assert_eq!(other.seen(&comment, |c| c["likes"] == 30).await["likes"], 30);
    assert_eq!(one.like(&members[0], &comment).await["likes"], 31);
}
