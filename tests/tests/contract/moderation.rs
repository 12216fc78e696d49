//! What a moderator does: the queue, reports, decisions, undoing, the audit log.

use std::time::Duration;

use gailou_shared::limits;
use gailou_shared::word_filter::TermAction;
use gailou_tests::{
    TestMember, TestOrigin, ann, bob, comments_path, id, ids, member, moderator, owner, poll_until, with_cursor,
};
use serde_json::{Value, json};

const SUBJECT: &str = "article/moderated";

async fn read(origin: &TestOrigin, path: &str) -> Value {
    origin.wait_until_persisted().await;
    origin.request(&format!("GET {path}")).by(&moderator()).send().await.expect(200)
}

async fn report(origin: &TestOrigin, by: &TestMember, comment: &Value, reason: &str) -> u16 {
    let call = origin.request(&format!("POST /v1/comments/{}/reports", id(comment))).by(by);
    call.json(&json!({"reason": reason, "note": "look"})).send().await.status
}

async fn undo(origin: &TestOrigin, decided: &Value) -> gailou_tests::ApiResponse {
    let audit = decided["audit_id"].as_str().unwrap_or_else(|| panic!("no audit_id: {decided}"));
    origin.request(&format!("POST /v1/admin/audit/{audit}/undo")).by(&moderator()).send().await
}

fn queued(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|entry| id(&entry["comment"]).to_owned()).collect()
}

/// The state of a comment for its readers; 404 for one that they do not see.
async fn state(origin: &TestOrigin, comment: &Value) -> Value {
    let answer = origin.get(&format!("/v1/comments/{}", id(comment))).await;
    if answer.status == 200 { answer.json["state"].clone() } else { json!(answer.status) }
}

