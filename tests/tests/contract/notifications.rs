//! What members are notified of: answers, mentions, decisions.

use std::time::Duration;

use gailou::jobs::end_members::SETTLE_MS;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{TestMember, TestOrigin, ann, bob, id, member, moderator, poll_until, with_cursor};
use serde_json::{Value, json};

const SUBJECT: &str = "article/notified";
const PATH: &str = "/v1/me/notifications";

async fn page(origin: &TestOrigin, of: &TestMember, path: &str) -> Value {
    origin.request(&format!("GET {path}")).by(of).send().await.expect(200)
}

/// What a member is notified of, newest first, once it is so much.
async fn notifications(origin: &TestOrigin, of: &TestMember, count: usize) -> Vec<Value> {
    origin.wait_until_persisted().await;
    let read = || async { page(origin, of, PATH).await["data"].as_array().unwrap().clone() };
    let found = poll_until(read, |found| found.len() == count).await;
    assert_eq!(found.len(), count, "{found:?}");
    found
}

/// Kinds and comments.
fn kinds(found: &[Value]) -> Vec<(&str, &str)> {
    found.iter().map(|row| (row["kind"].as_str().unwrap(), row["comment"]["id"].as_str().unwrap_or("-"))).collect()
}

async fn mark(origin: &TestOrigin, of: &TestMember, up_to: &Value) {
    let call = origin.request(&format!("POST {PATH}/read")).by(of).json(&json!({"up_to": up_to}));
    call.send().await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn answered_and_mentioned_members_are_notified_once() {
    let origin = TestOrigin::start().await;
    let (ann, bob, guest) = (ann(), bob(), origin.register_guest("Gus").await);
    let root = origin.post(&ann, SUBJECT, "root").await;
    let reply = origin.reply(&bob, &root, "reply").await;
    // An answer that also mentions is one answer; members are not notified of what they did themselves.
    let body = json!({"content": "both", "parent_id": id(&reply), "mentions": [bob.id, ann.id, guest.id, "999"]});
    let both = origin.try_post(&guest, SUBJECT, &body).await.expect(201);
    let own = origin.reply(&ann, &root, "own").await;
    let of_guest = origin.reply(&ann, &both, "to the guest").await;

    let notified = notifications(&origin, &bob, 1).await;
    assert_eq!(kinds(&notified), [("reply", id(&both))]);
    assert_eq!(notified[0]["actor"], json!({"id": guest.id, "name": "Gus"}));
    assert_eq!((&notified[0]["read"], &notified[0]["action"]), (&json!(false), &Value::Null));
    assert_eq!(notified[0]["comment"]["content"], "both");
    let notified = notifications(&origin, &ann, 2).await;
    let mut found = kinds(&notified);
    found.sort_unstable();
    let mut expected = [("mention", id(&both)), ("reply", id(&reply))];
    expected.sort_unstable();
    assert_eq!(found, expected, "{own}");
    assert_eq!(kinds(&notifications(&origin, &guest, 1).await), [("reply", id(&of_guest))]);
    let answer = origin.request(&format!("GET {PATH}")).by(&ann).send().await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
    origin.get(PATH).await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn held_comment_is_notified_of_when_it_is_published_and_a_hidden_one_is_not_shown() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("moonquake", TermAction::Review)]).await;
    let (ann, bob) = (ann(), bob());
    let root = origin.post(&ann, SUBJECT, "root").await;
    let body = json!({"content": "moonquake", "parent_id": id(&root)});
    let held = origin.try_post(&bob, SUBJECT, &body).await.expect(202);
    let plain = origin.reply(&bob, &root, "plain").await;
    assert_eq!(kinds(&notifications(&origin, &ann, 1).await), [("reply", id(&plain))]);
    origin.advance(Duration::from_millis(5));
    origin.decide(&moderator(), &held, "approve").await.expect(200);
    assert_eq!(kinds(&notifications(&origin, &ann, 2).await), [("reply", id(&held)), ("reply", id(&plain))]);
    let notified = notifications(&origin, &bob, 1).await;
    assert_eq!(kinds(&notified), [("decision", id(&held))]);
    assert_eq!((&notified[0]["action"], &notified[0]["actor"]), (&json!("approve"), &Value::Null));

    // What is no longer to be seen is not shown to others; its author sees what became of it.
    origin.advance(Duration::from_millis(5));
    origin.decide(&moderator(), &held, "hide").await.expect(200);
    origin.delete(&bob, &plain).await.expect(204);
    let shown = || async { notifications(&origin, &ann, 2).await };
    let gone = poll_until(shown, |found| kinds(found) == [("reply", "-"), ("reply", "-")]).await;
    assert!(gone.iter().all(|row| row["comment"].is_null() && row["actor"].is_null()), "{gone:?}");
    let notified = notifications(&origin, &bob, 2).await;
    assert_eq!((&notified[0]["action"], &notified[0]["comment"]["state"]), (&json!("hide"), &json!("hidden")));
    assert_eq!(notified[0]["comment"]["content"], "moonquake");
    origin.advance(Duration::from_millis(5));
    origin.decide(&moderator(), &held, "delete").await.expect(200);
    let notified = notifications(&origin, &bob, 3).await;
    let comment = &notified[0]["comment"];
    assert_eq!(
        (&notified[0]["action"], &comment["state"], &comment["content"]),
        (&json!("delete"), &json!("deleted"), &json!(""))
    );
    // A moderator is not notified of what they decide about their own.
    let own = origin.post(&moderator(), SUBJECT, "own").await;
    origin.decide(&moderator(), &own, "feature").await.expect(200);
    let other = origin.reply(&bob, &own, "after it").await;
    assert_eq!(kinds(&notifications(&origin, &moderator(), 1).await), [("reply", id(&other))]);
}

