//! Idempotency keys: the same request replays its first answer, whatever has happened since.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use gailou_shared::words::Action;
use gailou_tests::{Answer, Site, Who, id, who};
use serde_json::{Value, json};

const SUBJECT: &str = "article/keys";

async fn send(site: &Site, by: &Who, key: &str, body: &Value) -> Answer {
    site.call(&format!("POST /v1/subjects/{SUBJECT}/comments")).by(by).key(key).json(body).send().await
}

/// The answer is the first one again, to the byte.
#[track_caller]
fn check_replay(first: &Answer, again: &Answer, when: &str) {
    assert_eq!((again.status, &again.text), (first.status, &first.text), "{when}");
    assert_eq!(again.header("idempotent-replayed"), "true", "{when}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_answer_is_replayed_whatever_happens() {
    let mut site = Site::start().await;
    let (ann, bob) = (who(7, "Ann", "member"), who(8, "Bob", "member"));
    let (moderator, admin) = (who(50, "Mod", "moderator"), who(51, "Admin", "admin"));
    site.words(&[("holdme", Action::Review), ("maskme", Action::Mask)]).await;
    let parent = site.post(&bob, SUBJECT, "parent").await;
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
        let answer = send(&site, &ann, key, body).await;
        assert_eq!(answer.status, if key.starts_with("held") { 202 } else { 201 }, "{}", answer.text);
        assert_eq!(answer.header("idempotent-replayed"), "");
        first.push(answer);
    }
    let replayed = async |site: &Site, when: &str| {
        for ((key, body), first) in bodies.iter().zip(&first) {
            check_replay(first, &send(site, &ann, key, body).await, &format!("{key} {when}"));
        }
    };
    replayed(&site, "at once").await;
    for answer in &first[..3] {
        site.like(&bob, &answer.json).await;
        site.reply(&bob, &answer.json, "an answer").await;
        site.mark(&moderator, "PUT", id(&answer.json), "pin").await.expect(200);
        site.decide(&moderator, &answer.json, "feature").await.expect(200);
    }
    replayed(&site, "after likes, replies and marks").await;
    for answer in &first[..3] {
        for text in ["edited", "edited again"] {
            site.pass(1_000);
            site.edit(&ann, &answer.json, text).await.expect(200);
        }
    }
    replayed(&site, "after edits").await;
    site.decide(&moderator, &first[4].json, "approve").await.expect(200);
    site.decide(&moderator, &first[5].json, "reject").await.expect(200);
    replayed(&site, "after decisions").await;
    for answer in &first {
        assert_eq!(site.delete(&ann, &answer.json).await.status, 204);
    }
    assert_eq!(site.delete(&bob, &parent).await.status, 204);
    replayed(&site, "after deletions").await;
    site.put_subject(&admin, SUBJECT, &json!({"state": "closed"})).await.expect(200);
    site.words(&[("reply", Action::Block), ("a", Action::Block)]).await;
    replayed(&site, "on a closed subject, with other words").await;
    site.restart().await;
    replayed(&site, "after a restart").await;
    site.pass(23 * 3_600_000);
    site.sweep().await;
    replayed(&site, "after 23 hours").await;
    // After a day the key is free again.
    site.pass(2 * 3_600_000);
    assert_eq!(send(&site, &ann, "plain", &bodies[0].1).await.expect(409)["code"], "subject_closed");
    site.sweep().await;
    assert_eq!(send(&site, &ann, "plain", &bodies[0].1).await.expect(409)["code"], "subject_closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_belong_to_a_member_and_a_request() {
    let site = Site::start().await;
    let (ann, bob) = (who(7, "Ann", "member"), who(8, "Bob", "member"));
    let body = json!({"content": "x"});
    let longest = "~".repeat(128);
    for key in ["k", "!", "\"quoted\"", &longest] {
        let first = send(&site, &ann, key, &body).await;
        check_replay(&first, &send(&site, &ann, key, &body).await, key);
        let other = send(&site, &bob, key, &body).await;
        assert_eq!((other.status, other.header("idempotent-replayed")), (201, ""), "{key}");
        assert_ne!(other.json["id"], first.json["id"]);
        for changed in [json!({"content": "y"}), json!({"content": "x", "visibility": "self"})] {
            assert_eq!(send(&site, &ann, key, &changed).await.expect(422)["code"], "idempotency_mismatch", "{key}");
        }
    }
    // Keys are compared to the letter.
    let (a, b) = (send(&site, &ann, "Key", &body).await, send(&site, &ann, "key", &body).await);
    assert_ne!(a.json["id"], b.json["id"]);
    // Without a key nothing is compared.
    let (a, b) = (site.post(&ann, SUBJECT, "x").await, site.post(&ann, SUBJECT, "x").await);
    assert_ne!(a["id"], b["id"]);
    assert_eq!(site.fresh(SUBJECT, &format!("/v1/subjects/{SUBJECT}/comments")).await["subject"]["comments"], 12);
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_duplicates_make_one_comment() {
    let site = Site::start().await;
    let ann = who(7, "Ann", "member");
    for round in 0..10 {
        let key = format!("round {round}").replace(' ', "-");
        let body = json!({"content": key});
        let other = json!({"content": "other"});
        // Twenty of one request and, at the same time, two of another with the same key.
        let answers =
            join_all((0..22).map(|n| send(&site, &ann, &key, if n % 11 == 5 { &other } else { &body }))).await;
        let made: Vec<_> = answers.iter().filter(|a| a.status == 201).collect();
        let texts: BTreeSet<_> = made.iter().map(|a| &a.text).collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        assert_eq!(made.iter().filter(|a| a.header("idempotent-replayed").is_empty()).count(), 1);
        assert!(matches!(made.len(), 2 | 20), "{}", made.len());
        assert!(answers.iter().all(|a| matches!(a.status, 201 | 422)));
        let page = site.fresh(SUBJECT, &format!("/v1/subjects/{SUBJECT}/comments")).await;
        assert_eq!(page["subject"]["comments"], round + 1);
        assert_eq!(site.with_floor(&made[0].json).await["floor"], round + 1);
    }
}
