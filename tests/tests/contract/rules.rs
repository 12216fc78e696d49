//! The rules of moderation: who posts nothing, what is closed by its age, which texts wait for a moderator.

use std::time::Duration;

use gailou::domain::operation::Operation;
use gailou_tests::{TestMember, TestOrigin, admin, ann, bob, id, moderator, poll_until};
use serde_json::{Value, json};

const SUBJECT: &str = "article/rules";
const A_DAY: Duration = Duration::from_secs(86_400);

async fn start(rules: &Value) -> TestOrigin {
    let origin = TestOrigin::start().await;
    change(&origin, rules).await;
    origin
}

async fn change(origin: &TestOrigin, rules: &Value) {
    let request = origin.request("PATCH /v1/admin/settings").by(&gailou_tests::admin());
    request.json(&json!({"rules": rules})).send().await.expect(200);
}

/// The status of the answer to a post, and the comment.
async fn post(origin: &TestOrigin, by: &TestMember, content: &str) -> (u16, Value) {
    let answer = origin.try_post(by, SUBJECT, &json!({"content": content})).await;
    (answer.status, answer.json)
}

async fn approve(origin: &TestOrigin, comment: &Value) -> Value {
    let call = format!("POST /v1/admin/comments/{}/decision", id(comment));
    origin.request(&call).by(&moderator()).json(&json!({"action": "approve"})).send().await.expect(200)
}

fn of_rule(rule: &str) -> Value {
    json!([{"kind": "rule", "detail": rule, "count": 1}])
}

#[tokio::test(flavor = "multi_thread")]
async fn guests_wait_and_members_do_not() {
    let origin = start(&json!({"guests": "held"})).await;
    let guest = origin.register_guest("visitor").await;
    let (status, held) = post(&origin, &guest, "hello").await;
    assert_eq!((status, &held["state"]), (202, &json!("review")));
    assert_eq!(origin.queue_reasons(&held).await, of_rule("guest"));
    assert_eq!(post(&origin, &ann(), "hello").await.0, 201);
    // An approved guest cannot replace the text by another that no moderator has seen.
    approve(&origin, &held).await;
    origin.wait_until_persisted().await;
    let edit = origin.request(&format!("PATCH /v1/comments/{}", id(&held))).by(&guest);
    edit.json(&json!({"content": "hello, I have changed my mind"})).send().await.expect(202);
}