#[tokio::test(flavor = "multi_thread")]
async fn list_is_walked_and_marked_up_to_one() {
    let origin = TestOrigin::start().await;
    let (ann, bob) = (ann(), bob());
    let root = origin.post(&ann, SUBJECT, "root").await;
    for n in 0..7 {
        origin.advance(Duration::from_millis(1));
        origin.reply(&bob, &root, &format!("reply {n}")).await;
    }
    let all = notifications(&origin, &ann, 7).await;
    let first = page(&origin, &ann, &format!("{PATH}?limit=3")).await;
    assert_eq!((first["data"].as_array().unwrap(), &first["unread"]), (&all[..3].to_vec(), &json!(7)));
    let next = first["page"]["next"].as_str().unwrap();
    let rest = page(&origin, &ann, &with_cursor(&format!("{PATH}?limit=4"), next)).await;
    assert_eq!(
        (rest["data"].as_array().unwrap(), &rest["page"]),
        (&all[3..].to_vec(), &json!({"next": null, "has_more": false}))
    );
    let of_another = origin.request(&format!("GET {}", with_cursor(PATH, next))).by(&bob).send().await;
    assert_eq!(of_another.expect(400)["code"], "bad_cursor");

    // Inclusive, older ones too, and never back.
    mark(&origin, &ann, &all[4]["id"]).await;
    mark(&origin, &ann, &all[5]["id"]).await;
    let marked = page(&origin, &ann, PATH).await;
    let is_read: Vec<bool> = marked["data"].as_array().unwrap().iter().map(|row| row["read"] == true).collect();
    assert_eq!((is_read, &marked["unread"]), (vec![false, false, false, false, true, true, true], &json!(4)));
    mark(&origin, &bob, &all[0]["id"]).await;
    assert_eq!(page(&origin, &ann, PATH).await["unread"], 4);
    for wrong in [json!({}), json!({"up_to": 7}), json!({"up_to": "x"})] {
        let refused = origin.request(&format!("POST {PATH}/read")).by(&ann).json(&wrong).send().await.expect(400);
        assert_eq!((&refused["code"], &refused["errors"][0]["field"]), (&json!("invalid_request"), &json!("up_to")));
    }
    let call = origin.request(&format!("POST {PATH}/read")).json(&json!({"up_to": all[0]["id"]}));
    call.send().await.expect(401);
}

#[tokio::test(flavor = "multi_thread")]
async fn erasure_removes_what_a_member_was_notified_and_their_name() {
    let origin = TestOrigin::start().await;
    let (ann, bob) = (ann(), member(21));
    let root = origin.post(&ann, SUBJECT, "root").await;
    let reply = origin.reply(&bob, &root, "reply").await;
    origin.reply(&ann, &reply, "back").await;
    assert_eq!(notifications(&origin, &ann, 1).await[0]["actor"]["id"], bob.id.as_str());
    let notified = notifications(&origin, &bob, 1).await;
    let data = origin.request("GET /v1/me/export").by(&bob).send().await.expect(200);
    let exported = json!([{
        "id": notified[0]["id"], "kind": "reply", "action": null, "comment_id": notified[0]["comment"]["id"],
        "created_at": notified[0]["created_at"], "read": false,
    }]);
    assert_eq!(data["notifications"], exported);
    origin.request("DELETE /v1/me").by(&bob).send().await.expect(204);
    origin.advance(Duration::from_millis(SETTLE_MS));
    let stored = || async { origin.app.tables.list_notifications(bob.id.parse().unwrap(), None, 10).await.unwrap() };
    assert_eq!(poll_until(stored, Vec::is_empty).await, []);
    let left = notifications(&origin, &ann, 1).await;
    assert_eq!((&left[0]["comment"], &left[0]["actor"]), (&Value::Null, &Value::Null));
}