#[tokio::test(flavor = "multi_thread")]
async fn queue_shows_what_waits_the_most_urgent_first_with_its_reasons() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("holdme", TermAction::Review), ("maskme", TermAction::Mask)]).await;
    let root = origin.post(&ann(), SUBJECT, "root").await;
    let reply = origin.reply(&bob(), &root, "reply").await;
    let body = json!({"content": "holdme please", "parent_id": reply["id"]});
    let held = origin.try_post(&ann(), SUBJECT, &body).await.expect(202);
    let masked = origin.post(&bob(), "video/other", "you maskme").await;
    let liked = origin.post(&bob(), SUBJECT, "liked").await;
    for n in 20..24 {
        origin.like(&member(n), &liked).await;
    }
    for (by, comment, reason) in [
        (ann(), &masked, "spam"),
        (member(31), &masked, "spam"),
        (member(32), &masked, "abuse"),
        (ann(), &liked, "other"),
    ] {
        assert_eq!(report(&origin, &by, comment, reason).await, 202);
    }

    let page = poll_until(|| read(&origin, "/v1/admin/queue"), |page| page["count"] == 3).await;
    assert_eq!(queued(&page), [&masked, &liked, &held].map(|c| id(c).to_owned()), "{page}");
    let why = |n: usize| page["data"][n]["why"].clone();
    assert_eq!(
        why(0),
        json!([
            {"kind": "report", "detail": "spam", "count": 2}, {"kind": "report", "detail": "abuse", "count": 1},
        ])
    );
    assert_eq!(why(1), json!([{"kind": "report", "detail": "other", "count": 1}]));
    assert_eq!(why(2), json!([{"kind": "word", "detail": "ad", "count": 1}]));
    assert_eq!(
        (&page["data"][0]["written"], &page["data"][0]["comment"]["state"]),
        (&json!("you maskme"), &json!("review"))
    );
    assert_eq!(ids(page["data"][2]["context"].as_array().unwrap()), [id(&root), id(&reply)]);
    assert_eq!((&page["data"][2]["written"], &page["data"][2]["leased_by"]), (&json!("holdme please"), &json!(null)));
    assert_eq!(page["data"][2]["waiting_since"], held["created_at"]);
    assert_eq!((&page["page"]["has_more"], &page["page"]["next"]), (&json!(false), &json!(null)));

    let held_only = read(&origin, "/v1/admin/queue?kind=held").await;
    assert_eq!((queued(&held_only), &held_only["count"]), (vec![id(&held).to_owned()], &json!(1)));
    let mut walked = Vec::new();
    let mut page = read(&origin, "/v1/admin/queue?kind=reported&limit=1").await;
    loop {
        assert_eq!(page["count"], 2);
        walked.extend(queued(&page));
        let Some(next) = page["page"]["next"].as_str() else { break };
        page = read(&origin, &with_cursor("/v1/admin/queue?kind=reported&limit=1", next)).await;
    }
    assert_eq!(walked, [&masked, &liked].map(|c| id(c).to_owned()));
    let page = read(&origin, "/v1/admin/queue?kind=reported&limit=1").await;
    let next = page["page"]["next"].as_str().unwrap();
    let other = origin.request(&format!("GET {}", with_cursor("/v1/admin/queue?kind=held", next))).by(&moderator());
    assert_eq!(other.send().await.expect(400)["code"], "bad_cursor");
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_count_once_a_member_and_hold_a_comment_at_the_threshold() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), SUBJECT, "reported").await;
    let guest = origin.register_guest("Reader").await;
    for by in [bob(), bob(), guest] {
        assert_eq!(report(&origin, &by, &comment, "spam").await, 202);
    }
    assert_eq!(state(&origin, &comment).await, "published");
    assert_eq!(report(&origin, &member(40), &comment, "illegal").await, 202);
    poll_until(|| state(&origin, &comment), |state| *state == "review").await;
    assert_eq!(report(&origin, &member(41), &comment, "spam").await, 404, "readers do not see it any more");
    assert!(origin.walk_current(SUBJECT, &comments_path(SUBJECT)).await.is_empty());
    let pending =
        poll_until(|| async { origin.overlay(&ann(), &[]).await }, |o| !o["pending"].as_array().unwrap().is_empty())
            .await;
    assert_eq!((&pending["pending"][0]["id"], &pending["pending"][0]["state"]), (&comment["id"], &json!("review")));

    let reports = read(&origin, &format!("/v1/admin/comments/{}/reports", id(&comment))).await;
    let of = |field: &str| reports["data"].as_array().unwrap().iter().map(|r| r[field].clone()).collect::<Vec<_>>();
    assert_eq!(of("note"), ["look", "look", "look"]);
    assert_eq!(of("reason").iter().filter(|reason| **reason == "illegal").count(), 1);
    assert!(of("member").contains(&json!({"id": "8", "name": "Bob"})));

    let approved = origin.decide(&moderator(), &comment, "approve").await.expect(200);
    assert_eq!(approved["state"], "published");
    assert_eq!(read(&origin, "/v1/admin/queue").await["count"], 0);
    assert_eq!(undo(&origin, &approved).await.expect(200)["state"], "review");
    assert_eq!(read(&origin, "/v1/admin/queue?kind=reported").await["data"][0]["why"][0]["count"], 2);
    assert_eq!(origin.delete(&ann(), &comment).await.status, 204);
    assert_eq!(read(&origin, "/v1/admin/queue").await["count"], 0, "what its author has deleted waits for nothing");

    let wrong = origin.request(&format!("POST /v1/comments/{}/reports", id(&comment))).by(&bob());
    let wrong = wrong.json(&json!({"reason": "boring", "note": 7})).send().await.expect(400);
    let fields: Vec<_> = wrong["errors"].as_array().unwrap().iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["reason", "note"]);
    let of_ann = origin.request("GET /v1/me/export").by(&bob()).send().await.expect(200);
    assert_eq!(of_ann["reports"][0]["comment_id"], comment["id"]);
    assert_eq!((&of_ann["reports"][0]["reason"], &of_ann["reports"][0]["note"]), (&json!("spam"), &json!("look")));
}

