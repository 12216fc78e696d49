//! Decisions that come late: about what was changed, deleted or decided meanwhile.

use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestOrigin, ann, bob, comments_path, id, moderator, owner, poll_until};
use serde_json::{Value, json};

const SUBJECT: &str = "article/late";

async fn start() -> TestOrigin {
    let origin = TestOrigin::start_with(|config| config.adjustable.rules.show_earlier_texts = true).await;
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    origin
}

async fn decide_seen(origin: &TestOrigin, comment: &Value, action: &str, seen: &Value) -> ApiResponse {
    let call = origin.request(&format!("POST /v1/admin/comments/{}/decision", id(comment))).by(&moderator());
    call.json(&json!({"action": action, "seen": seen})).send().await
}

async fn undo(origin: &TestOrigin, decided: &Value) -> ApiResponse {
    let audit = decided["audit_id"].as_str().unwrap_or_else(|| panic!("no audit_id: {decided}"));
    origin.request(&format!("POST /v1/admin/audit/{audit}/undo")).by(&moderator()).send().await
}

/// The entry of a comment in the queue, once it is as `is_accepted` says.
async fn entry(origin: &TestOrigin, comment: &Value, is_accepted: impl Fn(&Value) -> bool) -> Value {
    let read = || async {
        let page = origin.request("GET /v1/admin/queue").by(&moderator()).send().await.expect(200);
        let entries = page["data"].as_array().unwrap();
        entries.iter().find(|entry| entry["comment"]["id"] == comment["id"]).cloned().unwrap_or_default()
    };
    let found = poll_until(read, &is_accepted).await;
    assert!(is_accepted(&found), "{found}");
    found
}