#[tokio::test(flavor = "multi_thread")]
async fn first_comment_of_a_guest_waits_until_one_is_approved() {
    let origin = start(&json!({"hold_first_guest_comment": true})).await;
    let guest = origin.register_guest("newcomer").await;
    let (_, first) = post(&origin, &guest, "one").await;
    assert_eq!(origin.queue_reasons(&first).await, of_rule("first_guest_comment"));
    assert_eq!(post(&origin, &guest, "two").await.0, 202, "nothing was approved yet");
    let approved = approve(&origin, &first).await;
    origin.wait_until_persisted().await;
    assert_eq!(post(&origin, &guest, "three").await.0, 201);
    let undo = format!("POST /v1/admin/audit/{}/undo", approved["audit_id"].as_str().unwrap());
    origin.request(&undo).by(&moderator()).send().await.expect(200);
    origin.wait_until_persisted().await;
    assert_eq!(post(&origin, &guest, "four").await.0, 202, "the approval was undone");
    // "three" has been seen for a day.
    origin.advance(A_DAY + Duration::from_secs(1));
    assert_eq!(post(&origin, &guest, "five").await.0, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_with_too_many_links_waits() {
    let origin = start(&json!({"max_links": 1})).await;
    let (status, one) = post(&origin, &ann(), "see https://a.example").await;
    assert_eq!((status, &one["state"]), (201, &json!("published")));
    let (_, two) = post(&origin, &ann(), "see https://a.example and [b](https://b.example)").await;
    assert_eq!(origin.queue_reasons(&two).await, of_rule("links"));
    assert_eq!(post(&origin, &moderator(), "https://a.example https://b.example").await.0, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn subject_is_closed_some_days_after_its_first_comment() {
    let origin = start(&json!({"close_after_days": 2})).await;
    assert_eq!(post(&origin, &ann(), "first").await.0, 201);
    origin.advance(2 * A_DAY - Duration::from_secs(60));
    assert_eq!(post(&origin, &ann(), "just in time").await.0, 201);
    origin.wait_until_persisted().await;
    origin.advance(Duration::from_secs(61));
    let (status, refused) = post(&origin, &ann(), "late").await;
    assert_eq!((status, &refused["code"]), (409, &json!("subject_closed")));
    origin.post(&ann(), "article/another", "first").await;
    assert_eq!(post(&origin, &moderator(), "the last word").await.0, 201);
    change(&origin, &json!({"close_after_days": null})).await;
    assert_eq!(post(&origin, &ann(), "open again").await.0, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn blocked_names_and_networks_post_nothing() {
    let origin = start(&json!({"blocked": {"names": ["Spammer"]}})).await;
    let spammer = TestMember::new(60, "Sраmmer", gailou_shared::token::Role::Member);
    let (status, refused) = post(&origin, &spammer, "buy").await;
    assert_eq!((status, &refused["code"]), (403, &json!("forbidden")));
    let guest = origin.request("POST /v1/guests").json(&json!({"name": "SPAMMER"})).send().await;
    assert_eq!(guest.expect(422)["errors"][0]["field"], "name");
    assert_eq!(post(&origin, &ann(), "hello").await.0, 201);

    change(&origin, &json!({"blocked": {"names": [], "networks": ["127.0.0.0/8", "::1"]}})).await;
    assert_eq!(post(&origin, &ann(), "hello").await.0, 403);
    assert_eq!(origin.request("POST /v1/guests").json(&json!({"name": "g"})).send().await.status, 403);
    assert_eq!(post(&origin, &moderator(), "hello").await.0, 201);
    let page = origin.page(&gailou_tests::comments_path(SUBJECT)).await;
    assert_eq!(page["data"].as_array().unwrap().len(), 2, "everybody may read");
}

#[tokio::test(flavor = "multi_thread")]
async fn network_of_a_comment_is_blocked_without_its_address() {
    let origin = start(&json!({})).await;
    let comment = origin.post(&ann(), SUBJECT, "buy").await;
    let erased = origin.post(&bob(), SUBJECT, "gone soon").await;
    let own = origin.post(&moderator(), SUBJECT, "a moderator's").await;
    origin.request("DELETE /v1/me").by(&bob()).send().await.expect(204);
    origin.wait_until_persisted().await;
    let block = async |by: &TestMember, comment: &Value| {
        let call = format!("POST /v1/admin/comments/{}/block-network", comment["id"].as_str().unwrap());
        origin.request(&call).by(by).send().await
    };
    assert_eq!(block(&ann(), &comment).await.expect(403)["code"], "forbidden");
    assert_eq!(block(&moderator(), &own).await.expect(404)["code"], "not_found");
    poll_until(async || block(&moderator(), &erased).await.status, |status| *status == 404).await;
    change(&origin, &json!({"blocked": {"hashed_networks": null}})).await;

    let days = |until: &Value| (until["until"].as_u64().unwrap() - origin.app.now()) / 86_400_000;
    assert_eq!(days(&block(&moderator(), &comment).await.expect(200)), 30);
    assert_eq!(days(&block(&moderator(), &comment).await.expect(200)), 30);
    assert_eq!(post(&origin, &ann(), "buy more").await.0, 403);
    assert_eq!(origin.request("POST /v1/guests").json(&json!({"name": "g"})).send().await.status, 403);
    assert_eq!(post(&origin, &moderator(), "hello").await.0, 201);
    let settings = origin.request("GET /v1/admin/settings").by(&admin()).send().await.expect(200);
    let hashed = settings["settings"]["rules"]["blocked"]["hashed_networks"].as_array().unwrap().clone();
    let [only] = &*hashed else { panic!("one network: {hashed:?}") };
    assert!(only.as_str().is_some_and(|text| text.len() == 43 && !text.contains("127")), "{only}");
    let log = origin.request("GET /v1/admin/audit?action=settings").by(&moderator()).send().await.expect(200);
    assert_eq!(log["data"][0]["after"]["rules.blocked.hashed_networks"], json!([only]));
    change(&origin, &json!({"blocked": {"hashed_networks": []}})).await;
    assert_eq!(post(&origin, &ann(), "sorry").await.0, 201);

    let id = comment["id"].as_str().unwrap().parse().unwrap();
    assert!(origin.app.tables.read_author_network(id).await.unwrap().is_some());
    origin.advance(Duration::from_secs(30 * 86_400 + 60));
    origin.app.journal.append(Operation::DeleteExpired).await.unwrap();
    assert_eq!(origin.app.tables.read_author_network(id).await.unwrap(), None);
}