#[tokio::test(flavor = "multi_thread")]
async fn held_edit_waits_while_readers_see_the_former_text() {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    let comment = origin.post(&ann(), SUBJECT, "first").await;
    let edited = origin.edit(&ann(), &comment, "now holdme").await.expect(202);
    assert_eq!((&edited["state"], &edited["content"]), (&json!("review"), &json!("now holdme")));
    let public = origin.poll_comment(&comment, |_| true).await;
    assert_eq!(
        (&public["state"], &public["content"], &public["flags"]),
        (&json!("published"), &json!("first"), &json!([]))
    );
    let has_pending = |overlay: &Value| !overlay["pending"].as_array().unwrap().is_empty();
    let overlay = poll_until(|| async { origin.overlay(&ann(), &[]).await }, has_pending).await;
    assert_eq!(
        (&overlay["pending"][0]["id"], &overlay["pending"][0]["content"]),
        (&comment["id"], &json!("now holdme"))
    );
    assert_eq!(origin.overlay(&bob(), &[]).await["pending"], json!([]));
    let entry = read(&origin, "/v1/admin/queue?kind=held").await["data"][0].clone();
    assert_eq!((&entry["written"], &entry["published"]), (&json!("now holdme"), &json!("first")));

    let rejected = origin.decide(&moderator(), &comment, "reject").await.expect(200);
    assert_eq!((&rejected["state"], &rejected["content"]), (&json!("published"), &json!("first")));
    assert!(!has_pending(&origin.overlay(&ann(), &[]).await));
    undo(&origin, &rejected).await.expect(200);
    let approved = origin.decide(&moderator(), &comment, "approve").await.expect(200);
    assert_eq!((&approved["content"], &approved["flags"]), (&json!("now holdme"), &json!(["edited"])));
    let history = read(&origin, &format!("/v1/admin/comments/{}/history", id(&comment))).await;
    assert_eq!(history["data"][0]["content"], "first");
    let back = undo(&origin, &approved).await.expect(200);
    assert_eq!((&back["content"], &back["flags"], &back["edited_at"]), (&json!("first"), &json!([]), &json!(null)));
    assert_eq!(read(&origin, "/v1/admin/queue?kind=held").await["count"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn decisions_are_made_in_bulk_undone_and_in_the_audit_log() {
    let origin = TestOrigin::start().await;
    let comments = [origin.post(&ann(), SUBJECT, "one").await, origin.post(&bob(), "video/two", "two").await];
    let bulk = async |action: &str| {
        let ids = [&comments[0]["id"], &comments[1]["id"], &json!("1"), &comments[0]["id"]];
        let body = json!({"ids": ids, "action": action, "reason": "off topic"});
        origin.request("POST /v1/admin/decisions").by(&moderator()).json(&body).send().await.expect(200)
    };
    let hidden = bulk("hide").await;
    let outcomes = hidden["data"].as_array().unwrap();
    assert_eq!(outcomes.len(), 3, "each comment once: {hidden}");
    assert_eq!((&outcomes[2]["status"], &outcomes[2]["code"]), (&json!(404), &json!("comment_not_found")));
    for comment in &comments {
        poll_until(|| state(&origin, comment), |state| *state == "hidden").await;
    }
    let refused = bulk("approve").await;
    assert_eq!((&refused["data"][0]["status"], &refused["data"][0]["code"]), (&json!(409), &json!("version_conflict")));
    assert_eq!(undo(&origin, &outcomes[0]).await.expect(200)["state"], "published");
    assert_eq!(undo(&origin, &outcomes[0]).await.expect(409)["code"], "version_conflict");
    let featured = origin.decide(&moderator(), &comments[0], "feature").await.expect(200);
    assert_eq!(featured["flags"], json!(["featured"]));
    assert_eq!(undo(&origin, &featured).await.expect(200)["flags"], json!([]));
    // A pin by the subject's owner is no moderator's decision.
    let pin = async |by: &TestMember, method: &str| origin.set_flag(by, method, id(&comments[0]), "pin").await;
    assert_eq!(pin(&owner(), "PUT").await.expect(403)["code"], "forbidden");
    origin.put_subject(&moderator(), SUBJECT, &json!({"owner_id": owner().id.to_string()})).await.expect(200);
    for (by, method) in [(&owner(), "PUT"), (&owner(), "DELETE"), (&moderator(), "PUT"), (&moderator(), "DELETE")] {
        pin(by, method).await.expect(200);
    }
    let removed = origin.post(&bob(), SUBJECT, "removed").await;
    origin.delete(&moderator(), &removed).await;
    origin.put_subject(&moderator(), SUBJECT, &json!({"title": "T", "state": "closed"})).await.expect(200);

    let log = read(&origin, "/v1/admin/audit?limit=100").await;
    let entries = log["data"].as_array().unwrap();
    let mut actions: Vec<_> = entries.iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    actions.sort_unstable();
    let expected = ["delete", "feature", "hide", "hide", "pin", "subject", "subject", "undo", "undo", "unpin"];
    assert_eq!(actions, expected, "{log}");
    assert!(entries.is_sorted_by_key(|entry| std::cmp::Reverse(entry["at"].as_u64())), "newest first");
    let entry = entries.iter().find(|entry| entry["action"] == "subject").unwrap();
    assert_eq!(entry["target"], json!({"kind": "subject", "id": SUBJECT}));
    assert_eq!(entry["before"], json!({"title": null, "state": "open"}));
    assert_eq!(entry["after"], json!({"title": "T", "state": "closed"}));
    let hide = entries.iter().find(|entry| entry["id"] == outcomes[1]["audit_id"]).unwrap();
    assert_eq!(hide["target"], json!({"kind": "comment", "id": comments[1]["id"]}));
    assert_eq!((&hide["actor"]["name"], &hide["reason"]), (&json!(moderator().name), &json!("off topic")));
    assert_eq!(hide["before"], json!({"state": "published", "flags": []}));
    assert_eq!(hide["after"], json!({"state": "hidden", "flags": []}));

    let mut walked = Vec::new();
    let path = format!("/v1/admin/audit?action=undo&actor={}&limit=1", moderator().id);
    let mut page = read(&origin, &path).await;
    loop {
        walked.extend(page["data"].as_array().unwrap().iter().map(|entry| entry["action"].clone()));
        let Some(next) = page["page"]["next"].as_str() else { break };
        page = read(&origin, &with_cursor(&path, next)).await;
    }
    assert_eq!(walked, ["undo", "undo"]);
    assert_eq!(read(&origin, "/v1/admin/audit?actor=7").await["data"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn pins_are_made_in_bulk_as_far_as_there_is_room_and_undone() {
    let origin = TestOrigin::start().await;
    let mut comments = Vec::new();
    for n in 0..=limits::MAX_PINS {
        comments.push(origin.post(&ann(), SUBJECT, &format!("comment {n}")).await);
    }
    let ids: Vec<_> = comments.iter().map(id).collect();
    let bulk = async |action: &str| {
        let body = json!({"ids": ids, "action": action, "reason": "worth it"});
        origin.request("POST /v1/admin/decisions").by(&moderator()).json(&body).send().await.expect(200)
    };
    let pinned = bulk("pin").await;
    let (last, first) = pinned["data"].as_array().unwrap().split_last().unwrap();
    assert!(first.iter().all(|outcome| outcome["status"] == 200), "{pinned}");
    assert_eq!((&last["status"], &last["code"]), (&json!(400), &json!("invalid_request")));
    let pins = async || {
        origin.wait_until_persisted().await;
        let subject = read(&origin, &format!("/v1/subjects/{SUBJECT}")).await;
        subject["pinned"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(pins().await, limits::MAX_PINS);
    undo(&origin, &first[0]).await.expect(200);
    assert_eq!(pins().await, limits::MAX_PINS - 1);
    bulk("unpin").await;
    assert_eq!(pins().await, 0);
    let log = read(&origin, "/v1/admin/audit?action=pin").await;
    assert!(log["data"].as_array().is_some_and(|entries| entries.len() == limits::MAX_PINS), "{log}");
    assert_eq!(log["data"][0]["reason"], "worth it");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_moderators_never_hold_the_same_comment() {
    let origin = TestOrigin::start().await;
    let comments = [
        origin.post(&ann(), SUBJECT, "one").await,
        origin.post(&ann(), "video/2", "two").await,
        origin.post(&ann(), SUBJECT, "three").await,
    ];
    for comment in &comments[..2] {
        report(&origin, &bob(), comment, "spam").await;
    }
    let other = TestMember::new(51, "Other", gailou_shared::token::Role::Moderator);
    let lease = async |by: &TestMember, of: &[&Value]| -> Vec<String> {
        let ids: Vec<_> = of.iter().map(|comment| &comment["id"]).collect();
        let call = origin.request("POST /v1/admin/queue/lease").by(by).json(&json!({"ids": ids}));
        let leased = call.send().await.expect(200)["leased"].clone();
        leased.as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned()).collect()
    };
    let all: Vec<_> = comments.iter().collect();
    assert_eq!(lease(&moderator(), &all[1..]).await, [id(&comments[1])], "what is not queued is not leased");
    assert_eq!(lease(&other, &all).await, [id(&comments[0])]);
    assert_eq!(lease(&moderator(), &all).await, [id(&comments[1])], "their own is extended");
    let page = read(&origin, "/v1/admin/queue").await;
    let holder = |comment: &Value| {
        let entries = page["data"].as_array().unwrap();
        entries.iter().find(|entry| entry["comment"]["id"] == comment["id"]).unwrap()["leased_by"].clone()
    };
    assert_eq!(holder(&comments[0]), json!({"id": "51", "name": "Other"}));
    assert_eq!(holder(&comments[1])["id"], json!(moderator().id.to_string()));
    origin.advance(Duration::from_secs(61));
    assert_eq!(read(&origin, "/v1/admin/queue").await["data"][0]["leased_by"], json!(null));
    assert_eq!(lease(&moderator(), &all).await, [id(&comments[0]), id(&comments[1])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn dictionary_is_tried_and_changed_by_versions() {
    let origin = TestOrigin::start().await;
    let call = async |method: &str, body: Value, if_match: Option<&str>| {
        let request = origin.request(&format!("{method} /v1/admin/words")).by(&moderator()).json(&body);
        if_match.into_iter().fold(request, |request, version| request.header("if-match", version)).send().await
    };
    let term = |text: &str, action: &str| json!({"term": text, "category": "ad", "action": action});
    assert_eq!(read(&origin, "/v1/admin/words").await["version"], 0);
    let put = call("PUT", json!({"data": [term("casino", "review"), term("lotto", "block")]}), Some("\"0\"")).await;
    assert_eq!(put.expect(200), json!({"version": 1, "count": 2}));
    let stale = call("PATCH", json!({"remove": ["lotto"]}), Some("0")).await;
    assert_eq!(stale.expect(409)["code"], "version_conflict");
    let patch = json!({"add": [term("casino", "mask"), term("赌场", "review")], "remove": ["lotto", "never there"]});
    assert_eq!(call("PATCH", patch, None).await.expect(200), json!({"version": 2, "count": 2}));
    let page = read(&origin, "/v1/admin/words").await;
    assert_eq!((&page["version"], &page["page"]["has_more"]), (&json!(2), &json!(false)));
    assert_eq!(page["data"], json!([term("casino", "mask"), term("赌场", "review")]));
    // In force at once, in the process that was asked.
    assert_eq!(origin.post(&ann(), SUBJECT, "the casino").await["content"], "the ******");
    origin.try_post(&ann(), SUBJECT, &json!({"content": "去赌 场吧"})).await.expect(202);

    for (method, body, field) in [
        ("PUT", json!({}), "data"),
        ("PUT", json!({"data": [term("x", "mask"), term("...", "mask")]}), "data[1]"),
        ("PATCH", json!({"add": [{"term": "x", "category": "ad", "action": "burn"}]}), "add[0].action"),
        ("PATCH", json!({"remove": [7]}), "remove"),
    ] {
        let wrong = call(method, body, None).await.expect(400);
        assert_eq!(wrong["errors"][0]["field"], field, "{wrong}");
    }
    let wrong = call("PATCH", json!({}), Some("new")).await.expect(400);
    assert_eq!(wrong["errors"][0]["field"], "If-Match");

    origin.post(&bob(), SUBJECT, "a poker night").await;
    origin.post(&bob(), "video/2", "p o k e r").await;
    origin.wait_until_persisted().await;
    let test = async |text: &str| {
        let request = origin.request("POST /v1/admin/words/test").by(&moderator()).json(&json!({"term": text}));
        request.send().await
    };
    let found = test("poker").await.expect(200);
    assert_eq!(found["count"], 2, "{found}");
    assert_eq!(found["data"][0]["content"], "p o k e r", "the newest first");
    assert_eq!(test("nowhere").await.expect(200), json!({"data": [], "count": 0}));
    assert_eq!(test("***").await.expect(400)["errors"][0]["field"], "term");

    let log = read(&origin, "/v1/admin/audit?action=words").await;
    assert_eq!(log["data"].as_array().unwrap().len(), 2);
    let last = log["data"].as_array().unwrap().iter().find(|entry| entry["before"]["version"] == 1).unwrap();
    assert_eq!(last["target"], json!({"kind": "words", "id": ""}));
    assert_eq!(last["after"]["removed"], json!(["lotto", "never there"]));
    let undo = origin.request(&format!("POST /v1/admin/audit/{}/undo", last["id"].as_str().unwrap()));
    assert_eq!(undo.by(&moderator()).send().await.status, 409);
    let mut changes = tokio::task::JoinSet::new();
    for n in 0..8 {
        let patch = json!({"add": [term(&format!("word{n}"), "mask")]});
        let request = origin.request("PATCH /v1/admin/words").by(&moderator()).json(&patch);
        changes.spawn(async move { request.send().await.status });
    }
    assert_eq!(changes.join_all().await, [200; 8]);
    let page = read(&origin, "/v1/admin/words").await;
    assert_eq!((&page["version"], page["data"].as_array().unwrap().len()), (&json!(10), 10), "none is lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_moderators_read_and_decide() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), SUBJECT, "one").await;
    let of = |what: &str| format!("/v1/admin/comments/{}/{what}", id(&comment));
    for call in [
        "GET /v1/admin/queue".to_owned(),
        "GET /v1/admin/audit".into(),
        "GET /v1/admin/words".into(),
        "PUT /v1/admin/words".into(),
        "PATCH /v1/admin/words".into(),
        "POST /v1/admin/words/test".into(),
        format!("GET /v1/admin/comments/{}", id(&comment)),
        format!("GET {}", of("history")),
        format!("GET {}", of("reports")),
        "POST /v1/admin/queue/lease".into(),
        "POST /v1/admin/decisions".into(),
        "POST /v1/admin/audit/1/undo".into(),
    ] {
        assert_eq!(origin.request(&call).send().await.status, 401, "{call}");
        assert_eq!(origin.request(&call).by(&ann()).json(&json!({})).send().await.status, 403, "{call}");
    }
    origin.load_terms(&[("holdme", TermAction::Review)]).await;
    let held = origin.try_post(&ann(), SUBJECT, &json!({"content": "holdme"})).await.expect(202);
    let path = format!("/v1/admin/comments/{}", id(&held));
    let seen = poll_until(|| read(&origin, &path), |seen| seen["id"] == held["id"]).await;
    assert_eq!((&seen["state"], &seen["content"]), (&json!("review"), &json!("holdme")));
    assert_eq!(origin.request(&format!("GET /v1/comments/{}", id(&held))).send().await.status, 404);
    let call = origin.request("POST /v1/admin/decisions").by(&moderator()).json(&json!({"ids": ["x"], "action": 1}));
    let wrong = call.send().await.expect(400);
    let fields: Vec<_> = wrong["errors"].as_array().unwrap().iter().map(|error| error["field"].clone()).collect();
    assert_eq!(fields, ["ids", "action"]);
    assert_eq!(origin.request("POST /v1/admin/audit/1/undo").by(&moderator()).send().await.status, 404);
    let answer = origin.request("GET /v1/admin/queue").by(&moderator()).send().await;
    assert_eq!(answer.header("cache-control"), "private, no-store");
}

#[tokio::test(flavor = "multi_thread")]
async fn erased_members_leave_no_report_and_no_name_in_the_audit_log() {
    let origin = TestOrigin::start().await;
    let comment = origin.post(&ann(), SUBJECT, "one").await;
    assert_eq!(report(&origin, &bob(), &comment, "spam").await, 202);
    let other = TestMember::new(51, "Other", gailou_shared::token::Role::Moderator);
    origin.decide(&other, &comment, "feature").await.expect(200);
    for erased in [bob(), other] {
        origin.request("DELETE /v1/me").by(&erased).send().await.expect(204);
    }
    let reports = format!("/v1/admin/comments/{}/reports", id(&comment));
    let left = poll_until(|| read(&origin, &reports), |page| page["data"] == json!([])).await;
    assert_eq!(left["data"], json!([]));
    let log = poll_until(|| read(&origin, "/v1/admin/audit"), |log| log["data"][0]["actor"]["name"] == "").await;
    assert_eq!(log["data"][0]["actor"], json!({"id": "51", "name": ""}));
    assert_eq!(read(&origin, "/v1/admin/queue").await["data"][0]["why"][0]["count"], 1, "the count stays");
}
