//! Idempotency keys: a repeated request gets the first response again, whatever has changed since.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join_all;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestMember, TestOrigin, admin, ann, bob, comments_path, id, moderator};
use serde_json::{Value, json};

const TEST_SUBJECT: &str = "article/keys";

async fn send(origin: &TestOrigin, by: &TestMember, key: &str, body: &Value) -> ApiResponse {
    origin.request(&format!("POST {}", comments_path(TEST_SUBJECT))).by(by).idempotency_key(key).json(body).send().await
}

/// Checks that the response is the first one again, byte by byte.
#[track_caller]
fn assert_replayed(first: &ApiResponse, again: &ApiResponse, when: &str) {
    assert_eq!((again.status, &again.text), (first.status, &first.text), "{when}");
    assert_eq!(again.header("idempotent-replayed"), "true", "{when}");
}

#[tokio::test(flavor = "multi_thread")]
async fn first_response_is_replayed_for_a_day_whatever_changes() {
    let mut origin = TestOrigin::start().await;
    let (ann, bob, moderator, admin) = (ann(), bob(), moderator(), admin());
    origin.load_terms(&[("holdme", TermAction::Review), ("maskme", TermAction::Mask)]).await;
    let parent = origin.post(&bob, TEST_SUBJECT, "parent").await;
    let bodies = [
        ("plain", json!({"content": "**a** <b>"})),
        ("masked", json!({"content": "maskme"})),
        ("reply", json!({"content": "reply", "parent_id": parent["id"], "mentions": ["8", "12345"]})),
        ("own", json!({"content": "own", "visibility": "self"})),
        ("held", json!({"content": "holdme"})),
        ("held-reply", json!({"content": "holdme", "parent_id": parent["id"]})),
    ];
    let mut first = Vec::new();
    for (key, body) in &bodies {
        let answer = send(&origin, &ann, key, body).await;
        assert_eq!(answer.status, if key.starts_with("held") { 202 } else { 201 }, "{}", answer.text);
        assert_eq!(answer.header("idempotent-replayed"), "");
        first.push(answer);
    }
    let check_replays = async |origin: &TestOrigin, when: &str| {
        for ((key, body), first) in bodies.iter().zip(&first) {
            assert_replayed(first, &send(origin, &ann, key, body).await, &format!("{key} {when}"));
        }
    };
    check_replays(&origin, "at once").await;
    for answer in &first[..3] {
        origin.like(&bob, &answer.json).await;
        origin.reply(&bob, &answer.json, "an answer").await;
        origin.set_flag(&moderator, "PUT", id(&answer.json), "pin").await.expect(200);
        origin.decide(&moderator, &answer.json, "feature").await.expect(200);
    }
    check_replays(&origin, "after likes, replies, pins and features").await;
    for answer in &first[..3] {
        for text in ["edited", "edited again"] {
            origin.advance(Duration::from_secs(1));
            origin.edit(&ann, &answer.json, text).await.expect(200);
        }
    }
    check_replays(&origin, "after edits").await;
    origin.decide(&moderator, &first[4].json, "approve").await.expect(200);
    origin.decide(&moderator, &first[5].json, "reject").await.expect(200);
    check_replays(&origin, "after decisions").await;
    for answer in &first {
        assert_eq!(origin.delete(&ann, &answer.json).await.status, 204);
    }
    assert_eq!(origin.delete(&bob, &parent).await.status, 204);
    check_replays(&origin, "after deletions").await;
    origin.put_subject(&admin, TEST_SUBJECT, &json!({"state": "closed"})).await.expect(200);
    origin.load_terms(&[("reply", TermAction::Block), ("a", TermAction::Block)]).await;
    check_replays(&origin, "on a closed subject, with other terms").await;
    origin.restart().await;
    check_replays(&origin, "after a restart").await;
    origin.advance(Duration::from_secs(23 * 3_600));
    origin.sweep().await;
    check_replays(&origin, "after 23 hours").await;
    // After a day the key expires.
    origin.advance(Duration::from_secs(2 * 3_600));
    assert_eq!(send(&origin, &ann, "plain", &bodies[0].1).await.expect(409)["code"], "subject_closed");
    origin.sweep().await;
    assert_eq!(send(&origin, &ann, "plain", &bodies[0].1).await.expect(409)["code"], "subject_closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn key_belongs_to_one_member_and_one_request() {
    let origin = TestOrigin::start().await;
    let (ann, bob) = (ann(), bob());
    let body = json!({"content": "x"});
    let longest = "~".repeat(128);
    for key in ["k", "!", "\"quoted\"", &longest] {
        let first = send(&origin, &ann, key, &body).await;
        assert_replayed(&first, &send(&origin, &ann, key, &body).await, key);
        let other = send(&origin, &bob, key, &body).await;
        assert_eq!((other.status, other.header("idempotent-replayed")), (201, ""), "{key}");
        assert_ne!(other.json["id"], first.json["id"]);
        for changed in [json!({"content": "y"}), json!({"content": "x", "visibility": "self"})] {
            assert_eq!(send(&origin, &ann, key, &changed).await.expect(422)["code"], "idempotency_mismatch", "{key}");
        }
    }
    // Keys are case-sensitive.
    let (a, b) = (send(&origin, &ann, "Key", &body).await, send(&origin, &ann, "key", &body).await);
    assert_ne!(a.json["id"], b.json["id"]);
    // Two requests without a key are two comments.
    let (a, b) = (origin.post(&ann, TEST_SUBJECT, "x").await, origin.post(&ann, TEST_SUBJECT, "x").await);
    assert_ne!(a["id"], b["id"]);
    assert_eq!(origin.current_page(TEST_SUBJECT, &comments_path(TEST_SUBJECT)).await["subject"]["comments"], 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_with_one_key_make_one_comment() {
    let origin = TestOrigin::start().await;
    let ann = ann();
    for round in 0..10 {
        let key = format!("round {round}").replace(' ', "-");
        let body = json!({"content": key});
        let other = json!({"content": "other"});
        // Twenty times one request and, at the same time, twice another one with the same key.
        let answers =
            join_all((0..22).map(|n| send(&origin, &ann, &key, if n % 11 == 5 { &other } else { &body }))).await;
        let made: Vec<_> = answers.iter().filter(|a| a.status == 201).collect();
        let texts: BTreeSet<_> = made.iter().map(|a| &a.text).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert_eq!(made.iter().filter(|a| a.header("idempotent-replayed").is_empty()).count(), 1);
        assert!(matches!(made.len(), 2 | 20), "{}", made.len());
        assert!(answers.iter().all(|a| matches!(a.status, 201 | 422)));
        let page = origin.current_page(TEST_SUBJECT, &comments_path(TEST_SUBJECT)).await;
        assert_eq!(page["subject"]["comments"], round + 1);
        assert_eq!(origin.with_floor(&made[0].json).await["floor"], round + 1);
    }
}
