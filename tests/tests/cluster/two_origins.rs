//! Two origins of one cluster: what one acknowledges can be read from the other before it is a row.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use gailou_tests::backing_servers::{available, shared};
use gailou_tests::{TestMember, TestOrigin, admin, ann, bob, comments_path, id, ids, member, poll_until};
use serde_json::{Value, json};

const TEST_SUBJECT: &str = "article/two";
const LIST_PATH: &str = "/v1/subjects/article/two/comments?sort=old";

/// The delay of a batch of comments that outlasts the requests of a test on a busy machine.
const LONG_BATCH_MS: u64 = 6_000;
/// The delay of a batch of comments that a test waits for.
const SHORT_BATCH_MS: u64 = 5;

/// Two origins; the job of the first collects new comments for `comments_ms` before it writes them.
async fn start_two(comments_ms: u64) -> (TestOrigin, TestOrigin) {
    let one = TestOrigin::start_on(shared(), |config| {
        config.cluster.as_mut().expect("a cluster").tuning.comments_ms = comments_ms;
    })
    .await;
    let other = one.start_second().await;
    (one, other)
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_comment_can_be_read_replied_to_and_liked_on_the_other_origin() {
    if !available() {
        return;
    }
    let (one, other) = start_two(LONG_BATCH_MS).await;
    let root = one.post(&ann(), TEST_SUBJECT, "root").await;
    assert_eq!((&root["floor"], &root["state"]), (&json!(null), &json!("published")));
    let on_other = other.without_barrier().page(&format!("/v1/comments/{}", id(&root))).await;
    assert_eq!((&on_other["content"], &on_other["floor"]), (&root["content"], &json!(null)));
    let reply = other.reply(&bob(), &root, "reply").await;
    assert_eq!((&reply["parent_id"], &reply["reply_to"]["name"]), (&root["id"], &json!("Ann")));
    assert_eq!(other.like(&bob(), &root).await["likes"], 1);
    assert_eq!(one.like(&ann(), &root).await["likes"], 2);
    assert_eq!(one.like(&ann(), &reply).await["likes"], 1);
    assert_eq!(other.poll_comment(&root, |c| c["likes"] == 2).await["floor"], json!(null));
    // The overlay of the author has it as pending, with the reaction.
    let overlay = other.without_barrier().overlay(&ann(), &[id(&root)]).await;
    assert_eq!(overlay["data"][id(&root)]["reaction"], "like");
    assert_eq!(ids(overlay["pending"].as_array().expect("a list")), ids(std::slice::from_ref(&root)));
    // As a row it is in the lists, with its floor, its likes and its reply.
    for origin in [&one, &other] {
        let is_listed = |page: &Value| page["data"][0]["floor"] == 1 && page["data"][0]["likes"] == 2;
        let page = poll_until(|| origin.page(LIST_PATH), is_listed).await;
        assert_eq!((id(&page["data"][0]), &page["data"][0]["likes"]), (id(&root), &json!(2)));
        assert_eq!(ids(page["data"][0]["top_replies"].as_array().expect("replies")), ids(std::slice::from_ref(&reply)));
        assert_eq!(page["subject"]["comments"], 2);
    }
    let overlay = other.overlay(&ann(), &[id(&root)]).await;
    assert_eq!(overlay["pending"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_key_sent_to_both_origins_makes_one_comment() {
    if !available() {
        return;
    }
    let (one, other) = start_two(SHORT_BATCH_MS).await;
    for round in 0..20 {
        let (key, body) = (format!("key-{round}"), json!({"content": format!("text {round}")}));
        let line = format!("POST {}", comments_path(TEST_SUBJECT));
        let send = |origin: &TestOrigin| origin.request(&line).by(&ann()).idempotency_key(&key).json(&body).send();
        let answers = join_all([send(&one), send(&other), send(&one), send(&other)]).await;
        let made: Vec<_> = answers.iter().map(|answer| answer.clone().expect(201)["id"].clone()).collect();
        assert!(made.iter().all(|id| *id == made[0]), "{made:?}");
        let other_body = json!({"content": "another"});
        let refused = other.request(&line).by(&ann()).idempotency_key(&key).json(&other_body).send().await;
        assert_eq!(refused.expect(422)["code"], "idempotency_mismatch");
    }
    one.wait_until_persisted().await;
    let page = poll_until(|| other.page(LIST_PATH), |page| page["subject"]["comments"] == 20).await;
    assert_eq!(page["subject"]["comments"], 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn like_sent_to_both_origins_is_counted_once() {
    if !available() {
        return;
    }
    let (one, other) = start_two(SHORT_BATCH_MS).await;
    let comment = one.post(&ann(), TEST_SUBJECT, "liked").await;
    let members: Vec<TestMember> = (0..40).map(|n| member(100 + n)).collect();
    // Each member likes on both origins, and every fourth removes the like on the second.
    let work = members.iter().enumerate().map(|(n, by)| {
        let (one, other, comment) = (&one, &other, &comment);
        async move {
            one.like(by, comment).await;
            other.like(by, comment).await;
            if n % 4 == 0 {
                let removed = other.set_flag(by, "DELETE", id(comment), "like").await.expect(200);
                assert_eq!(removed["reaction"], json!(null));
            }
        }
    });
    join_all(work).await;
    for origin in [&one, &other] {
        let seen = origin.poll_comment(&comment, |c| c["likes"] == 30).await;
        assert_eq!(seen["likes"], 30);
    }
    one.wait_until_persisted().await;
    assert_eq!(other.poll_comment(&comment, |c| c["likes"] == 30).await["likes"], 30);
    assert_eq!(one.like(&members[0], &comment).await["likes"], 31);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_a_member_is_in_force_on_the_other_origin_within_5_s() {
    if !available() {
        return;
    }
    let (one, other) = start_two(SHORT_BATCH_MS).await;
    let comment = one.post(&bob(), TEST_SUBJECT, "root").await;
    let change = async |body: Value| {
        one.request("PUT /v1/admin/members/7").by(&admin()).json(&body).send().await.expect(200);
        Instant::now()
    };
    let like = || async { other.set_flag(&ann(), "PUT", id(&comment), "like").await.status };
    let queue = || async { other.request("GET /v1/admin/queue").by(&ann()).send().await.status };
    assert_eq!((like().await, queue().await), (200, 403));
    let said = change(json!({"muted_until": one.app.now() + 3_600_000, "role": "moderator"})).await;
    assert_eq!(poll_until(like, |status| *status == 403).await, 403);
    assert_eq!(poll_until(queue, |status| *status == 200).await, 200);
    assert!(said.elapsed() < Duration::from_secs(5), "{:?}", said.elapsed());
    let said = change(json!({"muted_until": null, "role": null})).await;
    assert_eq!(poll_until(like, |status| *status == 200).await, 200);
    assert_eq!(queue().await, 403);
    assert!(said.elapsed() < Duration::from_secs(5), "{:?}", said.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn words_and_settings_are_in_force_on_the_other_origin_within_5_s() {
    if !available() {
        return;
    }
    let (one, other) = start_two(SHORT_BATCH_MS).await;
    let send = async |line: &str, body: Value| {
        one.request(line).by(&admin()).json(&body).send().await.expect(200);
        Instant::now()
    };
    let try_text = |text: &'static str| {
        let other = &other;
        move || async move { other.try_post(&bob(), TEST_SUBJECT, &json!({"content": text})).await.status }
    };
    assert_eq!(try_text("a thunderclap")().await, 201);
    let word = json!({"term": "thunderclap", "category": "ad", "action": "block"});
    let added = send("PATCH /v1/admin/words", json!({"add": [word]})).await;
    assert_eq!(poll_until(try_text("a thunderclap"), |status| *status == 422).await, 422);
    assert!(added.elapsed() < Duration::from_secs(5), "{:?}", added.elapsed());
    let set = send("PATCH /v1/admin/settings", json!({"rules": {"max_links": 0}})).await;
    assert_eq!(poll_until(try_text("https://example.com/"), |status| *status == 202).await, 202);
    assert!(set.elapsed() < Duration::from_secs(5), "{:?}", set.elapsed());
}
