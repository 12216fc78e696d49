//! Texts that the word filter refused: kept, listed, accepted, dropped, and gone with their author or after 30 days.

use std::time::Duration;

use futures_util::future::join;
use gailou::jobs::sweep::sweep;
use gailou_shared::id::{CommentId, MemberId, SubjectKey};
use gailou_shared::limits::{MAX_REFUSED_TEXTS_PER_HOUR, REFUSED_TEXT_RETENTION_MS};
use gailou_shared::wire::{Author, RefusedText, RefusedTextKind, SubjectRef, Visibility};
use gailou_shared::word_filter::TermAction;
use gailou_tests::{ApiResponse, TestMember, TestOrigin, ann, bob, comments_path, id, moderator, poll_until};
use serde_json::{Value, json};

const SUBJECT: &str = "article/rejected";

async fn start() -> TestOrigin {
    let origin = TestOrigin::start().await;
    origin.load_terms(&[("casino", TermAction::Block)]).await;
    origin
}

async fn refuse(origin: &TestOrigin, by: &TestMember, body: &Value) {
    let answer = origin.try_post(by, SUBJECT, body).await;
    assert_eq!((answer.status, answer.json["code"].as_str()), (422, Some("content_rejected")), "{body}");
}

/// The list, when it has so many entries.
async fn list(origin: &TestOrigin, query: &str, count: usize) -> Vec<Value> {
    let read = || async {
        let path = format!("GET /v1/admin/rejected{query}");
        origin.request(&path).by(&moderator()).send().await.expect(200)["data"].as_array().unwrap().clone()
    };
    let found = poll_until(read, |data| data.len() == count).await;
    assert_eq!(found.len(), count, "{found:?}");
    found
}

async fn accept(origin: &TestOrigin, entry: &Value) -> ApiResponse {
    let call = format!("POST /v1/admin/rejected/{}/accept", entry["id"].as_str().unwrap());
    origin.request(&call).by(&moderator()).send().await
}

async fn drop_entry(origin: &TestOrigin, entry: &Value) -> ApiResponse {
    let call = format!("DELETE /v1/admin/rejected/{}", entry["id"].as_str().unwrap());
    origin.request(&call).by(&moderator()).send().await
}