/// What readers see: the state and the text; the status of the answer where there is none.
async fn shown(origin: &TestOrigin, comment: &Value) -> (Value, Value) {
    let answer = origin.get(&format!("/v1/comments/{}", id(comment))).await;
    if answer.status == 200 {
        (answer.json["state"].clone(), answer.json["content"].clone())
    } else {
        (json!(answer.status), json!(null))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn decision_about_what_was_seen_is_refused_once_it_is_another() {
    let origin = start().await;
    let comment = origin.post(&ann(), SUBJECT, "first").await;
    origin.wait_until_persisted().await;
    origin.edit(&ann(), &comment, "holdme, nice").await.expect(202);
    let seen = entry(&origin, &comment, |entry| entry["written"] == "holdme, nice").await["version"].clone();
    origin.advance(std::time::Duration::from_millis(1));
    origin.edit(&ann(), &comment, "holdme, not seen").await.expect(202);
    for action in ["approve", "reject", "hide", "delete"] {
        let refused = decide_seen(&origin, &comment, action, &seen).await;
        assert_eq!((refused.status, refused.json["code"].as_str()), (409, Some("version_conflict")), "{action}");
    }
    let bulk = origin.request("POST /v1/admin/decisions").by(&moderator());
    let body = json!({"ids": [comment["id"]], "action": "approve", "seen": {id(&comment): seen}});
    let outcomes = bulk.json(&body).send().await.expect(200);
    let outcome = &outcomes["data"][0];
    assert_eq!((&outcome["status"], &outcome["code"]), (&json!(409), &json!("version_conflict")));
    assert_eq!(shown(&origin, &comment).await, (json!("published"), json!("first")));

    // An edit that takes the waiting one away leaves nothing of it to reject.
    let seen = entry(&origin, &comment, |entry| entry["written"] == "holdme, not seen").await["version"].clone();
    origin.edit(&ann(), &comment, "clean again").await.expect(200);
    assert_eq!(decide_seen(&origin, &comment, "reject", &seen).await.status, 409);
    assert_eq!(shown(&origin, &comment).await, (json!("published"), json!("clean again")));

    // Two moderators decide about one comment: the second hears of the first.
    let held = origin.try_post(&bob(), SUBJECT, &json!({"content": "holdme too"})).await.expect(202);
    let seen = entry(&origin, &held, |entry| entry["written"] == "holdme too").await["version"].clone();
    decide_seen(&origin, &held, "reject", &seen).await.expect(200);
    assert_eq!(decide_seen(&origin, &held, "approve", &seen).await.status, 409);
    assert_eq!(shown(&origin, &held).await.0, 404);
    for wrong in [json!("soon"), json!(7), json!("1.0"), json!("9.0.0"), json!("1.0.0.0")] {
        let refused = decide_seen(&origin, &held, "approve", &wrong).await.expect(400);
        assert_eq!(refused["errors"][0]["field"], "seen", "{wrong}");
    }
    decide_seen(&origin, &held, "approve", &json!(null)).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_its_author_has_deleted_stays_deleted() {
    let origin = start().await;
    let held = origin.try_post(&ann(), SUBJECT, &json!({"content": "holdme"})).await.expect(202);
    origin.wait_until_persisted().await;
    origin.delete(&ann(), &held).await.expect(204);
    for action in ["approve", "reject", "hide", "feature", "unfeature"] {
        let refused = origin.decide(&moderator(), &held, action).await;
        assert_eq!((refused.status, refused.json["code"].as_str()), (409, Some("version_conflict")), "{action}");
    }
    assert_ne!(shown(&origin, &held).await.0, "published");
    // Also where a moderator was first.
    let comment = origin.post(&ann(), SUBJECT, "mine").await;
    origin.wait_until_persisted().await;
    let deleted = origin.decide(&moderator(), &comment, "delete").await.expect(200);
    for _ in 0..2 {
        origin.delete(&ann(), &comment).await.expect(204);
    }
    assert_eq!(undo(&origin, &deleted).await.expect(409)["code"], "version_conflict");
    // To bring it back on purpose is another thing.
    origin.decide(&moderator(), &comment, "restore").await.expect(200);
    origin.poll_comment(&comment, |comment| comment["state"] == "published").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_whose_approval_was_undone_is_no_earlier_text() {
    let origin = start().await;
    let comment = origin.post(&ann(), SUBJECT, "first").await;
    origin.wait_until_persisted().await;
    origin.edit(&ann(), &comment, "holdme: where Bob lives").await.expect(202);
    let approved = origin.decide(&moderator(), &comment, "approve").await.expect(200);
    undo(&origin, &approved).await.expect(200);
    origin.decide(&moderator(), &comment, "reject").await.expect(200);
    origin.load_terms(&[]).await;
    let path = format!("/v1/comments/{}/history", id(&comment));
    let history = origin.get(&path).await.expect(200);
    let texts: Vec<_> = history["data"].as_array().unwrap().iter().map(|text| &text["content"]).collect();
    assert!(texts.iter().all(|text| *text == "first"), "{texts:?}");
    assert_eq!(shown(&origin, &comment).await, (json!("published"), json!("first")));
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_of_a_moderator_are_audited_also_where_they_own_the_thread() {
    let origin = start().await;
    let comment = origin.post(&ann(), SUBJECT, "to be pinned").await;
    origin.put_subject(&moderator(), SUBJECT, &json!({"owner_id": moderator().id})).await.expect(200);
    let pinned = origin.decide(&moderator(), &comment, "pin").await.expect(200);
    undo(&origin, &pinned).await.expect(200);
    origin.decide(&moderator(), &comment, "pin").await.expect(200);
    // A pin of what is hidden is taken by moderators alone.
    origin.decide(&moderator(), &comment, "hide").await.expect(200);
    origin.put_subject(&moderator(), SUBJECT, &json!({"owner_id": owner().id})).await.expect(200);
    origin.set_flag(&owner(), "DELETE", id(&comment), "pin").await.expect(404);
    origin.decide(&moderator(), &comment, "pin").await.expect(404);
    origin.decide(&moderator(), &comment, "unpin").await.expect(200);
    origin.decide(&moderator(), &comment, "restore").await.expect(200);
    let page = origin.current_page(SUBJECT, &comments_path(SUBJECT)).await;
    assert_eq!(page["subject"]["pinned"], json!([]), "{page}");
}