/// The verbs of the newest entries of the audit log.
async fn audited(origin: &TestOrigin, count: usize) -> Vec<(String, String)> {
    let read = || async {
        let page = origin.request("GET /v1/admin/audit").by(&moderator()).send().await.expect(200);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let entries = page["data"].as_array().unwrap().iter();
        entries.map(|entry| (text(&entry["action"]), text(&entry["target"]["id"]))).collect::<Vec<_>>()
    };
    poll_until(read, |entries| entries.len() >= count).await
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_post_is_kept_and_accepted_as_its_authors() {
    let origin = start().await;
    let parent = origin.post(&bob(), SUBJECT, "parent").await;
    refuse(&origin, &ann(), &json!({"content": "the casi*no* is open", "parent_id": parent["id"]})).await;
    let entries = list(&origin, "", 1).await;
    let entry = &entries[0];
    let [kind, type_key, content] = [&entry["kind"], &entry["subject"]["key"], &entry["content"]];
    assert_eq!([kind, type_key, content], ["post", "rejected", "the casi*no* is open"]);
    assert_eq!(entry["why"], json!([{"kind": "word", "detail": "ad", "count": 1}]));
    assert_eq!((&entry["author"]["id"], &entry["parent_id"]), (&json!("7"), &parent["id"]));
    assert_eq!(list(&origin, "?q=CASI", 1).await.len(), 1);
    list(&origin, "?q=roulette", 0).await;

    let comment = accept(&origin, entry).await.expect(200);
    assert_eq!((&comment["state"], &comment["content"]), (&json!("published"), content));
    assert_eq!((&comment["author"]["id"], &comment["parent_id"]), (&json!("7"), &parent["id"]));
    origin.wait_until_persisted().await;
    list(&origin, "", 0).await;
    assert_eq!(accept(&origin, entry).await.expect(404)["code"], "not_found");
    assert_eq!(drop_entry(&origin, entry).await.expect(404)["code"], "not_found");
    let shown = origin.poll_comment(&comment, |comment| comment["state"] == "published").await;
    assert_eq!(shown["floor"], 1);
    assert_eq!(audited(&origin, 1).await[0], ("accept".into(), id(&comment).into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_moderators_who_accept_publish_once() {
    let origin = start().await;
    refuse(&origin, &ann(), &json!({"content": "casino"})).await;
    let entry = list(&origin, "", 1).await.remove(0);
    let (one, other) = join(accept(&origin, &entry), accept(&origin, &entry)).await;
    for answer in [&one, &other] {
        assert!(matches!(answer.status, 200 | 404), "{}", answer.text);
    }
    assert!(one.status == 200 || other.status == 200);
    origin.wait_until_persisted().await;
    let page = || origin.page("/v1/subjects/article/rejected/comments?sort=new");
    let page = poll_until(page, |page| !page["data"].as_array().unwrap().is_empty()).await;
    assert_eq!(page["data"].as_array().unwrap().len(), 1, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refused_edit_is_applied_and_not_over_a_later_one() {
    let origin = start().await;
    let comment = origin.post(&ann(), SUBJECT, "first").await;
    origin.wait_until_persisted().await;
    assert_eq!(origin.edit(&ann(), &comment, "casino one").await.status, 422);
    let entry = list(&origin, "", 1).await.remove(0);
    assert_eq!((&entry["kind"], &entry["comment_id"]), (&json!("edit"), &comment["id"]));
    let edited = accept(&origin, &entry).await.expect(200);
    assert_eq!((&edited["content"], &edited["state"]), (&json!("casino one"), &json!("published")));
    origin.wait_until_persisted().await;
    assert_eq!(audited(&origin, 1).await[0], ("accept".into(), id(&comment).into()));

    assert_eq!(origin.edit(&ann(), &comment, "casino two").await.status, 422);
    let entry = list(&origin, "", 1).await.remove(0);
    origin.advance(Duration::from_secs(1));
    origin.edit(&ann(), &comment, "a later text").await.expect(200);
    origin.wait_until_persisted().await;
    assert_eq!(accept(&origin, &entry).await.expect(409)["code"], "version_conflict");
    origin.decide(&moderator(), &comment, "hide").await.expect(200);
    origin.wait_until_persisted().await;
    assert_eq!(accept(&origin, &entry).await.expect(409)["code"], "version_conflict");
    // What was accepted is taken back as a decision is.
    let undo = format!("POST /v1/admin/audit/{}/undo", edited["audit_id"].as_str().unwrap());
    assert_eq!(origin.request(&undo).by(&moderator()).send().await.status, 409, "it has changed since");
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_edit_that_is_undone_waits_in_the_queue() {
    let origin = start().await;
    let comment = origin.post(&ann(), SUBJECT, "first").await;
    origin.wait_until_persisted().await;
    assert_eq!(origin.edit(&ann(), &comment, "casino").await.status, 422);
    let edited = accept(&origin, &list(&origin, "", 1).await[0]).await.expect(200);
    origin.wait_until_persisted().await;
    let undo = format!("POST /v1/admin/audit/{}/undo", edited["audit_id"].as_str().unwrap());
    let before = origin.request(&undo).by(&moderator()).send().await.expect(200);
    assert_eq!(before["content"], "first");
    let why = origin.queue_reasons(&comment).await;
    assert_eq!((&why[0]["kind"], &why[0]["detail"]), (&json!("word"), &json!("ad")), "{why}");
    let approved = origin.decide(&moderator(), &comment, "approve").await.expect(200);
    assert_eq!(approved["content"], "casino", "nothing of it is lost");
}

#[tokio::test(flavor = "multi_thread")]
async fn text_whose_place_is_gone_is_a_clear_error_and_stays() {
    let origin = start().await;
    let parent = origin.post(&bob(), SUBJECT, "parent").await;
    refuse(&origin, &ann(), &json!({"content": "casino", "parent_id": parent["id"]})).await;
    let entry = list(&origin, "", 1).await.remove(0);
    origin.wait_until_persisted().await;
    origin.delete(&bob(), &parent).await.expect(204);
    origin.wait_until_persisted().await;
    assert_eq!(accept(&origin, &entry).await.expect(404)["code"], "parent_not_found");
    origin.put_subject(&moderator(), SUBJECT, &json!({"state": "closed"})).await.expect(200);
    origin.wait_until_persisted().await;
    assert_eq!(accept(&origin, &entry).await.expect(409)["code"], "subject_closed");
    list(&origin, "", 1).await;
    drop_entry(&origin, &entry).await.expect(204);
    origin.wait_until_persisted().await;
    list(&origin, "", 0).await;
    assert_eq!(audited(&origin, 2).await[0], ("drop".into(), SUBJECT.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn write_that_the_edge_refused_is_judged_and_never_done() {
    let origin = start().await;
    let comment = origin.post(&ann(), SUBJECT, "first").await;
    origin.wait_until_persisted().await;
    for content in ["casino", "harmless"] {
        let (status, code) = if content == "casino" { (422, "content_rejected") } else { (409, "version_conflict") };
        let post = format!("POST {}", comments_path(SUBJECT));
        for call in [post, format!("PATCH /v1/comments/{}", id(&comment))] {
            let write = origin.request(&call).by(&ann()).header("x-gailou-refused", "1");
            let answer = write.json(&json!({"content": content})).send().await;
            assert_eq!((answer.status, answer.json["code"].as_str()), (status, Some(code)), "{call} {content}");
        }
    }
    origin.wait_until_persisted().await;
    let kinds: Vec<Value> = list(&origin, "", 2).await.iter().map(|entry| entry["kind"].clone()).collect();
    assert_eq!(kinds, ["edit", "post"], "newest first");
    let page = origin.page("/v1/subjects/article/rejected/comments?sort=new").await;
    let texts: Vec<&Value> = page["data"].as_array().unwrap().iter().map(|comment| &comment["content"]).collect();
    assert_eq!(texts, ["first"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn text_that_readers_do_not_see_stays_so_when_it_is_accepted() {
    let origin = start().await;
    refuse(&origin, &ann(), &json!({"content": "casino", "visibility": "self"})).await;
    let comment = accept(&origin, &list(&origin, "", 1).await[0]).await.expect(200);
    assert_eq!(comment["visibility"], "self");
}

#[tokio::test(flavor = "multi_thread")]
async fn member_exports_refused_texts_and_erasure_deletes_them() {
    let origin = start().await;
    for by in [ann(), bob()] {
        refuse(&origin, &by, &json!({"content": format!("casino of {}", by.name)})).await;
    }
    list(&origin, "", 2).await;
    let export = origin.request("GET /v1/me/export").by(&ann()).send().await.expect(200);
    let rejected = export["rejected"].as_array().unwrap();
    assert_eq!((rejected.len(), &rejected[0]["author"]["id"]), (1, &json!("7")));
    assert!(rejected[0]["content"].as_str().unwrap().starts_with("casino of"));
    origin.request("DELETE /v1/me").by(&ann()).send().await.expect(204);
    let left = list(&origin, "", 1).await.remove(0);
    assert_eq!(left["author"]["id"], "8");
    let stored = || async { origin.app.tables.list_refused(None, 10).await.expect("the tables answer") };
    assert_eq!(poll_until(stored, |stored| stored.len() == 1).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_post_that_was_taken_before_is_not_kept() {
    let origin = TestOrigin::start().await;
    let send = || {
        let request = origin.request(&format!("POST {}", comments_path(SUBJECT))).by(&ann());
        request.idempotency_key(&"1".repeat(32)).json(&json!({"content": "casino"})).send()
    };
    let first = send().await.expect(201);
    origin.load_terms(&[("casino", TermAction::Block)]).await;
    let again = send().await;
    assert_eq!(again.json["id"], first["id"], "{}", again.text);
    refuse(&origin, &bob(), &json!({"content": "casino"})).await;
    let kept = list(&origin, "", 1).await;
    assert_eq!(kept[0]["author"]["id"], bob().id.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_moderators_read_and_decide() {
    let origin = start().await;
    refuse(&origin, &ann(), &json!({"content": "casino"})).await;
    let entry = list(&origin, "", 1).await.remove(0);
    let path = format!("/v1/admin/rejected/{}", entry["id"].as_str().unwrap());
    for call in ["GET /v1/admin/rejected".to_owned(), format!("POST {path}/accept"), format!("DELETE {path}")] {
        assert_eq!(origin.request(&call).by(&ann()).send().await.status, 403, "{call}");
        assert_eq!(origin.request(&call).send().await.status, 401, "{call}");
    }
    let long = "x".repeat(101);
    let wrong = origin.request(&format!("GET /v1/admin/rejected?q={long}")).by(&moderator()).send().await;
    assert_eq!(wrong.expect(400)["errors"][0]["field"], "q");
}

fn text_of(author: u64, at: u64, sequence: u64) -> RefusedText {
    let subject = SubjectKey::new("article", &sequence.to_string()).unwrap();
    RefusedText {
        id: CommentId::from_parts(at, subject.slot(), 0, sequence).into(),
        at,
        kind: RefusedTextKind::Post,
        subject: SubjectRef::from(&subject),
        parent_id: None,
        comment_id: None,
        author: Author::new(MemberId::new(author).unwrap(), "Ann".into(), None, 0, None),
        content: "casino".into(),
        why: vec![],
        mentions: vec![],
        visibility: Visibility::Everyone,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn texts_of_an_hour_are_bounded_and_a_month_ends_them() {
    let origin = start().await;
    let (tables, now) = (&origin.app.tables, origin.app.now());
    // A subject of another slot may be in another database, which has a bound of its own.
    let mut one = text_of(7, now, 0);
    let mut kept = 0;
    for sequence in 0..2 * MAX_REFUSED_TEXTS_PER_HOUR as u64 {
        let slot = one.id.slot();
        one = RefusedText { id: CommentId::from_parts(now, slot, 0, sequence).into(), ..one };
        kept += usize::from(tables.keep_refused(&one).await.unwrap());
    }
    assert_eq!(kept, MAX_REFUSED_TEXTS_PER_HOUR);
    assert!(tables.keep_refused(&text_of(8, now + 1, 1)).await.unwrap(), "another author");
    let later = RefusedText { at: now + 3_600_001, id: text_of(7, now + 3_600_001, 0).id, ..one };
    assert!(tables.keep_refused(&later).await.unwrap(), "an hour later");

    let all = tables.list_refused(None, 100).await.unwrap();
    assert_eq!(all.len(), MAX_REFUSED_TEXTS_PER_HOUR + 2);
    assert!(all.is_sorted_by(|a, b| a.id > b.id), "newest first");
    let of_author = tables.list_refused_of(MemberId::new(7).unwrap(), Some(all[all.len() - 1].id), 5).await.unwrap();
    assert_eq!(of_author.len(), 5);
    assert!(of_author.is_sorted_by(|a, b| a.id < b.id));
    origin.advance(Duration::from_millis(REFUSED_TEXT_RETENTION_MS + 2));
    sweep(&origin.app).await.unwrap();
    assert_eq!(tables.list_refused(None, 100).await.unwrap(), [later]);
}
